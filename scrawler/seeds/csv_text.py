"""Cells of CSV as people open them: no text from the web acts as a formula, or on a terminal."""

from __future__ import annotations

import re

from scrawler.seeds.json_text import UNSAFE, escaped_mark, json_line

_FORMULA = re.compile(r"\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]")  # a spreadsheet takes such text for a formula (OWASP)


def csv_cell(value: object) -> object:
    """Return what a spreadsheet may show: text from the web that it would take for a formula begins with a quote."""
    if isinstance(value, dict | list | tuple):
        return json_line(value)
    if not isinstance(value, str) or not value:
        return value
    plain = value if value.isprintable() else UNSAFE.sub(escaped_mark, value)
    return f"'{plain}" if _FORMULA.match(plain) else plain
