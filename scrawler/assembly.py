"""Builds a machine: the one place where parts, store, archive and threads are put together."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from scrawler import __version__
from scrawler.archive.warc import WarcWriter
from scrawler.crawl.answers import AnswerHandler
from scrawler.crawl.checkpointer import Checkpointer
from scrawler.crawl.clock import DatabaseClock
from scrawler.crawl.collector import CollectorPorts, UrlCollector
from scrawler.crawl.decisions import SeedLimits
from scrawler.crawl.distributor import Distribution, FreeCompetition, SeedIdQueue, UrlDistributor
from scrawler.crawl.landing import Landing
from scrawler.crawl.lease import Lease
from scrawler.crawl.lister import SitemapLister
from scrawler.crawl.machine import Machine
from scrawler.crawl.origins import ROBOTS_KEPT, Origins
from scrawler.crawl.parties import Parties
from scrawler.crawl.pipeline import PagePipeline
from scrawler.crawl.reading import AnswerReader
from scrawler.crawl.rules import CrawlRules
from scrawler.crawl.seen import MemoryBudget, SeenFilter
from scrawler.crawl.selector import SelectorPorts, UrlSelector
from scrawler.crawl.sharing import ServerSharing
from scrawler.crawl.site import SiteContext
from scrawler.crawl.takeup import SiteTaker
from scrawler.crawl.visits import Visits
from scrawler.extract.directives import EVERY_ROBOT
from scrawler.extract.links import LinkExtractor, LinkPolicy
from scrawler.fetch.downloader import Downloader, FetchLimits
from scrawler.fetch.resolver import Resolver
from scrawler.model import LEASE
from scrawler.plugins import load_part
from scrawler.settings import Settings
from scrawler.store.checkpoints import Checkpoints
from scrawler.store.claims import Claims
from scrawler.store.engine import Database
from scrawler.store.frontier import Frontier
from scrawler.store.robots import RobotsCopies
from scrawler.store.seeds import Seeds
from scrawler.store.servers import Servers
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.filetype import refused_types
from scrawler.urls.scope import ScopeRule
from scrawler.urls.steps import make_steps
from scrawler.urls.traps import UrlLimits

# The parts to choose among, imported by name when they are chosen.
DOWNLOADERS = {
    "curl": "scrawler.fetch.curl:CurlDownloader",
    "requests": "scrawler.fetch.requests:RequestsDownloader",
}
EXTRACTORS = {
    "lexbor": "scrawler.extract.lexbor:LexborExtractor",
    "html5lib": "scrawler.extract.html5lib:Html5libExtractor",
}
SEEN_FILTERS = {
    "rbloom": "scrawler.crawl.seen:rbloom_seen",
    "pybloom": "scrawler.crawl.seen:pybloom_seen",
    "exact": "scrawler.crawl.seen:ExactSeen",
}

_LEASE_MARGIN = 3.0  # seconds before the end of its lease at which a machine stops to start requests
_RECORDS_HELD = 65_536  # bytes of WARC records that wait in memory for the next checkpoint, or for company
_ROWS_WAITING = 20_000  # rows that may wait for the checkpointer before collectors pause


def _resolve_table(entries: tuple[str, ...]) -> dict[str, str]:
    return {host: address for host, _, address in (entry.partition("=") for entry in entries)}


@dataclass(frozen=True, slots=True)
class Stores:
    """The parts of the store that a machine uses."""

    claims: Claims
    checkpoints: Checkpoints
    frontier: Frontier
    seeds: Seeds
    robots: RobotsCopies
    servers: Servers
    clock: DatabaseClock

    @classmethod
    def of(cls, database: Database, machine_id: int) -> Stores:
        """Make the parts for one machine."""
        return cls(
            claims=Claims(database, machine_id),
            checkpoints=Checkpoints(database, machine_id),
            frontier=Frontier(database),
            seeds=Seeds(database),
            robots=RobotsCopies(database),
            servers=Servers(database, machine_id),
            clock=DatabaseClock(),
        )


def build_machine(
    settings: Settings,
    stores: Stores,
    archive: WarcWriter,
    stop: threading.Event,
    promote: Callable[[], int],
    machines: int = 1,
) -> tuple[Machine, Resolver]:
    """Build a machine of `settings.threads` collectors with its selector, distribution and checkpointer.

    `machines` is how many share the crawl at first.
    """
    queue = SeedIdQueue(max(settings.threads * 2, 40))
    rules = crawl_rules(settings)
    lease = Lease(LEASE / 1000, _LEASE_MARGIN)
    machine = Machine(queue, stop, rules, lease, settings.threads, machines)
    resolver = Resolver(
        threads=settings.dns_threads,
        static=_resolve_table(settings.resolve),
        allow_private=settings.allow_private,
        allow_addresses=settings.allow_addresses,
    )
    token = product_token(settings)
    origins = Origins(machine.turn, resolver, token, settings.robots, rules, machine.look_again)
    machine.checkpointer = Checkpointer(
        stores.checkpoints,
        archive.flush,
        machine.committed,
        machine.failed,
        _ROWS_WAITING,
        settings.database_patience,
        machine.let_go,
    )
    machine.sharing = ServerSharing(machine.budget, stores.servers, rules, machine.turn, machine.checkpointer.read)
    machine.make_collector = _collector_maker(settings, stores, archive, origins, machine)
    machine.distribution = _make_distribution(settings, machine)
    taker = make_taker(settings, stores.frontier, rules, stores.clock, partial(_recall_robots, origins, stores))
    machine.selector = UrlSelector(
        stores.claims, taker, queue, resolver, origins, machine.turn, machine.stopping, settings.seeds_per_thread,
        machines, _selector_ports(machine, stores, promote),
    )  # fmt: skip
    return machine, resolver


def _collector_maker(
    settings: Settings, stores: Stores, archive: WarcWriter, origins: Origins, machine: Machine
) -> Callable[[int], UrlCollector]:
    """Return what makes a collector of a number; what it shares with others is made here."""
    rules, ports, token = machine.rules, _collector_ports(machine), product_token(settings)
    parties = Parties(
        rules, partial(machine.load_chunk, stores.frontier), partial(machine.check_fetched, stores.frontier),
        machine.look_again,
    )  # fmt: skip
    make_extractor: Callable[[LinkPolicy], LinkExtractor] = load_part(EXTRACTORS[settings.extractor])
    extractor = make_extractor(_link_policy(settings, token))
    pipeline = PagePipeline(archive, extractor, settings.max_decoded, settings.max_ratio, token)
    reader, answers = AnswerReader(pipeline, rules), AnswerHandler(rules)
    landing = Landing(reader, answers, origins)
    make_downloader: Callable[[FetchLimits], Downloader] = load_part(DOWNLOADERS[settings.downloader])
    fetch_limits = _fetch_limits(settings)

    def make_collector(number: int) -> UrlCollector:
        downloader = make_downloader(fetch_limits)
        visits = Visits(downloader, origins, parties, answers, machine.budget, rules)
        lister = SitemapLister(reader, answers, rules)
        return UrlCollector(number, machine.turn, machine.stopping, downloader, visits, landing, lister, rules, ports)

    return make_collector


def _collector_ports(machine: Machine) -> CollectorPorts:
    """Connect collectors to threads of which some are yet to be made."""
    return CollectorPorts(
        submit=machine.checkpointer.submit,
        may_start=machine.may_start,
        help_yourself=lambda collector: machine.distribution.help_yourself(collector),
        seeds_changed=lambda: machine.distribution.seeds_changed(),
        site_inactive=lambda collector: machine.distribution.site_inactive(collector),
        wants_site=lambda collector: machine.distribution.wants_site(collector),
        more_seeds=lambda site: machine.selector.ask_more(site),
        failed=machine.failed,
    )


def _selector_ports(machine: Machine, stores: Stores, promote: Callable[[], int]) -> SelectorPorts:
    return SelectorPorts(
        holding=machine.holding,
        held_sites=machine.held_sites,
        may_claim=machine.may_start,
        give_back=machine.give_back,
        sites_with_ready=stores.seeds.sites_with_ready,
        promote=promote,
        queued=machine.seeds_queued,
        ended=machine.crawl_ended,
        failed=machine.failed,
    )


def _recall_robots(origins: Origins, stores: Stores, site: SiteContext) -> None:
    """Bring back what is kept of a site's robots.txt files."""
    if origins.obey_robots:
        origins.recall(site, stores.robots.of_site(site.id, stores.clock.now() - ROBOTS_KEPT))


