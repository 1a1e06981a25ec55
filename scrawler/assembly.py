"""Builds a machine: the one place where parts, store, archive and threads are put together."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scrawler import __version__
from scrawler.archive.archive import Archive
from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.lister import SitemapLister
from scrawler.core.answers.pipeline import PagePipeline
from scrawler.core.answers.reading import AnswerReader
from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.checks import Checks
from scrawler.core.asking.origins import ROBOTS_KEPT, Origins
from scrawler.core.asking.patience import Patience
from scrawler.core.asking.sharing import ServerSharing
from scrawler.core.asking.visits import Visits
from scrawler.core.blame.slots import Slots
from scrawler.core.clock import DatabaseClock
from scrawler.core.collecting.collector import UrlCollector
from scrawler.core.collecting.landing import Landing
from scrawler.core.distribution.distributor import Distribution, SeedIdQueue, queue_capacity
from scrawler.core.distribution.inbox import SelectorInbox
from scrawler.core.distribution.openers import Opener
from scrawler.core.distribution.ports import CollectorPorts
from scrawler.core.distribution.selector import SelectorPorts, UrlSelector
from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.durable.handover import Handover
from scrawler.core.durable.reads import StoreReads
from scrawler.core.fault_log import FaultLog
from scrawler.core.machine.crew import Crew, look_again
from scrawler.core.machine.ending import Ending, Stopping
from scrawler.core.machine.lease import Lease
from scrawler.core.machine.machine import Machine, MachineParts
from scrawler.core.machine.permission import Permission
from scrawler.core.outage.standstill import Standstill, StandstillPorts
from scrawler.core.party.parties import Parties
from scrawler.core.party.site import SiteContext
from scrawler.core.party.takeup import SiteTaker
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import MemoryBudget, SeenFilter
from scrawler.extract.directives import EVERY_ROBOT
from scrawler.extract.links import LinkExtractor, LinkPolicy
from scrawler.extract.xhtml import XhtmlExtractor
from scrawler.fetch.downloader import Downloader, FetchLimits
from scrawler.fetch.resolver import Resolver
from scrawler.model.claims import ClaimedSite
from scrawler.model.machines import LEASE
from scrawler.plugins import part_maker
from scrawler.settings import PART_KINDS, Settings, is_list
from scrawler.store.boundary import CrawlBoundary
from scrawler.store.checkpoints import Checkpoints
from scrawler.store.claims import Claims
from scrawler.store.engine import Database
from scrawler.store.externals import Externals
from scrawler.store.frontier import Frontier
from scrawler.store.robots import RobotsCopies
from scrawler.store.seeds import Seeds
from scrawler.store.servers import Servers
from scrawler.store.slow import SlowSeeds
from scrawler.store.suspects import Suspects
from scrawler.threads import no_room
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.filetype import refused_types
from scrawler.urls.filters import UrlFilter, UrlFilters
from scrawler.urls.refusals import Sample
from scrawler.urls.scope import ScopeRule
from scrawler.urls.steps import make_steps
from scrawler.urls.traps import UrlLimits

_LEASE_MARGIN = 3.0  # seconds before the end of its lease at which a machine stops to start requests
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
    suspects: Suspects
    externals: Externals
    boundary: CrawlBoundary
    slow: SlowSeeds
    clock: DatabaseClock

    @classmethod
    def of(cls, database: Database, machine_id: int, externals: Externals, boundary: CrawlBoundary) -> Stores:
        """Make the parts for one machine; `externals` are where its external URLs go."""
        return cls(
            claims=Claims(database, machine_id),
            checkpoints=Checkpoints(database, machine_id, externals),
            frontier=Frontier(database),
            seeds=Seeds(database),
            robots=RobotsCopies(database),
            servers=Servers(database, machine_id),
            suspects=Suspects(database),
            externals=externals,
            boundary=boundary,
            slow=SlowSeeds(database),
            clock=DatabaseClock(),
        )


def build_machine(
    settings: Settings,
    stores: Stores,
    archive: Archive,
    stop: threading.Event,
    on_settings: Callable[[Machine, Mapping[str, Any]], None] = lambda machine, settings: None,
    machines: int = 1,
    filters: UrlFilters | None = None,
    slots: Slots | None = None,
    look_at_deaths: Callable[[], None] = lambda: None,
) -> tuple[Machine, Resolver]:
    """Build a machine of `settings.threads` collectors with its selector, distribution and checkpointer.

    `settings` have the crawl's own name and scope. `machines` is how many share the crawl at first; `filters` are what
    `make_filters` made. `on_settings` is called when the database has other settings, `look_at_deaths` before sites of
    dead machines are taken up.
    """
    slots = slots or Slots(None, settings.threads, settings.max_url_length)
    resolver = Resolver(
        threads=settings.dns_threads,
        static=_resolve_table(settings.resolve),
        allow_private=settings.allow_private,
        allow_addresses=settings.allow_addresses,
    )
    with ExitStack() as failing:
        failing.callback(resolver.close)  # its threads would outlive a part that cannot be made
        machine = _put_together(
            resolver, settings, stores, archive, stop, on_settings, machines, filters, slots, look_at_deaths
        )
        failing.pop_all()
    return machine, resolver


def _put_together(
    resolver: Resolver,
    settings: Settings,
    stores: Stores,
    archive: Archive,
    asked: threading.Event,
    on_settings: Callable[[Machine, Mapping[str, Any]], None],
    machines: int,
    filters: UrlFilters | None,
    slots: Slots,
    look_at_deaths: Callable[[], None],
) -> Machine:
    """Make the parts of a machine, each of those that were made before; none of their threads is started."""
    rules = CrawlRules.of(settings)
    turn, stopping = threading.RLock(), Stopping(asked)
    inbox = SelectorInbox(turn)
    queue = SeedIdQueue[SiteContext](queue_capacity(settings.threads), inbox.look_again)
    crew = Crew(turn, stopping, queue, inbox)
    make_distribution: Callable[..., Distribution[SiteContext]] = _maker("distribution", settings)
    distribution = make_distribution(queue, crew.collectors, turn, stopping)
    ending = Ending(crew, distribution, inbox, rules)
    checkpointer = Checkpointer(
        stores.checkpoints,
        archive.flush,
        crew.committed,
        ending.failed,
        _ROWS_WAITING,
        settings.database_patience,
        inbox.let_go,
    )
    standstill = Standstill(rules, turn, resolver, StandstillPorts(crew.sites, look_again, crew.go_on))
    permission = Permission(Lease(LEASE / 1000, _LEASE_MARGIN), standstill, checkpointer)
    sharing = ServerSharing(stores.servers, rules, turn, look_again, checkpointer.read)
    origins = Origins(
        turn, resolver, product_token(settings), settings.robots, rules, look_again, standstill.name_found
    )
    taker = make_taker(
        settings, stores.frontier, rules, stores.clock, partial(_recall_robots, origins, stores),
        partial(_condemned, stores.suspects), stores.boundary.refusal,
    )  # fmt: skip
    selector_ports = SelectorPorts(
        holding=lambda: crew.has_sites() or not checkpointer.idle,
        held_sites=crew.held_sites,
        free_places=crew.free_places,
        may_claim=permission.may_start,
        give_back=partial(crew.give_back, checkpointer.submit),
        give_back_untaken=checkpointer.submit,
        sites_with_ready=stores.seeds.sites_with_ready,
        look_at_deaths=look_at_deaths,
        openers=(
            Opener("external URLs became seeds", lambda: stores.externals.become_seeds() > 0),
            Opener("seeds went on with their slow lane", lambda: stores.slow.promote() > 0),
        ),
        queued=distribution.seeds_changed,
        ended=ending.crawl_ended,
        failed=ending.failed,
    )
    selector = UrlSelector(
        stores.claims, taker, queue, resolver, origins, turn, stopping, inbox, settings.seeds_per_thread, machines,
        selector_ports,
    )  # fmt: skip
    collector_ports = CollectorPorts(
        may_start=permission.may_start,
        may_probe=permission.may_probe,
        help_yourself=distribution.help_yourself,
        seeds_changed=distribution.seeds_changed,
        site_inactive=distribution.site_inactive,
        wants_site=distribution.wants_site,
        more_seeds=inbox.ask_more,
        site_released=partial(_site_released, crew, sharing.budget, checkpointer),
        grace=ending.grace,
        failed=ending.failed,
    )
    make_collector = _collector_maker(
        settings, stores, archive, crew, sharing.budget, origins, checkpointer, standstill, rules, filters, slots,
        collector_ports,
    )  # fmt: skip
    parts = MachineParts(
        crew=crew,
        make_collector=make_collector,
        distribution=distribution,
        selector=selector,
        inbox=inbox,
        checkpointer=checkpointer,
        sharing=sharing,
        standstill=standstill,
        permission=permission,
        ending=ending,
        rules=rules,
    )
    return Machine(parts, settings.threads, machines, on_settings)


def _collector_maker(
    settings: Settings,
    stores: Stores,
    archive: Archive,
    crew: Crew,
    budget: AddressBudget,
    origins: Origins,
    checkpointer: Checkpointer,
    standstill: Standstill,
    rules: CrawlRules,
    filters: UrlFilters | None,
    slots: Slots,
    ports: CollectorPorts,
) -> Callable[[int], UrlCollector]:
    """Return a function that makes a collector, given its number; what all collectors share is made here."""
    token = product_token(settings)
    reads = StoreReads(checkpointer, stores.frontier, crew.turn, rules)
    parties = Parties(rules, reads.load_chunks, reads.check_fetched, look_again)
    make_extractor: Callable[[LinkPolicy], LinkExtractor] = _maker("extractor", settings)
    policy = _link_policy(settings, token)
    extractor = XhtmlExtractor(make_extractor(policy), policy)
    pipeline = PagePipeline(archive, extractor, settings.max_decoded, settings.max_ratio, token)
    reader = AnswerReader(pipeline, rules, settings.outlinks)
    answers = AnswerHandler(rules, filters)
    tell = FaultLog(fault_file(settings.output_dir, settings.name)).tell
    landing = Landing(reader, answers, origins, tell)
    make_downloader: Callable[[FetchLimits], Downloader] = _maker("downloader", settings)
    fetch_limits, patience = _fetch_limits(settings), Patience(rules)
    checks = Checks(origins, budget, standstill, rules, tell)
    handover = Handover(checkpointer.submit, rules)

    def make_collector(number: int) -> UrlCollector:
        with no_room():
            downloader = make_downloader(fetch_limits)
            slot = slots.take()
            visits = Visits(downloader, origins, parties, answers, budget, patience, standstill, checks, rules, slot)
            return UrlCollector(
                number,
                crew.turn,
                crew.stopping,
                downloader,
                visits,
                landing,
                SitemapLister(reader, answers, rules, slot),
                slot,
                standstill,
                handover,
                rules,
                ports,
            )

    return make_collector


def _site_released(crew: Crew, budget: AddressBudget, checkpointer: Checkpointer, site: SiteContext) -> None:
    crew.site_released(budget, site)
    if not crew.has_sites():
        checkpointer.linger_no_more()


def _recall_robots(origins: Origins, stores: Stores, site: SiteContext) -> None:
    """Bring back what is kept of a site's robots.txt files."""
    if origins.obey_robots:
        origins.recall(site, stores.robots.of_site(site.id, stores.clock.now() - ROBOTS_KEPT))


