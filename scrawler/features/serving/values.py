"""What values of rows are worth as dates, as parts of a path and as text: a database may hold anything.

An SQLite file holds what no type of its columns allows: text that is not UTF-8, which is kept with a surrogate for
each byte, dates that are none, numbers without end.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any
from urllib.parse import quote

from scrawler.dates import read_date

_LATEST = 253_402_300_799_999  # the end of the year 9999, UTC milliseconds
_MILLIS = 100_000_000_000  # numbers above it are milliseconds, others seconds
_LONGEST_KEY = 512
_NO_VALUE = (ValueError, ArithmeticError, TypeError)


def text_of(data: bytes) -> str:
    """Return text of an SQLite file, whatever its bytes are."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """Return the bytes that `text_of` has read."""
    return text.encode("utf-8", "surrogateescape")


def is_broken(value: object) -> bool:
    """Tell whether a value is text that was not UTF-8."""
    return isinstance(value, str) and not value.isascii() and any("\ud800" <= one <= "\udfff" for one in value)


def shown(value: Any) -> Any:
    """Return a value as a template may show it."""
    return bytes_of(value).decode("utf-8", "replace") if is_broken(value) else value


def plain(value: Any) -> str:
    """Return what goes into a digest of a value."""
    return value.hex() if isinstance(value, bytes) else str(value)


def millis(value: Any) -> int:
    """Return a date of a row as UTC milliseconds, 0 where it is none that can be.

    What names no zone is UTC, a number seconds or milliseconds.
    """
    try:
        at = _millis(value)
    except _NO_VALUE:
        return 0
    return at if 0 < at <= _LATEST else 0


def _millis(value: Any) -> int:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    if isinstance(value, date):
        return int(datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp() * 1000)
    if isinstance(value, str):
        return read_date(value) or 0
    if isinstance(value, int | float | Decimal):
        return int(value if value > _MILLIS else value * 1000)
    return 0


def segment(value: Any) -> str:
    """Return what stands for a value of a key in a path; empty where none can, which leads to the row again."""
    if value is None or isinstance(value, bytes | bytearray | memoryview) or is_broken(value):
        return ""
    if isinstance(value, float) and not isfinite(value):
        return ""
    if isinstance(value, Decimal) and not value.is_finite():
        return ""
    text = str(value)
    return "" if is_no_segment(text) else quote(text, safe="-._~")


def is_no_segment(text: str) -> bool:
    """Tell whether a text can be no part of a path."""
    return text in ("", ".", "..") or len(text) > _LONGEST_KEY or "\0" in text


def read_as(kind: Any, text: str) -> Any:
    """Read a value of a key; None where the text is not how it is written: one row has one path."""
    try:
        value = kind(text)
        if isinstance(value, Decimal) and not value.is_finite():
            return None
    except _NO_VALUE:
        return None
    if str(value) != text or is_no_segment(text):
        return None
    return None if isinstance(value, int) and abs(value) >= 1 << 63 else value
