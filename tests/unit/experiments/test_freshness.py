"""A small collection, visited by each policy, against theory."""

from __future__ import annotations

import pytest

from experiments.lab.collection import Arm, Web, run, theory
from scrawler.features.revisit.policies.schedule import Policy
from scrawler.features.synthweb.spec import WebSpec


def test_a_collection_is_as_fresh_as_theory_says() -> None:
    web = Web("Poisson", 200, 160, 20.0, WebSpec(changes=0.1, change_spread=1.0))
    fresh = {}
    for policy in (Policy.FIXED, Policy.OPTIMAL, Policy.PROPORTIONAL):
        course = run(web, Arm(policy, knows=True))
        fresh[policy] = sum(course.fresh[80:]) / 80
        assert course.visits == 200 * 8
        # Visits that come in turn are not quite at equal intervals, and slow pages have not been visited twice yet.
        assert fresh[policy] == pytest.approx(theory(web, policy)["freshness in theory"], abs=0.05)
    assert fresh[Policy.OPTIMAL] > fresh[Policy.FIXED] > fresh[Policy.PROPORTIONAL]


def test_all_policies_have_as_many_visits() -> None:
    web = Web("mixed", 100, 90, 30.0, WebSpec(changes=0.5, still=0.3, periodic=0.3, bursty=0.3))
    assert {run(web, Arm(policy, knows=False)).visits for policy in Policy} == {300}


def test_what_has_come_and_gone_is_found_by_visits() -> None:
    spec = WebSpec(coming=1.0)  # nothing else changes
    fixed = Arm(Policy.FIXED, knows=True)
    often, seldom = (run(Web("coming", 400, 60, every, spec), fixed) for every in (0.5, 10.0))
    assert min(often.fresh) > 0.95
    assert sum(seldom.fresh) < sum(often.fresh) - 5.0
    assert max(seldom.ages) > 10.0 * max(often.ages)
    assert run(Web("still", 400, 60, 10.0, WebSpec()), fixed).fresh == [1.0] * 60
