"""What the paper's figures would be in each reading, and in which words it is told."""

from __future__ import annotations

import pytest

from experiments.distributor_vs_free import FULL, QUICK, Found, agreement_text, facts_table, report
from experiments.lab.readings import (
    LOOKS,
    WAYS,
    Reading,
    Size,
    compared,
    gain,
    level_from,
    poorest_until,
    rules_of,
    web_of,
)
from experiments.lab.scaled import RATE, STEADY_RATE, Scaling, level_text, scaled
from scrawler.features.plan.simulation import Look

SMALL = Size(sites=60, threads=3, seeds_per_thread=4, mean_pages=8, latency=0.5)


def test_a_reading_says_what_it_fixes() -> None:
    assert str(Reading(1.5)) == "pause 1.5 x latency"
    assert str(Reading(0.0, 0.15, metered=True)) == "pause 0 x latency, metered seeds, 15 % dead"
    rules = rules_of(FULL.size, Reading(1.5, metered=True), "hands")
    assert (rules.delay, rules.supply, rules.blocking, rules.distribution) == (1.5 * 1.3, 4.5, True, "hands")


def test_dead_hosts_take_their_time_out_and_the_others_keep_their_sizes() -> None:
    alive, some = (web_of(SMALL, Reading(dead=dead), 1) for dead in (0.0, 0.2))
    dead = [site for site in some if not site.answers]
    assert len(dead) == pytest.approx(12, abs=2)
    assert {site.response for site in dead} == {60.0}
    assert all(one == other for one, other in zip(alive, some, strict=True) if other.answers)


def test_all_ways_crawl_the_same_web_and_are_compared_with_the_distributor() -> None:
    rows, runs = compared(SMALL, Reading(1.5), 1)
    assert [str(row["arm"]).rpartition(", ")[2] for row in rows] == list(runs) == list(WAYS)
    assert len({row["pages"] for row in rows}) == 1
    assert rows[0]["gain meanwhile %"] == rows[0]["gain in all %"] == rows[0]["minutes saved"] == 0
    hands = rows[-1]
    assert float(hands["gain meanwhile %"]) > 10
    window = min(runs["hands"].drained_at, runs["distributor"].drained_at)
    theirs, ours = (runs[way].requests_by(window) for way in ("hands", "distributor"))
    assert float(hands["gain meanwhile %"]) == pytest.approx(gain(ours, theirs))


def test_what_threads_hold_is_told_in_the_papers_terms() -> None:
    looks = [Look(1.0, (1, 3)), Look(2.0, (1, 10)), Look(3.0, (7, 10)), Look(4.0, (9, 10))]
    assert level_from(looks) == 3.0
    assert poorest_until(looks) == 3.0
    assert poorest_until(looks[2:]) == 0.0
    assert (level_from(looks[:2]), poorest_until(looks[:2])) == (LOOKS, LOOKS)


def test_machines_with_processors_of_their_own_do_the_same_while_there_are_seeds() -> None:
    rows = list(scaled(SMALL, Reading(1.5), Scaling(400, (1, 3), (3,))))
    assert [row["crawl"] for row in rows[:2]] == ["1 x 3, distributor", "3 x 3, distributor"]
    assert float(rows[0][STEADY_RATE]) == pytest.approx(float(rows[1][STEADY_RATE]), rel=0.1)
    assert level_text([{**rows[0], RATE: 2.0}, {**rows[1], RATE: 1.0}], RATE) == "3 threads, distributor: -50.0 %"


def test_one_table_says_what_each_reading_gives_and_names_no_winner() -> None:
    rows = compared(SMALL, Reading(0.0), 1)[0] + compared(SMALL, Reading(1.5), 1)[0]
    table = facts_table(rows)
    assert [row["reading"] for row in table] == [
        "stated",
        *(f"{way}: pause {pause} x latency" for pause in ("0", "1.5") for way in WAYS[1:]),
    ]
    assert all(set(row) == set(table[0]) for row in table)
    checks = [
        {"arm": f"x, {way}", "round": 1, "gain meanwhile %": gain, "simulated gain meanwhile %": 2.0}
        for way, gain in (("distributor", 0.0), ("free", 1.0), ("hands", 5.0))
    ]
    assert "2.0 points of percent (median of 2 pairs), 3.0 at most" in agreement_text(checks)
    machines = list(scaled(SMALL, Reading(1.5), Scaling(60, (1,), (3,))))
    runs = compared(SMALL, Reading(), 1)[1]
    made = report(Found(rows, rows, rows, machines, checks, machines), QUICK, 1, runs)
    assert "crawled: 1 web of" in made.notes[1]
    assert [claim.theirs for claim in made.claims] == ["+34.7", "160", "almost the same"]
    assert [panel.title for panel in made.plots[1].panels] == list(WAYS)