def make_taker(
    settings: Settings,
    frontier: Frontier,
    rules: CrawlRules,
    clock: DatabaseClock,
    recall_robots: Callable[[SiteContext], None] = lambda site: None,
) -> SiteTaker:
    """Make the part that takes sites up, with one memory budget for all their seen filters."""
    budget = MemoryBudget(settings.seen_memory)
    make_seen: Callable[[MemoryBudget], SeenFilter] = load_part(SEEN_FILTERS[settings.seen])
    return SiteTaker(frontier, rules, clock, lambda: make_seen(budget), _analyzers(settings), recall_robots)


def crawl_rules(settings: Settings) -> CrawlRules:
    """Return the settings that the crawling threads follow."""
    max_time = None if settings.max_time is None else int(settings.max_time * 1000)
    return CrawlRules(
        scope=settings.scope,
        delay=settings.delay,
        per_site=settings.per_site,
        retries=settings.retries,
        retry_pause_ms=int(settings.retry_pause * 1000),
        limits=SeedLimits(settings.max_depth, settings.max_pages, settings.max_bytes, max_time),
        capacity=settings.seeds_per_thread,
        checkpoint_interval=settings.checkpoint_interval,
        checkpoint_rows=settings.checkpoint_pages,
        stop_timeout=settings.stop_timeout,
        per_ip=settings.per_ip,
        delay_per_ip=settings.delay_per_ip,
        delay_factor=settings.delay_factor,
        delay_cap=settings.delay_cap,
        max_crawl_delay=settings.max_crawl_delay,
        max_retry_after=settings.max_retry_after,
        max_pushbacks=settings.max_pushbacks,
        max_failures=settings.max_failures,
        timeout=settings.timeout,
        patience=settings.patience,
        slow_timeout=settings.slow_timeout,
        slow_delay=settings.slow_delay,
        slow_per_site=settings.slow_per_site,
        slow_pass=settings.slow_pass,
        obey_meta=settings.obey_meta,
        cookies=settings.cookies,
        accept=settings.accept,
        insecure=settings.insecure,
        sitemaps=settings.sitemaps,
        www="www" in settings.normalise,
        traps=settings.traps,
        trap_pages=settings.trap_pages,
        trap_yield=settings.trap_yield,
        near_duplicates=settings.near_duplicates,
    )


