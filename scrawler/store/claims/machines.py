"""Machines: who crawls, with a heartbeat as lease, and what each of them is told to do.

A machine lives while its heartbeat is younger than a lease by the database's clock: anyone can read that off its row.
Its sites can be taken over once a machine that lives has declared it dead. That happens in a heartbeat: at once if
its process is gone from the same host, else when its lease is over and the one who looks has had its own heartbeats
through for a whole lease. After an outage of the database everybody looks dead, and nobody is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from sqlalchemy import (
    ColumnElement,
    Connection,
    Update,
    case,
    insert,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy import func as sql

from scrawler.model.machines import ENDING, LEASE, Command, Living, LivingMachine, MachineState, Orders
from scrawler.model.terms import Millis
from scrawler.store.claims.crawls import Crawl
from scrawler.store.claims.errands import ANY_WISHED
from scrawler.store.claims.overview import (
    LIVING,
    MachineView,
    Summary,
    command_of,
    is_over,
    is_silent,
    machine_views,
    summary_of,
)
from scrawler.store.claims.processes import identify, ran_here, runs
from scrawler.store.claims.samples import Look, MachineSample, Samples
from scrawler.store.claims.seeds import Seeds
from scrawler.store.claims.servers import SHARES
from scrawler.store.claims.sites import FREE
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.faults import read_json
from scrawler.store.engines.locking import lock_free, skips_locked
from scrawler.store.engines.rows import AnyRow, inserted_id
from scrawler.store.schema.tables import crawl, machine, run, site

_NONE = Living()
_FREE = select(site.c.id).where(FREE).limit(1).scalar_subquery()
_IN_ORDER = ("ended", "stopped")  # outcomes of runs that nothing cut short

_ROW = (
    *(machine.c.id, machine.c.process, machine.c.state, machine.c.wanted),
    *(machine.c.launched_at, machine.c.started_at, machine.c.heartbeat_at, machine.c.capacity),
    *(machine.c.agent, machine.c.weight),
    *(crawl.c.paused, crawl.c.stopped_at, crawl.c.settings, crawl.c.revision),
)


class Identity(Protocol):
    """What a machine is called where sites are divided, and what it takes of the crawl beside others."""

    def identifier(self, name: str, taken: Mapping[str, int]) -> str:
        """Return what a machine of this name is called beside those that live (identifier -> weight)."""

    def weight(self, fetched: int) -> int:
        """Return what a machine takes that has fetched so many bytes since it started."""


class PlainIdentity:
    """A machine is called as its row is, and takes as much as any other."""

    def identifier(self, name: str, taken: Mapping[str, int]) -> str:
        """Return the name."""
        return name

    def weight(self, fetched: int) -> int:
        """Return 1."""
        return 1


_PLAIN = PlainIdentity()


class Registered(NamedTuple):
    """A machine's row, the name by which users speak of it while it lives, and the identifier that it has."""

    id: int
    name: str
    agent: str


