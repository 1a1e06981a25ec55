"""A report as data: sections of values and tables, which text, JSON and HTML show each in its way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scrawler.errors import escaped
from scrawler.insight.answer import utc
from scrawler.units import human_bytes, human_seconds

_WORDS = {"url": "URL", "urls": "URLs"}  # of names, as people write them
STACKED = "*"  # as a plot: all columns but the first, on each other


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind; `plot` names the column that a plot shows, over the first one, or is STACKED."""

    key: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    plot: str = ""
    ordered: bool = False  # whether the first column is a scale, so that a plot keeps its order and its gaps
    called: Mapping[str, str] = field(default_factory=dict)  # what people read instead of a column's name

    def label(self, name: str) -> str:
        """Write the name of a column for reading."""
        return label(self.called.get(name, name))

    def as_json(self) -> list[dict[str, Any]]:
        """Return the rows by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Section:
    """Part of a report: values by name, then tables; empty tables are left out."""

    key: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    quiet: tuple[str, ...] = ()  # how names begin whose values people are shown only where one of them is not 0
    called: Mapping[str, str] = field(default_factory=dict)  # what people read instead of a value's name

    def label(self, name: str) -> str:
        """Write the name of a value for reading."""
        return label(self.called.get(name, name))

    @property
    def told(self) -> Mapping[str, Any]:
        """The values for people."""
        filled = [
            begin for name, value in self.values.items() for begin in self.quiet if value and name.startswith(begin)
        ]
        left_out = tuple(begin for begin in self.quiet if begin not in filled)
        return {name: value for name, value in self.values.items() if not name.startswith(left_out)}

    @property
    def filled(self) -> Iterator[Table]:
        """The tables that hold something."""
        return (table for table in self.tables if table.rows)


@dataclass(frozen=True, slots=True)
class Report:
    """What came of one seed, or of the whole crawl."""

    title: str
    made_at: int
    sections: tuple[Section, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON knows it: a section's values and tables by key, sizes in bytes, times in ms."""
        parts = {
            section.key: {**section.values, **{table.key: table.as_json() for table in section.tables}}
            for section in self.sections
        }
        return {"title": self.title, "made_at": self.made_at, **parts}

    def __str__(self) -> str:
        """Return what `scrawler report` shows, in lines as long as they are."""
        lines = [escaped(self.title)]
        for section in self.sections:
            if section.told:
                pairs = [(f"  {section.label(name)}", shown(name, value)) for name, value in section.told.items()]
                lines += ["", section.title, *_aligned(pairs)]
            for table in section.filled:
                lines += ["", f"{section.title}: {table.title}", *_aligned([*_cells(table)])]
        return "\n".join(lines)


def _cells(table: Table) -> Iterator[Sequence[str]]:
    yield [table.label(name) for name in table.columns]
    for row in table.rows:
        yield [shown(name, value) for name, value in zip(table.columns, row, strict=True)]


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a line a row, with columns below each other."""
    written = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*written, strict=True)]
    for row in written:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def shown(name: str, value: Any) -> str:
    """Write a value for reading; the end of its name says what it is: bytes, ms, at, share."""
    if value is None or isinstance(value, str):
        return value or "-"
    if name in ("status", "depth"):  # numbers in these columns are names
        return str(value)
    if name.endswith("bytes"):
        return human_bytes(value)
    if name.endswith("_ms"):
        return f"{value} ms" if 0 < value < 1000 else human_seconds(value / 1000)
    if name.endswith("_at"):
        return utc(value)
    if name.endswith("share"):
        return f"{value:.1%}"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def label(name: str) -> str:
    """Write the name of a value or column for reading: http_errors -> "http errors", elapsed_ms -> "elapsed"."""
    for end in ("_ms", "_at"):
        name = name.removesuffix(end)
    return " ".join(_WORDS.get(word, word) for word in name.split("_"))
