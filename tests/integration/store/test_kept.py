"""A year, in short: a site is kept fresh in virtual time, on the real store, by the real decisions."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from scrawler.features.revisit.policies.estimator import DAY_S
from scrawler.features.revisit.policies.policy import freshness, optimal_visits
from scrawler.features.synthweb.changes import Changes
from scrawler.features.synthweb.spec import WebSpec
from scrawler.store.engines.engine import open_database
from tests.integration.store.kept import BEGIN, DAY, HOUR, KeptSite

PAGES, DAYS, EVERY = 48, 80, 6  # so many days on average between two visits of a page
pytestmark = pytest.mark.heavy


def test_at_equal_budgets_policies_do_what_theory_says(tmp_path: Path) -> None:
    """The budget is kept to, and used; uniform beats proportional, and optimal beats both. Nothing of it is random."""
    changes = Changes(WebSpec(changes=0.3, change_spread=1.8))
    pages = [changes.of(0, page) for page in range(PAGES)]
    fresh, visits = {}, {}
    for word in ("fixed", "proportional", "optimal"):
        with closing(open_database(f"sqlite:///{tmp_path / word}.db")) as database:
            site = KeptSite(database, pages, word, PAGES // EVERY, EVERY * DAY)
            found = []
            for now in range(BEGIN + HOUR, BEGIN + DAYS * DAY, 3 * HOUR):
                site.go_on(now)
                if now > BEGIN + DAYS * DAY // 2:
                    found.append(site.fresh(now))
            fresh[word], visits[word] = sum(found) / len(found), site.visits
    budget = DAYS * (PAGES // EVERY)
    assert all(0.7 * budget <= number <= budget + 2 for number in visits.values()), visits  # learning takes a while
    rates = [max(page.rate, 1e-10) for page in pages]
    often = optimal_visits([(rate, 1.0) for rate in rates], PAGES // EVERY / DAY_S)
    best = sum(freshness(rate, 1 / one) for rate, one in zip(rates, often, strict=True) if one > 0) / PAGES
    assert fresh["optimal"] > fresh["fixed"] > fresh["proportional"], fresh
    assert 0.8 * best < fresh["optimal"] < best + 0.06, (fresh, best)
