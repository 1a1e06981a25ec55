"""A report as data: sections of values and tables, which text, JSON and HTML show each in its way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
