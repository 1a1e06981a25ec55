"""JSON as people read it: text stands as it is, and no character in it acts on a terminal or ends a line."""

from __future__ import annotations

import json
import math
import re

# What a terminal obeys, what ends a line for many programs, or shows text in another order than it has; lone surrogates
# cannot be written at all.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def json_text(value: object) -> str:
    """Return JSON in one line, its text as it is. Numbers that JSON lacks, as NaN, are null (RFC 8259, 6)."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def json_line(value: object) -> str:
    """Return JSON in one line, its text as it is, but for characters that a terminal or an editor obeys."""
    written = json_text(value)
    return written if written.isascii() and "\x7f" not in written else UNSAFE.sub(escaped_mark, written)


def escaped_mark(match: re.Match[str]) -> str:
    """Return how JSON writes a character by its number."""
    return f"\\u{ord(match[0]):04x}"
