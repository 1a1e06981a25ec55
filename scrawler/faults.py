"""Faults of this program that an answer from the web has met: they end no more than the answer's own URL.

Whatever reads or applies an answer is written to meet everything that a server can say. Where it does not, that is a
fault of this program, and the URL's result is `internal-error`. Errors of the surroundings (`ScrawlerError`: the
archive, the database, a part of another package, a lost lease) are no faults, and end the machine; so does whatever
the machinery raises while it is at no answer. Too little memory for an answer is a fault: what it took is free again.
What asks the program to end (KeyboardInterrupt, SystemExit) is a fault as well where an answer has raised it: the
system interrupts the main thread alone, and who wants the program to end tells that by an event.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import NamedTuple

from scrawler.errors import ScrawlerError, is_interrupt, message_of

MOST_FAULTS = 5  # a seed ends after so many faults

_PACKAGE = Path(__file__).parent
_MESSAGE_CHARACTERS = 300


class Fault(NamedTuple):
    """What was raised: kind, message and place in a line, and the traceback."""

    text: str
    trace: str


def fault_of(error: BaseException) -> Fault:
    """Describe an exception that reading or applying an answer has raised; one that is no fault is raised again."""
    if isinstance(error, ScrawlerError) or is_interrupt(error):
        raise error
    message = ascii(message_of(error))[1:-1][:_MESSAGE_CHARACTERS]
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return Fault(f"{said}, at {_place(error)}", "".join(traceback.format_exception(error)))


def _place(error: BaseException) -> str:
    """Return file and line where it was raised, or where this program called what raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if ours := _of_ours(frame.filename):
            return f"{ours}:{frame.lineno}"
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"


def _of_ours(filename: str) -> str:
    """Return a file of this program from its package on, as a compiled module names it; empty for another file."""
    path = Path(filename)
    if path.is_relative_to(_PACKAGE):
        return str(path.relative_to(_PACKAGE.parent))
    return filename if path.parts[:1] == (_PACKAGE.name,) else ""
