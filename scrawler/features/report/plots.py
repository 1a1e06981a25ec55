"""Bars as SVG, to stand inside an HTML page: no script, nothing from outside, colours by the page's style.

A plot is as wide as the page lets it be, and its texts have one size however wide that is: only bars are stretched.
Of the labels of upright bars every second one bears the class `odd`, for a narrow page to hide. Each plot has a title
and a description for people who hear it; the numbers stand in the table beside it. All text is escaped, and what XML
1.0 does not allow is replaced: labels come from the web.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ORDERS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # Unicode's UAX 9: explicit directions
_BESIDE = 16  # characters of labels up to which they stand beside horizontal bars, and not above them
_CHARACTER = 2.1  # per cent of a narrow width that a character of a label takes
_VALUES = 18  # per cent of the width that the numbers at the ends of bars have
_ROW, _BAR, _LINE = 22, 14, 18  # heights of a bar with its room, of a bar, and of a label above it
_LABEL_CHARACTERS = 48
_HEIGHT, _FOOT, _HEAD = 150, 24, 18  # heights of upright bars, and of the text below and above them
_CHARACTERS_ACROSS = 80  # that stand side by side below upright bars on a wide page
_SHADES = 8  # colours of parts that stand on each other, classes s0 to s7


def text(value: str) -> str:
    """Return text that is safe in HTML, SVG and XML, inside elements and attributes.

    What would show it, or what follows it, in another order than it has is written as its number.
    """
    return escape(_ORDERS.sub(lambda found: f"\\u{ord(found[0]):04x}", _NOT_XML.sub("\ufffd", value)))


def shade(number: int) -> str:
    """Return the class that gives a part of stacked bars its colour."""
    return f"s{number % _SHADES}"


def bars(name: str, title: str, points: Sequence[tuple[str, float, str]]) -> str:
    """Draw horizontal bars; a point is its label, its value and the value as written. `name` is the element's id."""
    most = max((value for _, value, _ in points), default=0) or 1
    longest = max((len(_short(label)) for label, _, _ in points), default=0)
    above = 0 if longest <= _BESIDE else _LINE
    left = 0.0 if above else longest * _CHARACTER + 2
    most_across = 100 - left - _VALUES
    drawn, written_at = [], []
    for row, (label, value, written) in enumerate(points):
        top = row * (_ROW + above) + above + (_ROW - _BAR) // 2
        foot = top + _BAR - 3
        length = max(100 * value / most, 0.6 if value else 0)
        drawn.append(f'<rect x="0" y="{top}" width="{length:.2f}" height="{_BAR}"/>')
        written_at.append(
            f'<text x="0" y="{foot - above}">{text(_short(label))}</text>'
            f'<text x="{left + most_across * length / 100:.2f}%" y="{foot}" dx="6">{text(written)}</text>'
        )
    height = len(points) * (_ROW + above)
    inside = _stretched(drawn, f'x="{left:.2f}%" y="0" width="{most_across:.2f}%"', height) + "".join(written_at)
    return _svg(name, title, _told(points), height, inside)


def columns(name: str, title: str, points: Sequence[tuple[str, float, str]]) -> str:
    """Draw upright bars side by side, in the order of a scale."""
    most = max((value for _, value, _ in points), default=0) or 1
    step = 100 / max(len(points), 1)
    labels, widest = [label for label, _, _ in points], max((len(written) for _, _, written in points), default=0)
    every = _every(labels, widest)
    drawn, texts = [], _scale(labels, widest)
    highest = next((number for number, point in enumerate(points) if point[1] == most), 0)
    for number, (_, value, written) in enumerate(points):
        height = max(_HEIGHT * value / most, 1 if value else 0)
        top = _HEAD + _HEIGHT - height
        drawn.append(_column(number * step, step, top, height))
        if value and (number - highest) % every == 0:
            texts.append(_centred((number + 0.5) * step, step, top - 4, written, (number - highest) // every))
    inside = _stretched(drawn, 'x="0" y="0" width="100%"', _HEAD + _HEIGHT) + "".join(texts)
    return _svg(name, title, _told(points), _HEAD + _HEIGHT + _FOOT, inside)


def stacks(name: str, title: str, labels: Sequence[str], parts: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Draw upright bars of parts that stand on each other; a part is its name and its value at each label."""
    sums = [sum(values) for values in zip(*(values for _, values in parts), strict=True)]
    most = max(sums, default=0) or 1
    step = 100 / max(len(labels), 1)
    drawn = []
    for number in range(len(labels)):
        top = float(_HEAD + _HEIGHT)
        for order, (_, values) in enumerate(parts):
            height = _HEIGHT * values[number] / most
            top -= height
            if height:
                drawn.append(_column(number * step, step, top, height, shade(order)))
    told = "; ".join(f"{part}: {sum(values):,.0f}" for part, values in parts)
    texts = _scale(labels)
    if any(sums):
        texts.append(_centred((sums.index(most) + 0.5) * step, step, _HEAD - 4, f"{most:,.0f}", 0))
    inside = _stretched(drawn, 'x="0" y="0" width="100%"', _HEAD + _HEIGHT) + "".join(texts)
    return _svg(name, title, told, _HEAD + _HEIGHT + _FOOT, inside)


def _column(left: float, step: float, top: float, height: float, kind: str = "") -> str:
    of_class = f' class="{kind}"' if kind else ""
    return f'<rect{of_class} x="{left + step * 0.1:.2f}" y="{top:.1f}" width="{step * 0.8:.2f}" height="{height:.1f}"/>'


def _stretched(drawn: Sequence[str], where: str, height: float) -> str:
    """Return bars in a box of 100 units across, whatever its width is."""
    box = f'{where} height="{height}" viewBox="0 0 100 {max(height, 1)}" preserveAspectRatio="none"'
    return f"<svg {box}>{''.join(drawn)}</svg>"


def _every(labels: Sequence[str], widest: int = 0) -> int:
    """Return of how many bars one can have its label, so that none stands over another."""
    longest = max((len(_short(label)) for label in labels), default=0)
    return max(1, -(-len(labels) * (max(longest, widest) + 2) // _CHARACTERS_ACROSS))


def _scale(labels: Sequence[str], widest: int = 0) -> list[str]:
    step, every = 100 / max(len(labels), 1), _every(labels, widest)
    return [
        _centred((number + 0.5) * step, step, _HEAD + _HEIGHT + 16, _short(labels[number]), number // every)
        for number in range(0, len(labels), every)
    ]


def _centred(middle: float, step: float, y: float, words: str, order: int) -> str:
    """Return a text above or below an upright bar; where it would go over an edge it begins or ends with the bar."""
    hidden = ' class="odd"' if order % 2 else ""
    anchor, at, half = "middle", middle, len(words) * _CHARACTER / 2
    if middle < half:
        anchor, at = "start", middle - 0.4 * step
    elif middle > 100 - half:
        anchor, at = "end", middle + 0.4 * step
    return f'<text{hidden} x="{at:.2f}%" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def _told(points: Sequence[tuple[str, float, str]]) -> str:
    return "; ".join(f"{label}: {written}" for label, _, written in points)


def _svg(name: str, title: str, told: str, height: int, inside: str) -> str:
    name = text(name)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{name}-title {name}-desc"'
        f' width="100%" height="{height}">'
        f'<title id="{name}-title">{text(title)}</title><desc id="{name}-desc">{text(told)}</desc>{inside}</svg>'
    )


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_CHARACTERS else label[: _LABEL_CHARACTERS - 1] + "…"
