"""What people see of machines: state as observed, what each holds, rates, and the summary of a crawl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, literal_column, select, true
from sqlalchemy import func as sql

from scrawler.model.claims import SiteState
from scrawler.model.machines import Command, MachineState
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import Millis
from scrawler.store.claims.processes import runs
from scrawler.store.engines.faults import read_word
from scrawler.store.engines.rows import AnyRow, AnySelect, in_state
from scrawler.store.schema.tables import crawl, machine, machine_statistics, seed, site, thread_statistics

LIVING = (MachineState.RUNNING.value, MachineState.PAUSED.value, MachineState.STOPPING.value)
_RATE_SPAN = 60_000  # milliseconds over which a rate is taken
_WRITTEN_WITHIN = 30_000  # milliseconds within which a machine has written a sample, if it has done anything


@dataclass(frozen=True, slots=True)
class MachineView:
    """A machine as users see it; what it holds and its rate are empty once it stopped or is dead."""

    id: int
    name: str
    host: str
    pid: int
    state: MachineState  # its state as it seems from here, dead before anybody has declared it dead
    wanted: Command  # what its own orders, and those for the whole crawl, say
    launched_at: Millis  # when the command began that started it
    started_at: Millis
    heartbeat_at: Millis
    heartbeat_age_ms: Millis
    memory: int  # resident bytes
    sites: int  # sites that it owns; those of a dead machine wait for another one
    seeds: int  # active seeds of its sites
    pages: int
    bytes: int
    errors: int
    refused: int
    uncommitted: int
    held: tuple[int, ...]  # seeds held by each thread at the last sample
    pages_per_second: float  # mean rate of the last minute
    kept_open_by: str  # why the crawl is not over, as it sees it; empty: it has not looked yet
    agent: str  # its identifier, which it keeps when it is started again
    weight: int  # how much of the crawl it takes, compared with the others


@dataclass(frozen=True, slots=True)
class Summary:
    """How the crawl stands; totals are of committed pages, rates of the last minute."""

    seeds: Mapping[SeedState, Mapping[EndReason | None, int]]
    machines: tuple[MachineView, ...]
    pages: int
    bytes: int
    errors: int
    pages_per_second: float


def summary_of(seeds: Mapping[SeedState, Mapping[EndReason | None, int]], machines: tuple[MachineView, ...]) -> Summary:
    """Add machines up to a summary."""
    return Summary(
        seeds,
        machines,
        sum(one.pages for one in machines),
        sum(one.bytes for one in machines),
        sum(one.errors for one in machines),
        sum(one.pages_per_second for one in machines),
    )


def command_of(row: AnyRow) -> Command:
    """Return what a machine is to do, of its row joined with the crawl's: the strongest of its orders."""
    commands = [read_word(Command, row.wanted)]
    if (row.stopped_at or 0) > row.launched_at:
        commands.append(Command.STOP)
    if row.paused:
        commands.append(Command.PAUSE)
    return max(commands, key=list(Command).index)


def machine_views(
    connection: Connection, clock: str, lease: Millis, which: ColumnElement[bool]
) -> tuple[MachineView, ...]:
    """Return views of the machines that `which` chooses, in order of id, with five queries in all."""
    now: ColumnElement[Millis] = literal_column(clock).label("now")
    with_crawl = select(machine, crawl.c.paused, crawl.c.stopped_at, now).select_from(machine.outerjoin(crawl, true()))
    query = with_crawl.where(which)
    rows = connection.execute(query.order_by(machine.c.id)).all()
    states = {row.id: _observed(row, lease) for row in rows}
    living = [row for row in rows if states[row.id].value in LIVING]
    rates = _rates(connection, living)
    held = held_by_thread(connection, [row.id for row in living])
    sites, seeds = _owned_sites(connection), _owned_seeds(connection)
    return tuple(
        MachineView(
            row.id,
            row.name,
            row.host,
            row.pid,
            states[row.id],
            command_of(row),
            row.launched_at,
            row.started_at,
            row.heartbeat_at,
            max(0, row.now - row.heartbeat_at),
            row.memory,
            sites.get(row.id, 0),
            seeds.get(row.id, 0),
            row.pages,
            row.bytes,
            row.errors,
            row.refused,
            row.uncommitted,
            tuple(held.get(row.id, ())),
            rates.get(row.id, 0.0),
            row.kept_open_by if states[row.id].value in LIVING else "",
            row.agent,
            row.weight,
        )
        for row in rows
    )


