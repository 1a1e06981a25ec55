"""Of what a seed has died, told by the word with which the detail of its end begins."""

from __future__ import annotations

import pytest

from scrawler.model.deaths import Death, death_of, detail_of_death
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason

CASES = [
    (Result.CONNECT_FAILED, "robots.txt: Failed to connect to 192.0.2.1:80: Connection refused", "connection-refused"),
    (Result.CONNECT_FAILED, "Failed to connect to 192.0.2.1:80: No route to host", "unreachable"),
    (Result.TIMEOUT, "robots.txt: Connection timed out after 10001 milliseconds", "time-out"),
    (Result.TLS_FAILED, "SSL certificate problem: self-signed certificate", "tls"),
    (Result.CUT, "Empty reply from server", "cut"),
    (Result.BAD_ANSWER, "Received HTTP/0.9 when not allowed", "bad-answer"),
    (Result.TOO_LARGE, "body stopped at 1000 bytes", "too-large"),
]


@pytest.mark.parametrize(("result", "detail", "death"), CASES)
def test_a_detail_begins_with_what_its_seed_has_died_of(result: Result, detail: str, death: str) -> None:
    told = detail_of_death(result, detail)
    assert told == f"{death}: {detail}"
    assert death_of(EndReason.DEAD, told) == death


@pytest.mark.parametrize(("result", "detail", "death"), CASES)
def test_a_detail_that_names_a_result_tells_of_that(result: Result, detail: str, death: str) -> None:
    assert detail_of_death(Result.FETCHED, f"{result.value}: {detail}") == f"{death}: {detail}"


def test_a_name_without_address_is_told_as_well() -> None:
    assert death_of(EndReason.NO_ADDRESS, "a.example: Name or service not known") is Death.DNS


@pytest.mark.parametrize("detail", ["", "Connection refused", "connect-failed: Connection refused"])
def test_nothing_is_made_up_of_what_earlier_programs_wrote(detail: str) -> None:
    assert death_of(EndReason.DEAD, detail) is None
    assert detail_of_death(None, "words") == "words"


def test_who_has_not_died_has_died_of_nothing() -> None:
    assert death_of(EndReason.COMPLETED, "tls: words") is None
    assert death_of(None, "") is None
