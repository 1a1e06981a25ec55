"""When the agents' crawl is over (Mattern, "Algorithms for distributed termination detection", 1987: four counters).

Any agent that has nothing left asks all of its view, twice. A URL that is on its way is in the database of its sender
until the receiver's is known to have it, and counts as waiting there: so where all are quiet, nothing waits, and
between two askings nothing was sent, received or begun anywhere, nothing ever will be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Report:
    """How one agent stands. Sums are over all that its database ever had."""

    run: str  # which life of the agent says so
    view: str  # version of the view by which it works; empty: it still gives sites of another view back
    quiet: bool  # it has nothing in work, and nothing to claim
    sent: int
    received: int
    waiting: int  # URLs in its database that nobody has in a list yet
    stirred: int  # how often it was no longer quiet


@dataclass(slots=True)
class Census:
    """The askings of one agent, in turn."""

    number: int = 0  # of the asking that is being made
    _missing: set[str] = field(default_factory=set)
    _reports: dict[str, Report] = field(default_factory=dict)
    _before: dict[str, Report] = field(default_factory=dict)
    _view: str = ""

    def begin(self, view: str, names: Iterable[str]) -> None:
        """Ask all of a view, this agent among them."""
        if view != self._view:
            self._before = {}
        self.number += 1
        self._view = view
        self._missing = {*names}
        self._reports = {}

    @property
    def missing(self) -> frozenset[str]:
        """Those that have not answered yet."""
        return frozenset(self._missing)

    def note(self, number: int, name: str, report: Report) -> bool:
        """Take an answer in; True: it was the last one, see `is_over`."""
        if number != self.number or name not in self._missing:
            return False
        self._reports[name] = report
        self._missing.remove(name)
        return not self._missing

    def is_over(self) -> bool:
        """Tell whether all is over, by the asking that is complete now and the one before it."""
        at_rest = all(one.quiet and one.view == self._view and not one.waiting for one in self._reports.values())
        same = at_rest and self._reports == self._before
        self._before = self._reports if at_rest else {}
        return same

    @property
    def may_be_over(self) -> bool:
        """Whether the last asking found all at rest, so that another one is worth its messages at once."""
        return bool(self._before)
