"""What is shown while a command works: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

import click

from scrawler.core.progress import Lines, Progress, lines_text
from scrawler.seeds.importer import ImportCounts
from scrawler.units import counted, human_seconds

if TYPE_CHECKING:
    from tqdm import tqdm

PLAIN_EVERY = 10.0  # seconds between two plain lines
_DUMB = "dumb"  # the terminal, as an editor's, that cannot write over a line
_LIVE = "{desc} [{elapsed}]"
_ELAPSED = 12  # characters behind the text, as " [100:00:00]"


class ProgressLine:
    """One line on standard error; use it as a context manager.

    A terminal that was closed, or a disk that is full, shows nothing more: a crawl goes on, or stops, without it.
    """

    def __init__(self, quiet: bool = False) -> None:
        """Show messages alone if it is to be `quiet`."""
        self._quiet = quiet
        can_redraw = sys.stderr.isatty() and os.environ.get("TERM") != _DUMB
        on_terminal = can_redraw and not quiet
        self._live = _live_line() if on_terminal else None
        self._next_plain = time.monotonic() + PLAIN_EVERY

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the line as it is, and show no other."""
        if self._live is not None:
            with suppress(OSError):
                self._live.close()
        self._live = None
        self._quiet = True

    @property
    def width(self) -> int | None:
        """How many characters of a text are shown; None: all."""
        if self._live is None:
            return None
        with suppress(OSError):
            return max(1, os.get_terminal_size(sys.stderr.fileno()).columns - _ELAPSED)
        return None

    def show(self, text: str) -> None:
        """Show how things go."""
        if self._quiet:
            return
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

    # Its own lock is one of processes as well, for which Python 3.14 starts another process, on our terminal.
    tqdm.set_lock(RLock())
    tqdm.monitor_interval = 0  # 0: no thread of its own redraws the line, which is drawn twice a second
    return tqdm(bar_format=_LIVE, dynamic_ncols=True, file=sys.stderr)


def crawl_text(progress: Progress, machines: int, width: int | None = None, left: float | None = None) -> str:
    """Say how a crawl goes on `machines` machines, in one line; one of `width` characters at most says less.

    It will take `left` seconds yet, if that is known.
    """
    there = f"{len(progress.machines):,} of {counted(machines, 'machine')}, " if machines > 1 else ""
    paused = "; paused: `scrawler resume` lets it go on" if progress.paused else ""
    outage = "; no host answers any more: the network may be down, waiting for it" if progress.outage else ""
    whole = (
        f"{there}{counted(progress.pages, 'page')}, {progress.pages_per_second:,.0f} pages/s, "
        f"seeds: {progress.done:,} done {progress.active:,} active {progress.waiting:,} waiting, "
        f"{counted(progress.errors, 'error')}{_rest_text(progress)}{progress.told}{paused}{outage}"
    )
    time_left = "" if progress.paused or progress.outage or left is None else left_text(left)
    if time_left:
        whole += f"; about {time_left}"
    return whole if width is None or len(whole) <= width else _short_text(progress, machines, width, time_left)


def left_text(seconds: float) -> str:
    """Say how long a crawl will take yet."""
    return f"{_time_text(max(1.0, seconds))} left"


def _short_text(progress: Progress, machines: int, width: int, time_left: str) -> str:
    """Say first what it waits for, and for how long; of all else as much as there is room for."""
    waits = _rest_text(progress)
    if progress.paused:
        waits = "; paused"
    elif progress.outage:
        waits = "; no host answers any more"
    seeds = progress.done + progress.active + progress.waiting
    parts = [
        counted(progress.pages, "page"),
        *([time_left] if time_left else []),
        f"{progress.pages_per_second:,.0f}/s",
        f"{progress.done:,} of {counted(seeds, 'seed')}",
        counted(progress.errors, "error"),
    ]
    if machines > 1:
        parts.append(f"{len(progress.machines):,} of {counted(machines, 'machine')}")
    while len(parts) > 1 and len(", ".join(parts)) + len(waits) > width:
        parts.pop()
    return ", ".join(parts) + waits


def _rest_text(progress: Progress) -> str:
    line = lines_text(Lines(progress.in_line, progress.line_addresses, progress.line_s))
    line = f"; {line}" if line else ""
    if not progress.resting:
        return line
    until = f", next in {_time_text(progress.rest_s)}" if progress.rest_s >= 1 else ""
    return f"; resting: {counted(progress.resting, 'site')}{until}{line}"


def _time_text(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 59.5 else human_seconds(seconds)


def import_text(counts: ImportCounts) -> str:
    """Say how an import goes, in one line."""
    what = f"{counts.new:,} new, {counts.duplicate:,} duplicate, {counts.invalid:,} invalid"
    return f"{counted(counts.entries, 'seed')} read: {what}"
