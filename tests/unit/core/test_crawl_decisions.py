"""Pure decisions: limits, retries, end reasons, moves of the distributor."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.core.distribution.distributor import choose_move
from scrawler.core.party.decisions import end_reason, limit_reached, listed_again, wants_retry
from scrawler.core.rules import SeedLimits, retry_pause_ms
from scrawler.fetch.downloader import Request, Response
from scrawler.model.lanes import LEFTOVER, NORMAL, SLOW, LaneKey, lane_key
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason, SeedCounts
from tests.tables import each


def test_each_limit_has_its_reason() -> None:
    limits = SeedLimits(max_depth=5, max_pages=3, max_bytes=100, max_time_ms=1000)
    assert limit_reached(SeedCounts(pages=2, bytes=99), 999, limits) is None
    assert limit_reached(SeedCounts(pages=3), 0, limits) is EndReason.MAX_PAGES
    assert limit_reached(SeedCounts(pages=2), 0, limits, in_flight=1) is EndReason.MAX_PAGES
    assert limit_reached(SeedCounts(bytes=100), 0, limits) is EndReason.MAX_BYTES
    assert limit_reached(SeedCounts(), 1000, limits) is EndReason.MAX_TIME
    assert limit_reached(SeedCounts(pages=10**9, bytes=10**12), 10**9, SeedLimits(5)) is None


@each(
    ("result", "status", "attempt", "again"),
    [
        (Result.TIMEOUT, 0, 1, True),
        (Result.TIMEOUT, 0, 3, False),
        (Result.CUT, 200, 2, True),
        (Result.HTTP_ERROR, 502, 1, True),
        (Result.HTTP_ERROR, 404, 1, False),
        (Result.TLS_FAILED, 0, 1, False),
        (Result.TOO_LARGE, 200, 1, False),
        (Result.FETCHED, 200, 1, False),
    ],
)
def test_only_what_may_pass_is_tried_again(result: Result, status: int, attempt: int, again: bool) -> None:
    assert wants_retry(result, status, attempt, retries=2) is again


OUT_OF_PATIENCE = {"result": Result.TIMEOUT, "elapsed_ms": 3001}


@each(
    ("answer", "lane", "again"),
    [
        ({"result": Result.HTTP_ERROR, "status": 429}, NORMAL, lane_key(100)),
        ({"result": Result.HTTP_ERROR, "status": 503}, lane_key(102), lane_key(202)),
        ({"result": Result.CUT, "status": 503}, lane_key(301), None),
        ({"result": Result.HTTP_ERROR, "status": 429}, SLOW, lane_key(-1100)),
        ({"result": Result.CUT}, NORMAL, lane_key(1)),
        ({"result": Result.CUT}, LEFTOVER, lane_key(1)),
        ({"result": Result.CUT}, lane_key(201), lane_key(202)),
        ({"result": Result.CUT}, lane_key(202), None),
        ({"result": Result.CUT}, SLOW, lane_key(-1001)),
        ({"result": Result.CUT}, lane_key(-1002), None),
        (OUT_OF_PATIENCE, NORMAL, SLOW),
        (OUT_OF_PATIENCE, lane_key(202), SLOW),
        (OUT_OF_PATIENCE, SLOW, lane_key(-1001)),
        (OUT_OF_PATIENCE | {"elapsed_ms": 1000}, NORMAL, lane_key(1)),
        ({"result": Result.HTTP_ERROR, "status": 404}, NORMAL, None),
    ],
)
def test_where_a_url_is_listed_again(answer: dict[str, Any], lane: LaneKey, again: LaneKey | None) -> None:
    request = Request("http://a.example/", "192.0.2.1", timeout=3.0)
    assert listed_again(Response(request, **answer), lane, retries=2, pushbacks=4) is again


def test_pauses_double() -> None:
    assert [retry_pause_ms(attempt, 10_000) for attempt in (1, 2, 3)] == [10_000, 20_000, 40_000]


@pytest.mark.parametrize(
    ("counts", "seed_result", "depth", "reason"),
    [
        (SeedCounts(pages=5), Result.FETCHED, False, EndReason.COMPLETED),
        (SeedCounts(pages=5), Result.FETCHED, True, EndReason.MAX_DEPTH),
        (SeedCounts(), Result.CONNECT_FAILED, False, EndReason.DEAD),
        (SeedCounts(), Result.TOO_LARGE, False, EndReason.DEAD),
        (SeedCounts(http_errors=1), Result.HTTP_ERROR, False, EndReason.HTTP_ERROR),
        (SeedCounts(denied=1), Result.ROBOTS_DENIED, False, EndReason.ROBOTS_DENIED),
        (SeedCounts(pages=3), Result.HTTP_ERROR, False, EndReason.COMPLETED),
    ],
)
def test_why_a_seed_is_done(counts: SeedCounts, seed_result: Result, depth: bool, reason: EndReason) -> None:
    assert end_reason(counts, seed_result, depth) is reason


def test_the_papers_unsettled_case_settles() -> None:
    assert choose_move([9, 9, 10]) is None
    assert choose_move([1, 10, 10]) == (1, 0)
    assert choose_move([0, 2]) == (1, 0)
    assert choose_move([0, 1]) is None
    assert choose_move([]) is None


@given(st.lists(st.integers(0, 12), min_size=1, max_size=20))
def test_moves_end_and_leave_collectors_level(counts: list[int]) -> None:
    total, moves = sum(counts), 0
    while (move := choose_move(counts)) is not None:
        source, target = move
        counts[source] -= 1
        counts[target] += 1
        moves += 1
        assert moves <= total * len(counts)
    assert max(counts) - min(counts) <= 1
    assert sum(counts) == total
