"""The decoder of ISO-2022-JP (Encoding Standard, 12.2.1).

Escapes change what bytes mean, and an escape is one wherever it stands: where it cuts a character, that one is U+FFFD,
and what follows is read as the escape says. Python's codec goes on in the old meaning then, and misses markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_ESCAPE = re.compile(rb"\x1b(\([BJI]|\$[@B])?")
_RUN = re.compile(rb"([!-~]*)([^!-~]?)", re.DOTALL)  # bytes of pairs, and one that is none
_INVALID = "\ufffd"
_AS_ASCII = "".join(_INVALID if byte in (0x0E, 0x0F) or byte > 0x7F else chr(byte) for byte in range(256))
_AS_ROMAN = _AS_ASCII.replace("\\", "¥").replace("~", "‾")
_AS_KATAKANA = "".join(chr(0xFF40 + byte) if 0x21 <= byte <= 0x5F else _INVALID for byte in range(256))
_TABLES = {b"(B": _AS_ASCII, b"(J": _AS_ROMAN, b"(I": _AS_KATAKANA, b"$@": None, b"$B": None}
_TO_EUC = bytes(byte | 0x80 for byte in range(256))


def from_iso2022jp(body: bytes, from_euc: Callable[[bytes], str]) -> str:
    """Return the text of a body; `from_euc` decodes pairs of bytes in EUC-JP."""
    table: str | None = _AS_ASCII  # None: two bytes are a character
    parts: list[str] = []
    at = 0
    is_fresh = False  # whether the last thing was an escape
    for escape in _ESCAPE.finditer(body):
        if escape.start() > at:
            parts.append(_text(body[at : escape.start()], table, from_euc))
            is_fresh = False
        at = escape.end()
        if escape[1] is None:
            parts.append(_INVALID)
            is_fresh = False
            continue
        table = _TABLES[escape[1]]
        if is_fresh:
            parts.append(_INVALID)
        is_fresh = True
    parts.append(_text(body[at:], table, from_euc))
    return "".join(parts)


def _text(part: bytes, table: str | None, from_euc: Callable[[bytes], str]) -> str:
    """Return the text between two escapes."""
    if table is not None:
        return part.decode("latin-1").translate(table)
    text = []
    for run in _RUN.finditer(part):
        pairs, other = run.groups()
        odd = len(pairs) % 2
        text.append(from_euc(pairs[: len(pairs) - odd].translate(_TO_EUC)))
        if odd or other:
            text.append(_INVALID)
    return "".join(text)
