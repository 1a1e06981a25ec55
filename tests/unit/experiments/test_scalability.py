"""What is said of machines and threads, and what many machines would ask of a database."""

from __future__ import annotations

import pytest

from experiments.lab.extrapolation import Goal, Measured, extrapolated, mix_of, said_of_mix
from experiments.lab.load import Carried
from experiments.lab.meter import OTHERS, Meter
from experiments.lab.report import Row
from experiments.lab.scaling import claims, findings
from experiments.scalability import shares


def row(
    sweep: str, machines: int, of_a_thread: float, cores: float = 20.0, others: float = 1.0, steady: float = 1.0
) -> Row:
    numbers = {"machines": machines, "threads": 20, "pages/s": of_a_thread * machines * 20}
    used = {"pages/s of a thread": of_a_thread, "these three %": cores, OTHERS: others, "second half / first": steady}
    return {"sweep": sweep, "database": "mariadb", **numbers, **used}


def test_scaling_is_compared_with_the_papers() -> None:
    rates = {1: 4.0, 2: 4.0, 3: 3.2, 4: 3.6, 5: 3.0}
    level, speedup = claims([row("waiting", machines, rate) for machines, rate in rates.items()])
    assert level.ours == "20 threads: 4.00, 4.00, 3.20, 3.60, 3.00 (-25.0%)"
    assert speedup.ours == "20 threads: 1.20 (3), 1.80 (4)"


def test_the_cores_as_the_limit_are_found() -> None:
    rows = [row("waiting", 5, 4.0, 71), row("busy", 1, 16.0), row("busy", 2, 12.0, 97)]
    waiting, steady, others, busy = findings(rows)
    assert "at most 71 % of the cores, all programs 72 %: above the 60 % that this sweep allows for" in waiting
    assert steady == "the second half of each window went as fast as the first to within 0 %"
    assert others == "other programs used up to 1 % of the cores"
    assert busy.startswith("busy: from 2 machines on a thread does less than 90 % of what it does with one, ")
    assert busy.endswith("at 480 pages/s and 97 % of the cores")
    assert findings([row("waiting", 1, 4.0), row("busy", 1, 16.0)])[-1].endswith("no limit with any number of machines")


def test_on_a_loaded_machine_nothing_is_concluded() -> None:
    crawls = [
        row("waiting", 5, 4.0, 28, others=70, steady=1.48),
        row("busy", 1, 16.0),
        row("busy", 2, 9.0, 30, others=68),
    ]
    waiting, steady, _, busy = findings(crawls)
    assert "at most 28 % of the cores, all programs 98 %: above the 60 %" in waiting
    assert "so that the web is the limit" not in waiting
    assert steady.endswith("to within 48 %: too unsteady to compare machines by less than that")
    assert busy.endswith("; other programs had 68 %, so that this says nothing of the crawler")
    quiet, *_ = findings([row("waiting", 5, 4.0, 28)])
    assert quiet.endswith("at most 28 % of the cores, all programs 29 %, so that the web is the limit")


def test_what_many_machines_ask_for() -> None:
    goal = Goal(machines=50, threads=20, seeds_per_thread=10, sites=250_000, delay=1.0, latency=0.25)
    assert goal.pages == 160
    mix = mix_of(Measured(1_000, {"candidate": 1.5}, 1.2), goal, pages_per_site=40)
    assert (mix.pages, mix.interval) == (500, pytest.approx(3.125))  # full before its 5 s are over
    patient = mix_of(Measured(1_000, {}, 1.2), Goal(delay=4.8), 40)
    assert (patient.pages, patient.interval) == (200, 5.0)
    load = Carried(4_000, 8, 5, 100, 12.5, 80, 25, server_cpu=0.25, client_cpu=0.5, statements={"checkpoint": 12})
    pages, checkpoints, sites, beats, shares, machines = extrapolated(goal, mix, {"mariadb": load})
    assert (pages.theirs, checkpoints.theirs, sites.theirs) == ("8,000.0", "16.0", "200.0")
    assert (beats.theirs, shares.theirs, machines.theirs) == ("25.0", "225.0", "50.0")
    assert pages.ours == "mariadb: 4,000 (16,000 for each core of the database's CPU)"
    assert machines.ours == "mariadb: 25 (100 for each core of the database's CPU)"


def test_rates_are_those_between_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter([0.0, 10.0, 30.0, 90.0])
    meter = Meter(lambda pid: {"pages": next(values)})
    for at in (100.0, 101.0, 102.0, 103.0):
        monkeypatch.setattr("experiments.lab.meter.time.time", lambda at=at: at)
        meter._sample(1)
    assert meter.rate("pages", 100.5, 102.5) == 20
    assert meter.rate("pages", 102.5, 110) == 0


def test_a_database_without_counters_of_its_own_has_none_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    meter = Meter(lambda pid: {"crawler CPU": 0.0, "all CPU": 0.0})  # as for SQLite
    for at in (100.0, 101.0):
        monkeypatch.setattr("experiments.lab.meter.time.time", lambda at=at: at)
        meter._sample(1)
    found = shares(meter, 99.0, 102.0, rate=10.0, status=())
    assert (found["database CPU %"], found["statements a page"], found["rows a page"]) == (0.0, "", "")


def test_a_mix_counted_over_few_pages_is_not_passed_off_as_one() -> None:
    assert said_of_mix(Measured(20_000, {"candidate": 1.5}, 1.2)) == (
        "the mix of the load was counted over 20,000 page rows: candidate 1.50, listed URLs 1.20 a page row"
    )
    assert said_of_mix(Measured(1, {"candidate": 0.0}, 0.0)).endswith(
        ": too few, the load is not that of a crawl and its figures are no answer to the goal"
    )
