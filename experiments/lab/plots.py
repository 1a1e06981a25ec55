"""Plots of figures over time or over sizes, as PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg  # draws without a screen
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

_WIDTH, _HEIGHT, _DPI = 7.0, 4.2, 110  # inches of one panel


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


def draw(file: Path, panels: Sequence[Panel], share_y: bool = False) -> None:
    """Draw panels side by side into a PNG file; `share_y` gives them one scale."""
    figure = Figure(figsize=(_WIDTH * len(panels), _HEIGHT), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False, sharey=share_y)[0], panels, strict=True):
        axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        for line in panel.lines:
            axes.plot(
                line.xs,
                line.ys,
                label="_" if line.faint else line.name,
                linewidth=_width(line),
                alpha=0.45 if line.faint else 1.0,
                color="black" if line.bold else None,
                linestyle="--" if line.dashed else "-",
                marker="o" if line.points else None,
                markersize=4,
                zorder=3 if line.bold else 2,
            )
        if panel.log_x:
            axes.set_xscale("log")
            _plain_numbers(axes.xaxis)
        elif all(isinstance(x, int) for line in panel.lines for x in line.xs):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if panel.log_y:
            axes.set_yscale("log")
            _plain_numbers(axes.yaxis)
        elif panel.from_zero:
            axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        if not all(line.faint for line in panel.lines):
            axes.legend(fontsize="small")
    figure.savefig(file, metadata={"Software": None})  # the same figures give the same file


def _width(line: Line) -> float:
    if line.bold:
        return 2.8
    return 0.7 if line.faint else 1.4


def _plain_numbers(axis: Axis) -> None:
    """Write 1, 10, 100 at a logarithmic axis, and nothing between."""
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")
