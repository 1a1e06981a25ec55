"""This machine as a guest: where it goes when it has nothing else to do, and when it has to leave again.

It comes when it holds no site of its own and can claim none. It leaves a site as soon as there is something for the
owner to do there, and all sites as soon as one of its own has to wait for a place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from scrawler.assembly.building import Building
from scrawler.core.distribution.openers import Opener
from scrawler.core.machine.crew import Crew
from scrawler.core.machine.machine import Machine
from scrawler.core.party.site import SiteContext
from scrawler.features.cluster.store.guests import GuestCheckpoints, GuestInboxes, OwnAndGuestInboxes, Visits
from scrawler.model.claims import ClaimedSite
from scrawler.model.exchange import Mode
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.partitions import Partition
from scrawler.store.engines.engine import Database


class Guest:
    """Decides where this machine is a guest; `open_parties` lets parties of guests begin, and may find none."""

    crew: Crew  # of the machine, once there is one

    def __init__(self, visits: Visits, open_parties: Callable[[], int], seeds_per_site: int) -> None:
        self._visits = visits
        self._open_parties = open_parties
        self._seeds_per_site = seeds_per_site
        self._is_guest = False  # whether it may be anywhere as a guest
        self._leaving: Collection[int] = ()

    def visit(self, room: int) -> list[ClaimedSite]:
        """Claim sites as a guest, up to so many; none while there is a site of its own here."""
        with self.crew.turn:
            if any(not site.guest_at for site in self.crew.sites()):
                return []
        self._open_parties()
        claimed = self._visits.visit(room, self._seeds_per_site)
        self._is_guest = self._is_guest or bool(claimed)
        return claimed

    def look(self) -> bool:
        """Look, with each heartbeat, whether this machine is in the way of an owner; nothing to do for no guest."""
        if not self._is_guest:
            return False
        with self.crew.turn:
            at = {site.guest_at for site in self.crew.sites() if site.guest_at}
            crowded = any(not site.guest_at for site in self.crew.queue)
            self._is_guest = bool(at) or self.crew.queue.reserved > 0
        self._leaving = at if crowded else self._visits.in_the_way(at)
        return bool(self._leaving)

    def may_stay(self, site: SiteContext) -> bool:
        """Whether this machine may be where it is a guest any longer."""
        return site.guest_at not in self._leaving


class OwnAndGuestClaims(Claims):
    """Claims of this machine's own sites, and where there are none of some at which it is a guest."""

    def __init__(self, database: Database, machine_id: int, partition: Partition, guest: Guest) -> None:
        """See `Claims`."""
        super().__init__(database, machine_id, partition)
        self._guest = guest

    def claim(self, sites: int, seeds_per_site: int, **how: Any) -> list[ClaimedSite]:
        """Claim as any machine does, or as a guest."""
        return super().claim(sites, seeds_per_site, **how) or self._guest.visit(sites)


def be_guest(building: Building) -> None:
    """Let a machine be a guest: in any mode, for guests of a run before may have left parties at sites of others."""
    settings, database, machine_id = building.settings, building.database, building.machine_id
    place = database, machine_id, settings.scope, building.boundary, settings.max_depth
    inboxes = GuestInboxes(*place)
    crosses_over = settings.mode is Mode.CROSS_OVER
    open_parties = partial(inboxes.open_parties, building.inbox_batch) if crosses_over else _open_none
    guest = Guest(Visits(database, machine_id), open_parties, settings.seeds_per_thread)
    building.inboxes = OwnAndGuestInboxes(*place, inboxes)
    building.make_claims = partial(OwnAndGuestClaims, guest=guest)
    building.make_checkpoints = GuestCheckpoints
    building.followers.append(inboxes.follow)
    building.at_heartbeats.append(guest.look)
    building.may_stay = partial(_may_stay, building, guest)
    if crosses_over:
        building.openers.append(Opener("guests have URLs to fetch", inboxes.waits))
        building.last_openers.append(Opener("guests have found URLs meanwhile", inboxes.waits))
    building.beside.append(partial(_at_work, guest))


@contextmanager
def _at_work(guest: Guest, machine: Machine) -> Iterator[None]:
    guest.crew = machine.crew
    yield


def _may_stay(building: Building, guest: Guest, site: SiteContext) -> bool:
    return guest.may_stay(site) if site.guest_at else building.partition.is_mine(site.key)


def _open_none() -> int:
    return 0
