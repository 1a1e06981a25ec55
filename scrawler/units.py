"""Sizes and times as people write them: "32MiB", "1GB", "90", "5m", "2h"."""

from __future__ import annotations

import re
from datetime import timedelta

_QUANTITY = re.compile(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([A-Za-z]*)\s*", re.ASCII)

_BYTES = {
    "tib": 1 << 40, "gib": 1 << 30, "mib": 1 << 20, "kib": 1 << 10,
    "tb": 10**12, "gb": 10**9, "mb": 10**6, "kb": 1000, "b": 1, "": 1,
}  # fmt: skip
_SECONDS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}
_BYTE_NAMES = {"tib": "TiB", "gib": "GiB", "mib": "MiB", "kib": "KiB", "tb": "TB", "gb": "GB", "mb": "MB", "kb": "KB"}


def parse_bytes(value: object) -> object:
    """Turn "32MiB" or "1.5GB" into a number of bytes; anything that is not text is handed back as it is.

    Units are powers of 1,000 (KB, MB, GB, TB) or of 1,024 (KiB, MiB, GiB, TiB), in any case; none means bytes.
    Raises ValueError for other text and for a part of a byte.
    """
    if not isinstance(value, str):
        return value
    size = _scaled(value, _BYTES)
    if size != int(size):
        raise ValueError("not a whole number of bytes")
    return int(size)


def parse_seconds(value: object) -> object:
    """Turn "90", "1.5", "5m", "2h", "1d", "200ms" or a timedelta into seconds; anything else is handed back as it is.

    Raises ValueError for other text.
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    return _scaled(value, _SECONDS) if isinstance(value, str) else value


def format_bytes(size: int) -> str:
    """Write a size in the largest unit that divides it: 33554432 -> "32MiB"."""
    for unit, name in _BYTE_NAMES.items():
        if size and size % _BYTES[unit] == 0:
            return f"{size // _BYTES[unit]}{name}"
    return f"{size}B"


def format_seconds(seconds: float) -> str:
    """Write a time in the largest unit that divides it: 300.0 -> "5m", 1.5 -> "1.5s"."""
    for unit in ("d", "h", "m"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds / _SECONDS[unit]:g}{unit}"
    return f"{seconds:g}s"


def human_seconds(seconds: float) -> str:
    """Write a time for reading, rounded: 5400.0 -> "1.5 h"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:,.1f} h"


def human_bytes(size: int) -> str:
    """Write a size for reading, rounded: 1234567 -> "1.2 MB"."""
    scaled = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if scaled < 1000:
            return f"{scaled:.0f} {unit}" if unit == "B" else f"{scaled:.1f} {unit}"
        scaled /= 1000
    return f"{scaled:.1f} TB"


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number of things in words: 1, "file" -> "1 file"; 2,000 -> "2,000 files"; `many` is another plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _scaled(text: str, units: dict[str, float] | dict[str, int]) -> float:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2].lower() not in units:
        raise ValueError(f"not a number with one of the units {', '.join(unit for unit in units if unit)}")
    number = float(match[1]) if "." in match[1] else int(match[1])
    return number * units[match[2].lower()]
