from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, event, select, update

from scrawler.model.machines import LEASE, Command, MachineState
from scrawler.model.scope import Scope
from scrawler.model.seeds import SeedState
from scrawler.store.claims.control import Control
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.samples import SAMPLE_EVERY, MachineSample
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.schema.tables import machine, machine_statistics, thread_statistics
from tests.dead import declare_dead
from tests.integration.store.crawling import Worker, acknowledgement_lost, add, page, seed_delta, site_delta

RUNNING, PAUSED, STOPPING = MachineState.RUNNING, MachineState.PAUSED, MachineState.STOPPING
STOPPED, DEAD = MachineState.STOPPED, MachineState.DEAD
SAMPLE = MachineSample(5, 4, 3_000, 1, 2)


def _register(database: Database, host: str = "here", pid: int | None = None) -> int:
    return Machines(database).register(host, pid or os.getpid(), database.now()).id


def _observed(database: Database) -> list[MachineState]:
    return [view.state for view in Machines(database).machines()]


def _declared(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.scalars(select(machine.c.state).order_by(machine.c.id)))


def _age(database: Database, machine_id: int, milliseconds: int) -> None:
    with database.begin() as connection:
        older = machine.c.heartbeat_at - milliseconds
        connection.execute(update(machine).where(machine.c.id == machine_id).values(heartbeat_at=older))


def _start_earlier(database: Database, milliseconds: int) -> None:
    with database.begin() as connection:
        connection.execute(update(machine).values(started_at=machine.c.started_at - milliseconds))


