"""Dates of sitemaps, pages, headers and cookies, and whatever else stands there."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.dates import cookie_date, mail_date, read_date
from tests.tables import each


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("1969", datetime(1969, 1, 1, tzinfo=UTC)),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        (" 2024-05-06\n", datetime(2024, 5, 6, tzinfo=UTC)),
        ("2024-05-06T07:08+02:00", datetime(2024, 5, 6, 5, 8, tzinfo=UTC)),
        ("2024-05-06t07:08:09.5z", datetime(2024, 5, 6, 7, 8, 9, 500_000, tzinfo=UTC)),
        ("2024-05-06 07:08:09 -0330", datetime(2024, 5, 6, 10, 38, 9, tzinfo=UTC)),
        ("2024-05-06T23:59:60Z", datetime(2024, 5, 6, 23, 59, 59, tzinfo=UTC)),
        ("Mon, 06 May 2024 07:08:09 GMT", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("6 May 24 07:08 EST", datetime(2024, 5, 6, 12, 8, tzinfo=UTC)),
    ],
)
def test_dates(text: str, date: datetime) -> None:
    assert read_date(text) == int(date.timestamp() * 1000)


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13-01", "2024-02-30", "0000", "2024-05-06T25:00", "9" * 99])
def test_no_dates(text: str) -> None:
    assert read_date(text) is None


@given(st.text())
def test_any_text_is_a_date_or_none(text: str) -> None:
    for read in (read_date, mail_date, cookie_date):
        assert isinstance(read(text), int | None)


@each(
    ("text", "seconds"),
    [
        ("Wed, 09 Jun 2021 10:18:14 GMT", 1623233894),
        ("Wednesday, 09-Jun-21 10:18:14 GMT", 1623233894),
        ("Wed Jun  9 10:18:14 2021", 1623233894),
        ("2021 june 9 10:18:14", 1623233894),
        ("Thu, 01-Jan-1970 00:00:00 GMT", 0),
        ("Fri, 01-Jan-99 0:0:0", 915148800),
        ("01 Jan 1601 00:00:00", -11644473600),
        ("Wed, 09 Jun 1600 10:18:14 GMT", None),
        ("30 Feb 2021 10:18:14", None),
        ("09 Jun 2021 24:00:00", None),
        ("09 Jun 2021 10:18:60", None),
        ("09 Jun 2021 10:18", None),
        ("09 Jun 10:18:14", None),
        ("09 Jul2 2021 10:18:141", None),
        ("1623233894", None),
        ("", None),
    ],
)
def test_dates_of_cookies(text: str, seconds: int | None) -> None:
    assert cookie_date(text) == (None if seconds is None else 1000 * seconds)
