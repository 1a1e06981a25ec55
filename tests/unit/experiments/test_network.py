"""What is said of crawls on narrow and long lines."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from experiments.lab.meter import OTHERS
from experiments.lab.report import Row
from experiments.network import answered, claims, conditions, findings


def narrow(cap: float, share: float, manner: str = "polite", put_off: float = 0.0) -> Row:
    speeds = {"pages/s": share * cap / 3.2, "% of the line": share, "put off an answer": put_off}
    return {"manner": manner, "places": 200, "cap MB/s": cap, "latency ms": 0, **speeds, OTHERS: 3.0}


def far(latency: int, share: float | str) -> Row:
    return {"manner": "50 places", "cap MB/s": 0, "latency ms": latency, "% of places / latency": share, OTHERS: 40.0}


def test_lines_that_pauses_do_not_allow_to_fill_are_not_held_against_the_crawl() -> None:
    rows = [narrow(0.5, 1, put_off=2.5), narrow(2, 96), narrow(32, 18)]
    filled, *_ = findings(rows, [])
    assert filled.startswith("polite: 90 % or more of the line is used at 2 MB/s; least at 0.5 MB/s, 1 %, where 2.50")
    assert filled.endswith("wider lines than 6.4 MB/s are not filled because of the pauses")


def test_where_latency_is_the_limit() -> None:
    bound, quiet = findings([], [far(0, ""), far(100, 50.0), far(200, 91.0), far(400, 95.0)])
    assert bound == "50 places: latency alone is the limit (90 % of places / latency) from 200 ms on"
    assert quiet == "other programs used up to 40 % of the cores: the figures are not those of a quiet machine"


def test_the_papers_lines_stand_beside_ours_of_the_same_width() -> None:
    two, half = claims([narrow(2, 96), narrow(2, 80, "no pauses, no slow lane")])
    assert two.ours == "polite: 60.0 (96 % of the line); no pauses, no slow lane: 50.0 (80 % of the line)"
    assert half.ours == "not measured"


def test_the_conditions_name_the_places_that_were_used() -> None:
    assert conditions(1.5, [50])[0].startswith("5 threads (50 places) of 10 seeds each; ")
    assert conditions(20, [50, 200])[0].startswith("5 threads (50 places) or 20 threads (200 places) of 10 seeds each")


def test_an_answer_counts_when_it_has_come_not_when_it_was_asked_for(tmp_path: Path) -> None:
    # Else those that are under way when a crawl is killed are missing at the end of a window, and none at its begin.
    file = tmp_path / "crawl.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE page (fetched_at, elapsed_ms, length, result, status)")
        connection.execute("CREATE TABLE seed (slowed)")
        rows = [(10_000, 12_800, 32_000, "fetched", 200), (11_000, 0, 0, "robots-denied", 0)]
        connection.executemany("INSERT INTO page VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO seed VALUES (3)")
        connection.commit()
    answers, put_off = answered(file)
    assert [(pytest.approx(one.at), one.length, one.result) for one in answers] == [(22.8, 32_000, "fetched")]
    assert put_off == 3