def _killed_after(database: Database) -> int:
    """Register a machine in a process that is then killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        number = _register(database, pid=child.pid)
        child.kill()
    return number


# -- register ----------------------------------------------------------------------------------------------


def test_a_machine_whose_process_is_gone_is_dead_to_the_next_at_once(database: Database) -> None:
    _killed_after(database)
    _register(database)
    assert _declared(database) == ["dead", "running"]


def test_one_that_has_just_come_declares_nobody_dead_by_lease(database: Database) -> None:
    late = _register(database)
    _age(database, late, 10 * LEASE)
    _register(database)
    assert _declared(database) == ["running", "running"]
    assert _observed(database) == [DEAD, RUNNING]


def test_names_are_the_host_and_the_smallest_number_that_is_free(database: Database) -> None:
    machines = Machines(database)
    made = [machines.register(host, os.getpid(), 0) for host in ("a", "a", "b", "a")]
    assert [one.name for one in made] == ["a-1", "a-2", "b-1", "a-3"]
    machines.stop(made[1].id)
    assert machines.register("a", os.getpid(), 0).name == "a-2"


def test_machines_that_come_at_once_have_names_of_their_own(database: Database) -> None:
    Crawls(database).open("crawl", Scope.HOST)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Machines(database).register("a", os.getpid(), 0), range(16)))
    assert sorted(one.name for one in made) == sorted(f"a-{k}" for k in range(1, 17))


def test_a_lost_acknowledgement_makes_no_second_machine(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with acknowledgement_lost(database, monkeypatch):
        made = Machines(database).register("a", os.getpid(), 0)
    assert [(view.id, view.name, view.agent) for view in Machines(database).machines()] == [made]


# -- heartbeats --------------------------------------------------------------------------------------------


def test_a_beat_prolongs_the_lease_and_says_how_the_machine_is(database: Database) -> None:
    number = _register(database)
    _age(database, number, LEASE + 1_000)
    assert _observed(database) == [DEAD]
    orders = Machines(database).beat(number, state=PAUSED, memory=123)
    assert (orders.alive, orders.command, len(orders.living)) == (True, Command.RUN, 1)
    (view,) = Machines(database).machines()
    assert (view.state, view.memory) == (PAUSED, 123)
    assert view.heartbeat_age_ms < LEASE / 2


def test_a_machine_that_was_declared_dead_is_told_and_stays_dead(database: Database) -> None:
    number, other = _register(database), _register(database)
    declare_dead(database, number)
    orders = Machines(database).beat(number, SAMPLE)
    assert not orders.alive
    assert len(Machines(database).beat(other).living) == 1
    assert _observed(database) == [DEAD, RUNNING]
    with database.read() as connection:
        assert connection.execute(select(machine_statistics)).all() == []


def test_a_beat_declares_a_machine_dead_at_once_whose_process_is_gone(database: Database) -> None:
    other = _register(database)
    _killed_after(database)
    assert len(Machines(database).beat(other).living) == 1
    assert _declared(database) == ["running", "dead"]


def test_who_ends_can_still_declare_machines_dead_whose_processes_are_gone(database: Database) -> None:
    other, late, dead = _register(database), _register(database), _killed_after(database)
    _age(database, late, 10 * LEASE)  # of one that lives only its lease tells, which takes heartbeats to judge
    Machines(database).stop(other)
    Machines(database).declare_gone()
    assert _declared(database) == ["stopped", "running", "dead"]
    assert Machines(database).gone() == [other, dead]


def test_a_stopped_machine_has_no_lease(database: Database) -> None:
    machines = Machines(database)
    one = _register(database)
    assert machines.gone() == []
    assert machines.stop(one).state is STOPPED
    assert _observed(database) == [STOPPED]
    assert machines.gone() == [one]
    assert not machines.beat(one).alive


def test_a_machine_that_was_declared_dead_does_not_become_a_stopped_one(database: Database) -> None:
    one = _register(database)
    declare_dead(database, one)
    assert Machines(database).stop(one).state is DEAD


def test_the_lease_of_a_machine_that_is_to_be_removed_runs_out(database: Database) -> None:
    Crawls(database).open("crawl", Scope.HOST)
    number = _register(database)
    Control(database).remove("here-1")
    before = Machines(database).machines()[0].heartbeat_at
    _age(database, number, LEASE)
    orders = Machines(database).beat(number)
    assert (orders.alive, orders.command) == (True, Command.REMOVE)
    assert Machines(database).machines()[0].heartbeat_at == before - LEASE
    assert _observed(database) == [DEAD]


def test_the_round_trips_of_a_beat_do_not_grow_with_machines_and_sites(database: Database) -> None:
    add(database, *(f"http://{number}.org/" for number in range(50)))
    machines = Machines(database)
    workers = [Worker.of(database, str(number)) for number in range(5)]
    workers[0].claim(50)
    _start_earlier(database, SAMPLE_EVERY)
    statements: list[str] = []

    def note(connection: Connection, cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(database._engine, "before_cursor_execute", note)
    machines.beat(workers[0].id, SAMPLE, [1] * 20)
    assert len([text for text in statements if not text.startswith("BEGIN")]) == 4
    statements.clear()
    machines.beat(workers[0].id, SAMPLE, [2] * 20)
    assert len([text for text in statements if not text.startswith("BEGIN")]) == 2


# -- statistics --------------------------------------------------------------------------------------------


def test_statistics_are_written_at_first_then_now_and_then_when_the_state_changes_and_at_the_end(
    database: Database,
) -> None:
    """Each beat brings more requests, and other seeds held."""
    number, machines = _register(database), Machines(database)

    more = itertools.count()

    def samples() -> int:
        with database.begin() as connection:  # as if they had been written a while ago: keys are milliseconds
            found = len(connection.execute(select(machine_statistics)).all())
            assert len(connection.execute(select(thread_statistics)).all()) == 3 * found
            for table in (machine_statistics, thread_statistics):
                connection.execute(update(table).values(at=table.c.at - 10))
            return found

    def count(*states: MachineState) -> list[int]:
        counted = []
        for state in states:
            done = next(more)
            machines.beat(number, MachineSample(done, 4, 3_000, 1, 2), [1, 2, done], state)
            counted.append(samples())
        return counted

    assert count(RUNNING, RUNNING) == [1, 2]
    _start_earlier(database, SAMPLE_EVERY)
    assert count(RUNNING, PAUSED, PAUSED, RUNNING, STOPPING, STOPPING) == [2, 3, 3, 4, 5, 6]


def test_statistics_are_written_every_ten_seconds(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrawler.store.claims.samples.SAMPLE_EVERY", 200)
    number, machines = _register(database), Machines(database)
    _start_earlier(database, 200)
    begun = time.monotonic()
    for done in itertools.count():
        machines.beat(number, MachineSample(done, 4, 3_000, 1, 2))
        if time.monotonic() > begun + 1.0:
            break
    with database.read() as connection:
        times = list(connection.scalars(select(machine_statistics.c.at).order_by(machine_statistics.c.at)))
    assert len(times) >= 2
    assert all(after - before >= 200 for before, after in itertools.pairwise(times))


def test_the_summary_has_totals_rates_and_seeds_held(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    rows = tuple(page(site.seeds[0].id, f"http://a.org/{n}", position=n) for n in range(3))
    failed = page(site.seeds[0].id, "http://a.org/x", result="cut", length=5)
    worker.commit(site_delta(site, seed_delta(site.seeds[0].id, pages=(*rows, failed))))
    machines = Machines(database)
    with database.begin() as connection:  # it started two minutes ago and had 100 pages 30 seconds ago
        now = machines.summary().machines[0].heartbeat_at
        connection.execute(update(machine).values(started_at=now - 120_000))
        old = MachineSample(1, 100, 1, 1, 1)._asdict() | {"machine_id": worker.id, "at": now - 30_000}
        connection.execute(machine_statistics.insert(), old)
    assert machines.beat(worker.id, MachineSample(500, 400, 9_000, 3, 12), [2, 0, 1]).alive
    summary = machines.summary()
    assert summary.seeds == {SeedState.ACTIVE: {None: 1}, SeedState.READY: {None: 1}}
    assert (summary.pages, summary.bytes, summary.errors) == (3, 3_005, 1)
    assert (summary.machines[0].sites, summary.machines[0].seeds) == (1, 1)
    assert summary.machines[0].held == (2, 0, 1)
    assert 8 < summary.pages_per_second <= 10
    machines.stop(worker.id)
    assert machines.summary().pages_per_second == 0
    assert machines.summary().machines[0].held == ()


def test_the_rate_of_a_machine_that_has_just_begun_is_that_of_its_commits(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    rows = tuple(page(site.seeds[0].id, f"http://a.org/{n}", position=n) for n in range(30))
    worker.commit(site_delta(site, seed_delta(site.seeds[0].id, pages=rows)))
    with database.begin() as connection:
        connection.execute(update(machine).values(started_at=machine.c.heartbeat_at - 3_000))
    assert Machines(database).summary().pages_per_second == 10


# -- rows that are locked ----------------------------------------------------------------------------------


def test_a_frozen_machine_that_holds_a_lock_does_not_hold_up_the_others(server_url: str) -> None:
    database = open_database(server_url, patience=1)
    other = _register(database)
    dead = _killed_after(database)
    with database.begin() as frozen:
        frozen.execute(select(machine.c.id).where(machine.c.id == dead).with_for_update())
        assert len(Machines(database).beat(other).living) == 1
        assert _declared(database) == ["running", "running"]
    Machines(database).beat(other)
    assert _declared(database) == ["running", "dead"]
    database.close()


def test_heartbeats_come_through_between_the_batches_of_a_long_import(database: Database) -> None:
    """SQLite's lock goes to whoever asks at the right moment: to the importer, if it asks again at once."""
    number = _register(database)
    length = 10_000 if database.dialect == "sqlite" else 2_000
    over = threading.Event()
    beaten: list[int] = []  # how many batches had been added at each heartbeat
    added = 0

    def beat() -> None:
        while not over.is_set():
            Machines(database).beat(number)
            beaten.append(added)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        while len(set(beaten)) < 4 and added < 8:  # each lets one through; on a busy machine one may be late
            urls = (f"http://h{added}-{one}.org/" for one in range(length))
            Seeds(database).add([NewSeed(url, url[7:-1]) for url in urls])
            added += 1
    finally:
        over.set()
        thread.join()
    assert len(set(beaten)) >= 4


