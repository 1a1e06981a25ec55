"""Times as people write them: a date, or how long ago."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from scrawler.dates import read_date
from scrawler.errors import SettingsError
from scrawler.model.terms import Millis
from scrawler.units import parse_seconds

Since = str | datetime | timedelta | None


def since_ms(since: Since, now: Millis) -> Millis:
    """Return a time in milliseconds: a date, or how long before now. Raises SettingsError."""
    if since is None:
        return 0
    if isinstance(since, datetime):
        return int((since if since.tzinfo else since.replace(tzinfo=UTC)).timestamp() * 1000)
    if isinstance(since, timedelta):
        return now - int(since.total_seconds() * 1000)
    at = read_date(since)
    if at is not None:
        return at
    try:
        return now - int(float(parse_seconds(since)) * 1000)  # type: ignore[arg-type]  # what it cannot read it returns
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(f"since {since!r}: a date is wanted, as 2026-11-23, or a time ago, as 7d") from None
