"""What the user gives for hosts: cookies of a file cookies.txt, users and passwords of a netrc."""

from __future__ import annotations

import netrc
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from time import time

from scrawler.errors import SettingsError
from scrawler.regular import read_regular
from scrawler.urls.scope import is_public_suffix

MASK = "***"  # stands in the archive for a value that the user gave

_HTTP_ONLY = "#HttpOnly_"  # so the line of a cookie may begin, which is no comment then
_FIELDS = 7
_ADDRESS = re.compile(r"[0-9.]+|.*:.*")
_TIME = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]*)?")
_SENT = re.compile(r"[\x20-\x3a\x3c-\x7e\x80-\xff]*")  # neither the end of a header nor of a cookie


@dataclass(frozen=True, slots=True)
class _Cookie:
    domain: str
    below: bool  # whether it is for the hosts below its domain as well
    path: str
    secure: bool
    expires_at: int  # seconds since 1970; 0: at the end of the session, so never here
    name: str
    value: str = field(repr=False)

    def fits(self, host: str, path: str, secure: bool) -> bool:
        within = host == self.domain or (
            self.below and host.endswith(f".{self.domain}") and not _ADDRESS.fullmatch(host)
        )
        if not within or (self.secure and not secure) or (self.expires_at and self.expires_at <= time()):
            return False
        rest = path.removeprefix(self.path) if path.startswith(self.path) else None
        return rest is not None and (self.path.endswith("/") or rest[:1] in ("", "/"))


class GivenCookies:
    """The cookies of a file, which stay as they are; what a site sets meanwhile goes before them.

    Each request asks for those of its host, and a browser's file may have thousands: they are found by their domains.
    """

    def __init__(self, cookies: tuple[_Cookie, ...]) -> None:
        self._cookies = cookies
        self._hash = hash(cookies)
        by_domain: defaultdict[str, list[tuple[int, _Cookie]]] = defaultdict(list)
        for number, cookie in enumerate(cookies):
            by_domain[cookie.domain].append((number, cookie))
        self._by_domain = dict(by_domain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenCookies) and self._cookies == other._cookies

    def __hash__(self) -> int:
        return self._hash

    def header(self, scheme: str, host: str, path: str, set_by_site: str = "") -> str:
        """Return the value of the Cookie header of a request; `set_by_site` is what the site's own would be."""
        taken = {pair.partition("=")[0].strip() for pair in set_by_site.split(";")} if set_by_site else ()
        path = path.partition("?")[0]
        found = self._of_host(host)
        fitting = (one for one in found if one.name not in taken and one.fits(host, path, scheme == "https"))
        pairs = [f"{one.name}={one.value}" for one in fitting]
        return "; ".join([set_by_site, *pairs] if set_by_site else pairs)

    def _of_host(self, host: str) -> list[_Cookie]:
        """Return the cookies of a host and of the domains above it, in the order of the file's."""
        found = list(self._by_domain.get(host, ()))
        above = host.partition(".")[2]
        while above:
            found += self._by_domain.get(above, ())
            above = above.partition(".")[2]
        return [cookie for _, cookie in sorted(found, key=itemgetter(0))]


def read_cookies(file: Path) -> GivenCookies:
    """Read a file cookies.txt, as browsers, curl and wget write it. Raises SettingsError, which shows no value."""
    found = []
    for number, line in enumerate(_text(file, "cookie_file").split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip() or (line.startswith("#") and not line.startswith(_HTTP_ONLY)):
            continue
        cookie = _read_cookie(line.removeprefix(_HTTP_ONLY).split("\t"))
        if cookie is None:
            raise SettingsError(f"cookie_file {file}: line {number} is no cookie: seven fields with tabs between them")
        found.append(cookie)
    return GivenCookies(tuple(sorted(found, key=lambda one: -len(one.path))))


def _read_cookie(parts: list[str]) -> _Cookie | None:
    if len(parts) != _FIELDS:
        return None
    domain, below, path, secure, expires, name, value = parts
    if not (path.startswith("/") and _TIME.fullmatch(expires) and name and _SENT.fullmatch(name + value)):
        return None
    host = domain.removeprefix(".").lower()
    asked_below = below.upper() == "TRUE" or domain.startswith(".")
    # Below a public suffix are the hosts of many people: such a cookie is for the host of that name alone (5.3 of RFC
    # 6265, step 5), as is one that a site sets.
    is_below = asked_below and not is_public_suffix(host.removesuffix("."))
    expires_at = int(expires.partition(".")[0])
    return _Cookie(host, is_below, path, secure.upper() == "TRUE", expires_at, name, value)


def read_netrc(file: Path) -> Mapping[str, tuple[str, str]]:
    """Return user and password by host; an entry `default`, which is for all hosts, is for none.

    Raises SettingsError.
    """
    _text(file, "netrc")
    try:
        hosts = netrc.netrc(str(file.expanduser())).hosts
    except netrc.NetrcParseError as error:  # its words may hold a password
        raise SettingsError(f"netrc {file}: line {error.lineno} cannot be read") from None
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"netrc {file} cannot be read") from None
    return {host.lower(): (login, password or "") for host, (login, _, password) in _named(hosts)}


def _named(hosts: Mapping[str, tuple[str, str, str]]) -> Iterator[tuple[str, tuple[str, str, str]]]:
    return ((host, entry) for host, entry in hosts.items() if host != "default")


class GivenFiles:
    """Reads files, each once: tables of hosts may name one many times, and while a crawl runs it may be gone.

    All of it raises SettingsError. One thread at a time uses it.
    """

    def __init__(self) -> None:
        self._cookies: dict[Path, GivenCookies] = {}
        self._logins: dict[Path, Mapping[str, tuple[str, str]]] = {}
        self._names: dict[Path, str] = {}

    def cookies(self, file: Path) -> GivenCookies:
        """Return the cookies of a file cookies.txt."""
        if file not in self._cookies:
            self._cookies[file] = read_cookies(file)
        return self._cookies[file]

    def logins(self, file: Path) -> Mapping[str, tuple[str, str]]:
        """Return user and password by host, out of a netrc."""
        if file not in self._logins:
            self._logins[file] = read_netrc(file)
        return self._logins[file]

    def name(self, file: Path, setting: str) -> str:
        """Return the name of a file that can be read."""
        if file not in self._names:
            _text(file, setting)
            self._names[file] = str(file.expanduser())
        return self._names[file]


def _text(file: Path, setting: str) -> str:
    """Return the bytes of a file as Latin-1, as headers are written: so they are sent as they stand there."""
    try:
        return read_regular(file.expanduser()).removeprefix(BOM_UTF8).decode("latin-1")
    except OSError as error:
        raise SettingsError(f"{setting} {file} cannot be read: {error.strerror}") from error
