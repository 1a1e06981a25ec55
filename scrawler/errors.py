"""The one exception tree: every error that a user can cause or meet, with its exit code.

An expected failure of the web (a 404, a timeout, a bad page) is a value, never one of these.
"""

from __future__ import annotations

import threading


class ScrawlerError(Exception):
    """Root of all errors; its text is one line that says what, where and what to do."""

    exit_code = 1


class SettingsError(ScrawlerError):
    """A setting is unknown, malformed or out of range (exit code 2)."""

    exit_code = 2


class PluginError(SettingsError):
    """A part of another package cannot be imported, does not fit, or fails (exit code 2)."""


class StartError(ScrawlerError):
    """The system has no room for the threads, files or memory of a machine, or of an import (exit code 1)."""


class InputError(ScrawlerError):
    """A seed file cannot be read, or holds no usable seed (exit code 3)."""

    exit_code = 3


class StoreError(ScrawlerError):
    """The database cannot be opened, is at the wrong schema version, or refuses (exit code 4)."""

    exit_code = 4


class DatabaseUrlError(StoreError):
    """The URL of a database cannot be read, or names what no database can be at (exit code 4)."""


class StoreBusyError(StoreError):
    """The database is locked by another program, or is away for now: worth trying again."""


class StoreAwayError(StoreError):
    """The database stayed locked or away for longer than the crawl waits for it (exit code 6)."""

    exit_code = 6


class LeaseLostError(ScrawlerError):
    """Other machines declared this one dead; what it had not committed is refused. A run begins anew by itself."""

    def __init__(self, text: str, *, was_to_end: bool) -> None:
        super().__init__(text)
        self.was_to_end = was_to_end  # whether the user had wanted it to end: then it does not begin anew


class RecordsLostError(ScrawlerError):
    """Records of the archive that pages refer to are gone (exit code 7). The run itself did what it was to do."""

    exit_code = 7


class NoPageError(ScrawlerError):
    """A run brought no page, and its user wanted that to be an error (exit code 10)."""

    exit_code = 10


class ArchiveError(ScrawlerError):
    """Pages cannot be written: folder read-only, disk full (exit code 5)."""

    exit_code = 5


class UnreadableError(ArchiveError):
    """A file in the archive is there, and cannot be read (exit code 5)."""


class EndlessPageError(ScrawlerError):
    """A page was read for longer than any may; no thread can be ended, so the process ends itself (exit code 8)."""

    exit_code = 8


class NotCrawledError(ScrawlerError):
    """The crawl has no such page, or none with a body, with text, or with out-links (exit code 9)."""

    exit_code = 9


def message_of(error: BaseException) -> str:
    """Return what an exception says of itself in one line: nothing, where it cannot say that."""
    try:
        return " ".join(str(error).split())
    except BaseException as worse:  # an exception of other people's code may do anything when it is turned into text
        if is_interrupt(worse):
            raise
        return ""


def escaped(text: str) -> str:
    """Return text with escapes for all that is not printable, so that nothing in it controls a terminal."""
    return text if text.isprintable() else "".join(map(_escape, text))


def _escape(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an exception may be the user's Ctrl-C, not something that the code at work has raised."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
