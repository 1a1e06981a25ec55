"""Dates as other people write them, in UTC milliseconds since 1970; None for what is no date. Nothing here raises.

`read_date` takes what feeds, sitemaps and pages write, `mail_date` the forms of HTTP headers alone, and `cookie_date`
what a cookie's Expires may be, which has rules of its own. `iso_date` writes one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_tz

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LONGEST = 64  # longer texts are no date
_NO_DATE = (ValueError, OverflowError, TypeError, IndexError)  # what Python's parsers raise for what is no date
# W3C date and time formats, of which RFC 3339 is a part; a blank for the T and no zone (UTC) are let pass.
_W3C = re.compile(
    r"""(\d{4})(?:-(\d\d)(?:-(\d\d)
        (?:[Tt\ ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(?:[Zz]|([+-])(\d\d):?(\d\d))?)?)?)?""",
    re.ASCII | re.VERBOSE,
)

# The parts of a cookie's date (RFC 6265, 5.1.1).
_DELIMITERS = re.compile(r"[\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?![0-9])")
_DAY = re.compile(r"([0-9]{1,2})(?![0-9])")
_MONTH = re.compile(r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
_YEAR = re.compile(r"([0-9]{2,4})(?![0-9])")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_FIRST_YEAR = 1601  # the first year that a cookie's date may have (RFC 6265, 5.1.1)


def read_date(text: str) -> int | None:
    """Read a W3C or RFC 3339 date, or one that `mail_date` reads; what names no zone is UTC."""
    text = text.strip()
    match = _W3C.fullmatch(text) if len(text) <= _LONGEST else None
    return mail_date(text) if match is None else _of_w3c(match)


def mail_date(text: str) -> int | None:
    """Read a date of RFC 5322, RFC 850 or asctime (RFC 9110, 5.6.7), with any zone that mail knows, else as UTC."""
    if len(text) > _LONGEST:
        return None
    try:
        parsed = parsedate_tz(text)
        if parsed is None:
            return None
        year, month, day, hour, minute, second = parsed[:6]
        date = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)  # leap seconds are 60
        return _milliseconds(date - timedelta(seconds=parsed[9] or 0))
    except _NO_DATE:
        return None


def cookie_date(text: str) -> int | None:
    """Read the date of an Expires attribute (RFC 6265, 5.1.1)."""
    found: dict[re.Pattern[str], re.Match[str]] = {}
    for token in _DELIMITERS.split(text):
        for part in (_TIME, _DAY, _MONTH, _YEAR):
            if part not in found and (match := part.match(token)):
                found[part] = match
                break
    if len(found) < 4:
        return None
    hour, minute, second = map(int, found[_TIME].groups())
    month = 1 + _MONTHS.index(found[_MONTH][1].lower()) // 4
    year = _whole_year(int(found[_YEAR][1]))
    if year < _FIRST_YEAR:
        return None
    try:
        return _milliseconds(datetime(year, month, int(found[_DAY][1]), hour, minute, second, tzinfo=UTC))
    except ValueError:
        return None


def _whole_year(year: int) -> int:
    if year <= 69:
        return year + 2000
    return year + 1900 if year <= 99 else year


def _of_w3c(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = match.groups()
    try:
        date = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), min(int(second or 0), 59),
            int((fraction or "0")[:6].ljust(6, "0")), UTC,
        )  # fmt: skip
        if sign is not None:
            ahead = timedelta(hours=int(zone_hours), minutes=int(zone_minutes))
            date -= ahead if sign == "+" else -ahead
        return _milliseconds(date)
    except _NO_DATE:
        return None


def iso_date(at: int) -> str:
    """Write a time in UTC milliseconds as ISO 8601 does; empty for one that no calendar has."""
    try:
        return (_EPOCH + at * _MILLISECOND).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return ""


def moment(at: int) -> datetime:
    """Return a time in UTC milliseconds; the first or the last one of all for one that no calendar has."""
    try:
        return _EPOCH + at * _MILLISECOND
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC) if at > 0 else datetime.min.replace(tzinfo=UTC)


def _milliseconds(date: datetime) -> int:
    return (date - _EPOCH) // _MILLISECOND
