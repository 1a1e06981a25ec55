"""A machine: its parts in the order in which they need each other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from scrawler.agents.standing import Standing
from scrawler.archive.archive import Archive
from scrawler.assembly.building import built
from scrawler.assembly.collectors import collector_maker
from scrawler.assembly.exchange import Exchange, Mail
from scrawler.assembly.parts import maker, product_token
from scrawler.assembly.sites import condemned, make_taker, recall_robots
from scrawler.assembly.stores import Stores
from scrawler.core.answers.steps import Steps
from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.origins import Origins
from scrawler.core.asking.sharing import ServerSharing
from scrawler.core.blame.slots import Slots
from scrawler.core.collecting.places import WaitingRoom
from scrawler.core.distribution.distributor import Distribution, SeedIdQueue, queue_capacity
from scrawler.core.distribution.inbox import SelectorInbox
from scrawler.core.distribution.openers import Opener
from scrawler.core.distribution.ports import CollectorPorts
from scrawler.core.distribution.selector import SelectorPorts, UrlSelector
from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.machine.crew import Crew, look_again
from scrawler.core.machine.ending import Ending, Stopping
from scrawler.core.machine.guests import Guest
from scrawler.core.machine.lease import Lease
from scrawler.core.machine.listener import Arrivals, InboxListener
from scrawler.core.machine.machine import Machine, MachineParts
from scrawler.core.machine.permission import Permission
from scrawler.core.outage.standstill import Standstill, StandstillPorts
from scrawler.core.party.earlier import Copies, EarlierSite
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import HostRules
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.fetch.resolver import Resolver
from scrawler.model.claims import ClaimedSite
from scrawler.model.exchange import Mode, WaitingUrl
from scrawler.model.machines import LEASE
from scrawler.revisit.learning import SiteLearning
from scrawler.settings import Settings
from scrawler.urls.filters import UrlFilters

_LEASE_MARGIN = 3.0  # seconds before the end of its lease at which a machine stops to start requests
_NAMES_WAITING = 20_000  # names that may wait for a thread of the resolver
_ROWS_WAITING = 20_000  # rows that may wait for the checkpointer before collectors pause


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
    standing: Standing | None = None,
    exchange: Exchange | None = None,
    make_learning: Callable[..., SiteLearning] = SiteLearning,
    take_pushed: Callable[[int], int] | None = None,
    earlier: Callable[[str, bool], EarlierSite] | None = None,
    most_waiting: int = 1_000,
    copies: Copies | None = None,
) -> tuple[Machine, Resolver]:
    """Build a machine of `settings.threads` collectors with its selector, distribution and checkpointer.

    `settings` have the crawl's own name and scope. `machines` is how many share the crawl at first; `filters` are what
    `make_filters` made. `on_settings` is called when the database has other settings, `look_at_deaths` before sites of
    dead machines are taken up. `standing` is what other agents have to say, if there are any.
    `exchange` carries URLs to other machines; None: the database alone does. `make_learning` makes what learns how
    often a site's pages change. `take_pushed` takes what servers and owners of sites have sent; None: nobody asks for
    it here. `earlier` tells what an earlier crawl has archived of a site; None: nobody asks for that. `most_waiting`
    seeds may wait without a place while they are asked. `copies` reads what visits before have archived.
    """
    slots = slots or Slots(None, settings.threads, settings.max_url_length)
    resolver = Resolver(
        threads=settings.dns_threads,
        static=_resolve_table(settings.resolve),
        allow_private=settings.allow_private,
        allow_addresses=settings.allow_addresses,
        queue=_NAMES_WAITING,
    )
    with ExitStack() as failing:
        failing.callback(resolver.close)  # its threads would outlive a part that cannot be made
        machine = _put_together(
            resolver,
            settings,
            stores,
            archive,
            stop,
            on_settings,
            machines,
            filters,
            slots,
            look_at_deaths,
            standing,
            exchange,
            make_learning,
            take_pushed,
            earlier,
            most_waiting,
            copies,
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
    standing: Standing | None,
    exchange: Exchange | None,
    make_learning: Callable[..., SiteLearning],
    take_pushed: Callable[[int], int] | None,
    earlier: Callable[[str, bool], EarlierSite] | None,
    most_waiting: int,
    copies: Copies | None,
) -> Machine:
    """Make the parts of a machine, each of those that were made before; none of their threads is started."""
    hosts = HostRules(settings, EnvironmentProxies.of(os.environ))
    rules = hosts.shared
    building = built(settings, rules, stores.database)
    steps = Steps(building.steps, building.order)
    turn, stopping = threading.RLock(), Stopping(asked)
    inbox = SelectorInbox(turn)
    queue = SeedIdQueue[SiteContext](queue_capacity(settings.threads), inbox.look_again)
    crew = Crew(turn, stopping, queue, inbox)
    make_distribution: Callable[..., Distribution[SiteContext]] = maker("distribution", settings)
    distribution = make_distribution(queue, crew.collectors, turn, stopping)
    ending = Ending(crew, distribution, inbox, rules)
    mail = Mail()
    checkpointer = Checkpointer(
        stores.checkpoints,
        archive.flush,
        crew.committed,
        ending.failed,
        _ROWS_WAITING,
        settings.database_patience,
        inbox.let_go,
        mail.durable,
    )
    standstill = Standstill(rules, turn, resolver, StandstillPorts(crew.sites, look_again, crew.go_on))
    others_let = _always if standing is None else standing.may_ask
    permission = Permission(Lease(LEASE / 1000, _LEASE_MARGIN), standstill, checkpointer, others_let)
    if exchange is not None:
        mail.open(exchange, settings, crew, permission, ending)
    sharing = ServerSharing(stores.servers, rules, turn, look_again, checkpointer.aside)
    origins = Origins(
        turn,
        resolver,
        product_token(settings),
        settings.robots,
        rules,
        look_again,
        standstill.name_found,
        hosts,
    )
    crosses_over = settings.mode is Mode.CROSS_OVER
    open_parties = partial(stores.guest_inboxes.open_parties, settings.send_list_max) if crosses_over else _nothing
    waits_for_guests = stores.guest_inboxes.waits if crosses_over else _nothing
    guest = Guest(stores.visits, crew, open_parties, settings.seeds_per_thread)
    arrivals = Arrivals(stores.inboxes, settings.send_list_max)
    taker = make_taker(
        settings, stores.frontier, rules, stores.clock, partial(recall_robots, origins, stores),
        partial(condemned, stores.suspects), stores.boundary.refusal, hosts,
        partial(_waiting, stores, settings), make_learning, earlier, steps.party_states,
    )  # fmt: skip
    others = () if standing is None else (Opener("other agents are at work", standing.keeps_open),)
    selector_ports = SelectorPorts(
        holding=lambda: crew.has_sites() or not checkpointer.idle,
        held_sites=crew.held_sites,
        free_places=crew.free_places,
        may_claim=permission.may_start if standing is None else partial(_may_claim, permission, standing),
        visit=guest.visit,
        keep_at_most=partial(crew.keep_at_most, checkpointer.submit, sharing.budget),
        keep_queued_at_most=partial(crew.keep_at_most, checkpointer.submit, sharing.budget, queued_only=True),
        by_urls=lambda: rules.delay == 0,
        urls_left=crew.urls_left,
        give_urls=crew.give_urls,
        give_back_untaken=checkpointer.submit,
        sites_with_ready=stores.seeds.sites_with_ready,
        look_at_deaths=look_at_deaths,
        openers=(
            Opener("external URLs became seeds", lambda: stores.externals.become_seeds() > 0),
            Opener("URLs are on their way between sites", arrivals.on_their_way),
            Opener("guests have URLs to fetch", waits_for_guests),
            Opener("seeds went on with their slow lane", lambda: stores.slow.promote() > 0),
            Opener("a round that was ordered is being begun", stores.seeds.has_round_ordered),
        ),
        last_openers=(
            Opener("URLs were sent meanwhile", arrivals.came_meanwhile),
            Opener("guests have found URLs meanwhile", waits_for_guests),
            *others,
            *([Opener("it is kept: URLs become due", lambda: True)] if settings.keep else ()),
        ),
        expect=sharing.budget.expect,
        queued=distribution.seeds_changed,
        ended=ending.crawl_ended,
        failed=ending.failed,
    )
    selector = UrlSelector(
        stores.claims, taker, queue, resolver, origins, turn, stopping, inbox, settings.seeds_per_thread, machines,
        selector_ports, settings.balance_machines,
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
    make_collector = collector_maker(
        settings, stores, archive, crew, sharing.budget, origins, checkpointer, standstill, rules, filters, slots,
        collector_ports, resolver, WaitingRoom(most_waiting), copies, steps, building.wrappers,
    )  # fmt: skip
    listener = InboxListener(
        stores.inboxes, crew.held_sites, checkpointer.read, look_again, inbox.let_go, ending.failed, turn, stopping,
        settings.send_list_max, take_pushed or (lambda limit: 0),
    )  # fmt: skip
    listens = settings.mode is Mode.EXCHANGE or take_pushed is not None
    parts = MachineParts(
        crew=crew,
        make_collector=make_collector,
        distribution=distribution,
        selector=selector,
        inbox=inbox,
        listener=listener if listens else None,
        receiver=mail.receiver,
        sender=mail.sender,
        checkpointer=checkpointer,
        sharing=sharing,
        standstill=standstill,
        permission=permission,
        ending=ending,
        rules=rules,
        hosts=hosts,
        origins=origins,
        follow_partition=lambda living: stores.partition.follow(living) | guest.look(),
        may_stay=lambda site: guest.may_stay(site) if site.visits else stores.partition.is_mine(site.key),
    )
    return Machine(parts, settings.threads, machines, on_settings)


def _always() -> bool:
    return True


def _may_claim(permission: Permission, standing: Standing) -> bool:
    return permission.may_start() and standing.may_claim()


def _nothing() -> bool:
    return False


def _waiting(stores: Stores, settings: Settings, claimed: ClaimedSite) -> Sequence[WaitingUrl]:
    """Return what is in the inbox of a claimed site; with any other mode only machines before this one put it there."""
    inboxes = stores.guest_inboxes if claimed.visits else stores.inboxes
    if (
        claimed.visits
        or settings.keep
        or settings.mode is Mode.EXCHANGE
        or any(seed.reopened for seed in claimed.seeds)
    ):
        return inboxes.of_sites([claimed.key], settings.send_list_max).get(claimed.key, ())
    return ()


def _site_released(crew: Crew, budget: AddressBudget, checkpointer: Checkpointer, site: SiteContext) -> None:
    crew.site_released(budget, site)
    if not crew.has_sites():
        checkpointer.linger_no_more()


def _resolve_table(entries: tuple[str, ...]) -> dict[str, str]:
    return {host: address for host, _, address in (entry.partition("=") for entry in entries)}
