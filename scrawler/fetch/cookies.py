"""Cookies of one party (RFC 6265): what its servers set goes back to them, and to nobody else.

Of its successor (draft-ietf-httpbis-rfc6265bis, 5.6 to 5.8) come the rules on secure cookies: without TLS none can be
set, nor replaced, and the prefixes `__Secure-` and `__Host-` of a name hold whoever sets it to what they promise. So do
those on cookies without a name, as browsers keep them: what is sent back is the value alone.

A jar is kept with its party: cookies of the session too, for a restart, a rest or another machine is no new session to
a site that sets its cookie on the front page, which is fetched once, and wants it on all others.

The standard library's http.cookiejar follows the older rules of Netscape and RFC 2965, knows neither public suffixes
nor bounds, and takes 23 us for a Cookie header where this takes 3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import inf
from time import time
from typing import NamedTuple

from scrawler.dates import cookie_date
from scrawler.fetch.wire import RequestTarget, header_values, split_url
from scrawler.urls.scope import is_public_suffix

MAX_COOKIE = 4096  # bytes of name and value
MAX_PER_DOMAIN = 50
MAX_PER_JAR = 200
MAX_HEADER = 4096 - len("Cookie: \r\n")  # bytes of what it says: many servers refuse a longer line (431, 400)
MAX_KEPT = 65_536  # bytes of a jar in the database

_MAX_SET = MAX_PER_DOMAIN  # Set-Cookie headers that are read of one answer
_MAX_ATTRIBUTE = 1024  # bytes of an attribute; a longer one is ignored
_MAX_AGE = 400 * 86_400  # seconds for which a cookie lives at most
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # characters that could end the header in which they are sent
_AGE = re.compile(r"-?[0-9]+")
_PAIR = re.compile(r"[\t -<>-~\x80-\xff]*=[\t -~\x80-\xff]*")
_PREFIXES = ("__host-", "__secure-")  # names that begin so, in any case, have conditions (RFC 6265bis, 4.1.3)
_encode = json.JSONEncoder(separators=(",", ":")).encode  # what it writes is ASCII

# The parts of a cookie-date (RFC 6265, 5.1.1), in the order in which a token is tried for them.


class SetCookie(NamedTuple):
    """What a Set-Cookie header says. `expires_at` is in seconds since 1970: -inf for long ago, inf for never."""

    name: str
    value: str
    domain: str = ""  # lower case, without a dot before it
    path: str = ""  # empty for the default path
    secure: bool = False
    expires_at: float = inf


@dataclass(slots=True)
class _Cookie:
    pair: str  # name and value as they are sent
    host_only: bool
    path: str
    secure: bool
    expires_at: float
    created: int = field(compare=False)  # number of its first setting, which the jar counts
    used: int = field(compare=False)
    set_at: int = field(compare=False)  # number of its last setting


class CookieJar:
    """The cookies of one party, bounded; where there is no room, the one that was not used for longest goes.

    Guarded by the machine's turn, as its party is.
    """

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self.changed = False  # whether there is something new since it was dumped, or made
        self._clock = clock
        self._domains: dict[str, dict[tuple[str, str], _Cookie]] = {}  # domain -> (name, path) -> cookie
        self._counter = count()

    @classmethod
    def load(cls, data: bytes, clock: Callable[[], float] = time) -> CookieJar:
        """Make the jar that `dump` has written, without what has expired since; of damaged data an empty one."""
        jar, now = cls(clock), clock()
        for domain, pair, host_only, path, secure, expires_at in _loaded(data):
            if expires_at > now:
                jar._make_room(domain, now)
                tick = next(jar._counter)
                name, _, value = pair.partition("=")
                cookie = _Cookie(_as_sent(name, value), host_only, path, secure, expires_at, tick, tick, tick)
                jar._domains.setdefault(domain, {})[name, path] = cookie
        return jar

    def dump(self) -> bytes:
        """Return the cookies for `load`: JSON of at most 64 KiB, without those that were not used for longest."""
        now, room = self._clock(), MAX_KEPT - len("[]")
        alive = [
            (domain, name, cookie)
            for domain, cookies in self._domains.items()
            for (name, _), cookie in cookies.items()
            if cookie.expires_at > now
        ]
        alive.sort(key=lambda one: (-one[2].used, one[2].created))
        kept = []
        for domain, name, cookie in alive:
            expires_at = None if cookie.expires_at == inf else cookie.expires_at
            pair = cookie.pair if name else f"={cookie.pair}"
            text = _encode([domain, pair, cookie.host_only, cookie.path, cookie.secure, expires_at])
            if len(text) < room:
                room -= len(text) + len(",")
                kept.append((cookie.created, text))
        self.changed = False
        return f"[{','.join(text for _, text in sorted(kept))}]".encode()

    def __len__(self) -> int:
        return sum(map(len, self._domains.values()))

    def take(self, url: str, head: bytes) -> None:
        """Keep the cookies that the answer with this raw head sets (RFC 6265, 5.3); `url` is what was asked for."""
        target = split_url(url)
        if target is None:
            return
        now = self._clock()
        for text in header_values(head, "set-cookie")[:_MAX_SET]:
            parsed = parse_set_cookie(text, now)
            if parsed is not None:
                self._store(target, parsed, now)

    def header(self, url: str) -> str:
        """Return the value of the Cookie header for a request (RFC 6265, 5.4), empty if there is none to send."""
        target = split_url(url)
        if target is None:
            return ""
        secure, now = target.scheme == "https", self._clock()
        path = target.path.partition("?")[0]
        fitting = [
            cookie
            for domain, cookies in self._domains.items()
            if _is_within(target.host, domain)
            for cookie in cookies.values()
            if (not cookie.host_only or domain == target.host)
            and (secure or not cookie.secure)
            and cookie.expires_at > now
            and _path_matches(path, cookie.path)
        ]
        return "; ".join(self._sendable(fitting))

    def _sendable(self, cookies: list[_Cookie]) -> list[str]:
        """Put cookies in the order in which they are sent, as many as fit: the oldest ones stay here."""
        room, tick = MAX_HEADER + len("; "), next(self._counter)
        sent = []
        for cookie in sorted(cookies, key=lambda cookie: cookie.set_at, reverse=True):
            length = len(cookie.pair) + len("; ")
            if length > room:
                continue  # the small cookies behind a large one still go out
            room -= length
            cookie.used = tick
            sent.append(cookie)
        sent.sort(key=lambda cookie: (-len(cookie.path), cookie.created))
        return [cookie.pair for cookie in sent]

    def _store(self, target: RequestTarget, parsed: SetCookie, now: float) -> None:
        host, domain = target.host, parsed.domain or target.host
        if domain != host and (is_public_suffix(domain) or not _is_within(host, domain)):
            return  # the domain is not the host's own, or is a public suffix of many sites
        host_only = not parsed.domain or (domain == host and is_public_suffix(host))
        path = parsed.path or _default_path(target.path)
        if not _keeps_its_promise(target, parsed):
            return
        if target.scheme != "https" and self._would_cover(parsed.name, domain, path, now):
            return
        key = parsed.name, path
        cookies = self._domains.get(domain, {})
        known = cookies.pop(key, None)
        if parsed.expires_at > now:
            self._make_room(domain, now)
            tick = next(self._counter)
            pair, created = _as_sent(parsed.name, parsed.value), known.created if known else tick
            cookies[key] = made = _Cookie(pair, host_only, path, parsed.secure, parsed.expires_at, created, tick, tick)
            self._domains[domain] = cookies
            self.changed = self.changed or made != known
        elif known is not None:
            self.changed = True
            if not cookies:
                del self._domains[domain]

    def _would_cover(self, new: str, domain: str, path: str, now: float) -> bool:
        """Tell whether a cookie of the name `new`, set without TLS, would replace or hide a secure one."""
        return any(
            cookie.secure and name == new and cookie.expires_at > now and _path_matches(path, of_cookie)
            for known, cookies in self._domains.items()
            if _is_within(known, domain) or _is_within(domain, known)
            for (name, of_cookie), cookie in cookies.items()
        )

    def _make_room(self, domain: str, now: float) -> None:
        """Let go of a cookie where one more would be too many: one that has expired, or was not used for longest."""
        if len(self._domains.get(domain, ())) >= MAX_PER_DOMAIN:
            among = [domain]
        elif len(self) >= MAX_PER_JAR:
            among = list(self._domains)
        else:
            return
        _, _, where, key = min(
            (cookie.expires_at > now, cookie.used, where, key)
            for where in among
            for key, cookie in self._domains[where].items()
        )
        del self._domains[where][key]
        if not self._domains[where]:
            del self._domains[where]


def _loaded(data: bytes) -> list[tuple[str, str, bool, str, bool, float]]:
    """Read what `dump` has written: domain, pair, host-only, path, secure, expiry; nothing if any of it is damaged."""
    found = []
    try:
        for domain, pair, host_only, path, secure, expires_at in json.loads(data) if len(data) <= MAX_KEPT else ():
            fits = _PAIR.fullmatch(pair) and len("=") < len(pair) <= MAX_COOKIE + 1
            if not (fits and domain.strip() and path.startswith("/")):
                return []
            expires = inf if expires_at is None else float(expires_at)
            found.append((domain, pair, host_only is not False, path, secure is not False, expires))
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return []
    return found


def parse_set_cookie(text: str, now: float) -> SetCookie | None:
    """Read the value of a Set-Cookie header (RFC 6265, 5.2); None for what sets no cookie.

    Without a name, or without "=", it sets one that has a value alone; but none whose value would be taken for a name
    with a prefix (rfc6265bis, 5.6 and 5.7). A header with control characters, or of more than 4 KiB of name and value,
    sets none.
    """
    pair, _, rest = text.partition(";")
    name, equals, value = pair.partition("=")
    if not equals:
        name, value = "", name
    name, value = name.strip(" \t"), value.strip(" \t")
    if not name and (not value or value.lower().startswith(_PREFIXES)):
        return None
    if len(name) + len(value) > MAX_COOKIE or _CONTROL.search(text):
        return None
    cookie = SetCookie(name, value)
    max_age: float | None = None
    for attribute in rest.split(";"):
        key, _, given = attribute.partition("=")
        key, given = key.strip(" \t").lower(), given.strip(" \t")
        if len(given) > _MAX_ATTRIBUTE:
            continue
        if key == "expires" and (at := cookie_date(given)) is not None:
            cookie = cookie._replace(expires_at=at / 1000)
        elif key == "max-age" and _AGE.fullmatch(given):
            max_age = now + min(int(given), _MAX_AGE) if int(given) > 0 else -inf
        elif key == "domain" and given.removeprefix("."):
            cookie = cookie._replace(domain=given.removeprefix(".").lower())
        elif key == "path":
            cookie = cookie._replace(path=given if given.startswith("/") else "")
        elif key == "secure":
            cookie = cookie._replace(secure=True)
    return cookie if max_age is None else cookie._replace(expires_at=max_age)


def _as_sent(name: str, value: str) -> str:
    return f"{name}={value}" if name else value


def _keeps_its_promise(target: RequestTarget, parsed: SetCookie) -> bool:
    """Tell whether a cookie is set as its attributes, and the prefix of its name in any case, ask for."""
    if target.scheme == "https" and parsed.secure:
        name = parsed.name.lower()
        return not name.startswith("__host-") or (parsed.path == "/" and not parsed.domain)
    return not (parsed.secure or parsed.name.lower().startswith(_PREFIXES))


def _is_address(host: str) -> bool:
    return ":" in host or host.rpartition(".")[2].isdigit()


def _is_within(host: str, domain: str) -> bool:
    """Tell whether a host is a domain, or a name in it (RFC 6265, 5.1.3)."""
    return host == domain or (host.endswith("." + domain) and not _is_address(host))


def _default_path(path: str) -> str:
    """Return the folder of a request's path, for a cookie that names no path (RFC 6265, 5.1.4)."""
    return path.partition("?")[0].rpartition("/")[0] or "/"


def _path_matches(path: str, of_cookie: str) -> bool:
    """Tell whether a request's path is a cookie's, or lies below it (RFC 6265, 5.1.4)."""
    return path.startswith(of_cookie) and (of_cookie[-1] == "/" or path[len(of_cookie) :][:1] in ("", "/"))
