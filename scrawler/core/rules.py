"""The settings that the crawling threads follow, in one object for all: it can be changed while they run.

`CrawlRules` is a view of `Settings`: a field has the name of its setting, and takes its value from there. Hosts with
settings of their own have a view of their own, found once when a site or an origin is made; all others have None, and
follow the one for all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from scrawler.fetch.downloader import FetchLimits
from scrawler.fetch.given import GivenFiles
from scrawler.fetch.proxies import EnvironmentProxies, no_environment
from scrawler.model.proxy import NO_PROXY, Proxy, basic, read_proxy
from scrawler.model.scope import Scope
from scrawler.model.terms import Millis
from scrawler.settings import ANY_WAY, Settings, Way, of_tables, read_header, read_pattern, tables_for, withheld
from scrawler.urls.scope import host_port
from scrawler.urls.wanted import UrlPatterns, url_patterns

_AUTHORIZATION = "Authorization"
_NOT_IN_CLEAR = "not sent to http:// URLs, which have no TLS"
_HTTP_PORTS = 80, 443  # what a site's key without a port may stand for


@dataclass(frozen=True, slots=True)
class SeedLimits:
    """Limits of one seed; None means no limit."""

    max_depth: int
    max_pages: int | None = None
    max_bytes: int | None = None
    max_time_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class CrawlRules:
    """Times in seconds unless the name says otherwise. Guarded by the machine's turn."""

    scope: Scope
    delay: float
    per_site: int
    retries: int
    depth_buffer: int  # entries of a lane that are kept in memory to be read
    checkpoint_interval: float
    checkpoint_pages: int
    stop_timeout: float
    per_ip: int
    delay_per_ip: float
    delay_factor: float
    delay_cap: float
    max_crawl_delay: float
    max_retry_after: float
    max_pushbacks: int
    max_failures: int
    outage_patience: float
    timeout: float
    patience: float
    slow_timeout: float
    slow_delay: float
    slow_per_site: int
    slow_pass: str  # "party" or "crawl"
    robots: bool
    obey_meta: bool
    cookies: bool
    accept: tuple[str, ...]  # media ranges; none: all
    insecure: bool
    sitemaps: str  # "off", "seed" or "also"
    traps: bool
    trap_pages: int
    trap_yield: float
    near_duplicates: str  # "off", "doubt" or "all"
    settings: Settings = field(repr=False)  # of which it was made: features find theirs there
    # What several settings say together, or in another unit.
    retry_pause_ms: int
    limits: SeedLimits
    capacity: int  # seeds that a collector holds at most
    www: bool  # www.example.org and example.org are one site
    patterns: UrlPatterns | None  # which URLs are wanted, if that is said
    fetch: FetchLimits  # what the downloader needs of the settings
    logins: Mapping[str, tuple[str, str]] = field(repr=False)  # users and passwords by host
    without_proxy: bool  # whether there is none, whatever the environment says
    most_in_flight: int = field(init=False)  # requests that a site may have, in whatever lane
    longest_retry_ms: Millis = field(init=False)  # pause of a URL before its last retry
    longest_rest_ms: Millis = field(init=False)  # of a site, whatever it asks for and however it fails

    @classmethod
    def of(cls, settings: Settings, files: GivenFiles | None = None) -> CrawlRules:
        """Return the rules that settings make; `files` has read those that they name, as far as it knows them."""
        files = files or GivenFiles()
        max_time_ms = None if settings.max_time is None else int(settings.max_time * 1000)
        derived: dict[str, Any] = {
            "settings": settings,
            "retry_pause_ms": int(settings.retry_pause * 1000),
            "limits": SeedLimits(settings.max_depth, settings.max_pages, settings.max_bytes, max_time_ms),
            "capacity": settings.seeds_per_thread,
            "www": "www" in settings.normalise,
            "patterns": url_patterns(settings.include, settings.exclude),
            "fetch": fetch_limits(settings, files),
            "logins": {} if settings.netrc is None else files.logins(settings.netrc),
            "without_proxy": settings.proxy is not None and settings.proxy.get_secret_value() == NO_PROXY,
        }
        named = (one.name for one in fields(cls) if one.init and one.name not in derived)
        return cls(**{name: getattr(settings, name) for name in named}, **derived)

    def __post_init__(self) -> None:
        """Compute what is asked for with each request.

        A stored time that is farther off than the longest pause of its kind was never owed: the clock was set back
        after it was written.
        """
        self.most_in_flight = max(self.per_site, self.slow_per_site)
        self.longest_retry_ms = retry_pause_ms(self.retries + 1, self.retry_pause_ms)
        pauses = self.delay, self.slow_delay, self.delay_cap, self.max_crawl_delay, self.max_retry_after
        self.longest_rest_ms = max(int(max(pauses) * 1000), self.longest_retry_ms)

    def change_to(self, other: CrawlRules) -> None:
        """Take over all that another one says."""
        fetch = self.fetch if self.fetch == other.fetch else other.fetch  # downloaders know theirs by its identity
        for one in fields(self):
            setattr(self, one.name, getattr(other, one.name))
        self.fetch = fetch


