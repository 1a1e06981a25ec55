"""The Retry-After header: how long a server asks to be left alone (RFC 9110, 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from scrawler.model.terms import Millis

_LONGEST = 1e9  # seconds, about thirty years: whoever uses it has a limit far below
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_FORMATS = tuple(  # of an HTTP-date (RFC 9110, 5.6.7): IMF-fixdate, RFC 850, asctime
    re.compile(form, re.ASCII)
    for form in (
        rf"[A-Za-z]{{3}}, (?P<day>\d\d) (?P<month>[A-Za-z]{{3}}) (?P<year>\d{{4}}) {_TIME} GMT",
        rf"[A-Za-z]{{6,9}}, (?P<day>\d\d)-(?P<month>[A-Za-z]{{3}})-(?P<year>\d\d) {_TIME} GMT",
        rf"[A-Za-z]{{3}} (?P<month>[A-Za-z]{{3}}) (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})",
    )
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def retry_after(value: str, now: Millis) -> float | None:
    """Return the seconds from `now` for which the server wants no request; None if the value says nothing.

    A time that is over is 0; nothing is longer than about thirty years, whatever stands there.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) < 10 else _LONGEST
    at = _seconds(value, now)
    return None if at is None else min(max(0.0, at - now / 1000), _LONGEST)


def _seconds(value: str, now: Millis) -> float | None:
    """Return an HTTP-date as seconds since 1970."""
    match = next((match for form in _FORMATS if (match := form.fullmatch(value))), None)
    if match is None or (name := match["month"].lower()) not in _MONTHS:
        return None
    year = int(match["year"])
    if year < 100:  # the year of this form that is at most 50 years ahead (RFC 9110, 5.6.7)
        ahead = datetime.fromtimestamp(now / 1000, UTC).year + 50
        year += ahead // 100 * 100
        year -= 100 if year > ahead else 0
    try:
        clock = int(match["hour"]), int(match["minute"]), min(int(match["second"]), 59)  # 60: a leap second
        return datetime(year, _MONTHS.index(name) + 1, int(match["day"]), *clock, tzinfo=UTC).timestamp()
    except ValueError:
        return None
