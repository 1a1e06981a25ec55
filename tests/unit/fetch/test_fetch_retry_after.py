"""Retry-After: seconds, the three forms of a date, and whatever else stands there."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from scrawler.fetch.retry_after import retry_after
from tests.tables import each

NOW = int(datetime(2026, 11, 6, 8, 49, 7, tzinfo=UTC).timestamp() * 1000)


@each(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Fri, 06 Nov 2026 08:49:37 GMT", 30.0),
        ("Friday, 06-Nov-26 08:49:37 GMT", 30.0),
        ("Fri Nov  6 08:49:37 2026", 30.0),
        ("Fri, 06 Nov 2026 00:49:37 PST", 30.0),
        ("Fri, 06 Nov 2026 08:49:60 GMT", 52.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
        ("9" * 5000, 1e9),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 1e9),
    ],
)
def test_what_is_asked_for(value: str, seconds: float) -> None:
    assert retry_after(value, NOW) == seconds


@each(
    "value",
    ["", "soon", "-5", "1.5", "+3", "1e9", "5, 10", "\u0661\u0662", "Fri, 32 Nov 2026 08:49:37 GMT",
     "Fri, 06 Nov 2026 25:49:37 GMT", "Fri, 06 Foo 2026 08:49:37 GMT",
     "Fri, 00 Jan 0000 00:00:00 GMT", "2026-11-06T08:49:37Z"],
)  # fmt: skip
def test_what_says_nothing(value: str) -> None:
    assert retry_after(value, NOW) is None


@given(st.text(max_size=60), st.integers(0, 4_000_000_000_000))
def test_nothing_breaks_it(value: str, now: int) -> None:
    asked = retry_after(value, now)
    assert asked is None or 0 <= asked <= 1e9
