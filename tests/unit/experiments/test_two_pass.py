"""What two passes bring, read from a server's log."""

from __future__ import annotations

import pytest

from experiments.lab.report import Row
from experiments.lab.slow_pages import Course, Trial
from experiments.lab.waits import waited
from experiments.two_pass import ONE_PASS, WAYS, WEB, claims, cores, findings
from scrawler.features.synthweb.process import LoggedRequest

FAST, SLOW, LATE = "http://a/fast", "http://a/slow", "http://a/late"


def asked(url: str, came: float, at: float) -> LoggedRequest:
    return LoggedRequest(came, at, 200, "GET", url)


# The first answer for SLOW comes when nobody waits for it any more.
LOG = [asked(FAST, 100.0, 100.1), asked(SLOW, 101.0, 106.0), asked(SLOW, 110.0, 115.0), asked(LATE, 120.0, 150.0)]


def test_waits_end_when_the_answer_comes_or_the_crawler_gives_up() -> None:
    waits = waited(LOG, patience=3, timeout=20)
    assert [(wait.began, pytest.approx(wait.ended)) for wait in waits] == [(0, 0.1), (1, 4), (10, 15), (20, 23)]
    assert [wait.came for wait in waits] == [True, False, True, False]
    assert [wait.second for wait in waits] == [False, False, True, False]


def test_a_course_counts_pages_that_came_and_requests_for_slow_ones() -> None:
    trial = Trial("classic", WAYS[2], WEB)
    course = Course(trial, waited(LOG, 3, 20), frozenset({FAST, SLOW}), frozenset({SLOW, LATE}), {})
    assert course.fetched == pytest.approx([0.1, 15])
    assert [course.by(at) for at in (0, 1, 14.9, 15.1)] == [0, 1, 1, 2]
    assert [course.blocked(at) for at in (0.05, 1, 3.9, 4.1, 12, 21)] == [0, 1, 1, 0, 1, 1]
    assert course.seconds == 23
    assert course.first_pass == 10
    assert course._replace(trial=Trial("classic", ONE_PASS, WEB)).first_pass is None


def row(way: str, rate: float, first: float | str, early: float, late: float) -> Row:
    names = {"crawl": f"classic: {way}", "profile": "classic", "way": way}
    times = {"pages": 100, "seconds": 100 / rate, "pages/s": rate, "first pass pages/s": first}
    return {**names, **times, "% by 10 s": early, "% by 50 s": late}


def test_gains_and_losses_are_both_said() -> None:
    rows = [row("one pass", 2.0, "", 30, 90), row("crawl", 1.0, 3.0, 50, 80)]
    (note,) = findings(rows)
    assert "ahead by more than 1 % at 10 s, behind at 50 s; the whole crawl took +100%" in note
    whole, first = claims(rows)
    assert whole.ours == "classic: crawl 2.00 to 1.00 (-50%)"
    assert first.ours == "classic: crawl 2.00 to 3.00 (+50%)"


def test_whether_the_crawls_had_to_wait_for_the_cores_is_measured() -> None:
    def course(others: float) -> Course:
        used = {"crawler CPU %": 4.0, "server CPU %": 1.0, "others CPU %": others}
        return Course(Trial("classic", ONE_PASS, WEB), [], frozenset(), frozenset(), used)

    quiet = cores([course(10), course(12)])  # each sees the other among the others
    assert quiet == "all crawls ran at the same time, with their servers on 10 % of the cores; all programs had 17 %"
    loaded = cores([course(90), course(93)])
    assert loaded.endswith("all programs had 98 %: the crawls may have waited for the cores as well as for slow pages")
