"""Machines that are being started, as their commands note them: who is told of, and for how long."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from scrawler.model.machines import LEASE
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.processes import identify
from scrawler.store.claims.starts import LONGEST, Starts
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import crawl


@pytest.fixture
def missing(database: Database) -> Callable[[], int]:
    """Tells how many machines are being started now."""
    Crawls(database).open("crawl", Scope.HOST)

    def look() -> int:
        start = Starts(database).newest()
        return 0 if start is None else start.missing(Machines(database).machines())

    return look


def _register(database: Database, launched_at: int) -> int:
    return Machines(database).register("m", os.getpid(), launched_at).id


def _change(database: Database, **values: Any) -> None:
    with database.begin() as connection:
        connection.execute(update(crawl).values(values))


def test_nothing_is_being_started_at_first(missing: Callable[[], int]) -> None:
    assert missing() == 0


def test_machines_are_being_started_until_each_has_a_row(database: Database, missing: Callable[[], int]) -> None:
    before = _register(database, database.now() - LEASE)
    at = Starts(database).begin(2)
    assert missing() == 2, "those that were there before are others"
    first = _register(database, at)
    assert missing() == 1
    Machines(database).stop(first)
    assert missing() == 1, "one that has ended already was started all the same"
    _register(database, at)
    assert missing() == 0
    Machines(database).stop(before)
    _register(database, at)
    assert missing() == 0, "one that begins anew is one more"


def test_of_two_commands_the_later_one_is_told_of(database: Database, missing: Callable[[], int]) -> None:
    first = Starts(database).begin(5)
    _change(database, starting_at=first - 1)  # so that both are not of one millisecond
    second = Starts(database).begin(1)
    _register(database, first - 1)
    assert missing() == 1
    _register(database, second)
    assert missing() == 0, "machines of the first one are not waited for any more"


def test_a_command_that_is_gone_starts_nothing(database: Database, missing: Callable[[], int]) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        name = identify(process.pid)
        Starts(database).begin(1)
        _change(database, starting_process=name)
        assert missing() == 1
        process.kill()
        process.wait()
        if not name:
            pytest.skip("whether a process has ended cannot be told here: /proc is not mounted")
        assert missing() == 0


@pytest.mark.parametrize("age", [LONGEST, -LONGEST], ids=["long-ago", "in-the-future"])
def test_a_start_of_another_time_is_over(age: int, database: Database, missing: Callable[[], int]) -> None:
    at = Starts(database).begin(1)
    _change(database, starting_process="another host 1 1")
    assert missing() == 1, "another host's process may be at work"
    _change(database, starting_at=at - age)
    assert missing() == 0
