"""Dates as feeds and sitemaps write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from scrawler.model.terms import Millis

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LONGEST = 64  # characters
# W3C date and time formats, of which RFC 3339 is a part; a blank for the T and no zone (UTC) are let pass.
_W3C = re.compile(
    r"""(\d{4})(?:-(\d\d)(?:-(\d\d)
        (?:[Tt\ ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(?:[Zz]|([+-])(\d\d):?(\d\d))?)?)?)?""",
    re.ASCII | re.VERBOSE,
)


def date_ms(text: str) -> Millis:
    """Read a W3C, RFC 3339 or RFC 822 date; 0 for what is none, or lies before 1970. Never raises."""
    text = text.strip()
    if len(text) > _LONGEST:
        return 0
    try:
        match = _W3C.fullmatch(text)
        date = _of_parts(match) if match else parsedate_to_datetime(text)
        return max(0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - _EPOCH) // _MILLISECOND)
    except (ValueError, OverflowError, TypeError, IndexError):
        return 0


def _of_parts(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = match.groups()
    date = datetime(
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), min(int(second or 0), 59),
        int((fraction or "0")[:6].ljust(6, "0")), UTC,
    )  # fmt: skip
    if sign is None:
        return date
    offset = timedelta(hours=int(zone_hours), minutes=int(zone_minutes))
    return date - offset if sign == "+" else date + offset
