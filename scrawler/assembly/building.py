"""A machine before it exists: what features add to it, and which of its parts they replace."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event, RLock
from typing import Any, NamedTuple

from scrawler.core.answers.ordering import Order
from scrawler.core.asking.origins import Origins
from scrawler.core.blame.slots import Slots
from scrawler.core.distribution.openers import Opener
from scrawler.core.machine.machine import Machine, OnSettings
from scrawler.core.party.copies import NO_COPIES, Copies
from scrawler.core.party.lists import SITEMAPS, SitemapLists
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules, HostRules
from scrawler.feature import hooked, part_of_feature
from scrawler.fetch.downloader import Downloader
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.fetch.resolver import Resolver
from scrawler.model.exchange import Mode
from scrawler.model.partitions import PartitionKind
from scrawler.model.scope import Boundary
from scrawler.seeds.promoter import WithinHops
from scrawler.settings import Settings
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.crawls import Crawl
from scrawler.store.claims.partitions import LivePartition, Partition
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.commit.externals import AsCandidates, Externals, Forgotten
from scrawler.store.commit.inboxes import Inboxes
from scrawler.store.commit.row_writers import FeatureWriter
from scrawler.store.engines.engine import Database
from scrawler.store.reading.archived import ArchivedCrawl
from scrawler.urls.filters import UrlFilters

MakeDownloader = Callable[[], Downloader]  # each collector has one of its own


class Surroundings(NamedTuple):
    """What of a machine is there for what is put around its downloaders."""

    resolver: Resolver
    origins: Origins
    turn: RLock  # held by who looks at sites and origins


WrapDownloader = Callable[[MakeDownloader, Surroundings], MakeDownloader]
MakeClaims = Callable[[Database, int, Partition], Claims]
MakeCheckpoints = Callable[[Database, int, Externals], Checkpoints]
WorkBeside = Callable[[Machine], AbstractContextManager[None]]


@dataclass(slots=True)
class Building:
    """What a machine will have; the hook `build` of each feature that is on adds to it, or replaces a part.

    Attributes:
        settings: those of the crawl, with its own name and scope; once all is built, as `views` make them.
        crawl: the crawl that the database holds.
        machine_id: the machine's row.
        database: the crawl's, which soon gives up; for what is read when sites are taken up.
        say: is told what a user should know, in a line.
        stop: is set when the user wants the end.
        hosts: the rules of sites, and those for all that have none of their own.
        boundary: what may enter the crawl.
        partition: who owns which site; it may be replaced, as what follows.
        externals: where external URLs go.
        inboxes: what others have found for the sites of this machine.
        make_claims: makes what gives out sites and seeds.
        make_checkpoints: makes what commits.
        writers: write rows of features in the transaction of the pages, where it is not enough to put them into tables.
        steps: called for each page, in this order; see `scrawler.core.answers.steps.Step`.
        lists: what documents list: sitemaps, or other lists as well.
        order: which links come first; None: they are listed as they are met.
        wrappers: each puts something around the downloaders of all collectors; the last one is the outermost.
        goes_on: whether it goes on when no seed is left; WARC files of earlier days are closed then.
        listens: whether URLs for the sites of this machine come in while it crawls.
        views: each makes of settings what this machine does, now and whenever they change.
        followers: are told of settings that have changed.
        may_ask, may_claim: whether hosts may be asked, sites be claimed; called under the turn.
        may_stay: whether a site may stay with the machine; None: where it is the machine's own by the partition.
        at_heartbeats: each is asked with a heartbeat, and tells whether sites may have to be given back.
        openers: what keeps the crawl open, and may bring further seeds.
        last_openers: the same, asked after the seeds were looked at once more.
        beside: each is entered before the machine runs, with the machine, and left when it has ended.
        machines: how many share the crawl at first.
        most_waiting: seeds that may wait without a place while they are asked.
        slots: where threads say what they read; None: it stands in no file.
        filters: which links are not followed.
        copies: reads what visits before have archived.
        archives: the crawls whose records may hold the payloads to which its own refer; the crawl itself is the first.
            They may be opened as late as when the machine begins.
        into_inboxes: each puts up to so many URLs that came from elsewhere into inboxes, where the machine listens; it
            returns how many it looked at.
        inbox_batch: URLs that are taken out of inboxes at a time.
        most_unsent: external URLs of a party with which it is committed early, as others may wait for them.
        noted: what stands in the row of the run beside the settings, and is looked up there later.
        on_settings: is called when the database has other settings.
        look_at_deaths: is called before sites of dead machines are taken up.
    """

    settings: Settings
    crawl: Crawl
    machine_id: int
    database: Database
    say: Callable[[str], None]
    stop: Event
    hosts: HostRules
    boundary: CrawlBoundary
    partition: Partition
    externals: Externals
    inboxes: Inboxes
    listens: bool
    archives: list[ArchivedCrawl]
    goes_on: bool = False
    make_claims: MakeClaims = Claims
    make_checkpoints: MakeCheckpoints = Checkpoints
    writers: list[FeatureWriter] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    lists: SitemapLists = SITEMAPS
    order: Order | None = None
    wrappers: list[WrapDownloader] = field(default_factory=list)
    views: list[Callable[[Settings], Settings]] = field(default_factory=list)
    followers: list[Callable[[Settings], None]] = field(default_factory=list)
    may_ask: list[Callable[[], bool]] = field(default_factory=list)
    may_claim: list[Callable[[], bool]] = field(default_factory=list)
    may_stay: Callable[[SiteContext], bool] | None = None
    at_heartbeats: list[Callable[[], bool]] = field(default_factory=list)
    openers: list[Opener] = field(default_factory=list)
    last_openers: list[Opener] = field(default_factory=list)
    beside: list[WorkBeside] = field(default_factory=list)
    machines: int = 1
    most_waiting: int = 1_000
    slots: Slots | None = None
    filters: UrlFilters | None = None
    copies: Copies = NO_COPIES
    into_inboxes: list[Callable[[int], int]] = field(default_factory=list)
    inbox_batch: int = 500
    most_unsent: int = sys.maxsize
    noted: dict[str, Any] = field(default_factory=dict)
    on_settings: OnSettings = field(default=lambda machine, values: None)
    look_at_deaths: Callable[[], None] = field(default=lambda: None)

    @property
    def rules(self) -> CrawlRules:
        """The rules for all sites that have none of their own."""
        return self.hosts.shared

    def seen(self, settings: Settings) -> Settings:
        """Return what this machine makes of settings."""
        for view in self.views:
            settings = view(settings)
        return settings

    @contextmanager
    def work_beside(self, machine: Machine) -> Iterator[None]:
        """Do in the block what is done beside the machine."""
        with ExitStack() as stack:
            for work in self.beside:
                stack.enter_context(work(machine))
            yield

    def follow(self, settings: Settings) -> None:
        """Let the parts of the store follow other settings from now on."""
        self.boundary.boundary = Boundary(settings.boundary)
        self.partition.kind = PartitionKind(settings.partition)
        self.inboxes.max_depth = settings.max_depth
        for follow in self.followers:
            follow(settings)


Build = Callable[[Building], None]  # what a feature offers as `build`. Raises SettingsError


def built(
    settings: Settings, crawl: Crawl, machine_id: int, database: Database, say: Callable[[str], None], stop: Event
) -> Building:
    """Return what the crawler, and the features that are on, give a machine. Raises SettingsError."""
    boundary = CrawlBoundary(database, settings.boundary, settings.scope)
    place = database, machine_id, settings.scope, boundary, settings.max_depth
    building = Building(
        settings=settings,
        crawl=crawl,
        machine_id=machine_id,
        database=database,
        say=say,
        stop=stop,
        hosts=HostRules(settings, EnvironmentProxies.of(os.environ)),
        boundary=boundary,
        partition=LivePartition(database, machine_id, settings.partition),
        externals=AsCandidates(database, settings.max_candidates),
        inboxes=Inboxes(*place),
        listens=False,
        archives=[ArchivedCrawl(database, crawl)],
    )
    _make_externals(building)
    for build in hooked("build", settings):
        build(building)
    if building.views:
        building.settings = building.seen(settings)
        building.hosts.change_to(building.settings)
        building.follow(building.settings)
    return building


def _make_externals(building: Building) -> None:
    """Let external URLs go where the mode says, and candidates become seeds within the hops. Raises SettingsError."""
    settings = building.settings
    if settings.mode is Mode.DROP:
        building.externals = Forgotten()
    elif settings.mode is not Mode.FIREWALL:
        building.externals = part_of_feature("mode", settings.mode.value)(building)
    near = WithinHops(building.externals, building.database, settings.scope, building.boundary, settings.hops)
    building.externals = near
    building.followers.append(partial(_follow_hops, near))


def _follow_hops(near: WithinHops, settings: Settings) -> None:
    near.hops = settings.hops
