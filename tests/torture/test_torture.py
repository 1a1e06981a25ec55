"""Nothing is lost: a crawl by three machines, of which one or other is killed at any moment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrawler.synthweb.spec import WebSpec
from tests.mariadb import MariaDb, folder_in_memory
from tests.torture.crawl import Pace
from tests.torture.faults import FreezeMachine, KillDatabase, KillMachine
from tests.torture.ordeal import Ordeal

WEB = WebSpec(seed=11, sites=120, mean_pages=30, max_pages=120, page_bytes=1000, links=8, latency_ms=10)
NUMBER = int(os.environ.get("SEED", "1"))


def test_twenty_killed_machines_lose_nothing(database_url: str, tmp_path: Path) -> None:
    findings = Ordeal(WEB, 3, Pace(), [KillMachine()] * 20, NUMBER).run(tmp_path, database_url)
    assert findings.fetched_again > 0, "no machine was killed at work"


def test_a_frozen_machine_does_no_harm(database_url: str, tmp_path: Path) -> None:
    Ordeal(WEB, 3, Pace(), [FreezeMachine()] * 2, NUMBER).run(tmp_path, database_url)


@pytest.fixture
def mortal() -> Iterator[MariaDb]:
    with tempfile.TemporaryDirectory(prefix="scrawler-", dir=folder_in_memory()) as folder:
        server = MariaDb(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


def test_a_killed_database_server_loses_nothing(mortal: MariaDb, tmp_path: Path) -> None:
    Ordeal(WEB, 3, Pace(), [KillDatabase(mortal)] * 5, NUMBER).run(tmp_path, mortal.create("crawl_1"))
