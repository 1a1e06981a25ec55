"""A process that is killed by hand at any moment says nothing of the page that it was reading: none is ended for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrawler.features.synthweb.spec import WebSpec
from tests.torture.crawl import Pace
from tests.torture.faults import KillMachine
from tests.torture.ordeal import Ordeal
from tests.torture.test_torture import NUMBER

WEB = WebSpec(seed=5, sites=60, mean_pages=40, max_pages=120, page_bytes=20_000, links=20)
KILLS = 30


@pytest.mark.heavy
def test_thirty_kills_end_no_innocent_url(sqlite_url: str, tmp_path: Path) -> None:
    """`verify` wants for each URL the result that the truth says, and `suspect` stays empty."""
    pace = Pace(runs=1, machines=2, threads=4, seeds_per_thread=10, delay=0.02)
    Ordeal(WEB, 3, pace, [KillMachine()] * KILLS, NUMBER).run(tmp_path, sqlite_url)
    assert not list((tmp_path / "pages").glob("*.reading"))
