"""What a synthetic web is like: the few numbers from which all of it follows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scrawler.errors import SettingsError

MAX_SITES = 10_000_000  # there are so many addresses from 127.10.0.1 upwards


class Hosts(StrEnum):
    """How sites are told apart in URLs."""

    ADDRESSES = "addresses"  # 127.10.0.1:8400, 127.10.0.2:8400, ...: needs no set-up on Linux
    NAMES = "names"  # site0.synth.test:8400, ...: needs a resolver table
    PORTS = "ports"  # 127.0.0.1:8400, 127.0.0.1:8401, ...: where 127.0.0.1 is the only loopback address


class Validators(StrEnum):
    """What answers say of a page's version (ETag, Last-Modified)."""

    NONE = "none"
    TRUE = "true"  # and requests that name the version are answered with 304
    LYING = "lying"  # each site in its own way, see `validators.Lie`


@dataclass(frozen=True, slots=True)
class WebSpec:
    """Describes a web; two webs with equal specs (and ports) are equal byte for byte.

    Raises:
        SettingsError: a number is out of range.
    """

    seed: int = 1
    sites: int = 50
    mean_pages: int = 40  # mean pages of a site; sizes follow a bounded Pareto distribution
    max_pages: int = 0  # pages of the largest site; 0: 50 times the mean
    equal: bool = False  # whether every site has mean_pages pages, and none is an alias
    page_bytes: int = 14_000  # mean size of an HTML page; its links alone can need more
    links: int = 20  # mean number of links on a page
    latency_ms: float = 0.0  # mean over sites, heavy-tailed; 0: answers come at once
    latency_spread: float = 1.0  # sigma of the lognormal distribution of latencies; 0: all sites alike
    slow_share: float = 0.0  # share of pages that take seconds
    slow_sites: float = 0.25  # share of sites, spread evenly, that have all slow pages
    slow_ms: float = 8_000.0  # mean answering time of a slow page: half of it for sure, the rest exponential
    dead_share: float = 0.0  # share of sites whose hosts never answer: there is no connection to them
    bandwidth: int = 0  # bytes a second that the server sends, over all connections; 0: no limit
    hidden: float = 0.1  # share of a site's pages that its home page does not lead to
    alias_every: int = 20  # every n-th site only redirects to the one before it, like a www host; 0: none
    hosts: Hosts = Hosts.ADDRESSES
    changes: float = 0.0  # mean changes of a page a day, of those that change; 0: none does
    change_spread: float = 1.5  # sigma of the lognormal distribution of these; 0: all pages alike
    still: float = 0.0  # share of pages that never change
    periodic: float = 0.0  # share of those that change which do so at a fixed period
    bursty: float = 0.0  # share of those that change which do so in bursts; the rest are Poisson processes
    coming: float = 0.0  # share of the pages without children that are there for 15 to 60 days only
    validators: Validators = Validators.NONE
    noisy: bool = False  # whether each answer has a date, a counter and a token in it that mean nothing
    time_scale: float = 1.0  # virtual seconds a second
    epoch: float = 0.0  # seconds since 1970 when virtual time begins; 0: when the server starts

    def __post_init__(self) -> None:
        """Check the ranges."""
        limits: tuple[tuple[str, float, float], ...] = (
            ("sites", 1, MAX_SITES),
            ("mean_pages", 1, 100_000_000),
            ("max_pages", 0, 100_000_000),
            ("page_bytes", 0, 10_000_000),
            ("links", 3, 1_000),
            ("latency_ms", 0, 600_000),
            ("latency_spread", 0, 3),
            ("slow_share", 0, 1),
            ("slow_sites", 0, 1),
            ("slow_ms", 0, 600_000),
            ("dead_share", 0, 1),
            ("bandwidth", 0, 10**12),
            ("hidden", 0, 0.5),
            ("alias_every", 0, MAX_SITES),
            ("changes", 0, 1_440),
            ("change_spread", 0, 3),
            ("still", 0, 0.999),
            ("periodic", 0, 1),
            ("bursty", 0, 1),
            ("coming", 0, 1),
            ("time_scale", 1e-6, 1e9),
            ("epoch", 0, 1e11),
        )
        for name, low, high in limits:
            value = getattr(self, name)
            if not low <= value <= high:
                option = f"--{name.replace('_', '-')}"  # users know it by this name
                raise SettingsError(f"synthetic web: {option} is {value}, must be between {low:,} and {high:,}")
        if 0 < self.max_pages < self.mean_pages:
            raise SettingsError(f"synthetic web: --max-pages {self.max_pages} is below --mean-pages {self.mean_pages}")
        if self.slow_share > self.slow_sites:
            above = f"--slow-share {self.slow_share} is above --slow-sites {self.slow_sites}"
            raise SettingsError(f"synthetic web: {above}")
        if self.periodic + self.bursty > 1:
            raise SettingsError("synthetic web: --periodic and --bursty together are above 1")
        if self.alias_every == 1:
            raise SettingsError("synthetic web: --alias-every is 1, but an alias needs a site to lead to")
