"""This machine as a guest: where it goes when it has nothing else to do, and when it has to leave again.

It comes when it holds no site of its own and can claim none. It leaves a site as soon as there is something for the
owner to do there, and all sites as soon as one of its own has to wait for a place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from scrawler.core.machine.crew import Crew
from scrawler.core.party.site import SiteContext
from scrawler.model.claims import ClaimedSite


class Visits(Protocol):
    """The part of the store that gives out sites to guests."""

    def visit(self, sites: int, seeds_per_site: int) -> list[ClaimedSite]:
        """Claim up to so many sites at which there is something for guests, and nobody else."""

    def in_the_way(self, ids: Collection[int]) -> set[int]:
        """Return which of the sites at which this machine is a guest have something for their owners by now."""


class Guest:
    """Decides where this machine is a guest; `open_parties` lets parties of guests begin, and may find none."""

    def __init__(self, visits: Visits, crew: Crew, open_parties: Callable[[], int], seeds_per_site: int) -> None:
        self._visits = visits
        self._crew = crew
        self._open_parties = open_parties
        self._seeds_per_site = seeds_per_site
        self._is_guest = False  # whether it may be anywhere as a guest
        self._leaving: Collection[int] = ()

    def visit(self, room: int) -> list[ClaimedSite]:
        """Claim sites as a guest, up to so many; none while there is a site of its own here."""
        with self._crew.turn:
            if any(not site.visits for site in self._crew.sites()):
                return []
        self._open_parties()
        claimed = self._visits.visit(room, self._seeds_per_site)
        self._is_guest = self._is_guest or bool(claimed)
        return claimed

    def look(self) -> bool:
        """Look, with each heartbeat, whether this machine is in the way of an owner; nothing to do for no guest."""
        if not self._is_guest:
            return False
        with self._crew.turn:
            at = {site.visits for site in self._crew.sites() if site.visits}
            crowded = any(not site.visits for site in self._crew.queue)
            self._is_guest = bool(at) or self._crew.queue.reserved > 0
        self._leaving = at if crowded else self._visits.in_the_way(at)
        return bool(self._leaving)

    def may_stay(self, site: SiteContext) -> bool:
        """Whether this machine may be where it is a guest any longer."""
        return site.visits not in self._leaving
