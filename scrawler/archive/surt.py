"""SURT keys: the order in which archives look URLs up (`com,example)/path?query`).

The same keys as the package `surt` 0.3.1 makes, by which pywb looks up, for absolute http and https URLs in WHATWG
form whose host is not of dots alone. That package is not used itself: its last release is of 2019, it may ask DNS
about a host, takes 17 us a URL instead of 1.3, and brings four packages for a public suffix list that no key needs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

_URL = re.compile(rb"(https?)://(?:[^/?#]*@)?(\[[^\]/?#]*\]|[^:/?#]*)(?::([0-9]*))?([^?#]*)(?:\?([^#]*))?")
# Nearly all: nothing escaped or to escape, no "(" of a session id in the path, the query perhaps with one.
_SIMPLE: Final = re.compile(r"(https?://[^:/?#@\[%]*(?::[0-9]*)?)(/[!\"$&')->@-~]*)(?:\?([!\"$&-~]*))?")
_SESSION = re.compile(r"sid=|sessionid|cfid=")
_DEFAULT_PORTS = {b"http": b"80", b"https": b"443"}
_WWW = re.compile(rb"www[0-9]*\.")
_KEPT = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_PLAIN = re.compile(rb"[!\"$&-~]*")  # a path without '%' and without anything to escape
_PATH_SESSIONS = tuple(
    re.compile(rb"(.*/)" + session + rb"/([^?]+\.aspx.*)")
    for session in (rb"\((?:[a-z]\([0-9a-z]{24}\))+\)", rb"\([0-9a-z]{24}\)")
)
_QUERY_SESSIONS = tuple(
    re.compile(rb"(.*)" + session + rb"(?:&(.*))?", re.IGNORECASE)
    for session in (
        rb"jsessionid=[0-9a-z]{32}",
        rb"phpsessid=[0-9a-z]{32}",
        rb"sid=[0-9a-z]{32}",
        rb"aspsessionid[a-z]{8}=[a-z]{24}",
        rb"cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt(url: str) -> str:
    """Return the key of an absolute http or https URL; any other text is its own key."""
    simple = _SIMPLE.fullmatch(url)
    return (simple and _key_of_simple(*simple.groups())) or key_by_rule(url)


def key_by_rule(url: str) -> str:
    """Return the key as `surt` does, by trying all rules, which costs five times as much."""
    match = _URL.match(url.encode("utf-8", "surrogatepass"))
    if match is None:
        return url
    scheme, host, port, path, query = match.groups()
    key = b",".join(reversed(_host(host).split(b".")))
    if port and port != _DEFAULT_PORTS[scheme]:
        key += b":" + port
    key += b")" + _path(path)
    query = _query(query or b"")
    return (key + b"?" + query if query else key).decode("ascii")


def _key_of_simple(site: str, path: str, query: str | None) -> str | None:
    """Return the key of a URL cut by _SIMPLE, None where its path or its query needs the rules after all."""
    if "//" in path or "/." in path:
        return None
    path = path.lower()
    key = _site_key(site) + (path[1:-1] if path.endswith("/") else path[1:])
    if not query:
        return key
    query = query.lower()
    if _SESSION.search(query):
        return None
    if "&" in query:
        arguments = [argument.split("=", 1) for argument in query.split("&")]
        query = "&".join("=".join(argument) for argument in sorted(arguments))
    return f"{key}?{query}"


@lru_cache(maxsize=4096)
def _site_key(site: str) -> str:
    """Return the key of the front page of `site`, a URL up to its path."""
    return key_by_rule(site + "/")


def _host(host: bytes) -> bytes:
    host = _escaped(_unescaped(host.strip(b"[]")).replace(b"..", b".").strip(b".").lower())
    return _WWW.sub(b"", host, count=1) if _WWW.match(host) else host


def _path(path: bytes) -> bytes:
    kept: list[bytes] = []
    for segment in _unescaped(path).split(b"/")[1:]:
        if segment == b".." and kept:
            kept.pop()
        elif segment != b".":
            kept.append(segment)
    last = kept.pop() if kept else b""
    path = _escaped(b"/" + b"".join(segment + b"/" for segment in kept if segment) + last).lower()
    for session in _PATH_SESSIONS:
        path = session.sub(rb"\1\2", path) if session.fullmatch(path) else path
    return path[:-1] if len(path) > 1 and path.endswith(b"/") else path


def _query(query: bytes) -> bytes:
    query = _escaped(_unescaped(query))
    for session in _QUERY_SESSIONS:
        if match := session.fullmatch(query):
            query = match[1] + (match[2] or b"")
    arguments = [argument.split(b"=", 1) for argument in query.lower().split(b"&")]
    return b"&".join(b"=".join(argument) for argument in sorted(arguments))


def _unescaped(text: bytes) -> bytes:
    """Undo percent encoding until there is none."""
    while b"%" in text and (shorter := unquote_to_bytes(text)) != text:
        text = shorter
    return text


def _escaped(text: bytes) -> bytes:
    return text if _PLAIN.fullmatch(text) else quote_from_bytes(text, safe=_KEPT).encode("ascii")
