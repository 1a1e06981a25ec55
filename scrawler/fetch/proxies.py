"""The proxies that the environment names, and the hosts for which it wants none.

They are what curl, wget and requests take: `http_proxy`, `https_proxy` and `all_proxy`, in lower or upper case but for
HTTP_PROXY, which in a CGI program is a header of somebody's request, and `no_proxy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from scrawler.errors import SettingsError
from scrawler.model.proxy import Proxy, read_proxy

_VARIABLES = {
    "http": ("http_proxy", "all_proxy", "ALL_PROXY"),
    "https": ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
}
_BUT = ("no_proxy", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class EnvironmentProxies:
    """What the environment says of proxies. Loopback is asked without one, whatever it says."""

    by_scheme: Mapping[str, tuple[str, Proxy]]  # scheme of a URL -> name of the variable, and the proxy
    but: tuple[str, ...] = ()  # hosts, domains, addresses and networks of no_proxy

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> EnvironmentProxies:
        """Read the variables of an environment. Raises SettingsError."""
        found = {}
        for scheme, names in _VARIABLES.items():
            name = next((name for name in names if environment.get(name)), "")
            proxy = _read(name, environment[name]) if name else None
            if proxy is not None:
                found[scheme] = name, proxy
        but = next((environment[name] for name in _BUT if environment.get(name)), "")
        return cls(found, tuple(but.lower().replace(",", " ").split()))  # curl takes spaces as well

    def proxy_for(self, scheme: str, host: str, port: int, address: str) -> Proxy | None:
        """Return the proxy for a host of a URL with this scheme, if any; `address` is empty where it is not known."""
        found = self.by_scheme.get(scheme)
        if found is None or is_loopback(host, address) or any(_covers(part, host, port) for part in self.but):
            return None
        return found[1]

    def named(self) -> Iterator[tuple[str, Proxy]]:
        """Yield which variable names which proxy."""
        yield from dict(self.by_scheme.values()).items()


def _read(name: str, text: str) -> Proxy | None:
    try:
        return read_proxy(text)
    except ValueError as error:
        raise SettingsError(
            f"{name} of the environment is no proxy of http, https or socks5h; --proxy direct does without"
        ) from error


def is_loopback(host: str, address: str) -> bool:
    """Tell whether a host is this computer, by its name or its address."""
    name = host.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return any(_is_loopback_address(text) for text in (name, address))


def _is_loopback_address(text: str) -> bool:
    try:
        parsed = ip_address(text)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def _covers(part: str, host: str, port: int) -> bool:
    """Tell whether an entry of no_proxy stands for a host, as curl does: itself, and all below it."""
    if part == "*":
        return True
    name, _, wanted = part.rpartition(":")
    if (name and wanted.isdigit() and "]" in part) or part.count(":") == 1:
        if wanted != str(port):
            return False
        part = name
    part = part.strip("[]").removeprefix("*").removeprefix(".").removesuffix(".")
    host = host.removesuffix(".")
    return host == part or host.endswith(f".{part}") or _is_within(host, part)


def _is_within(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def no_environment() -> EnvironmentProxies:
    """Return what an environment without proxies says."""
    return EnvironmentProxies({})
