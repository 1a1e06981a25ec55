"""When a crawl is over: nothing keeps it open, of a list of things that can.

A part that brings another thing that can keep a crawl open, as URLs that are on their way between machines, adds it to
the list; the first that does is the answer to why a crawl is not over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Opener(NamedTuple):
    """A thing that can keep a crawl open: what it is, in words, and whether it does now.

    Asking may act, and find that it does: so candidates are promoted when nothing else is left.
    """

    name: str
    is_open: Callable[[], bool]


def kept_open_by(openers: Iterable[Opener]) -> str:
    """Return the name of the first that keeps a crawl open, empty if it is over; those behind it are not asked."""
    return next((one.name for one in openers if one.is_open()), "")