def is_over(heartbeat_at: Millis, now: Millis, lease: Millis) -> bool:
    """Tell whether the lease is over that began with a heartbeat.

    One that is farther ahead than a lease is from before the clock was set back, and none came after it.
    """
    return not now - lease < heartbeat_at <= now + lease


def is_silent(row: AnyRow, lease: Millis) -> bool:
    """Tell whether a machine that says it lives does not: its lease is over, or its process gone from this host."""
    return is_over(row.heartbeat_at, row.now, lease) or runs(row.process) is False


def _observed(row: AnyRow, lease: Millis) -> MachineState:
    declared = read_word(MachineState, row.state)
    return MachineState.DEAD if declared.value in LIVING and is_silent(row, lease) else declared


def _owned_sites(connection: Connection) -> dict[int, int]:
    counts = select(site.c.owner, sql.count()).where(in_state(SiteState.ACTIVE)).group_by(site.c.owner)
    return {row[0]: row[1] for row in connection.execute(counts)}


def _owned_seeds(connection: Connection) -> dict[int, int]:
    active = and_(seed.c.site_id == site.c.id, seed.c.state == SeedState.ACTIVE.value)
    counts = select(site.c.owner, sql.count()).select_from(site.join(seed, active)).where(in_state(SiteState.ACTIVE))
    return {row[0]: row[1] for row in connection.execute(counts.group_by(site.c.owner))}


def held_by_thread(connection: Connection, ids: Sequence[int]) -> dict[int, list[int]]:
    """Return how many seeds each thread of some machines held at the last sample."""
    all_of_it = thread_statistics.alias()
    newest = select(sql.max(all_of_it.c.at)).where(all_of_it.c.machine_id == machine.c.id)
    same = thread_statistics.c.machine_id == machine.c.id, thread_statistics.c.at == newest.scalar_subquery()
    held_by = machine.join(thread_statistics, and_(*same))
    query = select(machine.c.id, thread_statistics.c.seeds_held).select_from(held_by)
    query = query.where(machine.c.id.in_(ids)).order_by(machine.c.id, thread_statistics.c.thread)
    held: dict[int, list[int]] = {}
    for machine_id, seeds in connection.execute(query):
        held.setdefault(machine_id, []).append(seeds)
    return held


def _rates(connection: Connection, rows: Sequence[AnyRow]) -> dict[int, float]:
    """Return pages/s over the last minute, of samples; before there are two, of what was committed."""
    since = min((row.now for row in rows), default=0) - _RATE_SPAN
    samples: dict[int, list[tuple[Millis, int]]] = {row.id: [] for row in rows}
    for machine_id, at, pages in connection.execute(_recent(list(samples), since)):
        was_idle = since - at > _WRITTEN_WITHIN
        samples[machine_id].append((since if was_idle else at, pages))
    return {row.id: _slope(_points(row, samples[row.id], since)) for row in rows}


def _recent(ids: Sequence[int], since: Millis) -> AnySelect:
    """Ask for the samples of some machines since a time, and for the one before: what it says held until then."""
    mine, at = machine_statistics.c.machine_id == machine.c.id, machine_statistics.c.at
    older = machine_statistics.alias()
    before = select(sql.max(older.c.at)).where(older.c.machine_id == machine.c.id, older.c.at < since).scalar_subquery()
    joined = machine.join(machine_statistics, and_(mine, at >= sql.coalesce(before, since)))
    query = select(machine.c.id, at, machine_statistics.c.pages).select_from(joined)
    return query.where(machine.c.id.in_(ids)).order_by(machine.c.id, at)


def _points(row: AnyRow, samples: list[tuple[Millis, int]], since: Millis) -> list[tuple[Millis, int]]:
    """Return times and pages between which a rate is taken; an idle machine writes no samples, and has the last one."""
    if samples and row.now - samples[-1][0] > _WRITTEN_WITHIN:
        samples = [*samples, (row.now, samples[-1][1])]
    if row.started_at < since:
        return samples
    return [(row.started_at, 0), *(samples if len(samples) > 1 else [(row.heartbeat_at, row.pages)])]


def _slope(points: Sequence[tuple[Millis, int]]) -> float:
    if len(points) < 2:
        return 0.0
    (start, before), (end, after) = points[0], points[-1]
    return (after - before) * 1000 / (end - start) if end > start else 0.0
