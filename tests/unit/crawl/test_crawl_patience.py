"""How patience grows where the line is slow, and shrinks when it is fast again."""

from __future__ import annotations

from scrawler.crawl.patience import Patience
from scrawler.fetch.downloader import Request, Response
from scrawler.model import Result
from tests.crawl_rules import crawl_rules

LIMIT = 10.0  # seconds of the downloader's own


def patience_of(seconds: float) -> Patience:
    return Patience(crawl_rules(patience=seconds, timeout=LIMIT))


def answers(patience: Patience, given_up: int, whole: int, seconds: float, timeout: float = -1.0) -> None:
    """Let so many answers be given up, and so many come whole in so many seconds."""
    for number in range(given_up + whole):
        limit = patience.timeout() if timeout < 0 else timeout
        request = Request("http://example.org/", "192.0.2.1", None, timeout=limit)
        result, took = (Result.TIMEOUT, limit or LIMIT) if number < given_up else (Result.FETCHED, seconds)
        patience.note(Response(request, result, request_head=b"GET", elapsed_ms=int(1000 * took)))


def test_grows_where_many_answers_are_given_up_and_others_are_late() -> None:
    patience = patience_of(3)
    answers(patience, 7, 25, 2.9)
    assert patience.timeout() == 3
    answers(patience, 8, 24, 2.9)
    assert patience.timeout() == 6


def test_slow_pages_among_fast_ones_are_put_off() -> None:
    patience = patience_of(3)
    answers(patience, 20, 12, 0.5)
    assert patience.timeout() == 3


def test_ends_at_the_downloaders_own_limit() -> None:
    patience = patience_of(3)
    for _ in range(9):
        answers(patience, 32, 0, 0)
    assert patience.timeout() == 0
    for _ in range(2):
        answers(patience, 0, 32, 0.1)
    assert patience.timeout() == 3


def test_hosts_that_are_not_there_do_not_count() -> None:
    patience = patience_of(3)
    request = Request("http://example.org/", "192.0.2.1", None, timeout=3)
    for _ in range(200):
        patience.note(Response(request, Result.TIMEOUT, elapsed_ms=3000))
    assert patience.timeout() == 3


def test_what_was_asked_for_before_does_not_count() -> None:
    patience = patience_of(3)
    answers(patience, 32, 0, 0)
    answers(patience, 200, 0, 0, timeout=3)
    assert patience.timeout() == 6


def test_stays_while_answers_are_as_slow_as_before() -> None:
    patience = patience_of(3)
    answers(patience, 32, 0, 0)
    answers(patience, 0, 32, 3.1)
    assert patience.timeout() == 6
    answers(patience, 0, 32, 0.2)
    assert patience.timeout() == 3


def test_no_patience_stays_none() -> None:
    patience = patience_of(0)
    answers(patience, 32, 0, 0)
    assert patience.timeout() == 0
