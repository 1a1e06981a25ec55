"""Standard input, output and error as a shell may hand them over: closed, full, or with nobody at the other end."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from scrawler.errors import ScrawlerError

_INPUT, _OUTPUT, _ERROR = 0, 1, 2  # file descriptors


class OutputError(ScrawlerError):
    """Standard output cannot be written (exit code 1)."""


def make_streams_usable() -> None:
    """Open what is closed of the three, and let what cannot be written be one clear error, or none.

    A closed one would be given to the first file that is opened, the database for example, and what is printed would
    be written there. A standard output that fails, or is closed, raises OutputError, or BrokenPipeError where its
    reader is gone. A standard error that fails keeps nobody from working: a crawl goes on when its log cannot grow.
    """
    output = _ClosedFile if _OUTPUT in _open_closed() else _OutputFile
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(_INPUT, closefd=False)), encoding="utf-8")
    sys.stdout = _text_to(output(_OUTPUT, "w", closefd=False), sys.stdout, "strict")
    sys.stderr = _text_to(_ForgivingFile(_ERROR, "w", closefd=False), sys.stderr, "backslashreplace")


def output_is_closed() -> bool:
    """Tell whether the shell has closed standard output, so that nobody wants to know."""
    return isinstance(getattr(getattr(sys.stdout, "buffer", None), "raw", None), _ClosedFile)


def _open_closed() -> list[int]:
    """Let those of the three that are closed lead nowhere; return which."""
    closed = []
    nowhere = os.open(os.devnull, os.O_RDWR)  # the system gives it the lowest free number
    while nowhere <= _ERROR:
        closed.append(nowhere)
        nowhere = os.open(os.devnull, os.O_RDWR)
    os.close(nowhere)
    return closed


class _OutputFile(io.FileIO):
    """A file that, once it could not be written, leads nowhere: what is held back would fail at the very end again."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self._lead_nowhere()
            if isinstance(error, BrokenPipeError):
                raise
            raise OutputError(f"standard output cannot be written: {error.strerror}") from error

    def _lead_nowhere(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


class _ClosedFile(_OutputFile):
    """A file of which the first write fails: what was asked for would be lost, as if it had been written."""

    _told = False

    def write(self, data: Any) -> int:
        if self._told:
            return super().write(data)
        self._told = True
        raise OutputError("standard output cannot be written: it is closed")


class _ForgivingFile(io.FileIO):
    """A file that takes what cannot be written for written."""

    def write(self, data: Any) -> int:
        with suppress(OSError):
            return super().write(data)
        return len(data)


def _text_to(raw: io.FileIO, before: TextIO | None, errors: str) -> TextIO:
    """Return a text stream to a file that stands in for the stream `before`, or for none."""
    if before is not None:
        with suppress(OSError):
            before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if before is None else before.encoding,
        errors=errors if before is None else before.errors,
        line_buffering=raw.isatty() or raw.fileno() == _ERROR,
    )
