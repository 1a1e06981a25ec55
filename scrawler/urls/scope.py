"""To whom a URL belongs: its site (the unit of ownership) and whether it is internal to a seed.

All functions take normalised URLs, `scheme://host[:port]/...`, and slice them; nothing is parsed again.
`www.` is a host of its own. http and https with the same authority are one site. So are `a.example` and `a.example.`,
which are one name to the DNS: a URL keeps the dot, and is asked for with it, as browsers do, but keys have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Protocol

from publicsuffixlist import PublicSuffixList

from scrawler.model.scope import Scope
from scrawler.urls.normalise import HTTP_SCHEMES

_DOMAINS_KEPT = 16_384  # hosts whose registrable domain is remembered


def authority(url: str) -> str:
    """Return host[:port]; the port stands only where it is not the scheme's own."""
    start = 8 if url[4] == "s" else 7
    return url[start : url.index("/", start)]


def origin(url: str) -> str:
    """Return scheme://host[:port], without a slash at the end."""
    return url[: url.index("/", 8)]


def folder_of(url: str) -> str:
    """Return the URL without its query and last segment: up to the last slash of its path."""
    path = url[: url.index("?")] if "?" in url else url
    return path[: path.rindex("/") + 1]


def with_authority(url: str, aliases: Mapping[str, str]) -> str:
    """Return the URL with the authority under which its site is known, if `aliases` names one for its own."""
    known = aliases.get(authority(url))
    return url if known is None else url[: url.index("//") + 2] + known + url[url.index("/", 8) :]


def host_port(url: str) -> tuple[str, int]:
    """Return the host, an IPv6 literal without its brackets, and the port to connect to."""
    host, port = _split(authority(url))
    default = 443 if url[4] == "s" else 80
    return host.strip("[]"), int(port) if port else default


def _split(netloc: str) -> tuple[str, str]:
    """Split an authority in host (with the brackets of IPv6) and port, empty where it has none."""
    host, _, port = netloc.rpartition(":")
    return (host, port) if host and not netloc.endswith("]") else (netloc, "")


def _without_final_dot(netloc: str) -> str:
    """Return an authority whose host does not end in a dot; a host that is nothing else keeps it."""
    host, port = _split(netloc)
    if len(host) < 2 or host[-1] != ".":
        return netloc
    return f"{host[:-1]}:{port}" if port else host[:-1]


def site_key(url: str, scope: Scope) -> str:
    """Return the key of the site that owns a URL: host[:port], or for `domain` the registrable domain.

    A domain's ports are all one site, as its hosts are. No key ends in the dot that a host may have at its end.
    """
    netloc = authority(url)
    return registrable_domain(_split(netloc)[0]) if scope is Scope.DOMAIN else _without_final_dot(netloc)


@lru_cache(maxsize=_DOMAINS_KEPT)
def registrable_domain(host: str) -> str:
    """Return a host's registrable domain by the Public Suffix List, its private part included.

    An IP literal, a host of a single label and a host that is itself a public suffix are their own domain.
    """
    host = _without_final_dot(host)
    return host if _is_address(host) else _suffixes().privatesuffix(host) or host


def has_domain(host: str) -> bool:
    """Whether a host is, or stands below, a domain that somebody could register."""
    return not _is_address(host) and _suffixes().privatesuffix(host) is not None


def _is_address(host: str) -> bool:
    last = host.rpartition(".")[2]
    return last.isdigit() or last.endswith("]")  # the standard makes every host that ends in a number an IPv4 address


def is_public_suffix(name: str) -> bool:
    """Tell whether a domain name is a public suffix, such as `com`, `co.uk` or `github.io`, or of a single label."""
    return _suffixes().privatesuffix(name) is None


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # this reads a file of 10,000 rules, and waits until somebody needs it


class ScopeRule(Protocol):
    """Says what is internal to a party: of the URLs in one folder either all or none."""

    def contains(self, url: str) -> bool:
        """Whether a normalised URL is internal."""


@dataclass(frozen=True, slots=True)
class PrefixRule:
    """Internal is what starts like the seed: with its host, or with its folder."""

    prefixes: tuple[str, ...]  # what internal URLs begin with: http and https, with a dot at the host's end and without

    def contains(self, url: str) -> bool:
        """Whether a normalised URL is internal."""
        return url.startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class DomainRule:
    """Internal is what has the seed's registrable domain, or one from which it has moved."""

    domains: frozenset[str]

    def contains(self, url: str) -> bool:
        """Whether a normalised URL is internal."""
        return registrable_domain(_split(authority(url))[0]) in self.domains


def scope_of(seed_url: str, scope: Scope, moved_from: Iterable[str] = ()) -> ScopeRule:
    """Return the rule for a seed; `prefix` is the path up to its last slash, as with wget's --no-parent.

    `moved_from` are URLs that have led to the seed's: what is like one of them is internal as well.
    """
    urls = dict.fromkeys((seed_url, *moved_from))
    if scope is Scope.DOMAIN:
        return DomainRule(frozenset([site_key(url, scope) for url in urls]))
    return PrefixRule(tuple([prefix for url in urls for prefix in _prefixes(url, scope)]))


def _prefixes(seed_url: str, scope: Scope) -> list[str]:
    path = "/"
    if scope is Scope.PREFIX:
        path = folder_of(seed_url)[len(origin(seed_url)) :]
    netlocs = _with_and_without_dot(authority(seed_url))
    return [scheme + netloc + path for netloc in netlocs for scheme in HTTP_SCHEMES]


def moved_with(home_url: str, given: str, between: Iterable[str], scope: Scope) -> list[str]:
    """Return the URLs of other sites that lead to a seed's home, and whose scopes belong to it: see `scope_of`.

    That are the one that the user gave, and of those between them such as have the domain of one of both. What has led
    on alone (a sign-on, a list of short links) is no part of the site.
    """
    own = {registrable_domain(host_port(url)[0]) for url in (home_url, given)}
    near = [url for url in between if registrable_domain(host_port(url)[0]) in own]
    return [url for url in dict.fromkeys((given, *near)) if site_key(url, scope) != site_key(home_url, scope)]


def is_reachable(url: str, depth: int, key: str, given: str, home_url: str, scope: Scope) -> bool:
    """Tell whether a seed can ask again for a URL that it has asked for: its site is `key` now.

    That is a URL of this site, or of one whose hosts belong to it since it has moved. What has led it here is not
    asked for again.
    """
    of_url = site_key(url, scope)
    if of_url in (key, site_key(home_url, scope)):
        return True
    led = moved_with(home_url, given, (url,), scope) if depth > 0 else []
    return any(site_key(one, scope) == of_url for one in led)


def joined_at(home_url: str, key: str, scope: Scope) -> tuple[str, ...]:
    """Return where a seed's own URL would stand at the site with a key, if that is another one than its own.

    Its own site has moved there before it was a seed.
    """
    if site_key(home_url, scope) == key:
        return ()
    return (f"http://{key}{home_url[len(origin(home_url)) :]}",)


def _with_and_without_dot(netloc: str) -> list[str]:
    """Return an authority, and the one that differs by a dot at the end of its host if that is a name."""
    bare = _without_final_dot(netloc)
    host, port = _split(bare)
    if _is_address(host) or host == ".":
        return [netloc]
    dotted = f"{host}.:{port}" if port else f"{host}."
    return [bare, dotted]
