"""Sites that are alike, requests in work, and how many seeds are enough."""

from __future__ import annotations

import pytest

from experiments.few_seeds import FULL, alike, enough, gains, in_work
from scrawler.synthweb.process import LoggedRequest
from scrawler.synthweb.web import SyntheticWeb


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


def test_gains_are_by_the_number_of_seeds() -> None:
    assert gains({1: 2.0, 150: 50.0}, {1: 2.0, 150: 40.0}) == {1: 0.0, 150: 0.25}
