"""Bars as SVG, to stand inside an HTML page: no script, nothing from outside, colours by the page's style.

Each plot has a title and a description for people who hear it; the numbers stand in the table beside it. All text is
escaped, and what XML 1.0 does not allow is replaced: labels come from the web.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDTH = 640
_LABELS, _VALUES = 190, 90  # widths of the text beside horizontal bars
_ROW, _BAR = 22, 14
_LABEL_CHARACTERS = 26
_HEIGHT, _FOOT, _HEAD = 150, 34, 18  # heights of upright bars, and of the text below and above them


def text(value: str) -> str:
    """Return text that is safe in HTML, SVG and XML, inside elements and attributes."""
    return escape(_NOT_XML.sub("\ufffd", value))


def bars(name: str, title: str, points: Sequence[tuple[str, float, str]]) -> str:
    """Draw horizontal bars; a point is its label, its value and the value as written. `name` is the element's id."""
    most = max((value for _, value, _ in points), default=0) or 1
    room = _WIDTH - _LABELS - _VALUES
    parts = []
    for row, (label, value, written) in enumerate(points):
        top = row * _ROW + (_ROW - _BAR) // 2
        middle = top + _BAR - 3
        length = max(room * value / most, 1 if value else 0)
        parts.append(
            f'<text x="{_LABELS - 8}" y="{middle}" text-anchor="end">{text(_short(label))}</text>'
            f'<rect x="{_LABELS}" y="{top}" width="{length:.1f}" height="{_BAR}"/>'
            f'<text x="{_LABELS + length + 6:.1f}" y="{middle}">{text(written)}</text>'
        )
    return _svg(name, title, points, len(points) * _ROW, "".join(parts))


def columns(name: str, title: str, points: Sequence[tuple[str, float, str]]) -> str:
    """Draw upright bars side by side, in the order of a scale."""
    most = max((value for _, value, _ in points), default=0) or 1
    step = _WIDTH / max(len(points), 1)
    every = -(-len(points) // 12)  # as many labels as there is room for
    parts = []
    for number, (label, value, written) in enumerate(points):
        height = max(_HEIGHT * value / most, 1 if value else 0)
        left, top = number * step, _HEAD + _HEIGHT - height
        parts.append(
            f'<rect x="{left + step * 0.1:.1f}" y="{top:.1f}" width="{step * 0.8:.1f}" height="{height:.1f}"/>'
        )
        if number % every == 0:
            middle = left + step / 2
            parts.append(
                f'<text x="{middle:.1f}" y="{_HEAD + _HEIGHT + 16}" text-anchor="middle">{text(_short(label))}</text>'
            )
            if value:
                parts.append(f'<text x="{middle:.1f}" y="{top - 4:.1f}" text-anchor="middle">{text(written)}</text>')
    return _svg(name, title, points, _HEAD + _HEIGHT + _FOOT, "".join(parts))


def _svg(name: str, title: str, points: Sequence[tuple[str, float, str]], height: int, inside: str) -> str:
    told = "; ".join(f"{label}: {written}" for label, _, written in points)
    name = text(name)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{name}-title {name}-desc"'
        f' viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">'
        f'<title id="{name}-title">{text(title)}</title><desc id="{name}-desc">{text(told)}</desc>{inside}</svg>'
    )


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_CHARACTERS else label[: _LABEL_CHARACTERS - 1] + "…"
