"""The commands that control machines, against machines that this test registers itself."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import pytest
from sqlalchemy import literal_column, update

from scrawler.model.machines import LEASE, Command, MachineState
from scrawler.model.scope import Scope
from scrawler.settings import live_settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.samples import MachineSample
from scrawler.store.claims.starts import Starts
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.schema.tables import machine
from tests.e2e.conftest import Rows, Scrawler
from tests.integration.store.crawling import Worker, add


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = open_database(database_url)
    yield database
    database.close()


@pytest.fixture
def ask(scrawler: Scrawler, database_url: str) -> Scrawler:
    return partial(scrawler, SCRAWLER_DB=database_url)


def _register(database: Database) -> int:
    return Machines(database).register("m", os.getpid(), database.now()).id


@contextmanager
def _leases(database: Database, *machines: int) -> Iterator[None]:
    """Prolong the leases of machines in the block, also of those that are to be removed, however long commands take."""
    done = threading.Event()

    def prolong() -> None:
        while not done.wait(0.5):
            with database.begin() as connection:
                mine = update(machine).where(machine.c.id.in_(machines))
                connection.execute(mine.values(heartbeat_at=literal_column(database.clock)))

    thread = threading.Thread(target=prolong)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _command(database: Database, machine_id: int) -> Command:
    return Machines(database).beat(machine_id).command


@pytest.mark.heavy
def test_where_nothing_runs_each_command_says_so(ask: Scrawler, database: Database) -> None:
    assert ask("machines").stdout == "no machine runs\n"
    assert ask("machines", "--json").stdout == ""
    assert "the next ones start paused" in ask("pause").stdout
    status = json.loads(ask("status", "--json").stdout)
    assert (status["paused"], status["settings"], status["machines"]) == (True, {}, [])
    assert "paused" in ask("status").stdout
    assert "not paused any more; no machine runs now" in ask("resume").stdout
    assert ask("stop").stdout == "no machine runs now, there is nothing to stop\n"
    assert "nothing is set" in ask("set").stdout
    for tell in (("pause", "--machine", "m-1"), ("machines", "drain", "m-1"), ("machines", "remove", "m-1")):
        assert ask(*tell, code=4).stderr == "scrawler: error: there is no running machine m-1; no machine runs\n"


def test_machines_that_are_being_started_are_told_of_and_obey(ask: Scrawler, database: Database) -> None:
    Crawls(database).open("crawl", Scope.HOST)
    launched_at = Starts(database).begin(2)
    being = r"2 machines are being started, for [\d.]+ s"
    assert re.fullmatch(rf"{being}\n", ask("machines").stdout)
    assert ask("machines", "--json").stdout == ""
    assert re.search(rf"; {being}, and will obey\n", ask("pause").stdout)
    assert re.search(rf"; {being}, and will obey\n", ask("resume").stdout)
    assert re.fullmatch(rf"{being}, and will obey\n", ask("stop").stdout)
    one = Machines(database).register("m", os.getpid(), launched_at).id
    assert _command(database, one) is Command.STOP
    *_, last = ask("machines").stdout.splitlines()
    assert re.fullmatch(r"1 machine is being started, for [\d.]+ s", last)
    Machines(database).stop(one)
    Machines(database).stop(Machines(database).register("m", os.getpid(), launched_at).id)
    assert ask("machines").stdout == "no machine runs; 2 ended, see --all\n"


def test_a_crawl_and_single_machines_are_told_what_to_do(ask: Scrawler, database: Database) -> None:
    one, two, three, four = machines = [_register(database) for _ in range(4)]
    with _leases(database, *machines):
        assert "m-2 obeys with the next heartbeat, within 2s" in ask("pause", "--machine", "m-2").stdout
        assert (_command(database, one), _command(database, two)) == (Command.RUN, Command.PAUSE)
        assert "m-1, m-2, m-3, m-4 obey" in ask("pause").stdout
        assert _command(database, one) is Command.PAUSE
        assert "resume it" in ask("resume", "--machine", "m-2", code=4).stderr
        ask("resume")
        assert _command(database, two) is Command.RUN
        ask("stop", "--machine", "m-2", "--machine", "m-3")
        assert _command(database, two) is _command(database, three) is Command.STOP
        assert "m-1 begins with the next heartbeat" in ask("machines", "drain", "m-1").stdout
        assert _command(database, one) is Command.DRAIN
        assert "m-4 ends with the next heartbeat" in ask("machines", "remove", "m-4").stdout
        assert _command(database, four) is Command.REMOVE
        assert ask("pause", "--machine", "m-9", code=4).stderr.endswith("running are m-1, m-2, m-3, m-4\n")
        assert ask("stop").stdout.startswith("stopping; m-1, m-2, m-3, m-4 obey")


def test_machines_are_listed_with_what_they_hold(ask: Scrawler, database: Database) -> None:
    add(database, "http://a.org/", "http://a.org/2", "http://b.org/")
    lives, silent, ended = (_register(database) for _ in range(3))
    Worker(database, lives).claim()
    Machines(database).beat(lives, MachineSample(9, 8, 7, 6, 5), [2, 1], MachineState.PAUSED, memory=50_000_000)
    Machines(database).stop(ended)
    with database.begin() as connection:
        older = machine.c.heartbeat_at - LEASE
        connection.execute(update(machine).where(machine.c.id == silent).values(heartbeat_at=older))
    with _leases(database, lives):
        ask("pause")
        rows = [json.loads(line) for line in ask("machines", "--json").stdout.splitlines()]
        assert [(row["name"], row["state"]) for row in rows] == [("m-1", "paused"), ("m-2", "dead")]
        first = rows[0]
        assert (first["sites"], first["seeds"], first["held"], first["memory"]) == (2, 3, [2, 1], 50_000_000)
        assert (first["wanted"], first["pid"], first["host"]) == ("pause", os.getpid(), "m")
        assert first["heartbeat_age_ms"] < LEASE
        everyone = [json.loads(line) for line in ask("machines", "--all", "--json").stdout.splitlines()]
        assert [row["state"] for row in everyone] == ["paused", "dead", "stopped"]
        head, line, *_ = ask("machines").stdout.splitlines()
        assert head.split() == ["name", "host", "pid", "state", "heartbeat", "sites", "seeds", "pages/s", "memory"]
        assert line.endswith("50.0 MB")
        assert "1 paused, 1 dead, 1 stopped" in ask("status").stdout
    assert "was silent for more than 15s and is dead now" in ask("machines", "remove", "m-2").stdout
    assert Machines(database).gone() == [silent, ended]


def test_status_tells_of_each_machine_that_lives_why_the_crawl_is_not_over(ask: Scrawler, database: Database) -> None:
    new, at_work, ended = (_register(database) for _ in range(3))
    why = "sites are in work on this machine"
    for one in (at_work, ended):
        Machines(database).beat(one, kept_open_by=why)
    Machines(database).stop(ended)
    Machines(database).beat(new)
    with _leases(database, new, at_work):
        told = json.loads(ask("status", "--json").stdout)
        status = ask("status").stdout
    assert [one["kept_open_by"] for one in told["machines"]] == ["", why, ""]
    times = [one[name] for one in told["machines"] for name in ("launched_at", "started_at", "heartbeat_at")]
    assert all(datetime.fromisoformat(time).tzinfo == UTC for time in times)
    lines = {line.split()[1]: line for line in status.splitlines() if line.startswith("  machine ")}
    assert set(lines) == {"m-1", "m-2"}
    assert [line.endswith(f"; the crawl is not over: {why}") for line in lines.values()] == [False, True]


def test_settings_are_set_listed_and_taken_back(ask: Scrawler, rows: Rows, database: Database) -> None:
    one = _register(database)
    done = ask("set", "delay=1.5", "max-pages=500", "max_bytes=1GB")
    assert "take it over with the next heartbeat, within 2s" in done.stderr
    assert Machines(database).beat(one).settings == {"delay": 1.5, "max_pages": 500, "max_bytes": 10**9}
    assert [line.split() for line in ask("set").stdout.splitlines()[1:]] == [
        ["delay", "1.5s"],
        ["max_bytes", "1GB"],
        ["max_pages", "500"],
    ]
    status = ask("status").stdout
    assert "set delay" in status
    assert json.loads(ask("set", "delay=", "max_bytes=", "--json").stdout) == {"max_pages": 500}
    assert Machines(database).beat(one).settings == {"max_pages": 500}


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("delay", "'delay' is no KEY=VALUE, such as delay=2"),
        (":delay=1", "':delay=1' names no host before its colon; for all hosts, leave that out"),
        ("delay=soon", "delay=soon is not allowed, only a time such as 90, 5m or 2h, 0s to 1d"),
        ("threads=0", "threads=0 is not allowed, only a whole number, 1 to 1000"),
        ("dealy=", "unknown setting 'dealy'; did you mean delay?"),
        ("user_agent=", f"user_agent needs a restart: only {', '.join(live_settings())} can be set while machines run"),
    ],
)
def test_what_cannot_be_set_is_one_line_and_code_2(assignment: str, said: str, scrawler: Scrawler) -> None:
    scrawler("db", "init")
    assert scrawler("set", "retries=1", assignment, code=2).stderr == f"scrawler: error: {said}\n"
    assert "nothing is set" in scrawler("set").stdout


def test_without_a_database_nothing_is_made(scrawler: Scrawler) -> None:
    for command in (("pause",), ("resume",), ("stop",), ("set", "delay=1"), ("machines",), ("machines", "drain", "m")):
        assert "there is no database scrawler.db" in scrawler(*command, code=4).stderr


def test_options_of_the_list_do_not_stand_before_a_command_of_its_own(scrawler: Scrawler) -> None:
    assert "options of `machines drain` stand behind it" in scrawler("machines", "--json", "drain", "m", code=2).stderr
