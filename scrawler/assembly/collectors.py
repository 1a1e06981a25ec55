"""Collectors, with what each has for itself and what all of them share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from scrawler.archive.archive import Archive
from scrawler.assembly.building import MakeDownloader, Surroundings, WrapDownloader
from scrawler.assembly.parts import fault_file, maker, product_token
from scrawler.assembly.stores import Stores
from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.lister import SitemapLister
from scrawler.core.answers.pipeline import PagePipeline
from scrawler.core.answers.reading import AnswerReader
from scrawler.core.answers.steps import NO_STEPS, Steps, Want
from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.checks import Checks
from scrawler.core.asking.origins import Origins
from scrawler.core.asking.patience import Patience
from scrawler.core.asking.visits import Visits
from scrawler.core.blame.slots import Slots
from scrawler.core.collecting.collector import UrlCollector
from scrawler.core.collecting.landing import Landing
from scrawler.core.collecting.places import WaitingRoom
from scrawler.core.distribution.ports import CollectorPorts
from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.durable.handover import Handover
from scrawler.core.durable.reads import StoreReads
from scrawler.core.fault_log import FaultLog
from scrawler.core.machine.crew import Crew, look_again
from scrawler.core.outage.standstill import Standstill
from scrawler.core.party.copies import NO_COPIES, Copies
from scrawler.core.party.parties import Parties
from scrawler.core.rules import CrawlRules
from scrawler.extract.directives import EVERY_ROBOT
from scrawler.extract.links import LinkExtractor, LinkPolicy
from scrawler.extract.xhtml import XhtmlExtractor
from scrawler.feature import on_for_any_host
from scrawler.fetch.bodies import BodyRoom
from scrawler.fetch.downloader import Downloader, FetchLimits
from scrawler.fetch.old_tls import accept_old_servers
from scrawler.fetch.resolver import Resolver
from scrawler.settings import Settings
from scrawler.threads import no_room
from scrawler.urls.filters import UrlFilters


def collector_maker(
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
    resolver: Resolver,
    waiting_room: WaitingRoom,
    copies: Copies = NO_COPIES,
    steps: Steps = NO_STEPS,
    wrappers: Sequence[WrapDownloader] = (),
    most_unsent: int = sys.maxsize,
) -> Callable[[int], UrlCollector]:
    """Return a function that makes a collector, given its number; what all collectors share is made here."""
    token = product_token(settings)
    reads = StoreReads(checkpointer, stores.frontier, crew.turn, rules, steps.looks_up)
    make_extractor: Callable[[LinkPolicy], LinkExtractor] = maker("extractor", settings)
    policy = _link_policy(settings, token, Want.SOURCES in steps.wants)
    extractor = XhtmlExtractor(make_extractor(policy), policy)
    pipeline = PagePipeline(archive, extractor, settings.max_decoded, settings.max_ratio, token, copies)
    reads_marks = (filters is not None and filters.want_marks) or Want.MARKS in steps.wants
    reader = AnswerReader(pipeline, rules, steps, reads_marks)
    answers = AnswerHandler(rules, filters, steps)
    ask_on = [answers.ask_on] if steps.asks_on else ()
    parties = Parties(rules, reads.load_chunks, reads.check_fetched, look_again, ask_on)
    tell = FaultLog(fault_file(settings.output_dir, settings.name)).tell
    landing = Landing(reader, answers, origins, tell, steps.restores)
    make_downloader = _downloader_maker(settings, rules, wrappers, Surroundings(resolver, origins, crew.turn))
    patience = Patience(rules)
    checks = Checks(origins, budget, standstill, rules, tell, steps.checks)
    handover = Handover(checkpointer.submit, rules, most_unsent)

    def make_collector(number: int) -> UrlCollector:
        with no_room():
            downloader = make_downloader()
            slot = slots.take()
            visits = Visits(
                downloader, origins, parties, answers, budget, patience, standstill, checks, reads, rules, slot,
                steps.conditions,
            )  # fmt: skip
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
                waiting_room,
            )

    return make_collector


def _downloader_maker(
    settings: Settings, rules: CrawlRules, wrappers: Sequence[WrapDownloader], around: Surroundings
) -> MakeDownloader:
    """Return what makes a collector's downloader, with what features put around it."""
    make: Callable[[FetchLimits], Downloader] = maker("downloader", settings)
    if on_for_any_host(settings, "insecure"):
        accept_old_servers()

    bodies = BodyRoom()

    def plain() -> Downloader:
        return make(replace(rules.fetch.plain(), bodies=bodies))

    made: MakeDownloader = plain
    for wrap in wrappers:
        made = wrap(made, around)
    return made


def _link_policy(settings: Settings, product_token: str, wants_sources: bool) -> LinkPolicy:
    robots = frozenset((EVERY_ROBOT, product_token.lower()))
    return LinkPolicy(robots, frozenset(settings.nofollow), settings.assets, wants_sources)
