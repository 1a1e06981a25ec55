"""When a server may be asked: from the store to the machines that share it."""

from __future__ import annotations

from typing import NamedTuple

from scrawler.model.terms import Millis


class Slot(NamedTuple):
    """A time reserved for one request to a server, in seconds of `time.monotonic()`; not begun in it, it is lost."""

    begin: float
    end: float


class Reserved(NamedTuple):
    """A time reserved at a site that no machine has, or how long to wait before that is tried again."""

    wait: float  # seconds; 0: there is nothing to wait for; infinite: a machine has the site in work
    until: Millis  # by the database's clock; 0: nothing is reserved


class Standing(NamedTuple):
    """What shares depend on, beside what is held at an address."""

    version: int  # grows with each change at an address where several machines are
    living: frozenset[int]  # machines, by id
    at: Millis  # when that was so, by the database's clock
