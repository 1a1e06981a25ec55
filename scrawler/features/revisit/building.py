"""What a machine has for visits again: the step, what begins rounds, and what takes URLs that others have sent.

Most crawls visit nothing again. Still any machine may take up a seed in a later round, which another one has begun, and
an order may come at any time: so it is there, and what it needs is loaded when it is needed.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

from scrawler.assembly.building import Building
from scrawler.core.distribution.openers import Opener
from scrawler.core.machine.machine import Machine
from scrawler.features.revisit.keeper import Keeper
from scrawler.features.revisit.late_rows import LateRows
from scrawler.features.revisit.publishing import UnreadLists
from scrawler.features.revisit.settings import RevisitSettings
from scrawler.features.revisit.step import RevisitStep
from scrawler.features.revisit.store.orders import Orders
from scrawler.store.claims.machines import Machines
from scrawler.threads import no_room, start

if TYPE_CHECKING:
    from scrawler.features.revisit.lists import ListsStep
    from scrawler.features.revisit.shares import VisitShares
    from scrawler.features.revisit.store.known import KnownVisits
    from scrawler.features.revisit.store.rounds import Revisits
    from scrawler.features.revisit.visiting import Visiting


def build(building: Building) -> None:
    """Let a machine visit URLs again. Raises SettingsError for a file of ranks that cannot be read."""
    parts = _Parts(building)
    own, database = parts.own, building.database
    if parts.lists is None:
        building.lists = UnreadLists()
    else:
        from scrawler.features.revisit.lists import PublishedLists

        building.steps.append(parts.lists)
        building.lists = PublishedLists(parts.lists)
    building.steps.append(RevisitStep(building.rules, parts.visiting))
    building.writers.append(LateRows(database, building.machine_id, own.keep_visits))
    building.beside.append(parts.keeping)
    building.openers.append(Opener("a round that was ordered is being begun", Orders(database).is_given))
    if own.keep or own.rank is not None:  # a file of ranks is read before anything begins
        parts.shares.look()
    if own.keep:
        building.goes_on = building.listens = True
        building.into_inboxes.append(parts.pushed())
        building.last_openers.append(Opener("it is kept: URLs become due", _always))


class _Parts:
    """What is made of it, when it is needed."""

    def __init__(self, building: Building) -> None:
        self._building = building
        self.own = RevisitSettings.of(building.settings)
        self.lists = self._lists()

    @cached_property
    def shares(self) -> VisitShares:
        """How visits share a budget."""
        from scrawler.features.revisit.shares import VisitShares, weight_of

        settings = self._building.settings
        return VisitShares(settings, self._building.database, weight_of(settings))

    def _lists(self) -> ListsStep | None:
        """Return the step of change lists, if those of any site are read."""
        settings = self._building.settings
        words = [self.own.resourcesync, *(table.get("resourcesync", "off") for table in settings.sites.values())]
        if all(word == "off" for word in words):
            return None
        from scrawler.features.revisit.lists import ListsStep

        return ListsStep(self._building.rules, self._known())

    def _known(self) -> KnownVisits:
        from scrawler.features.revisit.store.known import KnownVisits

        return KnownVisits(self._building.database)

    def visiting(self) -> Visiting:
        """Make what the step does where URLs are visited again."""
        from scrawler.features.revisit.visiting import Visiting

        self.shares.look()
        return Visiting(self._building.rules, self._known(), self.shares, self.lists)

    @contextmanager
    def keeping(self, machine: Machine) -> Iterator[None]:
        """Let rounds begin in the block: one that was ordered, and those of URLs that become due in a kept crawl."""
        own, stopping = self.own, machine.ending.stopping
        orders, failed, say = Orders(self._building.database), machine.ending.failed, self._building.say
        with no_room():
            of_kept = self.shares if own.keep else None
            revisits = partial(self._revisits, stopping.is_set)
            keeper = Keeper(orders, revisits, of_kept, own.revisit_pause, stopping, failed, say)
        start(keeper)
        try:
            yield
        finally:
            stopping.set()
            keeper.join()

    def pushed(self) -> Callable[[int], int]:
        """Return what takes URLs that servers and owners have sent."""
        from scrawler.features.revisit.store.pushed import PushedUrls

        building, pause = self._building, int(self.own.revisit_pause * 1000)
        revisits = self._revisits(building.stop.is_set)
        place = building.database, building.machine_id, building.settings.scope, revisits, building.boundary, pause
        return PushedUrls(*place).take

    def _revisits(self, stopping: Callable[[], bool]) -> Revisits:
        from scrawler.features.revisit.keeping import make_revisits

        settings, database = self._building.settings, self._building.database
        written_to = partial(Machines(database).written_to, self._building.crawl, socket.gethostname())
        return make_revisits(settings, database, settings.scope, written_to, stopping, self.shares.weight)


def _always() -> bool:
    return True
