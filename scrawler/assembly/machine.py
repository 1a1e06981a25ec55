"""A machine: its parts in the order in which they need each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from scrawler.archive.archive import Archive
from scrawler.assembly.building import Building
from scrawler.assembly.collectors import collector_maker
from scrawler.assembly.parts import maker, product_token
from scrawler.assembly.sites import condemned, make_taker, recall_robots
from scrawler.assembly.stores import Stores
from scrawler.core.answers.steps import Steps
from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.elsewhere import Elsewhere
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
from scrawler.core.machine.lease import Lease
from scrawler.core.machine.listener import Arrivals, InboxListener
from scrawler.core.machine.machine import Machine, MachineParts
from scrawler.core.machine.permission import Permission
from scrawler.core.outage.standstill import Standstill, StandstillPorts
from scrawler.core.party.site import SiteContext
from scrawler.fetch.resolver import Resolver
from scrawler.model.claims import ClaimedSite
from scrawler.model.exchange import WaitingUrl
from scrawler.model.machines import LEASE, Living

_LEASE_MARGIN = 3.0  # seconds before the end of its lease at which a machine stops to start requests
_NAMES_WAITING = 20_000  # names that may wait for a thread of the resolver
_ROWS_WAITING = 20_000  # rows that may wait for the checkpointer before collectors pause


def build_machine(
    building: Building, stores: Stores, archive: Archive, stop: threading.Event
) -> tuple[Machine, Resolver]:
    """Build a machine with its collectors, selector, distribution and checkpointer. Raises SettingsError."""
    settings = building.settings
    resolver = Resolver(
        threads=settings.dns_threads,
        static=_resolve_table(settings.resolve),
        allow_private=settings.allow_private,
        allow_addresses=settings.allow_addresses,
        queue=_NAMES_WAITING,
    )
    with ExitStack() as failing:
        failing.callback(resolver.close)  # its threads would outlive a part that cannot be made
        machine = _put_together(building, stores, archive, stop, resolver)
        failing.pop_all()
    return machine, resolver


def _put_together(
    building: Building, stores: Stores, archive: Archive, asked: threading.Event, resolver: Resolver
) -> Machine:
    """Make the parts of a machine, each of those that were made before; none of their threads is started."""
    settings, hosts, rules = building.settings, building.hosts, building.rules
    steps = Steps(building.steps, building.order, building.lists)
    turn, stopping = threading.RLock(), Stopping(asked)
    inbox = SelectorInbox(turn)
    queue = SeedIdQueue[SiteContext](queue_capacity(settings.threads), inbox.look_again)
    crew = Crew(turn, stopping, queue, inbox)
    make_distribution: Callable[..., Distribution[SiteContext]] = maker("distribution", settings)
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
    permission = Permission(Lease(LEASE / 1000, _LEASE_MARGIN), standstill, checkpointer, building.may_ask)
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
    elsewhere = Elsewhere(
        stores.errand_turns, origins, sharing.budget, rules.scope, stores.clock, turn, look_again, checkpointer.aside
    )
    origins.errands.others = elsewhere
    taker = make_taker(
        settings, stores.frontier, rules, stores.clock, partial(recall_robots, origins, stores),
        partial(condemned, stores.suspects), stores.boundary.refusal, hosts,
        partial(_waiting, building, stores), steps.site_states, steps.party_states,
        steps.looks_up,
    )  # fmt: skip
    ports = _selector_ports(building, stores, crew, checkpointer, permission, sharing, distribution, ending)
    selector = UrlSelector(
        stores.claims, taker, queue, resolver, origins, turn, stopping, inbox, settings.seeds_per_thread,
        building.machines, ports, settings.balance_machines,
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
    slots = building.slots or Slots(None, settings.threads, settings.max_url_length)
    make_collector = collector_maker(
        settings, stores, archive, crew, sharing.budget, origins, checkpointer, standstill, rules, building.filters,
        slots, collector_ports, resolver, WaitingRoom(building.most_waiting), building.copies, steps,
        building.wrappers, building.most_unsent,
    )  # fmt: skip
    listener = InboxListener(
        stores.inboxes, crew.held_sites, checkpointer.read, look_again, inbox.let_go, ending.failed, turn, stopping,
        building.inbox_batch, building.into_inboxes,
    )  # fmt: skip
    parts = MachineParts(
        crew=crew,
        make_collector=make_collector,
        distribution=distribution,
        selector=selector,
        inbox=inbox,
        listeners=[listener] if building.listens else (),
        checkpointer=checkpointer,
        sharing=sharing,
        elsewhere=elsewhere,
        standstill=standstill,
        permission=permission,
        ending=ending,
        rules=rules,
        hosts=hosts,
        origins=origins,
        follow_partition=partial(_follow_partition, building),
        may_stay=building.may_stay or (lambda site: stores.partition.is_mine(site.key)),
    )
    return Machine(parts, settings.threads, building.machines, building.on_settings)


def _selector_ports(
    building: Building,
    stores: Stores,
    crew: Crew,
    checkpointer: Checkpointer,
    permission: Permission,
    sharing: ServerSharing,
    distribution: Distribution[SiteContext],
    ending: Ending,
) -> SelectorPorts:
    rules = building.rules
    arrivals = Arrivals(stores.inboxes, building.inbox_batch)
    return SelectorPorts(
        holding=lambda: crew.has_sites() or not checkpointer.idle,
        held_sites=crew.held_sites,
        free_places=crew.free_places,
        may_claim=partial(_all, (permission.may_start, *building.may_claim)),
        keep_at_most=partial(crew.keep_at_most, checkpointer.submit, sharing.budget),
        keep_queued_at_most=partial(crew.keep_at_most, checkpointer.submit, sharing.budget, queued_only=True),
        by_urls=lambda: rules.delay == 0,
        urls_left=crew.urls_left,
        give_urls=crew.give_urls,
        give_back_untaken=checkpointer.submit,
        sites_with_ready=stores.seeds.sites_with_ready,
        look_at_deaths=building.look_at_deaths,
        openers=(
            Opener("external URLs became seeds", lambda: stores.externals.become_seeds() > 0),
            Opener("URLs are on their way between sites", arrivals.on_their_way),
            *building.openers,
            Opener("seeds went on with their slow lane", lambda: stores.slow.promote() > 0),  # once all else is fetched
        ),
        last_openers=(
            Opener("URLs were sent meanwhile", arrivals.came_meanwhile),
            *building.last_openers,
        ),
        expect=sharing.budget.expect,
        queued=distribution.seeds_changed,
        ended=ending.crawl_ended,
        failed=ending.failed,
    )


def _all(questions: Sequence[Callable[[], bool]]) -> bool:
    return all(asked() for asked in questions)


def _follow_partition(building: Building, living: Living) -> bool:
    """Take in which machines live; return whether sites may have to be given back."""
    have_changed = [building.partition.follow(living), *(look() for look in building.at_heartbeats)]
    return any(have_changed)


def _waiting(building: Building, stores: Stores, claimed: ClaimedSite) -> Sequence[WaitingUrl]:
    """Return what is in the inbox of a claimed site; where no URLs come in only machines before this one put it there.

    A party that was opened again, or one of guests, has been opened for what is there.
    """
    if not (claimed.guest_at or building.listens or any(seed.reopened for seed in claimed.seeds)):
        return ()
    return stores.inboxes.of_claimed(claimed, building.inbox_batch)


def _site_released(crew: Crew, budget: AddressBudget, checkpointer: Checkpointer, site: SiteContext) -> None:
    crew.site_released(budget, site)
    if not crew.has_sites():
        checkpointer.linger_no_more()


def _resolve_table(entries: tuple[str, ...]) -> dict[str, str]:
    return {host: address for host, _, address in (entry.partition("=") for entry in entries)}
