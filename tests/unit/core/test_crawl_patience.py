"""How patience grows where the network is slow, and shrinks when it is fast again."""

from __future__ import annotations

from scrawler.core.asking.patience import Patience
from scrawler.core.rules import CrawlRules
from scrawler.fetch.downloader import Request, Response
from scrawler.model.results import Result
from tests.crawl_rules import crawl_rules

LIMIT = 10.0  # seconds of the downloader's own
URL = "http://example.org/"


def rules_of(patience: float) -> CrawlRules:
    return crawl_rules(patience=patience, timeout=LIMIT)


def answers(patience: Patience, given_up: int, whole: int, seconds: float, timeout: float = -1.0) -> None:
    """Let so many answers come whole in so many seconds, and then so many be given up."""
    for number in range(whole + given_up):
        limit = patience.timeout() if timeout < 0 else timeout
        request = Request(URL, "192.0.2.1", None, timeout=limit)
        result, took = (Result.FETCHED, seconds) if number < whole else (Result.TIMEOUT, limit or LIMIT)
        patience.note(Response(request, result, request_head=b"GET", elapsed_ms=int(1000 * took)))


def test_grows_where_many_answers_are_given_up_and_others_are_late() -> None:
    patience = Patience(rules_of(3))
    answers(patience, 7, 25, 2.9)
    assert patience.timeout() == 3
    answers(patience, 8, 24, 2.9)
    assert patience.timeout() == 6


def test_slow_pages_among_fast_ones_are_put_off() -> None:
    patience = Patience(rules_of(3))
    answers(patience, 20, 12, 0.5)
    assert patience.timeout() == 3


def test_grows_where_all_are_late_at_once() -> None:
    patience = Patience(rules_of(3))
    answers(patience, 32, 0, 0)
    assert patience.timeout() == 6


def test_ends_at_the_limit_of_all_downloads_and_comes_back() -> None:
    patience = Patience(rules_of(3))
    for _ in range(9):
        answers(patience, 31, 1, 9.9)
    assert patience.timeout() == LIMIT, "so that what takes longer still goes to the slow lane"
    for _ in range(2):
        answers(patience, 4, 28, 0.1)
    assert patience.timeout() == 3


def test_hosts_that_are_not_there_do_not_count() -> None:
    patience = Patience(rules_of(3))
    request = Request(URL, "192.0.2.1", None, timeout=3)
    for result in (Result.TIMEOUT, Result.CONNECT_FAILED):
        for _ in range(200):
            patience.note(Response(request, result, elapsed_ms=3000))
    answers(patience, 0, 1, 2.9)
    assert patience.timeout() == 3


def test_what_was_asked_for_before_does_not_count() -> None:
    patience = Patience(rules_of(3))
    answers(patience, 31, 1, 2.9)
    answers(patience, 200, 0, 0, timeout=3)
    answers(patience, 0, 1, 5.9)
    assert patience.timeout() == 6


def test_stays_while_answers_are_as_slow_as_before() -> None:
    patience = Patience(rules_of(3))
    answers(patience, 31, 1, 2.9)
    answers(patience, 0, 32, 3.1)
    assert patience.timeout() == 6
    answers(patience, 0, 32, 0.2)
    assert patience.timeout() == 3


def test_begins_anew_when_it_is_set() -> None:
    rules = rules_of(3)
    patience = Patience(rules)
    answers(patience, 31, 1, 2.9)
    rules.patience = 2.0
    assert patience.timeout() == 2


def test_no_patience_stays_none() -> None:
    for none in (0.0, LIMIT):
        patience = Patience(rules_of(none))
        answers(patience, 31, 1, 9.9)
        assert patience.timeout() == 0


def test_a_host_with_a_timeout_of_its_own_is_waited_for_no_longer_than_that() -> None:
    patience = Patience(rules_of(3))
    short, long = (crawl_rules(patience=3.0, timeout=timeout) for timeout in (2.0, 60.0))
    assert (patience.timeout(short), patience.timeout(long)) == (0, 3)
    answers(patience, 31, 1, 2.9)
    assert (patience.timeout(short), patience.timeout(long), patience.timeout()) == (0, 6, 6)
