"""Plots of figures over time or over sizes, as PNG files.

Panels stand two in a row, so that their texts can be read where the picture is shown at half its width. Lines differ
by colour and by marker: the colours are those of Okabe and Ito (Color Universal Design, 2008), which people who are
colour-blind tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it takes a second to load, and whoever draws nothing need not wait for it
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_DPI = 110
_WIDTH, _HEIGHT = 5.2, 3.6  # inches of one panel
_ALONE = 1.3  # times as wide is a panel that stands alone
_ACROSS = 2  # panels in a row
_HEADING = 0.4  # inches for the title of the picture
_BELOW = 0.45  # inches from a panel down to its key: the room for the name of its x axis
_KEY_ROW = 0.22  # inches
_LONG_NAME = 24  # characters from which on names of lines stand in one column
_FONT = 11
_ROOM = 1.06  # times the highest value goes the y axis up
_FEW_DECADES = 2.0  # of a logarithmic axis, which then has numbers at 2 and 5 as well
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b4a9c")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_MARK_EVERY = 0.14  # of the panel's diagonal, along a line whose points are not marked each


@dataclass(frozen=True, slots=True)
class Line:
    """Points joined by a line; `bold` for what matters most, `faint` for one of many that need no entry in the key."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    bold: bool = False
    faint: bool = False
    dashed: bool = False
    points: bool = False  # mark the points


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes; those of a plot stand side by side."""

    title: str
    x: str  # what the axis shows, with its unit
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = True  # the y axis begins at 0


def draw(file: Path, title: str, panels: Sequence[Panel], share_y: bool = False) -> None:
    """Draw panels into a PNG file, with a title above all of them; `share_y` gives them one scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # draws without a screen
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    across = min(len(panels), _ACROSS)
    rows = -(-len(panels) // _ACROSS)
    width = _WIDTH * across if across > 1 else _WIDTH * _ALONE
    height = (
        _HEADING + rows * _HEIGHT + _KEY_ROW * sum(_key_rows(panels[row * across :][:across]) for row in range(rows))
    )
    figure = Figure(figsize=(width, height), dpi=_DPI, layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.06))
    FigureCanvasAgg(figure)
    figure.suptitle(_capital(title), fontsize=_FONT + 2, fontweight="bold")
    places = list(figure.subplots(rows, across, squeeze=False, sharey=share_y).flat)
    for axes, panel in zip(places, panels, strict=False):
        _draw_panel(axes, panel, figure)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    figure.savefig(file, metadata={"Software": None})  # the same figures give the same file


def _draw_panel(axes: Axes, panel: Panel, figure: Figure) -> None:
    from matplotlib.ticker import MaxNLocator
    from matplotlib.transforms import ScaledTranslation

    axes.set_title(_capital(panel.title), fontsize=_FONT + 1)
    axes.set_xlabel(panel.x, fontsize=_FONT)
    axes.set_ylabel(panel.y, fontsize=_FONT)
    axes.tick_params(labelsize=_FONT - 1)
    xs = [x for line in panel.lines for x in line.xs]
    number = 0
    for line in panel.lines:
        axes.plot(line.xs, line.ys, **_style(line, number))
        number += not line.bold
    if panel.log_x:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis, xs)
    elif len(set(xs)) == 1:
        axes.set_xticks(xs[:1])
    elif all(float(x).is_integer() for x in xs):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    heights = [y for line in panel.lines for y in line.ys]
    if panel.log_y:
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis, heights)
    elif panel.from_zero and heights:
        lowest, highest = min(0.0, *heights), max(0.0, *heights)
        axes.set_ylim(lowest * _ROOM, highest * _ROOM or 1.0)
    axes.grid(alpha=0.25)
    if _key_length(panel):
        # Below the panel: inside it would stand over lines.
        below = axes.transAxes + ScaledTranslation(0, -_BELOW, figure.dpi_scale_trans)
        key: dict[str, Any] = {
            "bbox_to_anchor": (0.5, 0),
            "bbox_transform": below,
            "loc": "upper center",
            "borderaxespad": 0,
        }
        axes.legend(**key, ncols=_key_columns(panel), fontsize=_FONT - 1.5, frameon=False, columnspacing=1.2)


def _style(line: Line, number: int) -> dict[str, Any]:
    """Return how a line is drawn; the number is its place among those that are not bold."""
    style: dict[str, Any] = {"label": "_" if line.faint else line.name, "linestyle": "--" if line.dashed else "-"}
    if line.bold:
        style |= {"color": "black", "linewidth": 3.0, "zorder": 2, "marker": "o" if line.points else None}
    else:
        style |= {"color": _COLOURS[number % len(_COLOURS)], "linewidth": 1.5, "zorder": 3}
        style |= {"marker": _MARKERS[number % len(_MARKERS)]}
    if line.faint:
        style |= {"linewidth": 0.7, "alpha": 0.45, "zorder": 1, "marker": None}
    return style | {"markersize": 4.5, "markevery": None if line.points else _MARK_EVERY}


def _key_columns(panel: Panel) -> int:
    named = [line.name for line in panel.lines if not line.faint]
    return 1 if max(map(len, named), default=0) >= _LONG_NAME else 2


def _key_rows(panels: Iterable[Panel]) -> int:
    """Return how many rows the longest key of panels has that stand side by side."""
    return max(-(-_key_length(panel) // _key_columns(panel)) for panel in panels)


def _key_length(panel: Panel) -> int:
    """Return how many lines the key names; of a single line the axis tells what it shows."""
    return sum(not line.faint for line in panel.lines) if len(panel.lines) > 1 else 0


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _plain_numbers(axis: Axis, values: Iterable[float]) -> None:
    """Write 1, 10, 100 at a logarithmic axis, and 2 and 5 between them where it is short."""
    from matplotlib.ticker import LogLocator, NullFormatter

    above = [value for value in values if value > 0]
    if above and log10(max(above) / min(above)) < _FEW_DECADES:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axis.set_minor_formatter(NullFormatter())