def _condemned(suspects: Suspects, claimed: ClaimedSite) -> Mapping[str, str]:
    """Return the URLs of a claimed site that have killed a process, with the reasons in words."""
    if claimed.token == 1:  # nobody had it before
        return {}
    return suspects.condemned(claimed.id)


def make_taker(
    settings: Settings,
    frontier: Frontier,
    rules: CrawlRules,
    clock: DatabaseClock,
    recall_robots: Callable[[SiteContext], None] = lambda site: None,
    condemned: Callable[[ClaimedSite], Mapping[str, str]] = lambda claimed: {},
    refusal: Callable[[str], str] = lambda url: "",
) -> SiteTaker:
    """Make the part that takes sites up, with one memory budget for all their seen filters."""
    budget = MemoryBudget(settings.seen_memory)
    make_seen: Callable[[MemoryBudget], SeenFilter] = _maker("seen", settings)
    return SiteTaker(
        frontier, rules, clock, lambda: make_seen(budget), _analyzers(settings), recall_robots, condemned, refusal
    )


def _link_policy(settings: Settings, product_token: str) -> LinkPolicy:
    robots = frozenset((EVERY_ROBOT, product_token.lower()))
    return LinkPolicy(robots, frozenset(settings.nofollow), settings.assets, settings.outlinks)


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


