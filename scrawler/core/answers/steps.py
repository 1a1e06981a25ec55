"""Steps: what features do with each page, in a list that is made once, when a machine is built.

A step is an object with a few optional methods. The crawler calls those that are there and knows no step by name; a
step of another package is called like ours, so nobody has to derive from a class here. They are called for each page,
mostly outside the machine's turn: see `Step`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol

from scrawler.core.answers.page_read import PageRead
from scrawler.core.party.flights import PageFlight
from scrawler.fetch.downloader import Response


class Want(Enum):
    """What is read of a page only where somebody wants it."""

    MARKS = "what a page says of its links: their texts and rel"
    SOURCES = "where on a page its links stand, those of images, scripts and styles among them"


class Step(Protocol):
    """What a feature does with pages. Each method is optional; `at` is its number, given when the list is made."""

    at: int
    wants: frozenset[Want]

    def read(self, flight: PageFlight, response: Response, page: PageRead) -> None:
        """Read an answer that is whole: its links are found, and nothing is archived.

        What it finds it keeps in `page.found[self.at]`; it may set `keep`, `metadata` and flags of the page. No turn is
        held. What it raises is a fault of the page, which ends its URL; its answer is archived all the same.
        """


class Order(Protocol):
    """Says in which of a party's lanes links are listed; a machine has one, or none. It is called under the turn."""

    def note_page(self, flight: PageFlight, page: PageRead, redirects: bool) -> None:
        """Note the page whose links come next, or which redirects."""

    def levels(self, page: str) -> Callable[[str], int]:
        """Return what gives a link on a page its level, 0 to 4: the higher come first. `page` is the page's URL."""


Reads = tuple[Callable[[PageFlight, Response, PageRead], None], ...]


class Steps:
    """The steps of a machine: their methods, gathered once."""

    def __init__(self, steps: Sequence[Any] = ()) -> None:
        for number, step in enumerate(steps):
            step.at = number
        self.number = len(steps)
        self.reads: Reads = tuple(step.read for step in steps if hasattr(step, "read"))
        self.wants: frozenset[Want] = frozenset().union(*(step.wants for step in steps))


NO_STEPS = Steps()
