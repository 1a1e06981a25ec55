"""What machines tell each other of the servers that they ask: who may have how many requests in flight, and when.

A machine may use only what the table server_place says it holds; together that is never more than the limit of an
address. It raises its share out of what the others have let go, and notes a smaller one once it keeps to it. A machine
that lives alone notes just that, under an empty address; while that stands, nobody else is given anything: it may be
anywhere. Rows of machines that are gone count no more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from time import monotonic

from sqlalchemy import ColumnElement, Connection, delete, literal_column, select

from scrawler.model.servers import Slot
from scrawler.model.terms import Millis
from scrawler.store.bulk import BulkInsert
from scrawler.store.engine import Database, database_time
from scrawler.store.overview import LIVING
from scrawler.store.rows import sliced
from scrawler.store.tables import machine, server, server_place

_ANYWHERE = ""  # the address under which a machine notes that it lives alone
_NOBODY = 0  # machine id of the row that all lock first, so that they go one at a time
_TURN_MS: Millis = 30_000  # after so long others get what cannot be divided
_LONGEST_LEAD: Millis = 2_000
_ASTRAY: Millis = 60_000  # a time that is farther off is from before the clock was set back


class Servers:
    """Shares of one machine (a row of the table machine); used by one thread at a time."""

    def __init__(self, database: Database, machine_id: int) -> None:
        """Speak for `machine_id`."""
        self._database = database
        self._machine_id = machine_id
        self._shares = BulkInsert.replacing(server_place, ("address", "machine_id", "places"), database.compiler)
        self._mutex = BulkInsert.adding(
            server_place, ("address", "machine_id", "places"), database.compiler, added="places"
        )
        self._servers = BulkInsert.replacing(server, ("address", "machine_id", "next_due_at"), database.compiler)
        self._lead: Millis = 0  # how long a reservation takes at present
        self._alone = False  # whether it may be noted that this machine lives alone

    def share(
        self, held: Mapping[str, int], left: Collection[str], per_ip: int, alone: bool
    ) -> Mapping[str, int] | None:
        """Note what this machine holds at addresses, and those that it has left; return its shares.

        `held` is how many requests it may have in flight by now. Where its share is smaller from now on, tell so again
        when it keeps to it. None: it is the only machine that lives, without a limit; only if `alone` allows that.
        """

        def work(connection: Connection) -> Mapping[str, int] | None:
            self._one_at_a_time(connection)
            now, living = self._living(connection)
            if self._machine_id not in living:
                return {}
            mine = server_place.c.machine_id == self._machine_id
            if alone and living == {self._machine_id}:
                connection.execute(delete(server_place).where(server_place.c.machine_id != _NOBODY))
                self._shares.run(connection, [(_ANYWHERE, self._machine_id, 0)])
                self._alone = True
                return None
            for part in sliced([*left, _ANYWHERE] if self._alone else left):
                connection.execute(delete(server_place).where(mine, server_place.c.address.in_(part)))
            noted = self._noted(connection, [*held, _ANYWHERE], living)
            before = {address: noted[address].pop(self._machine_id, None) for address in held}
            may = held if noted[_ANYWHERE] else self._shares_at(held, noted, per_ip, now // _TURN_MS)
            rows = ((address, self._machine_id, max(may[address], held[address])) for address in sorted(held))
            self._shares.run(connection, [row for row in rows if row[2] != before[row[0]]])
            return may

        shares = self._database.retrying(work)
        self._alone = shares is None
        return shares

    def reserve(self, wishes: Mapping[str, Millis], pause: Millis, width: Millis) -> dict[str, Slot]:
        """Reserve one time, of `width`, at each address, with at least `pause` between it and any other one there.

        `wishes` are the times that must go by before: what this machine has asked last, it knows better than the
        database. A slot never begins before the time by the database's clock, nor ends after it, by however much the
        asking is delayed.
        """
        heard = 0.0

        def work(connection: Connection) -> dict[str, Slot]:
            nonlocal heard
            self._one_at_a_time(connection)
            asked = monotonic()
            now = database_time(connection, self._database.clock)
            heard = monotonic()
            due = self._due(connection, wishes, now, pause + width)
            at = {one: max(due.get(one, 0), now + max(wishes[one], self._lead)) for one in wishes}
            rows = ((one, self._machine_id, at[one] + width + pause) for one in wishes)
            self._servers.run(connection, sorted(rows))
            return {one: Slot(heard + (at[one] - now) / 1000, asked + (at[one] - now + width) / 1000) for one in wishes}

        slots = self._database.retrying(work)
        self._lead = min(_LONGEST_LEAD, int((monotonic() - heard) * 2000))
        return slots

    def _one_at_a_time(self, connection: Connection) -> None:
        self._mutex.run(connection, [(_ANYWHERE, _NOBODY, 1)])

    def _living(self, connection: Connection) -> tuple[Millis, set[int]]:
        """Return the time by the database's clock, and the machines that live."""
        now: ColumnElement[Millis] = literal_column(self._database.clock)
        rows = connection.execute(select(machine.c.id, now.label("now")).where(machine.c.state.in_(LIVING))).all()
        return (rows[0].now if rows else 0), {row.id for row in rows}

    def _shares_at(
        self, held: Collection[str], noted: Mapping[str, Mapping[int, int]], per_ip: int, turn: int
    ) -> dict[str, int]:
        return {address: share_of(self._machine_id, noted[address], per_ip, turn) for address in held}

    def _noted(
        self, connection: Connection, addresses: Collection[str], living: Collection[int]
    ) -> dict[str, dict[int, int]]:
        """Return what machines that live hold: address -> machine -> requests."""
        held: dict[str, dict[int, int]] = {address: {} for address in addresses}
        for part in sliced(addresses):
            for address, number, share in connection.execute(
                select(server_place).where(server_place.c.address.in_(part))
            ):
                if number in living:
                    held[address][number] = share
        return held

    def _due(self, connection: Connection, addresses: Collection[str], now: Millis, turn: Millis) -> dict[str, Millis]:
        """Return when addresses are due that others have asked last; times that are over are forgotten.

        Each machine that lives can have a turn before. What is farther off than these, and a while, is from before the
        clock was set back, and due after as many turns.
        """
        connection.execute(delete(server).where(server.c.next_due_at <= now))
        due: dict[str, Millis] = {}
        for part in sliced(addresses):
            theirs = server.c.address.in_(part), server.c.machine_id != self._machine_id
            due.update((row.address, row.next_due_at) for row in connection.execute(select(server).where(*theirs)))
        if max(due.values(), default=now) > now + turn + _ASTRAY:
            turns = turn * (1 + len(self._living(connection)[1]))
            return {one: at if at <= now + turns + _ASTRAY else now + turns for one, at in due.items()}
        return due


def share_of(machine_id: int, others: Mapping[int, int], per_ip: int, turn: int) -> int:
    """Return how many of `per_ip` requests a machine may have in flight beside `others`, machine -> share held.

    Each gets as many; what is left over goes to the first ones, another one being the first with each `turn`. What
    the others still hold cannot be had yet.
    """
    ids = sorted([machine_id, *others])
    each, left = divmod(per_ip, len(ids))
    share = each + ((ids.index(machine_id) - turn) % len(ids) < left)
    return max(0, min(share, per_ip - sum(others.values())))