def _link_policy(settings: Settings, product_token: str) -> LinkPolicy:
    robots = frozenset((EVERY_ROBOT, product_token.lower()))
    return LinkPolicy(robots, frozenset(settings.nofollow), settings.assets)


def _fetch_limits(settings: Settings) -> FetchLimits:
    return FetchLimits(
        settings.user_agent,
        settings.connect_timeout,
        settings.timeout,
        settings.max_body,
        connections=settings.seeds_per_thread + 2,
        tls_verify=not settings.insecure,
        accept=settings.accept,
        max_head=settings.max_headers,
    )


def _analyzers(settings: Settings) -> Callable[[ScopeRule, Mapping[str, str]], UrlAnalyzer]:
    steps, limits = make_steps(settings.normalise), url_limits(settings)
    length, refused = settings.max_url_length, refused_types(settings.accept)

    def make(scope: ScopeRule, aliases: Mapping[str, str]) -> UrlAnalyzer:
        return UrlAnalyzer(scope, max_length=length, steps=steps, limits=limits, refused_types=refused, aliases=aliases)

    return make


def _make_distribution(settings: Settings, machine: Machine) -> Distribution:
    if settings.distribution == "free":
        return FreeCompetition(machine.queue, machine.collectors)
    return UrlDistributor(machine.queue, machine.collectors, machine.turn, machine.stopping)


def make_archive(settings: Settings, prefix: str) -> WarcWriter:
    """Make the writer of one machine's WARC files."""
    info = {
        "software": f"SCrawler/{__version__} (Python {platform.python_version()})",
        "robots": "obey" if settings.robots else "ignore",
        "operator": settings.user_agent,
    }
    if settings.insecure:
        info["certificates"] = "not checked"
    return WarcWriter(
        settings.pages_dir,
        prefix,
        info=info,
        max_file_bytes=settings.warc_size,
        fsync=settings.fsync,
        held_bytes=_RECORDS_HELD,
    )


def make_analyzer(settings: Settings, scope: ScopeRule) -> UrlAnalyzer:
    """Make an analyzer that judges links as those of the crawl do."""
    return _analyzers(settings)(scope, {})


def url_limits(settings: Settings) -> UrlLimits:
    """Return the limits on the shape of a URL."""
    return UrlLimits(settings.max_segments, settings.max_repeats, settings.max_parameters)


def product_token(settings: Settings) -> str:
    """Return the name by which robots.txt addresses this crawler."""
    return settings.product_token or settings.user_agent.partition("/")[0].partition(" ")[0]
