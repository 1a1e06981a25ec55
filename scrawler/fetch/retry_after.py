"""The Retry-After header: how long a server asks to be left alone (RFC 9110, 10.2.3)."""

from __future__ import annotations

from scrawler.dates import mail_date
from scrawler.model.terms import Millis

_LONGEST = 1e9  # seconds, about thirty years: whoever uses it has a limit far below


def retry_after(value: str, now: Millis) -> float | None:
    """Return the seconds from `now` for which the server wants no request; None if the value says nothing.

    A time that is over is 0; nothing is longer than about thirty years, whatever stands there.
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value) if len(value) < 10 else _LONGEST
    at = mail_date(value)
    return None if at is None else min(max(0.0, (at - now) / 1000), _LONGEST)
