"""What one more visit makes of what is known of a URL: validators, distances, servers that lie."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from scrawler.features.revisit.policies.due import Off
from scrawler.features.revisit.policies.visit import Visited, after_visit
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.terms import url_hash
from scrawler.model.visits import UrlState, conditions, known_visit

URL = "http://a.example/"
DATE, LATER = "Sun, 22 Nov 2026 20:00:00 GMT", "Mon, 23 Nov 2026 20:00:00 GMT"
ONE, TWO = b"1" * 20, b"2" * 20


def row(visit: int, digest: bytes = ONE, **values: Any) -> PageRow:
    made = PageRow(
        seed_id=1, url_hash=url_hash(URL), url=URL, depth=0, lane_seed=1, position=0, result=Result.FETCHED.value,
        status=200, content_type="text/html", length=100, digest=digest, attempts=1, fetched_at=1_000 + visit,
        elapsed_ms=1, warc_file="a.warc.gz", warc_offset=0, warc_length=9, revisit=0, detail="", visit=visit,
    )  # fmt: skip
    return made._replace(**values)


def visit(before: UrlState | None, of: PageRow, etag: str = "", modified: str = "") -> Visited:
    return after_visit(before, of, etag, modified, Off(), in_round=of.visit > 0)


def not_modified(visit: int) -> PageRow:
    return row(visit, result=Result.NOT_MODIFIED.value, status=304, length=0, revisit=1)


def asked(state: UrlState) -> dict[str, str]:
    return dict(conditions(known_visit(state)))


def test_a_page_is_asked_for_by_what_its_server_has_said() -> None:
    state = visit(None, row(0), 'W/"x"', DATE).state
    assert asked(state) == {"If-None-Match": 'W/"x"', "If-Modified-Since": DATE}
    state = visit(state, not_modified(1)).state
    assert asked(state) == {"If-None-Match": 'W/"x"', "If-Modified-Since": DATE}, "a 304 may say nothing"
    state = visit(state, row(2, status=500, result=Result.HTTP_ERROR.value)).state
    assert asked(state) == {}, "it may be the condition that brings an error"
    state = visit(state, row(3, status=0, result=Result.TIMEOUT.value)).state
    assert asked(state) == {"If-None-Match": 'W/"x"', "If-Modified-Since": DATE}, "neither brings a payload"


@pytest.mark.parametrize("modified", ["yesterday", "0", "-1", ""])
def test_what_is_no_date_is_not_sent_back(modified: str) -> None:
    """RFC 9110, 13.1.3: a recipient ignores it."""
    assert asked(visit(None, row(0), '"x"', modified).state) == {"If-None-Match": '"x"'}


def test_what_a_304_says_of_a_weak_tag_or_a_date_takes_the_place_of_what_was_said() -> None:
    """RFC 9111, 4.3.4."""
    state = visit(None, row(0), 'W/"x"', DATE).state
    state = visit(state, not_modified(1), 'W/"y"', LATER).state
    assert asked(state) == {"If-None-Match": 'W/"y"', "If-Modified-Since": LATER}
    state = visit(visit(None, row(0), '"x"').state, not_modified(1), 'W/"x"').state
    assert asked(state) == {"If-None-Match": 'W/"x"'}, "as servers that compress say it"


def test_a_304_that_speaks_of_another_strong_tag_is_not_believed() -> None:
    state = visit(None, row(0), '"x"', DATE).state
    assert asked(visit(state, not_modified(1), '"y"', DATE).state) == {}


def test_a_strong_tag_that_stays_when_the_page_changes_is_not_believed() -> None:
    state = visit(None, row(0), '"x"', DATE).state
    found = visit(state, row(1, TWO), '"x"', LATER)
    assert [change.kind for change in found.changes] == ["changed"]
    assert asked(found.state) == {}
    assert asked(visit(found.state, row(2, TWO), '"x"', LATER).state) == {
        "If-None-Match": '"x"', "If-Modified-Since": LATER
    }, "it is asked for as a whole once"  # fmt: skip
    state = visit(None, row(0), modified=DATE).state
    assert asked(visit(state, row(1, TWO), modified=DATE).state) == {}
    state = visit(None, row(0), 'W/"x"').state
    assert asked(visit(state, row(1, TWO), 'W/"x"').state) == {"If-None-Match": 'W/"x"'}, "weak ones may"


def test_a_server_that_always_says_not_modified_is_asked_for_the_whole_page_now_and_then() -> None:
    state = visit(None, row(0), '"x"').state
    whole = []
    for number in range(1, 100):
        if not asked(state):
            whole.append(number)
        state = visit(state, not_modified(number)).state
    assert len(whole) in (5, 6)
    assert len({later - earlier for earlier, later in pairwise(whole)}) == 1


def test_a_change_tells_by_how_much_the_text_differs() -> None:
    state = visit(None, row(0, simhash=0b1111)).state
    found = visit(state, row(1, TWO, simhash=-1))
    assert [(change.kind, change.distance) for change in found.changes] == [("changed", 60)]
    assert visit(found.state, not_modified(2)).state.simhash == -1
    assert visit(state, row(1, TWO)).changes[0].distance == -1, "it is not known"


def test_a_page_is_gone_when_it_is_missing_for_the_second_time_in_a_row() -> None:
    gone = {"status": 404, "result": Result.HTTP_ERROR.value, "digest": b""}
    state = visit(None, row(0)).state
    first = visit(state, row(1, **gone))
    failed = visit(first.state, row(2, result=Result.TIMEOUT.value, status=0, digest=b""))
    assert ([change.kind for change in first.changes], failed.changes) == (["failing"], ())
    second = visit(first.state, row(2, **gone))
    third = visit(second.state, row(3, **gone))
    back = visit(third.state, row(4))
    kinds = [[change.kind for change in one.changes] for one in (second, third, back)]
    assert kinds == [["gone"], [], ["back"]]
    assert [change.kind for change in visit(first.state, row(2)).changes] == ["back"]


def test_a_page_with_an_error_is_failing_until_it_is_back() -> None:
    error = {"status": 500, "result": Result.HTTP_ERROR.value, "digest": b""}
    state = visit(None, row(0)).state
    first = visit(state, row(1, **error))
    second = visit(first.state, row(2, **error))
    back = visit(second.state, row(3))
    assert [[change.kind for change in one.changes] for one in (first, second, back)] == [["failing"], [], ["back"]]


def test_a_body_that_is_packed_otherwise_each_time_has_not_changed() -> None:
    """RFC 9110, 8.8: what is compared came out of it."""
    body, other = b"b" * 15, b"o" * 15

    def seen(before: UrlState | None, of: PageRow, print_: bytes) -> Visited:
        return after_visit(before, of, '"x"', "", Off(), in_round=of.visit > 0, text_print=print_)

    state = seen(None, row(0), body).state
    packed = seen(state, row(1, TWO), body)
    assert packed.changes == ()
    assert asked(packed.state) == {"If-None-Match": '"x"'}, "nor does its tag lie"
    plain = seen(packed.state, row(2, body + b"12345"), b"")
    assert plain.changes == (), "it came as it is"
    assert seen(plain.state, row(3, TWO), body).changes == ()
    assert [one.kind for one in seen(packed.state, row(2), other).changes] == ["changed"]
    assert [one.kind for one in seen(packed.state, row(2, other + b"12345"), b"").changes] == ["changed"]
