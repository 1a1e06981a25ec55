"""Fair shares: how many sites a machine may own while there are too few for all.

Free sites are for the machines that own the fewest: each may claim up to the level at which all free sites find room
below it, as water fills vessels; those whose places are all taken are passed over. A machine without a site may always
take one; so the rule alone keeps nobody idle. But a machine may hang: what has stood open for `PATIENCE` is anybody's.

The rule is also an offer. When one machine gives a site back for another that has fewer (see `core/distribution/
balance.py`), the site is free, and the level is below what the giver still owns: it is for the one that was meant. No
row says so, and none can be left behind: where the taker is killed, the site is for whoever then has the fewest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, literal_column, null, select
from sqlalchemy import func as sql

from scrawler.model.claims import HeldSites, SiteState, enough_for_all, fair_level
from scrawler.model.machines import BEAT_EVERY, MachineState
from scrawler.store.claims.overview import LIVING
from scrawler.store.claims.sites import FREE, Open, candidates
from scrawler.store.engines.rows import AnyRow, in_state, sliced
from scrawler.store.schema.tables import machine, site

_FRESH = 2 * BEAT_EVERY  # milliseconds; a machine whose last heartbeat is older may hang
PATIENCE = 6.0  # seconds for which sites are left to others; machines with room look every two


class FairShare:
    """What one machine may claim; used by one thread at a time."""

    def __init__(self, machine_id: int) -> None:
        """Speak for `machine_id`."""
        self._machine_id = machine_id
        self._open_since: dict[int, float] = {}  # site left to others -> since when; at most as many as were wanted

    def allowed(
        self, connection: Connection, wanted: int, machines: int, seats_elsewhere: int, by_urls: bool = False
    ) -> int:
        """Return how many of `wanted` sites to claim at once: all, as long as the others find enough free as well.

        Looks at no more free sites than it takes to see that. Sites are counted in one statement: one that is
        claimed meanwhile is counted once. `by_urls` lets whoever has the fewest URLs left claim, not the fewest sites.
        """
        enough = enough_for_all(wanted, machines, seats_elsewhere)
        if machines <= 1 or _count_free(connection, enough + 1) > enough:
            self._open_since.clear()
            return wanted
        by_owner = _count_by_owner(connection)
        columns = machine.c.id, machine.c.state, machine.c.capacity, machine.c.urls_left
        living = connection.execute(select(*columns).where(machine.c.state.in_(LIVING))).all()
        held = {row.id: by_owner.pop(row.id, 0) for row in living}
        # Who pauses or ends claims nothing; what the row says of this machine may be of the last heartbeat.
        at_work = [row for row in living if row.state == MachineState.RUNNING.value or row.id == self._machine_id]
        if by_urls and any(row.urls_left for row in living):
            found = self._allowed_by_urls(wanted, at_work, held)
            if found is not None:
                return found
        to_come = [0] * (machines - len(living))
        level = fair_level([*_with_room(at_work, held), *to_come] or held.values() or [0], sum(by_owner.values()))
        return max(0, min(wanted, level - held.get(self._machine_id, 0)))

    def _allowed_by_urls(self, wanted: int, at_work: Sequence[AnyRow], held: Mapping[int, int]) -> int | None:
        """Return how many sites to claim for free places, if of all that have any it has the fewest URLs left.

        None: no other machine has a free place.
        """
        room = {row.id: row.capacity - held[row.id] for row in at_work}
        left = {row.id: max(row.urls_left, held[row.id]) for row in at_work}
        others = [left[one] for one in room if room[one] > 0 and one != self._machine_id]
        if not others:
            return None
        is_least = left.get(self._machine_id, 0) <= min(others)
        return min(wanted, max(0, room.get(self._machine_id, 0))) if is_least else 0

    def held(self, connection: Connection, clock: str) -> HeldSites | None:
        """Return how many sites the machines own that are at work; None: there are sites to claim, which come first.

        Whoever has left out a heartbeat would not take what is given for it. `clock` is the database's, in SQL.
        """
        if _count_free(connection, 1):
            return None
        now: ColumnElement[int] = literal_column(clock)
        states = connection.execute(
            select(
                machine.c.id,
                machine.c.state,
                machine.c.capacity,
                machine.c.urls_left,
                (machine.c.heartbeat_at >= now - _FRESH).label("fresh"),
            ).where(machine.c.state.in_(LIVING))
        ).all()
        by_owner = _count_by_owner(connection)
        if by_owner.keys() - {row.id for row in states} - {None}:
            return None  # those of machines that are gone
        at_work = [row for row in states if row.fresh and row.state == MachineState.RUNNING.value]
        return HeldSites(
            self._machine_id,
            {row.id: by_owner.get(row.id, 0) for row in at_work},
            {row.id: row.capacity for row in at_work},
            {row.id: row.urls_left for row in at_work},
        )

    def left_over(self, connection: Connection, sources: Iterable[Open], wanted: int) -> list[Open]:
        """Return what of `sources` to claim beyond the share: sites that nobody took since long."""
        now = time.monotonic()
        seen = [(source, candidates(connection, source.condition, 0, wanted)) for source in sources]
        self._open_since = {one: self._open_since.get(one, now) for _, ids in seen for one in ids}
        late = ((source, [one for one in ids if now - self._open_since[one] >= PATIENCE]) for source, ids in seen)
        return [
            source._replace(condition=source.condition & site.c.id.in_(part))
            for source, ids in late
            for part in sliced(ids)
        ]


def _with_room(at_work: Sequence[AnyRow], held: Mapping[int, int]) -> list[int]:
    """Return how many sites the machines hold that could hold more; one without a capacity always could."""
    return [held[row.id] for row in at_work if held[row.id] < row.capacity or not row.capacity]


def _count_by_owner(connection: Connection) -> dict[int | None, int]:
    """Count the sites that each machine owns, and the free ones (None)."""
    owned = select(site.c.owner, sql.count()).where(in_state(SiteState.ACTIVE)).group_by(site.c.owner)
    free = select(null(), sql.count()).where(FREE)
    return {row[0]: row[1] for row in connection.execute(owned.union_all(free))}


def _count_free(connection: Connection, limit: int) -> int:
    some = select(site.c.id).where(FREE).limit(limit)
    if limit == 1:  # asked again and again: a count of it is another table to MariaDB, and takes twice the time
        return len(connection.execute(some).all())
    return connection.scalar(select(sql.count()).select_from(some.subquery())) or 0