def _analyzers(settings: Settings) -> Callable[[ScopeRule, Mapping[str, str], Sample | None], UrlAnalyzer]:
    steps, limits = make_steps(settings.normalise), url_limits(settings)
    length, refused = settings.max_url_length, refused_types(settings.accept)

    def make(scope: ScopeRule, aliases: Mapping[str, str], sample: Sample | None) -> UrlAnalyzer:
        return UrlAnalyzer(
            scope,
            max_length=length,
            steps=steps,
            limits=limits,
            refused_types=refused,
            aliases=aliases,
            sample=sample,
        )

    return make


def _maker(setting: str, settings: Settings) -> Callable[..., Any]:
    """Return a function that makes the part which a setting names. Raises SettingsError."""
    return part_maker(PART_KINDS[setting], getattr(settings, setting))


def check_parts(settings: Settings) -> None:
    """Import the parts that the settings name. Raises SettingsError where one cannot be used."""
    for setting in PART_KINDS:
        if not is_list(setting):
            _maker(setting, settings)


def make_filters(settings: Settings) -> UrlFilters | None:
    """Make the URL filters; None without any. Raises SettingsError."""
    kind = PART_KINDS["url_filters"]
    filters: dict[str, UrlFilter] = {name: part_maker(kind, name)(settings) for name in settings.url_filters}
    return UrlFilters(filters) if filters else None


