"""What a machine has for visits again: the step, what begins rounds, and what takes URLs that others have sent."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from scrawler.assembly.building import Building
from scrawler.core.distribution.openers import Opener
from scrawler.core.machine.machine import Machine
from scrawler.features.revisit.keeping import Keeper, make_revisits
from scrawler.features.revisit.lists import ListsStep, PublishedLists
from scrawler.features.revisit.settings import RevisitSettings
from scrawler.features.revisit.shares import VisitShares, weight_of
from scrawler.features.revisit.step import RevisitStep
from scrawler.features.revisit.store.known import KnownVisits
from scrawler.features.revisit.store.pushed import PushedUrls
from scrawler.features.revisit.store.rounds import Revisits, is_ordered
from scrawler.features.revisit.store.rows import VisitRows
from scrawler.store.machines import Machines
from scrawler.threads import no_room, start


def build(building: Building) -> None:
    """Let a machine visit URLs again. Raises SettingsError for a file of ranks that cannot be read."""
    settings, database = building.settings, building.database
    own = RevisitSettings.of(settings)
    shares = VisitShares(settings, database, weight_of(settings))
    shares.look()
    known = KnownVisits(database)
    lists = ListsStep(building.rules, known)
    if lists.is_on:
        building.steps.append(lists)
    building.steps.append(RevisitStep(building.rules, known, shares, lists))
    building.lists = PublishedLists(lists)
    building.writers.append(VisitRows(database, building.machine_id, own.keep_visits))
    building.beside.append(partial(_keeping, building, shares))
    building.openers.append(Opener("a round that was ordered is being begun", partial(is_ordered, database)))
    if own.keep:
        building.goes_on = building.listens = True
        building.take_pushed = _take_pushed(building, shares)
        building.last_openers.append(Opener("it is kept: URLs become due", _always))


@contextmanager
def _keeping(building: Building, shares: VisitShares, machine: Machine) -> Iterator[None]:
    """Let rounds begin in the block: one that was ordered, and those of URLs that become due in a kept crawl."""
    own, stopping = RevisitSettings.of(building.settings), machine.ending.stopping
    with no_room():
        revisits = _revisits(building, shares, stopping.is_set)
        of_kept = shares if own.keep else None
        keeper = Keeper(revisits, of_kept, own.revisit_pause, stopping, machine.ending.failed, building.say)
    start(keeper)
    try:
        yield
    finally:
        stopping.set()
        keeper.join()


def _take_pushed(building: Building, shares: VisitShares) -> Callable[[int], int]:
    """Return what takes URLs that servers and owners have sent."""
    settings = building.settings
    revisits = _revisits(building, shares, building.stop.is_set)
    pause = int(RevisitSettings.of(settings).revisit_pause * 1000)
    place = building.database, building.machine_id, settings.scope, revisits, building.boundary, pause
    return PushedUrls(*place).take


def _revisits(building: Building, shares: VisitShares, stopping: Callable[[], bool]) -> Revisits:
    settings, database = building.settings, building.database
    written_to = partial(Machines(database).written_to, building.crawl, socket.gethostname())
    return make_revisits(settings, database, settings.scope, written_to, stopping, shares.weight)


def _always() -> bool:
    return True