def test_a_last_commit_still_on_its_way_is_waited_for(server_url: str) -> None:
    """A killed machine is not told of as gone before the server has worked off the commit that it sent."""
    database = open_database(server_url)
    worker = Worker.of(database)
    machines = Machines(database)
    machines.stop(worker.id)
    assert machines.gone() == [worker.id]
    with database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE machine SET pages = pages + 1 WHERE id = {worker.id}")
        assert machines.gone() == []
    assert machines.gone() == [worker.id]
    database.close()


def test_a_machine_that_is_gone_since_before_the_clock_was_set_back_is_declared_dead(database: Database) -> None:
    """Its heartbeat is in the future. One that lives has written another one by the time that anybody is distrusted."""
    lease = 200
    machines, observer = Machines(database, lease), Machines(database, lease)
    _, lives = (machines.register("here", os.getpid(), 0).id for _ in range(2))
    with database.begin() as connection:
        connection.execute(update(machine).values(heartbeat_at=machine.c.heartbeat_at + 24 * 3_600_000))
    mine = observer.register("here", os.getpid(), 0).id
    shown = [view.state for view in Machines(database).machines()]  # by the lease that leaves time to look
    assert shown == [DEAD, DEAD, RUNNING], "as far as can be seen"
    for _ in range(10_000):
        assert machines.beat(lives).alive
        assert observer.beat(mine).alive
        if _declared(database)[0] == DEAD.value:
            break
    assert _declared(database) == [DEAD.value, RUNNING.value, RUNNING.value]


def test_heartbeats_tell_who_lives_and_how_much_each_can_hold(database: Database) -> None:
    """All see the same list by the same version, which changes when one comes, goes or grows."""
    machines = Machines(database)
    one, other = (machines.register("host", pid, 0).id for pid in (os.getpid(), os.getppid()))
    machines.beat(one, capacity=200)
    seen = machines.beat(other, capacity=50).living
    assert [(shown.id, shown.capacity, shown.ends) for shown in seen.machines] == [
        (one, 200, False),
        (other, 50, False),
    ]
    assert (seen.seats_elsewhere(50, 2), seen.seats_elsewhere(200, 2)) == (200, 50)
    assert seen.seats_elsewhere(50, 4) == 300, "two have not come yet"
    assert machines.beat(one, capacity=200).living == seen
    assert machines.beat(one, capacity=200).living.version == seen.version != 0
    grown = machines.beat(one, capacity=400).living
    assert (len(grown), grown.version == seen.version) == (2, False)
    assert machines.beat(other, capacity=50).living.version == grown.version
    machines.stop(one)
    left = machines.beat(other, capacity=50).living
    assert [shown.id for shown in left.machines] == [other]
    assert left.version not in (seen.version, grown.version)
    assert not machines.beat(one).living.machines  # it owns nothing any more, and has nothing to divide
