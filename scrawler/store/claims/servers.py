"""What machines tell each other of the servers that they ask: who may have how many requests in flight, and when.

A machine may use only what the table server_place says it holds; together that is never more than the limit of an
address. It raises its share out of what the others have let go, and notes a smaller one once it keeps to it. A machine
that lives alone notes just that, under an empty address; while that stands, nobody else is given anything: it may be
anywhere. Rows of machines that are gone count no more.

The row that all lock first has a version, which grows with each change at an address where several machines are. While
it stays, and the same machines live, what a machine holds and may go on to hold is not looked up again: most addresses
have one machine, and to look up all of them with each heartbeat was a tenth of MariaDB's work. The heartbeat brings the
version with it, and mostly says that there is nothing to ask at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from time import monotonic
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, literal_column, select

from scrawler.model.servers import Slot, Standing
from scrawler.model.terms import Millis
from scrawler.store.claims.overview import LIVING
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import sliced
from scrawler.store.schema.tables import machine, server, server_place

_ANYWHERE = ""  # the address under which a machine notes that it lives alone
_NOBODY = 0  # machine id of the row that all lock first, so that they go one at a time; its share is the version
_TURN_MS: Millis = 30_000  # after so long others get what cannot be divided
_LONGEST_LEAD: Millis = 2_000
_ASTRAY: Millis = 60_000  # a time that is farther off is from before the clock was set back
_ROW_OF_ALL = server_place.c.address == _ANYWHERE, server_place.c.machine_id == _NOBODY

SHARES = select(server_place.c.places).where(*_ROW_OF_ALL).scalar_subquery()  # the version of all shares


class _Standing(NamedTuple):
    """What shares depend on, beside what is held at an address; `turn` counts those that what cannot be divided has."""

    version: int
    living: frozenset[int]
    per_ip: int
    turn: int


class _Told(NamedTuple):
    """What a machine may use, None for all; and of that what stays so while it holds the same and nothing changes."""

    shares: Mapping[str, int] | None
    settled: dict[str, int]
    standing: _Standing


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
        self._standing: _Standing | None = None  # what held when shares were last told; None: that is not known
        # Address -> what this machine holds there since it was told, and may go on to hold, as of that.
        self._settled: dict[str, int] = {}

    def share(
        self, held: Mapping[str, int], left: Collection[str], per_ip: int, alone: bool
    ) -> Mapping[str, int] | None:
        """Note what this machine holds at addresses, and those that it has left; return its shares.

        `held` is how many requests it may have in flight by now. Where its share is smaller from now on, tell so again
        when it keeps to it. None: it is the only machine that lives, without a limit; only if `alone` allows that.
        """
        known, standing = self._settled, self._standing
        self._standing = None  # whoever does not hear how it ended looks all of it up

        def work(connection: Connection) -> _Told:
            self._one_at_a_time(connection)
            now, living, version = self._living(connection)
            found = _Standing(version, living, per_ip, now // _TURN_MS)
            if self._machine_id not in living:
                return _Told({}, {}, found)
            if alone and living == {self._machine_id}:
                self._note_alone(connection)
                return _Told(None, {}, found)
            settled = known if found == standing else {}
            asked = {address: number for address, number in held.items() if settled.get(address) != number}
            gone = [*left, _ANYWHERE] if self._alone else left
            noted = self._noted(connection, {*asked, *gone, _ANYWHERE}, living)
            before = {address: holders.pop(self._machine_id, None) for address, holders in noted.items()}
            may = asked if noted[_ANYWHERE] else self._shares_at(asked, noted, per_ip, found.turn)
            self._leave(connection, gone)
            rows = ((address, self._machine_id, max(may[address], asked[address])) for address in sorted(asked))
            changed = [row for row in rows if row[2] != before[row[0]]]
            self._shares.run(connection, changed)
            if any(noted[address] for address in (*gone, *(row[0] for row in changed))) or self._alone:
                self._mutex.run(connection, [(_ANYWHERE, _NOBODY, 1)])
                found = found._replace(version=version + 1)
            settles = {address: may[address] for address, number in asked.items() if may[address] >= number}
            stays = {one: number for one, number in settled.items() if one not in asked and one not in left}
            return _Told({**held, **may}, stays | settles, found)

        told = self._database.retrying(work)
        self._alone = told.shares is None
        self._settled, self._standing = told.settled, told.standing
        return told.shares

    def stands(self, held: Mapping[str, int], per_ip: int, heard: Standing) -> bool:
        """Tell whether `share`, asked with this, would change nothing, as far as was heard of the others."""
        found = _Standing(heard.version, heard.living, per_ip, heard.at // _TURN_MS)
        return found == self._standing and all(self._settled.get(one) == number for one, number in held.items())

    def _note_alone(self, connection: Connection) -> None:
        connection.execute(delete(server_place).where(server_place.c.machine_id != _NOBODY))
        self._shares.run(connection, [(_ANYWHERE, self._machine_id, 0)])
        self._alone = True

    def _leave(self, connection: Connection, addresses: Collection[str]) -> None:
        mine = server_place.c.machine_id == self._machine_id
        for part in sliced(addresses):
            connection.execute(delete(server_place).where(mine, server_place.c.address.in_(part)))

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
        self._mutex.run(connection, [(_ANYWHERE, _NOBODY, 0)])

    def _living(self, connection: Connection) -> tuple[Millis, frozenset[int], int]:
        """Return the time by the database's clock, the machines that live, and the version."""
        now: ColumnElement[Millis] = literal_column(self._database.clock)
        query = select(machine.c.id, now.label("now"), SHARES.label("version")).where(machine.c.state.in_(LIVING))
        rows = connection.execute(query).all()
        if not rows:
            return 0, frozenset(), 0
        return rows[0].now, frozenset(row.id for row in rows), rows[0].version

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