def fault_file(folder: Path, crawl: str) -> Path:
    """Return the file, in the output folder, of the tracebacks of this program's own faults."""
    return folder / f"{crawl}.internal-errors.txt"


def make_archive(settings: Settings, prefix: str) -> Archive:
    """Make what keeps the pages of one machine."""
    info = {
        "software": f"SCrawler/{__version__} (Python {platform.python_version()})",
        "robots": "obey" if settings.robots else "ignore",
        "operator": settings.user_agent,
    }
    if settings.insecure:
        info["certificates"] = "not checked"
    make: Callable[..., Archive] = _maker("archive", settings)
    return make(settings.pages_dir, prefix, info=info, max_file_bytes=settings.warc_size, fsync=settings.fsync)


def make_analyzer(settings: Settings, scope: ScopeRule) -> UrlAnalyzer:
    """Make an analyzer that judges links as those of the crawl do."""
    return _analyzers(settings)(scope, {}, None)


def url_limits(settings: Settings) -> UrlLimits:
    """Return the limits on the shape of a URL."""
    return UrlLimits(settings.max_segments, settings.max_repeats, settings.max_parameters)


def product_token(settings: Settings) -> str:
    """Return the name by which robots.txt addresses this crawler."""
    return settings.product_token or settings.user_agent.partition("/")[0].partition(" ")[0]