class Machines:
    """The machines of a crawl. Whoever sends heartbeats has an object for each machine: it remembers the last one."""

    def __init__(self, database: Database, lease: Millis = LEASE) -> None:
        """Work on `database`; all machines of a crawl have the same `lease`."""
        self._database = database
        self._lease = lease
        self._clock: ColumnElement[Millis] = literal_column(database.clock)
        self._last_beat: Millis = -lease  # times of the database's clock, as the next
        self._good_since: Millis = 0
        self._samples = Samples()

    def register(self, host: str, pid: int, launched_at: Millis, identity: Identity = _PLAIN) -> Registered:
        """Make a row for the process `pid` of this host, whose command began at `launched_at` (database's clock).

        Its name is `host`-k with the smallest k that no living machine has; its identifier is chosen by `identity`,
        beside those of machines with a good lease. Declares those machines dead whose processes are gone from this
        host, and no others: one that has just come cannot know.
        """
        process = identify(pid)
        made: Registered | None = None

        def work(connection: Connection) -> Registered:
            nonlocal made
            if made is not None and connection.scalar(select(machine.c.name).where(machine.c.id == made.id)):
                return made  # an earlier try has committed
            connection.execute(select(crawl.c.id).with_for_update())  # one registers at a time: names are unique
            rows = connection.execute(select(machine).where(machine.c.state.in_(LIVING))).all()
            gone = [row for row in rows if runs(row.process) is False]
            self._declare(connection, gone)
            taken = {row.name for row in rows if row not in gone}
            name = next(name for k in range(1, len(taken) + 2) if (name := f"{host}-{k}") not in taken)
            now = database_time(connection, self._database.clock)
            there = (row for row in rows if row not in gone and not is_over(row.heartbeat_at, now, self._lease))
            identifier = identity.identifier(name, {row.agent: row.weight for row in there if row.agent})
            row = {
                **{"agent": identifier, "weight": identity.weight(0)},
                **{"name": name, "host": host, "pid": pid, "process": process, "state": MachineState.RUNNING.value},
                **{"launched_at": launched_at, "started_at": now, "heartbeat_at": now},
            }
            made = Registered(inserted_id(connection.execute(insert(machine), row)), name, identifier)
            return made

        return self._database.retrying(work)

    def beat(
        self,
        machine_id: int,
        sample: MachineSample | None = None,
        held_by_thread: Sequence[int] = (),
        state: MachineState = MachineState.RUNNING,
        memory: int = 0,
        capacity: int = 0,
        kept_open_by: str = "",
        weight: int = 1,
    ) -> Orders:
        """Prolong the machine's lease, say how it is, and return what it is to do: one transaction.

        The machine can count on its lease from the begin of this call; that of one that is to be removed is not
        prolonged. `sample` and the seeds that each thread holds go to the statistics where they have changed: in the
        first SAMPLE_EVERY with each beat, then that often, when the state changes, and while it stops. `memory` is
        resident bytes, `capacity` how many seeds it can hold, `kept_open_by` why the crawl is not over as it sees it,
        `weight` how much of the crawl it takes, compared with the others.
        """
        seen: tuple[Millis, Millis, bool] = (0, 0, False)
        look = None if sample is None else Look(machine_id, state, sample, tuple(held_by_thread))

        def work(connection: Connection) -> Orders:
            nonlocal seen
            values: dict[str, int | str] = {"state": state.value, "memory": memory, "capacity": capacity}
            values |= {"kept_open_by": kept_open_by, "weight": weight}
            connection.execute(self._prolonged(machine_id, values))
            rows = self._rows(connection, machine_id)
            mine = next((row for row in rows if row.id == machine_id), None)
            if mine is None or mine.state not in LIVING:
                return _orders(mine, alive=False)
            now, others = mine.now, [row for row in rows if row.id != machine_id]
            good_since = self._good_since if 0 <= now - self._last_beat <= self._lease // 2 else now
            gone = [row for row in others if runs(row.process) is False]
            over = [row for row in others if row not in gone and is_over(row.heartbeat_at, now, self._lease)]
            self._declare(connection, gone + over if now - good_since >= self._lease else gone)
            due = look is not None and self._samples.is_due(now, mine.started_at, state, len(held_by_thread))
            if look is not None and due:
                self._samples.record(connection, now, look)
            seen = now, good_since, due
            there = (row for row in rows if row not in gone and row not in over)
            living = Living(tuple(sorted(map(_living, there))))
            return _orders(mine, alive=True, living=living)

        orders = self._database.retrying(work)
        if orders.alive:
            self._last_beat, self._good_since, sampled = seen
            if look is not None and sampled:
                self._samples.written(self._last_beat, look)
        return orders

    def stop(self, machine_id: int, refused: int = 0) -> MachineView:
        """Note that the machine ended by itself, and return what it committed; `refused` page rows were not.

        Sites that it still owns are claimed first by the next one.
        """

        def work(connection: Connection) -> MachineView:
            mine = machine.c.id == machine_id
            state = case((machine.c.state.in_(LIVING), MachineState.STOPPED.value), else_=machine.c.state)
            connection.execute(update(machine).where(mine).values(state=state, refused=refused))
            return machine_views(connection, self._database.clock, self._lease, machine.c.id == machine_id)[0]

        return self._database.retrying(work)

    def note_uncommitted(self, machine_id: int, records: int) -> None:
        """Add to what the files of a machine held that was never committed, when it was gone."""
        mine = update(machine).where(machine.c.id == machine_id)
        self._database.retrying(
            lambda connection: connection.execute(mine.values(uncommitted=machine.c.uncommitted + records))
        )

    def declare_gone(self) -> None:
        """Declare those machines dead whose processes are gone from this host, as a heartbeat does."""

        def work(connection: Connection) -> None:
            rows = connection.execute(select(machine).where(machine.c.state.in_(LIVING))).all()
            self._declare(connection, [row for row in rows if runs(row.process) is False])

        self._database.retrying(work)

    def gone(self) -> list[int]:
        """Return the ids of the machines that stopped or died, less those whose last commit is still on its way.

        A commit writes the machine's row last of all, so whoever finds that row free sees all that it will ever write
        (a killed process is gone before the server has worked off what it sent).
        """
        query = select(machine.c.id).where(machine.c.state.not_in(LIVING)).order_by(machine.c.id)

        def work(connection: Connection) -> list[int]:  # on SQLite a commit dies with its process
            return list(connection.scalars(query.with_for_update(skip_locked=skips_locked(connection))))

        return self._database.retrying(work)

    def ended_in_order(self) -> set[int]:
        """Return the ids of the machines that ended with all that they had fetched committed."""
        in_order = run.c.outcome.in_(_IN_ORDER), machine.c.refused == 0
        query = select(machine.c.id).join(run, run.c.machine_id == machine.c.id).where(*in_order)
        return self._database.reading(lambda connection: set(connection.scalars(query)))

    def number(self) -> int:
        """Return how many machines have begun a run."""
        begun = select(sql.count(run.c.machine_id.distinct()))
        return self._database.reading(lambda connection: connection.scalar(begun) or 0)

    def folders(self, host: str) -> dict[int, Path]:
        """Return the folder of pages that each machine of a host was given; with SQLite there is no other host.

        A container has another name each time, and yet the same database.
        """
        of_host = true() if self._database.dialect == "sqlite" else machine.c.host == host
        query = select(machine.c.id, run.c.settings).join(run, run.c.machine_id == machine.c.id).where(of_host)
        rows = self._database.rows(query)
        return {row.id: Path(read_json(row.settings)["pages_dir"]) for row in rows}

    def folders_here(self) -> set[Path]:
        """Return the folders of pages of the machines that ran on this host since it was started, and of no others."""
        query = select(machine.c.process, run.c.settings).join(run, run.c.machine_id == machine.c.id)
        rows = [row for row in self._database.rows(query) if ran_here(row.process)]
        return {Path(read_json(row.settings)["pages_dir"]) for row in rows}

    def written_to(self, crawl: Crawl, host: str) -> dict[str, Path]:
        """Return those folders by what the names of the machines' files begin with."""
        return {crawl.warc_prefix(number): folder for number, folder in self.folders(host).items()}

    def machines(self) -> tuple[MachineView, ...]:
        """Return all machines there ever were, in the order in which they came, with their states as observed now."""
        return self._database.reading(
            lambda connection: machine_views(connection, self._database.clock, self._lease, true())
        )

    def living(self) -> Living:
        """Return the machines that live now, as a heartbeat would tell them."""

        def work(connection: Connection) -> Living:
            rows = self._rows(connection, 0)
            return Living(tuple(sorted(_living(row) for row in rows if not is_silent(row, self._lease))))

        return self._database.reading(work)

    def summary(self) -> Summary:
        """Return how the crawl stands."""
        return summary_of(Seeds(self._database).counts(), self.machines())

    def _prolonged(self, machine_id: int, values: Mapping[str, int | str]) -> Update:
        mine = update(machine).where(machine.c.id == machine_id, machine.c.state.in_(LIVING))
        removed = machine.c.wanted == Command.REMOVE.value
        heartbeat = case((removed, machine.c.heartbeat_at), else_=self._clock)
        return mine.values(heartbeat_at=heartbeat, **values)

    def _rows(self, connection: Connection, machine_id: int) -> Sequence[AnyRow]:
        """Return the machines that say they live, and this one, each with the crawl's orders for all."""
        shown = or_(machine.c.state.in_(LIVING), machine.c.id == machine_id)
        joined = machine.outerjoin(crawl, true())
        told = SHARES.label("shares"), _FREE.label("free"), ANY_WISHED.label("errands")
        columns = (*_ROW, self._clock.label("now"), *told)
        return connection.execute(select(*columns).select_from(joined).where(shown)).all()

    def _declare(self, connection: Connection, rows: Sequence[AnyRow]) -> None:
        """Declare machines dead that have not beaten since `rows` were read.

        Those whose rows are locked are left for the next time: a frozen machine must not hold up the others.
        """
        if not rows:
            return
        seen = {row.id: row.heartbeat_at for row in rows}
        free = lock_free(connection, select(machine.c.id, machine.c.heartbeat_at), machine.c.id, sorted(seen))
        silent = [row.id for row in free if row.heartbeat_at == seen[row.id]]
        _mark_dead(connection, silent)


def _living(row: AnyRow) -> LivingMachine:
    ends = row.state == MachineState.STOPPING.value or command_of(row) in ENDING
    return LivingMachine(row.id, row.capacity, row.agent, row.weight, ends)


def _mark_dead(connection: Connection, ids: Sequence[int]) -> None:
    living = machine.c.id.in_(ids), machine.c.state.in_(LIVING)
    connection.execute(update(machine).where(*living).values(state=MachineState.DEAD.value))


def _orders(row: AnyRow | None, *, alive: bool, living: Living = _NONE) -> Orders:
    """Make the orders of a machine's row, which has those of the crawl beside it; None: the row was deleted."""
    if row is None:
        return Orders(alive, Command.REMOVE, {}, 0, living, 0)
    settings, shares = read_json(row.settings or "{}"), row.shares or 0
    free, errands = row.free is not None, row.errands is not None
    return Orders(alive, command_of(row), settings, row.revision or 0, living, row.now, shares, free, errands)
