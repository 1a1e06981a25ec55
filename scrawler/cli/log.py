"""The log of a run: what is shown of it beside the progress line, and what goes to a file, a line an event."""

from __future__ import annotations

import functools
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import click

from scrawler.api.log import LOG, events_told, log_event
from scrawler.cli.lines import one_line
from scrawler.cli.options import Command, FileName
from scrawler.dates import iso_date
from scrawler.errors import ScrawlerError
from scrawler.model.events import Event
from scrawler.settings import Settings


class LogFormat(Enum):
    """How the lines of a log file are written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What a user wants to see of a run, and where."""

    verbose: int = 0  # 1: events as well; 2: checkpoints, too
    quiet: bool = False  # nothing but warnings and errors
    file: Path | None = None
    written: LogFormat = LogFormat.TEXT

    @property
    def detail(self) -> int:
        """The level of the least that is told anywhere of what happens in the crawl."""
        if self.verbose > 1:
            return logging.DEBUG
        return logging.INFO if self.verbose or self.file is not None else logging.WARNING

    def events(self, settings: Settings, stop: threading.Event) -> AbstractContextManager[None]:
        """Let what happens in the crawl be logged during a block, if somebody wants to see it."""
        return events_told(settings, log_event, stop) if self.detail < logging.WARNING else nullcontext()


def with_log(command: Command) -> Command:
    """Give a command the options of a log; it gets them as `log`."""

    @click.option(
        "-v", "--verbose", count=True, help="Show what happens: seeds, sites, traps, machines; -vv: all of it."
    )
    @click.option("-q", "--quiet", is_flag=True, help="Show nothing but warnings and errors.")
    @click.option(
        "--log-file",
        type=FileName(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Append what happens to this file, a line each.",
    )
    @click.option(
        "--log-format",
        type=click.Choice([written.value for written in LogFormat], case_sensitive=False),
        help="How to write that file: lines of text, or of JSON. [default: text]",
    )
    @functools.wraps(command)
    def logging_too(
        *arguments: Any, verbose: int, quiet: bool, log_file: Path | None, log_format: str | None, **values: Any
    ) -> None:
        if verbose and quiet:
            raise click.UsageError("-v and -q say the opposite of each other")
        if log_format is not None and log_file is None:
            raise click.UsageError("--log-format is that of --log-file, and there is none")
        options = LogOptions(verbose, quiet, log_file, LogFormat(log_format or LogFormat.TEXT.value))
        command(*arguments, log=options, **values)

    with_options: Command = logging_too
    return with_options


@contextmanager
def logged(options: LogOptions, show: Callable[[str], None]) -> Iterator[None]:
    """Let the log be shown, and written, during a block; an error that ends it is in the file as well.

    Raises ScrawlerError where the file cannot be opened.
    """
    handlers: list[logging.Handler] = [_Shown(show, options.verbose)]
    if options.file is not None:
        handlers.append(_LogFile(options.file, options.written, show))
    level = LOG.level
    LOG.setLevel(options.detail)
    for handler in handlers:
        LOG.addHandler(handler)
    try:
        yield
    except ScrawlerError as error:
        LOG.error("%s", error)
        raise
    finally:
        for handler in handlers:
            LOG.removeHandler(handler)
            handler.close()
        LOG.setLevel(level)


class _Shown(logging.Handler):
    """Shows what is logged, less errors: what ends a command is shown by who runs it."""

    def __init__(self, show: Callable[[str], None], verbose: int) -> None:
        levels = logging.WARNING, logging.INFO, logging.DEBUG
        super().__init__(levels[min(verbose, 2)])
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record."""
        if record.levelno < logging.ERROR:
            self._show(one_line(record.getMessage()))


class _LogFile(logging.Handler):
    """Appends a line for each record, at once and whole; a file that was moved away is made anew.

    What cannot be written, as on a full disk, is told of once, and the next line is tried again.
    """

    def __init__(self, path: Path, written: LogFormat, show: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self._path = path.absolute()
        try:
            self._file = self._opened()
        except OSError as error:
            super().close()  # else Python closes it at its end, and looks for the file
            raise ScrawlerError(f"the log {path} cannot be opened: {error.strerror or error}") from error
        self._line = _json_line if written is LogFormat.JSON else _text_line
        self._show = show
        self._told = False
        self._torn = False  # whether the last line was written in part

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        data = (self._line(record) + "\n").encode("utf-8", "backslashreplace")
        try:
            self._follow()
            self._write(data)
        except OSError as error:
            if not self._told:
                self._told = True
                why = error.strerror or str(error)
                self._show(f"warning: the log {self._path} cannot be written: {why}; the crawl goes on without it")

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            os.close(self._file)
        super().close()

    def _opened(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def _follow(self) -> None:
        """Open the file anew where its name leads to another one, or none, as after logrotate."""
        try:
            there: os.stat_result | None = os.stat(self._path)
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(there, os.fstat(self._file)):
            fresh = self._opened()
            os.close(self._file)
            self._file = fresh
            self._torn = False

    def _write(self, data: bytes) -> None:
        if self._torn:
            data = b"\n" + data
        while data:
            written = os.write(self._file, data)
            data = data[written:]
            self._torn = bool(data)


def _time(record: logging.LogRecord) -> str:
    """Return when it happened: an event may be logged a while after it."""
    event = getattr(record, "event", None)
    at = event.at.timestamp() if isinstance(event, Event) else record.created
    return iso_date(int(at * 1000))


def _text_line(record: logging.LogRecord) -> str:
    whose = {name: getattr(record, name, "") for name in ("seed", "site", "machine")}
    message = one_line(record.getMessage())
    told = " ".join(f"{name}={one_line(value)}" for name, value in whose.items() if value)
    return f"{_time(record)} {record.levelname} {message}{' | ' if told else ''}{told}"


def _json_line(record: logging.LogRecord) -> str:
    line: dict[str, Any] = {"time": _time(record), "level": record.levelname.lower()}
    event = getattr(record, "event", None)
    if isinstance(event, Event):
        line["event"] = _kind(event)
        line |= {one.name: _plain(getattr(event, one.name)) for one in fields(event) if one.name != "at"}
    line["message"] = one_line(record.getMessage())
    return json.dumps(line, ensure_ascii=False)


def _kind(event: Event) -> str:
    """Return the name of an event's class in small letters, as `seed-ended`."""
    name = type(event).__name__
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return iso_date(int(value.timestamp() * 1000))
    return value.value if isinstance(value, Enum) else value
