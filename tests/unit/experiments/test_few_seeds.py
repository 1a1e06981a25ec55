"""Sites that are alike, requests in work, and how many seeds are enough."""

from __future__ import annotations

import pytest

from experiments.few_seeds import CLASSIC, FREE, FULL, QUICK, Arm, alike, enough, gains, in_work, report, typical
from scrawler.features.synthweb.process import LoggedRequest
from scrawler.features.synthweb.web import SyntheticWeb


def test_sites_have_about_the_same_latency() -> None:
    web = SyntheticWeb(FULL.web())
    latencies = [web.site(web.target(url).site).latency_s for url in alike(web, max(FULL.seeds))]
    assert len(latencies) == max(FULL.seeds)
    assert latencies == pytest.approx([FULL.latency] * len(latencies), rel=0.25)


def test_requests_count_for_the_time_between() -> None:
    times = [(0.0, 1.0), (1.5, 3.0), (2.0, 9.0), (9.0, 9.5)]
    requests = [LoggedRequest(came, at, 200, "GET", "http://a/") for came, at in times]
    assert in_work(requests, 1.0, 5.0) == (1.5 + 3.0) / 4


def test_enough_is_nearly_the_best() -> None:
    assert enough({1: 10.0, 20: 91.0, 100: 100.0, 200: 95.0}) == 20


def _arm(turn: int, way: str, seeds: int, speed: float) -> Arm:
    figures = {"pages/s": speed, "threads with seeds %": 50.0, "threads with requests %": 50.0}
    return Arm(way, seeds, {"round": turn, "arm": f"{way}, {seeds}", **figures}, [(float(turn), [50.0])])


def test_turns_are_compared_one_by_one_and_shown_as_one() -> None:
    speeds = {
        (1, CLASSIC): 50.0,
        (1, FREE): 40.0,
        (2, CLASSIC): 30.0,
        (2, FREE): 40.0,
        (3, CLASSIC): 40.0,
        (3, FREE): 40.0,
    }
    arms = [_arm(turn, way, 150, speed) for (turn, way), speed in speeds.items()]
    assert gains(arms) == {150: [0.25, -0.25, 0.0]}
    assert [(arm.way, arm.row["pages/s"], arm.busy) for arm in typical(arms)] == [
        (CLASSIC, 40.0, [(1.0, [50.0])]),
        (FREE, 40.0, [(1.0, [50.0])]),
    ]
    assert report(arms, QUICK).claims[-1].ours == "+0 (-25 to +25) % with 150 seeds"


def test_a_turn_in_which_free_competition_fetched_nothing_is_no_gain() -> None:
    arms = [_arm(1, CLASSIC, 1, 5.0), _arm(1, FREE, 1, 0.0)]
    assert gains(arms) == {1: []}
    assert report(arms, QUICK).claims[-1].ours == "not to be said with 1 seed, as free competition fetched nothing"
