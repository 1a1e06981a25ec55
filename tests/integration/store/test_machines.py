from __future__ import annotations

import os
import subprocess
import sys

from sqlalchemy import update

from scrawler.model import SeedState
from scrawler.store.engine import Database
from scrawler.store.machines import LEASE, Machines, MachineSample
from scrawler.store.tables import machine, machine_statistics
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta


def _states(database: Database) -> list[str]:
    return [view.state for view in Machines(database).summary().machines]


def _age(database: Database, machine_id: int, milliseconds: int) -> None:
    with database.begin() as connection:
        older = machine.c.heartbeat_at - milliseconds
        connection.execute(update(machine).where(machine.c.id == machine_id).values(heartbeat_at=older))


def test_a_machine_of_this_host_whose_process_is_gone_is_dead_at_once(database: Database) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    machines = Machines(database)
    machines.register("gone", "here", process.pid)
    machines.register("lives", "here", os.getppid())
    machines.register("elsewhere", "there", process.pid)
    machines.register("same pid, so an earlier process", "here", os.getpid())
    machines.register("me", "here", os.getpid())
    assert _states(database) == ["dead", "running", "running", "dead", "running"]


def test_a_machine_whose_lease_is_over_is_dead_to_the_next(database: Database) -> None:
    machines = Machines(database)
    late, fine = machines.register("late", "a", 1), machines.register("fine", "b", 1)
    _age(database, late, LEASE + 1_000)
    _age(database, fine, LEASE - 5_000)
    machines.register("new", "c", 1)
    assert _states(database) == ["dead", "running", "running"]
    assert not machines.beat(late)
    assert machines.beat(fine)


def test_a_stopped_machine_has_no_lease(database: Database) -> None:
    machines = Machines(database)
    one = machines.register("one", "a", 1)
    assert machines.gone() == []
    machines.stop(one)
    assert _states(database) == ["stopped"]
    assert machines.gone() == [one]
    assert not machines.beat(one)


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
    assert machines.beat(worker.id, MachineSample(500, 400, 9_000, 3, 12), [2, 0, 1])
    summary = machines.summary()
    assert summary.seeds == {SeedState.ACTIVE: {None: 1}, SeedState.READY: {None: 1}}
    assert (summary.pages, summary.bytes, summary.errors) == (3, 3_005, 1)
    assert summary.machines[0].held == (2, 0, 1)
    assert 8 < summary.pages_per_second <= 10
    machines.stop(worker.id)
    assert machines.summary().pages_per_second == 0
    assert machines.summary().machines[0].held == ()
