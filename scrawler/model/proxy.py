"""A proxy: where requests go instead of to the servers themselves."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, unquote, urlsplit

SCHEMES = ("http", "https", "socks5h")
NO_PROXY = "direct"  # asks every server itself, whatever the environment says

_PORTS = {"http": 80, "https": 443, "socks5h": 1080}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy by its URL; as text it shows no password. The names of hosts go to it unresolved."""

    scheme: str
    host: str  # an IPv6 address without brackets
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def is_socks(self) -> bool:
        """Whether it speaks SOCKS, and so passes bytes on without reading them."""
        return self.scheme == "socks5h"

    @property
    def place(self) -> str:
        """Its URL without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def authorization(self) -> str:
        """The value of Proxy-Authorization; empty without a user."""
        return basic(self.user, self.password) if self.user else ""

    def __str__(self) -> str:
        login = f"{quote(self.user)}:***@" if self.user else ""
        return self.place.replace("://", f"://{login}", 1)


def basic(user: str, password: str) -> str:
    """Return the value of an Authorization header (RFC 7617)."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def read_proxy(text: str) -> Proxy | None:
    """Read the URL of a proxy, `http` where it names no scheme; None for NO_PROXY. Raises ValueError."""
    if text == NO_PROXY:
        return None
    found = _parts(text)
    if found is None:
        raise ValueError("not the URL of a proxy")
    parts, port = found
    if parts.scheme not in SCHEMES or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("not the URL of a proxy")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("not the URL of a proxy")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if ":" in user or not (user + password).isprintable():
        raise ValueError("not a user and password")
    return Proxy(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], user, password)


def _parts(text: str) -> tuple[SplitResult, int | None] | None:
    """Return a URL in its parts, and its port; None for what is none, for Python's words may hold half a password."""
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        return parts, parts.port
    except ValueError:
        return None
