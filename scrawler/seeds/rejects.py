"""Where invalid lines of a seed file are reported: the first ones to people, all of them to a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from scrawler.errors import ScrawlerError
from scrawler.seeds.files import STANDARD, mapped
from scrawler.seeds.formats import Entry

TOLD = 20  # invalid lines that are reported one by one
_SHOWN = 100  # characters of a line that a message quotes

Report = Callable[[Entry], None]


@contextmanager
def open_rejects(file: Path | None, tell: Callable[[str], None]) -> Iterator[Report]:
    """Give a callable for invalid lines; it tells the first 20 and writes all to `file`: number, reason, text, by tabs.

    The file is there, and empty, when no line is invalid. Raises ScrawlerError when it cannot be written.
    """
    told = 0

    def tell_first(entry: Entry) -> None:
        nonlocal told
        told += 1
        if told <= TOLD:
            tell(f"line {entry.line}: {entry.problem}: {_quoted(entry.text)}")
        elif told == TOLD + 1:
            tell(
                "more invalid lines follow"
                + (f", see {file}" if file else "; --rejects FILE writes them all to a file")
            )

    if file is None:
        yield tell_first
        return
    errors = partial(mapped, ScrawlerError, "rejects cannot be written", file)
    with errors():
        out = _opened(file)

    def tell_and_write(entry: Entry) -> None:
        tell_first(entry)
        with errors():
            out.write(f"{entry.line}\t{entry.problem}\t{_one_line(entry.text)}\n")

    try:
        yield tell_and_write
    finally:
        with errors():  # what was written last reaches the disk with the close
            out.flush()
            if out is not sys.stdout:
                out.close()


def _opened(file: Path) -> TextIO:
    if str(file) == STANDARD:
        return sys.stdout
    file.parent.mkdir(parents=True, exist_ok=True)
    return file.open("w", encoding="utf-8", errors="backslashreplace")


def _one_line(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _quoted(text: str) -> str:
    shown = _one_line(text[:_SHOWN])
    return f"{shown} ..." if len(text) > _SHOWN else shown
