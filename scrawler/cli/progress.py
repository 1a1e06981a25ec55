"""What is shown while a command works: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

import click

from scrawler.core.progress import Progress
from scrawler.seeds.importer import ImportCounts
from scrawler.units import counted

if TYPE_CHECKING:
    from tqdm import tqdm

PLAIN_EVERY = 10.0  # seconds between two plain lines
_LIVE = "{desc} [{elapsed}]"


class ProgressLine:
    """One line on standard error; use it as a context manager.

    A terminal that was closed, or a disk that is full, shows nothing more: a crawl goes on, or stops, without it.
    """

    def __init__(self) -> None:
        on_terminal = sys.stderr.isatty()
        self._live = _live_line() if on_terminal else None
        self._next_plain = time.monotonic() + PLAIN_EVERY

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            with suppress(OSError):
                self._live.close()

    def show(self, text: str) -> None:
        """Show how things go."""
        with suppress(OSError):
            if self._live is not None:
                self._live.set_description_str(text)
            elif time.monotonic() >= self._next_plain:
                self._next_plain = time.monotonic() + PLAIN_EVERY
                click.echo(text, err=True)

    def message(self, text: str) -> None:
        """Write a line without disturbing the live one."""
        with suppress(OSError):
            if self._live is not None:
                self._live.write(text, file=sys.stderr)
            else:
                click.echo(text, err=True)


def _live_line() -> tqdm[NoReturn]:
    from tqdm import tqdm  # to import it takes a tenth of the start, and not every run has a terminal

    tqdm.monitor_interval = 0  # 0: no thread of its own redraws the line, which is drawn twice a second
    return tqdm(bar_format=_LIVE, dynamic_ncols=True, file=sys.stderr)


def crawl_text(progress: Progress, machines: int) -> str:
    """Say how a crawl goes on `machines` machines, in one line."""
    there = f"{len(progress.machines):,} of {counted(machines, 'machine')}, " if machines > 1 else ""
    paused = "; paused: `scrawler resume` lets it go on" if progress.paused else ""
    outage = "; no host answers any more: the network may be down, waiting for it" if progress.outage else ""
    return (
        f"{there}{counted(progress.pages, 'page')}, {progress.pages_per_second:,.0f} pages/s, "
        f"seeds: {progress.done:,} done {progress.active:,} active {progress.waiting:,} waiting, "
        f"{counted(progress.errors, 'error')}{paused}{outage}"
    )


def import_text(counts: ImportCounts) -> str:
    """Say how an import goes, in one line."""
    what = f"{counts.new:,} new, {counts.duplicate:,} duplicate, {counts.invalid:,} invalid"
    return f"{counted(counts.entries, 'seed')} read: {what}"
