"""What a site's visits teach, and the times that policies make of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrawler.features.revisit.policies.change import same_text, text_print_of
from scrawler.features.revisit.policies.demand import cell_of, demand_of, is_shared, kind_of
from scrawler.features.revisit.policies.due import (
    POLICIES,
    Fixed,
    Learning,
    Off,
    RevisitPolicy,
    Seen,
    Wishes,
    wrong_column,
)
from scrawler.features.revisit.policies.estimator import DAY_S, Checks, SiteRates
from scrawler.features.revisit.policies.learning import SharedDemand, SiteLearning, pack_rates, unpack_rates
from scrawler.features.revisit.policies.policy import Bounds
from scrawler.features.revisit.policies.schedule import Policy
from scrawler.features.revisit.policies.visit import after_visit
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.visits import ChangeKind, UrlState
from tests.tables import each
from tests.unit.revisit.rows import row_at

DAY = 86_400_000
HOUR = 3_600_000
WEEK = 7 * DAY


def adaptive() -> Learning:
    return Learning(Policy.ADAPTIVE, WEEK, HOUR, 90 * DAY)


def optimal() -> Learning:
    return Learning(Policy.OPTIMAL, WEEK, HOUR, 90 * DAY)


class Page:
    """A page that is visited again and again."""

    def __init__(self, learning: SiteLearning, policy: RevisitPolicy) -> None:
        self.learning = learning
        self.policy = policy
        self.state: UrlState | None = None
        self.now = 10**12
        self.version = 0

    def visit(self, after: int = 0, changed: bool = False, **fields: Any) -> UrlState:
        """Visit it so many milliseconds later."""
        self.now += after
        self.version += changed
        visit = 0 if self.state is None else self.state.visit + 1
        values = {"digest": self.version.to_bytes(20, "big"), "fetched_at": self.now, "visit": visit} | fields
        row = row_at("http://a.example/1", **values)
        found = after_visit(self.state, row, "", "", self.policy, in_round=visit > 0, learning=self.learning)
        self.state = found.state
        return found.state


def test_a_page_that_keeps_changing_comes_sooner_and_one_that_does_not_later() -> None:
    often, never = Page(SiteLearning(), adaptive()), Page(SiteLearning(), adaptive())
    first = often.visit().interval_ms
    assert first == never.visit().interval_ms == WEEK  # a page of an unknown site changes once in the first interval
    for _ in range(8):
        often.visit(DAY, changed=True)
        never.visit(DAY)
    assert often.state is not None
    assert never.state is not None
    assert often.state.interval_ms < DAY
    assert never.state.interval_ms > 3 * WEEK
    assert Checks.unpacked(often.state.checks).changed == pytest.approx(8, rel=0.1)


def test_new_pages_of_a_known_site_begin_as_its_others_are() -> None:
    learning = SiteLearning()
    for _ in range(40):
        page = Page(learning, adaptive())
        page.visit()
        for _ in range(6):
            page.visit(DAY, changed=True)
    new = Page(SiteLearning(unpack_rates(pack_rates(learning.rates))), adaptive())
    assert new.visit().interval_ms < 2 * DAY


def test_a_clock_that_was_set_back_teaches_nothing() -> None:
    page = Page(SiteLearning(), adaptive())
    page.visit()
    page.visit(DAY, changed=True)
    assert page.state is not None
    before = page.state.checks
    state = page.visit(-5 * DAY, changed=True)
    assert state.checks == before
    assert state.due_at == page.now + state.interval_ms  # and nothing waits for the other clock
    assert state.interval_ms > 0


@each(
    ("first", "second", "changed"),
    [
        ({}, {"result": Result.NOT_MODIFIED.value, "status": 304, "digest": b""}, 0),
        ({}, {"result": Result.HTTP_ERROR.value, "status": 404, "digest": b""}, 1),
        ({}, {"result": Result.HTTP_ERROR.value, "status": 500, "digest": b""}, None),
        ({}, {"result": Result.TIMEOUT.value, "status": 0, "digest": b""}, None),
        ({"result": Result.HTTP_ERROR.value, "status": 410, "digest": b""}, {}, 1),
        ({"result": Result.HTTP_ERROR.value, "status": 410, "digest": b""},
         {"result": Result.HTTP_ERROR.value, "status": 404, "digest": b""}, 0),
        ({"result": Result.REDIRECT.value, "status": 301, "detail": "http://a.example/2", "digest": b""},
         {"result": Result.REDIRECT.value, "status": 301, "detail": "http://a.example/2", "digest": b""}, 0),
        ({"result": Result.REDIRECT.value, "status": 301, "detail": "http://a.example/2", "digest": b""},
         {"result": Result.REDIRECT.value, "status": 301, "detail": "http://a.example/3", "digest": b""}, 1),
        ({"result": Result.TIMEOUT.value, "status": 0, "digest": b""}, {}, None),
    ],
)  # fmt: skip
def test_what_two_answers_say_of_a_change(first: dict[str, Any], second: dict[str, Any], changed: int | None) -> None:
    page = Page(SiteLearning(), adaptive())
    page.visit(**first)
    checks = Checks.unpacked(page.visit(DAY, **second).checks)
    if changed is None:
        assert checks.checks == 0
    else:
        assert (checks.checks, checks.changed) == (1, changed)


POLICY = st.sampled_from([Off(), Fixed(DAY), adaptive(), optimal()])


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), POLICY, st.integers(1, 40)), max_size=40), st.booleans())
@settings(max_examples=80, deadline=None)
def test_cells_have_as_many_pages_as_states_say_whatever_came(
    visits: list[tuple[int, bool, RevisitPolicy, int]], taken_often: bool
) -> None:
    """Each page is counted in the cell of its state, and nowhere else: sums of what is written are enough."""
    learning = SiteLearning(own=demand_of({}, 100.0))
    pages = [Page(learning, Off()) for _ in range(6)]
    written: Counter[int] = Counter()
    for number, changed, policy, hours in visits:
        pages[number].policy = policy
        pages[number].visit(hours * HOUR, changed)
        if taken_often:
            written.update(dict(learning.take()[1]))
    written.update(dict(learning.take()[1]))
    states = Counter(page.state.demand_cell for page in pages if page.state is not None and page.state.demand_cell)
    assert {cell: number for cell, number in written.items() if number} == dict(states)
    assert learning.demands[0].pages == sum(number for cell, number in states.items() if is_shared(cell))


def test_a_page_asks_for_its_share_of_a_budget() -> None:
    cells = {cell_of(1 / (10 * DAY_S), 1.0): 1000}
    demand = demand_of(cells, 100.0, Bounds(3_600.0, 90 * DAY_S))  # so each page has a visit in ten days
    page = Page(SiteLearning(shared=SharedDemand(demand)), optimal())
    assert page.visit().interval_ms == WEEK  # the first time is that of the setting
    for _ in range(6):
        page.visit(10 * DAY, changed=True)
    assert page.state is not None
    assert 5 * DAY < page.state.interval_ms < 20 * DAY
    both = SiteLearning(shared=SharedDemand(demand), own=demand_of(cells, 10.0, Bounds(3_600.0, 90 * DAY_S)))
    stricter = Page(both, optimal())
    stricter.visit()
    assert stricter.visit(10 * DAY, changed=True).interval_ms > 40 * DAY  # a tenth of that for its site


@given(st.floats(1e-12, 10), st.floats(1e-7, 1e10), st.booleans())
def test_a_cell_stands_for_what_is_near(rate: float, weight: float, shares: bool) -> None:
    cell = cell_of(rate, weight, shares)
    assert 0 < cell < 2**31
    assert is_shared(cell) == shares
    near_rate, near_weight = kind_of(cell)
    assert near_rate == pytest.approx(min(max(rate, 1e-10), 1.0), rel=0.2)
    assert near_weight == pytest.approx(min(max(weight, 1e-6), 1e9), rel=0.2)
    assert cell_of(near_rate, near_weight, shares) == cell


def test_what_is_packed_comes_back_and_what_is_broken_is_nothing() -> None:
    rates = SiteRates(3.0, 1e-5, 1e-10, 1e-12)
    assert unpack_rates(pack_rates(rates)) == rates
    assert unpack_rates(b"") == unpack_rates(b"x" * 31) == unpack_rates(b"\xff" * 32) == SiteRates()


def test_the_line_of_a_seed_overrides_settings() -> None:
    wishes = Wishes("adaptive", WEEK, HOUR, 90 * DAY)
    assert wishes.of_seed({}) is wishes
    assert wishes.of_seed({"topic": "news"}) is wishes
    assert wishes.of_seed({"revisit": "Fixed", "revisit_interval": "12h"})[:4] == ("fixed", 12 * HOUR, HOUR, 90 * DAY)
    assert wishes.of_seed({"revisit_max": 86_400})[:4] == ("adaptive", WEEK, HOUR, DAY)
    assert wishes.of_seed({"revisit": "", "revisit_min": " "}) == wishes
    assert wishes.of_seed({"revisit": "daily"}) is wishes  # of an earlier import: it says nothing
    assert isinstance(wishes.of_seed({"revisit": "off"}).policy(), Off)
    assert {type(wishes._replace(word=word).policy()) for word in POLICIES} == {Off, Fixed, Learning}


@each(
    ("columns", "said"),
    [
        ({"revisit": "daily"}, "revisit is 'daily'"),
        ({"revisit": 3}, "revisit is '3'"),
        ({"revisit_interval": "soon"}, "revisit_interval is 'soon'"),
        ({"revisit_interval": "0"}, "revisit_interval is '0'"),
        ({"revisit_min": -5}, "revisit_min is '-5'"),
        ({"revisit_min": True}, "revisit_min"),
        ({"revisit_max": "999999999999d"}, "revisit_max"),
        ({"revisit_max": ["7d"]}, "revisit_max"),
        ({"revisit_max": float("nan")}, "revisit_max"),
    ],
)
def test_columns_that_cannot_be_read_are_told(columns: dict[str, Any], said: str) -> None:
    assert wrong_column(columns).startswith(said)


def test_dates_and_counters_are_no_change_of_a_text() -> None:
    one, other = (
        text_print_of(f"Prices\nBread 3 EUR\n{when}, 1,2{when[:2]} views") for when in ("24 May 2025", "31 May 2025")
    )
    dearer = text_print_of("Prices\nBread 4 EUR\n24 May 2025, 1,224 views")
    assert same_text(one, other)
    assert not same_text(one, dearer)
    assert not same_text(b"", other)
    assert not same_text(one, text_print_of(None))


def test_what_changes_by_itself_is_no_change_of_a_page() -> None:
    def kinds(first: str, second: str) -> set[ChangeKind]:
        before = after_visit(
            None, row_at("http://a/", digest=b"1" * 20), "", "", Off(), False, text_print=text_print_of(first)
        ).state
        row = row_at("http://a/", digest=b"2" * 20, visit=1, fetched_at=10**12 + DAY)
        found = after_visit(before, row, "", "", Off(), True, text_print=text_print_of(second))
        return {ChangeKind(one.kind) for one in found.changes}

    assert kinds("News of 1 May 2025", "News of 2 May 2025") == set()
    assert kinds("News of 1 May 2025", "Other news of 2 May 2025") == {ChangeKind.CHANGED}


def test_policies_of_no_interest_learn_nothing() -> None:
    seen = Seen(1, 0, 0, False, 1, 0, 1, rate=1e-6)
    assert (Off().interval(seen), Fixed(5).interval(seen)) == (0, 5)
    learning = SiteLearning()
    page = Page(learning, Fixed(DAY))
    for _ in range(5):
        page.visit(DAY, changed=True)
    assert learning.take() == (None, {})
    assert page.state is not None
    assert Checks.unpacked(page.state.checks).checks > 3  # but what was found is kept: another policy may ask for it


def test_fields_of_a_row_are_those_of_the_model() -> None:
    assert row_at("http://a/")._fields == PageRow._fields
