"""Nothing is lost: a crawl by three machines, of which one or other is killed at any moment."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from scrawler.features.synthweb.spec import WebSpec
from tests.mariadb import MariaDb
from tests.postgresql import Postgresql
from tests.torture.crawl import Pace
from tests.torture.faults import FreezeMachine, KillDatabase, KillMachine, KillRun
from tests.torture.ordeal import Ordeal

pytestmark = pytest.mark.heavy

WEB = WebSpec(seed=11, sites=80, mean_pages=25, max_pages=80, page_bytes=1000, links=8, latency_ms=10)
NUMBER = int(os.environ.get("SEED", "1"))


def test_twenty_killed_machines_lose_nothing(database_url: str, tmp_path: Path) -> None:
    pace, kills = Pace(), 20
    findings = Ordeal(WEB, 3, pace, [KillMachine()] * kills, NUMBER).run(tmp_path, database_url)
    assert findings.fetched_again > 0, "no machine was killed at work"
    # What is fetched again is told of, but for what left no record: it was in flight, or read and not yet written.
    without_record = 2 * kills * pace.places
    assert findings.fetched_again - without_record <= findings.uncommitted <= findings.fetched_again


def test_killed_supervisors_and_machines_lose_nothing(server_url: str, tmp_path: Path) -> None:
    """The supervisor starts a machine again however often it is killed, as long as that gets on in between."""
    faults = ([KillMachine()] * 9 + [KillRun()]) * 2
    Ordeal(WEB, 3, Pace(runs=1, machines=3), faults, NUMBER).run(tmp_path, server_url)


def test_a_frozen_machine_does_no_harm(database_url: str, tmp_path: Path) -> None:
    pace = Pace()
    findings = Ordeal(WEB, 3, pace, [FreezeMachine()], NUMBER).run(tmp_path, database_url)
    # What was in flight is not done when the machine finds that it has lost its lease; all else is a refused row.
    assert findings.refused >= findings.fetched_again - pace.places


def test_a_killed_database_server_loses_nothing(mortal: MariaDb | Postgresql, tmp_path: Path) -> None:
    Ordeal(WEB, 3, Pace(), [KillDatabase(mortal)] * 5, NUMBER).run(tmp_path, mortal.create("crawl_1"))


def test_a_moody_web_is_crawled_whole(mariadb_url: str, tmp_path: Path) -> None:
    """It pushes back, is slow and broken at times, while machines are killed."""
    web = replace(WEB, sites=16, mean_pages=20, max_pages=40)
    Ordeal(web, 3, Pace(moody=True, slow_pass="crawl"), [KillMachine()] * 3, NUMBER).run(tmp_path, mariadb_url)
