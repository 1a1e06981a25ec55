"""Fair shares: how many sites a machine may own while there are too few for all.

A machine owns no more than the N-th part, rounded up, of all sites that the N machines own or could claim. The parts
together hold every site, and a machine without a site may always take one; so the rule alone keeps nobody idle. But
a machine may hang, or have no room for its part: what has stood open for `PATIENCE` is anybody's. And a machine may
come when the others have taken all there is: what they have beyond their shares then goes to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, null, select
from sqlalchemy import func as sql

from scrawler.model.claims import SiteState, enough_for_all
from scrawler.model.machines import MachineState
from scrawler.store.rows import in_state, sliced
from scrawler.store.sites import FREE, Open, candidates
from scrawler.store.tables import machine, site

PATIENCE = 6.0  # seconds for which sites are left to others; machines with room look every two


class FairShare:
    """What one machine may claim; used by one thread at a time."""

    def __init__(self, machine_id: int) -> None:
        """Speak for `machine_id`."""
        self._machine_id = machine_id
        self._open_since: dict[int, float] = {}  # site left to others -> since when; at most as many as were wanted

    def allowed(self, connection: Connection, wanted: int, machines: int, seats_elsewhere: int) -> int:
        """Return how many of `wanted` sites to claim at once: all, as long as the others find enough free as well.

        Looks at no more free sites than it takes to see that. Sites are counted in one statement: one that is
        claimed meanwhile is counted once.
        """
        enough = enough_for_all(wanted, machines, seats_elsewhere)
        if machines <= 1 or _count_free(connection, enough + 1) > enough:
            self._open_since.clear()
            return wanted
        by_owner = _count_by_owner(connection)
        return max(0, min(wanted, _share(by_owner, machines) - by_owner.get(self._machine_id, 0)))

    def surplus(self, connection: Connection, machines: int) -> int:
        """Return how many sites the machine owns beyond its share while one that runs has none, nor finds any."""
        first = select(site.c.id).where(in_state(SiteState.ACTIVE), site.c.owner == machine.c.id).limit(1)
        idle = (
            select(machine.c.id)
            .where(machine.c.state == MachineState.RUNNING.value, first.scalar_subquery().is_(None))
            .limit(1)
        )
        if connection.scalar(idle) is None or _count_free(connection, 1):
            return 0
        by_owner = _count_by_owner(connection)
        return max(0, by_owner.get(self._machine_id, 0) - _share(by_owner, machines))

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


def _count_by_owner(connection: Connection) -> dict[int | None, int]:
    """Count the sites that each machine owns, and the free ones (None)."""
    owned = select(site.c.owner, sql.count()).where(in_state(SiteState.ACTIVE)).group_by(site.c.owner)
    free = select(null(), sql.count()).where(FREE)
    return {row[0]: row[1] for row in connection.execute(owned.union_all(free))}


def _share(by_owner: Mapping[int | None, int], machines: int) -> int:
    return -(-sum(by_owner.values()) // machines)


def _count_free(connection: Connection, limit: int) -> int:
    some = select(site.c.id).where(FREE).limit(limit).subquery()
    return connection.scalar(select(sql.count()).select_from(some)) or 0
