"""Statistics of machines: written where something has changed, thinned with age, read by an index."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, event, select, update
from sqlalchemy import func as sql

from scrawler.model.machines import MachineState
from scrawler.model.terms import Millis
from scrawler.store.claims import samples
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.samples import Look, MachineSample, Samples
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import machine, machine_statistics, thread_statistics

MINUTE, HOUR = 60_000, 3_600_000
COLUMNS = [
    machine_statistics.c[name] for name in ("machine_id", "at", "requests", "pages", "bytes", "errors", "queued")
]
NOTHING = MachineSample(0, 0, 0, 0, 0)


def _register(database: Database) -> int:
    return Machines(database).register("here", os.getpid(), database.now()).id


def _fill(database: Database, number: int, times: Sequence[Millis]) -> None:
    """Give a machine a sample at each time, with one request more, and what each of two threads held."""
    rows = [(number, at, *(count * factor for factor in (1, 2, 30, 1, 0))) for count, at in enumerate(times, 1)]
    names = [column.name for column in COLUMNS]
    with database.begin() as connection:
        connection.execute(machine_statistics.insert(), [dict(zip(names, row, strict=True)) for row in rows])
        held = [
            {"machine_id": number, "at": at, "thread": thread, "seeds_held": count}
            for count, at in enumerate(times, 1)
            for thread in (0, 1)
        ]
        connection.execute(thread_statistics.insert(), held)


def _samples(database: Database, number: int) -> dict[Millis, tuple[int, ...]]:
    with database.read() as connection:
        query = select(*COLUMNS[1:]).where(machine_statistics.c.machine_id == number).order_by(machine_statistics.c.at)
        return {row[0]: tuple(row[1:]) for row in connection.execute(query)}


def _thread_times(database: Database, number: int) -> list[Millis]:
    with database.read() as connection:
        times = select(thread_statistics.c.at).where(thread_statistics.c.machine_id == number)
        found = list(connection.scalars(times.order_by(thread_statistics.c.at, thread_statistics.c.thread)))
    assert found[::2] == found[1::2], "those of all threads stay, or none"
    return found[::2]


def _end(database: Database, number: int) -> None:
    with database.begin() as connection:
        connection.execute(update(machine).where(machine.c.id == number).values(state=MachineState.DEAD.value))


def _expected(times: Sequence[Millis], now: Millis) -> list[Millis]:
    kept: dict[tuple[Millis, Millis], Millis] = {}
    for at in times:
        every = 1
        if now - at > HOUR:
            every = MINUTE
        if now - at > 24 * HOUR:
            every = HOUR
        kept[every, at // every] = at
    return sorted(kept.values())


def test_old_samples_are_thinned_in_small_steps_and_all_that_is_left_says_what_it_said(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "_AT_A_TIME", 100)
    ended, number = _register(database), _register(database)
    _end(database, ended)
    now = 500 * HOUR
    old = [now - 30 * HOUR + step * 5 * MINUTE // 2 for step in range(144)]  # 6 hours, every 150 s
    times = [*old, *(now - 2 * HOUR + step * 10_000 for step in range(2 * 360))]
    for one in (ended, number):
        _fill(database, one, times)
    before = _samples(database, number)
    deleted: list[int] = []

    def note(connection: Connection, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("DELETE"):
            deleted.append(1)

    event.listen(database._engine, "before_cursor_execute", note)
    mine = Samples()
    most = 0
    for beat in range(40):
        look = Look(number, MachineState.RUNNING, MachineSample(864, 1_728, 25_920, 864, 0), (864, 864))
        at = now + beat  # thinning is due each time, while the clock hardly moves
        mine._thinned_at = 0
        with database.begin() as connection:
            deleted.clear()
            mine.record(connection, at, look)
            most = max(most, len(deleted))
        mine.written(at, look)
    assert most <= 4 * 2, "a step is bounded: two tables of two machines, 100 samples each"
    expected = _expected(times, now)
    for one in (ended, number):
        after = _samples(database, one)
        after.pop(now, None)
        assert set(expected) <= set(after)
        assert len(after) <= len(expected) + 5  # of the minute and the hour on the edge
        assert all(before[at] == row for at, row in after.items())
        assert max(after) == max(times), "the totals are those of the newest"
        assert set(expected) <= set(_thread_times(database, one))
        assert len(_thread_times(database, one)) <= len(expected) + 6


def test_totals_of_each_hour_are_the_same_before_and_after() -> None:
    now = 400 * HOUR
    times = [now - 50 * HOUR + step * 10_000 for step in range(50 * 360)]
    done = {at: number**2 for number, at in enumerate(times)}
    gone = set(samples.superseded(times, now))
    left = [at for at in times if at not in gone]
    assert len(left) == pytest.approx(26 + 23 * 60 + 360, abs=3)

    def totals(chosen: Sequence[Millis]) -> dict[Millis, int]:
        return {at // HOUR: done[at] for at in chosen}  # the last of an hour stands

    assert totals(left) == totals(times)


def test_an_idle_machine_writes_no_samples_and_is_still_seen(database: Database) -> None:
    number, machines = _register(database), Machines(database)
    for _ in range(4):
        machines.beat(number, MachineSample(7, 6, 5, 4, 3), [2, 1])
    assert len(_samples(database, number)) == 1
    assert len(_thread_times(database, number)) == 1
    machines.beat(number, MachineSample(8, 6, 5, 4, 3), [2, 1])
    assert len(_samples(database, number)) == 2
    assert len(_thread_times(database, number)) == 1
    (view,) = machines.machines()
    assert view.held == (2, 1)


@pytest.mark.parametrize(("ages", "rate"), [((50, 5), 400 / 45), ((100_000, 5), 400 / 55), ((100_000, 50), 400 / 60)])
def test_the_rate_of_a_machine_that_was_idle_counts_the_time_in_which_it_did_nothing(
    database: Database, ages: tuple[int, int], rate: float
) -> None:
    number = _register(database)
    with database.begin() as connection:
        now = connection.scalar(select(sql.max(machine.c.heartbeat_at))) or 0
        connection.execute(update(machine).values(started_at=now - 200_000_000))
        for age, pages in zip(ages, (100, 500), strict=True):
            row = MachineSample(1, pages, 1, 1, 1)._asdict() | {"machine_id": number, "at": now - age * 1_000}
            connection.execute(machine_statistics.insert(), row)
    assert Machines(database).machines()[0].pages_per_second == pytest.approx(rate, rel=0.1)


def test_what_is_shown_is_found_by_an_index(database: Database) -> None:
    """SQLite counts the steps of its machine: they are no more with ten thousand samples than with ten."""
    if database.dialect != "sqlite":
        pytest.skip("only SQLite counts its steps")
    machines = Machines(database)
    number = _register(database)

    def steps() -> int:
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        with database._reader.connect() as connection:
            connection.connection.driver_connection.set_progress_handler(count, 10)
        views = machines.machines()
        with database._reader.connect() as connection:
            connection.connection.driver_connection.set_progress_handler(None, 10)
        assert views[0].held
        return counted

    now = database.now()
    _fill(database, number, [now - 10_000_000_000 + step for step in range(10)])
    few = steps()
    _fill(database, number, [now - 5_000_000_000 + step for step in range(10_000)])
    assert few > 0
    assert steps() < 1.2 * few + 5
