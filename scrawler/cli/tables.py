"""Rows for people, for programs and for spreadsheets: aligned text, JSON lines, CSV."""

from __future__ import annotations

import csv
import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple
from unicodedata import category, combining, east_asian_width

import click

from scrawler.dates import iso_date
from scrawler.errors import escaped
from scrawler.model.seeds import EndReason, SeedState
from scrawler.seeds.csv_text import csv_cell
from scrawler.seeds.json_text import json_line

Row = Mapping[str, Any]
_TEXT = "text"  # the form for people
_TIMES = ("_at", "until", "not_before", "lastmod")  # what the names of times end with
_WIDEST = 100  # cells of a line that a column is padded to at most
_NARROWEST = 16  # columns so wide are not shortened: a number, or a word, is of no use in part
_BETWEEN = 2  # cells between columns
_NO_WIDTH = ("Mn", "Me", "Cf")  # categories of marks, and of what joins letters
_TWO_CELLS = ("W", "F")
_SAMPLE = 1000  # columns are aligned by so many rows


def format_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --format, --json and --csv; it gets `written`: "json", "csv" or None."""

    @functools.wraps(command)
    def chosen(*arguments: Any, form: str | None, as_json: bool, as_csv: bool, **values: Any) -> None:
        forms = {*(["json"] if as_json else []), *(["csv"] if as_csv else []), *([form] if form else [])}
        if len(forms) > 1:
            raise click.UsageError(f"{' and '.join(sorted(forms))} are different forms: give one of them")
        written = next(iter(forms), _TEXT)
        command(*arguments, written=None if written == _TEXT else written, **values)

    choice = click.Choice([_TEXT, "csv", "json"], case_sensitive=False)
    any_form = click.option("--format", "form", type=choice, help="How to write the rows. [default: text]")
    json_flag = click.option("--json", "as_json", is_flag=True, help="Write JSON, a row a line.")
    csv_flag = click.option("--csv", "as_csv", is_flag=True, help="Write CSV with a header line.")
    return any_form(json_flag(csv_flag(chosen)))


def seed_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --state and --end-reason, as SeedState and EndReason."""
    state = click.option("--state", type=_choice(SeedState), callback=_member(SeedState), help="Only these seeds.")
    reason = click.option(
        "--end-reason", type=_choice(EndReason), callback=_member(EndReason), help="Only seeds that ended so."
    )
    return state(reason(command))


def _choice(kind: type[StrEnum]) -> click.Choice[str]:
    return click.Choice([member.value for member in kind])  # click shows members by name


def _member(kind: type[StrEnum]) -> Callable[[click.Context, click.Parameter, str | None], StrEnum | None]:
    return lambda context, parameter, value: None if value is None else kind(value)


def print_rows(rows: Iterable[Row], columns: Sequence[str], written: str | None) -> None:
    """Write rows to standard output as they come, in bounded memory; programs get times as ISO 8601 has them."""
    if written == "json":
        for row in rows:
            sys.stdout.write(json_line(with_dates({name: row[name] for name in columns})) + "\n")
    elif written == "csv":
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(columns)
        table.writerows([csv_cell(_dated(name, row[name])) for name in columns] for row in rows)
    else:
        _print_aligned(rows, columns)


def with_dates(value: Any) -> Any:
    """Return what is to be JSON, with times in ISO 8601 (UTC) where it has milliseconds under the name of a time."""
    if isinstance(value, Mapping):
        return {name: _dated(name, with_dates(inner)) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [with_dates(inner) for inner in value]
    return value


def _dated(name: str, value: Any) -> Any:
    if type(value) is int and name.endswith(_TIMES):
        return iso_date(value)
    return value


def print_pairs(title: str, pairs: Mapping[str, str], *, err: bool = False) -> None:
    """Write a title and names with values, aligned; with `err` to standard error."""
    click.echo(escaped(title), err=err)
    shown = {escaped(name): escaped(value) for name, value in pairs.items()}  # a database may have any names
    width = max(map(cells_wide, shown), default=0)
    for name, value in shown.items():
        click.echo(f"  {_padded(name, width)}  {value}", err=err)


def _print_aligned(rows: Iterable[Row], columns: Sequence[str]) -> None:
    waiting: list[list[str]] = [list(columns)]
    layout: _Layout | None = None
    for row in rows:
        waiting.append([_cell(row[name]) for name in columns])
        if len(waiting) > _SAMPLE:
            layout = _print_block(waiting, layout)
    _print_block(waiting, layout)


class _Layout(NamedTuple):
    """How a table is laid out, in cells of a terminal."""

    widths: Sequence[int]  # to which columns are padded
    longest: int | None  # what a column may take; None where nothing is shortened
    room: int | None  # what a line may take


def _print_block(lines: list[list[str]], layout: _Layout | None) -> _Layout:
    """Write and empty `lines`; the first block fixes the widths."""
    if layout is None:
        layout = _laid_out([max(cells_wide(line[column]) for line in lines) for column in range(len(lines[0]))])
    for line in lines:
        cells = [_shortened(cell, layout.longest) for cell in line]
        padded = (" " * _BETWEEN).join(map(_padded, cells, layout.widths))
        click.echo(_cut(padded.rstrip(), layout.room))
    lines.clear()
    return layout


def _laid_out(widths: Sequence[int]) -> _Layout:
    """Lay a table out whose columns are so wide: what is read by a program, or kept in a file, is never shortened."""
    room = _terminal_columns()
    if room is None:
        return _Layout([min(width, _WIDEST) for width in widths], None, None)
    longest = _longest(widths, room - _BETWEEN * (len(widths) - 1)) if room else _WIDEST
    return _Layout([min(width, longest) for width in widths], longest, room or None)


def _longest(widths: Sequence[int], room: int) -> int:
    """Return how wide the widest columns may be, for all of them to have room beside the others."""
    left = room
    for number, width in enumerate(sorted(widths)):
        share = left // (len(widths) - number)
        if width > share:
            return max(share, _NARROWEST)
        left -= width
    return max(*widths, _NARROWEST)


def _terminal_columns() -> int | None:
    """Return how wide the terminal is, 0 where it does not say; None where the output is no terminal."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None


def printable(text: str) -> str:
    """Return text for a terminal, without characters that would control it."""
    return text if text.isprintable() else repr(text)


def _cell(value: object) -> str:
    return printable("" if value is None else str(value))


def _shortened(text: str, longest: int | None) -> str:
    """Keep both ends of what is too long: URLs of one site begin alike."""
    if longest is None or cells_wide(text) <= longest:
        return text
    end = _fitting(reversed(text), (longest - 1) // 2)
    begin = _fitting(text, longest - 1 - sum(map(_wide, end)))
    return f"{begin}…{end[::-1]}"


def _cut(text: str, longest: int | None) -> str:
    return text if longest is None or cells_wide(text) <= longest else f"{_fitting(text, longest - 1)}…"


def _fitting(text: Iterable[str], room: int) -> str:
    """Return the first characters that fit into so many cells."""
    kept = []
    for character in text:
        room -= _wide(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells_wide(text))


def cells_wide(text: str) -> int:
    """Return how many cells of a terminal a text takes: those of East Asia two each (UAX 11), combining marks none."""
    return len(text) if text.isascii() else sum(map(_wide, text))


def _wide(character: str) -> int:
    if combining(character) or category(character) in _NO_WIDTH:
        return 0
    return 2 if east_asian_width(character) in _TWO_CELLS else 1