class HostRules:
    """The rules of the crawl, and those of hosts that have settings of their own.

    Hosts for which the same tables hold share a view. Guarded by a lock of its own: sites are taken up without the
    machine's turn.
    """

    def __init__(self, settings: Settings, environment: EnvironmentProxies | None = None) -> None:
        """Take the rules from settings, and proxies for which these say nothing from what the environment names."""
        files = GivenFiles()
        self.shared = CrawlRules.of(settings, files)
        self._environment = environment or no_environment()
        self._ways: dict[FetchLimits, FetchLimits] = {}
        self._settings = settings
        self._files = files
        self._views: dict[tuple[tuple[str, ...], Way], CrawlRules] = {}
        self._lock = threading.Lock()
        self._withheld: dict[str, str] = {}  # table, or netrc -> what is said of it; empty once it was said
        self._all_plain = self._are_all_plain()
        self.longest_rest_ms = self._longest_rest_ms()  # of any site

    @property
    def any(self) -> bool:
        """Whether a host has settings of its own."""
        return bool(self._settings.sites)

    def of_site(self, key: str) -> CrawlRules | None:
        """Return the rules of a site, by its key, if it has any of its own."""
        return self._view(tables_of_site(self._settings, key)) if self.any else None

    def of_origin(self, origin: str) -> CrawlRules | None:
        """Return the rules of an origin, `scheme://host[:port]`, if it has any of its own."""
        if not self.any:
            return None
        url = f"{origin}/"
        return self._view(tables_of_url(self._settings, url), Way.to(url), host_port(url)[1])

    def _view(self, names: tuple[str, ...], way: Way = ANY_WAY, port: int = 0) -> CrawlRules | None:
        if not names:
            return None
        key = names, way
        with self._lock:
            if key not in self._views:
                self._views[key] = self._rules_of(names, way)
                self._note_withheld(self._left(names), way, port)
            return self._views[key]

    def _left(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names of tables without those that were taken back since they were found."""
        return tuple(name for name in names if name in self._settings.sites)

    def _rules_of(self, names: Iterable[str], way: Way = ANY_WAY) -> CrawlRules:
        return CrawlRules.of(of_tables(self._settings, self._left(names), way), self._files)

    def _note_withheld(self, names: tuple[str, ...], way: Way, port: int) -> None:
        for name, keys in withheld(self._settings, names, way).items():
            pattern = read_pattern(name)
            in_clear = way.in_clear and not pattern.in_clear
            wanted = replace(
                pattern,
                in_clear=pattern.in_clear or way.in_clear,
                port=port if way.other_port else pattern.port,
            )
            why = _NOT_IN_CLEAR if in_clear else f"not sent to port {port}, which is not named"
            what = f'{", ".join(keys)} of [sites."{name}"]'
            self._withheld.setdefault(name, f'{why}: {what}; in [sites."{wanted}"] it would be')

    def withheld(self) -> list[str]:
        """Return a line for each table, and for netrc, that was first left out of a request since this was last asked.

        What is given for a host goes there over TLS alone, and so not to its http:// URLs.
        """
        with self._lock:
            lines = [line for line in self._withheld.values() if line]
            self._withheld = dict.fromkeys(self._withheld, "")
        return lines

    def fetch_at(self, origin: str, own: CrawlRules | None, address: str) -> FetchLimits | None:
        """Return how an origin with this address, empty if it has none, is asked; None: as the downloader asks others.

        All that is said of a host, and so each secret, goes with a request because of the host that it is for, and not
        because of another request from which it came.
        """
        if own is None and self._all_plain:
            return None
        rules = own or self.shared
        scheme = origin.partition(":")[0]
        host, port = host_port(f"{origin}/")
        proxy, headers = rules.fetch.proxy, rules.fetch.headers
        if proxy is None and self._environment.by_scheme and not rules.without_proxy:
            proxy = self._environment.proxy_for(scheme, host, port, address)
        if not any(name.lower() == _AUTHORIZATION.lower() for name, _ in headers):
            login = self._login(scheme, host, own)
            headers = headers if login is None else (*headers, login)
        if proxy is rules.fetch.proxy and headers is rules.fetch.headers:
            return rules.fetch if own is not None or not rules.fetch.is_plain else None
        changed = replace(rules.fetch, proxy=proxy, headers=headers)
        with self._lock:
            return self._ways.setdefault(changed, changed)

    def _login(self, scheme: str, host: str, own: CrawlRules | None) -> tuple[str, str] | None:
        """Return the header that logs in at a host, where there is a login for it; in clear only a table sends one."""
        in_table = own is not None and bool(own.logins)  # the rules for http:// have none that are for all
        if scheme == "https" or in_table:
            login = (own or self.shared).logins.get(host)
            if login is not None:
                return _AUTHORIZATION, basic(*login)
        if scheme == "http" and host in self.shared.logins:
            with self._lock:
                where = f'[sites."http://{host}"]'
                self._withheld.setdefault("netrc", f"{_NOT_IN_CLEAR}: what netrc says; named in {where} it would be")
        return None

    def change_to(self, settings: Settings) -> bool:
        """Follow other settings from now on; tell whether other hosts than before may have some of their own."""
        with self._lock:
            others = set(self._settings.sites) != set(settings.sites)
            self._settings = settings
            self.shared.change_to(CrawlRules.of(settings, self._files))
            for (names, way), view in self._views.items():
                view.change_to(self._rules_of(names, way))
            self._all_plain = self._are_all_plain()
            self.longest_rest_ms = self._longest_rest_ms()
            return others

    def _are_all_plain(self) -> bool:
        """Tell whether nothing is said of hosts but in tables of their own."""
        return self.shared.fetch.is_plain and not (self.shared.logins or self._environment.by_scheme)

    def _longest_rest_ms(self) -> Millis:
        of_hosts = [self._rules_of([name]) for name in self._settings.sites]
        return max(rules.longest_rest_ms for rules in (self.shared, *of_hosts))


def tables_of_site(settings: Settings, key: str) -> tuple[str, ...]:
    """Return the names of the tables of settings that hold for a site, the most specific one last."""
    host, port = host_port(f"http://{key}/")
    return tables_for(settings.sites, host, _HTTP_PORTS if port in _HTTP_PORTS else (port,))


def tables_of_url(settings: Settings, url: str) -> tuple[str, ...]:
    """Return the names of the tables of settings that hold for the host of a URL, the most specific one last."""
    host, port = host_port(url)
    return tables_for(settings.sites, host, (port,), url.startswith("http:"))


def proxy_of(settings: Settings) -> Proxy | None:
    """Return the proxy that the settings name, if any."""
    return None if settings.proxy is None else read_proxy(settings.proxy.get_secret_value())


def fetch_limits(settings: Settings, files: GivenFiles) -> FetchLimits:
    """Return what a downloader needs of the settings."""
    return FetchLimits(
        settings.user_agent,
        settings.connect_timeout,
        settings.timeout,
        settings.max_body,
        connections=settings.seeds_per_thread * settings.per_site + 2,
        tls_verify=not settings.insecure,
        accept=settings.accept,
        max_head=settings.max_headers,
        proxy=proxy_of(settings),
        headers=_headers(settings),
        cookies=None if settings.cookie_file is None else files.cookies(settings.cookie_file),
        certificate=_certificate(settings, files),
        ca_file="" if settings.ca_file is None else files.name(settings.ca_file, "ca_file"),
        archives_secrets=settings.archive_secrets,
    )


def _headers(settings: Settings) -> tuple[tuple[str, str], ...]:
    given = tuple(read_header(one.get_secret_value()) for one in settings.header)
    if settings.user is None or any(name.lower() == _AUTHORIZATION.lower() for name, _ in given):
        return given
    password = "" if settings.password is None else settings.password.get_secret_value()
    return (*given, (_AUTHORIZATION, basic(settings.user, password)))


def _certificate(settings: Settings, files: GivenFiles) -> tuple[str, str] | None:
    if settings.certificate is None:
        return None
    key = settings.certificate_key or settings.certificate
    return files.name(settings.certificate, "certificate"), files.name(key, "certificate_key")


def retry_pause_ms(attempt: int, first_pause_ms: int) -> int:
    """Pause before the next attempt: doubled each time, the same for all entries of one retry lane."""
    return int(first_pause_ms * 2 ** (attempt - 1))
