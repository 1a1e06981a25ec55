"""Lines: following one line of made-up pages down, to see whether it has an end.

A maze whose texts are new each time is told from a site by its links: each page leads to several that nobody has named
before, and to nothing else but what the page before it led to as well, generation after generation. Fetched breadth
first, generations take ever longer. So where three of them were like that, one page of the next is fetched before all
others, and one of those that it leads to, and so on, now the last one and now one in the middle. Real sites end such a
line after a few pages: with a page that leads on to nothing, or back. A line of as many generations as a pattern needs
pages for a cap, half of them with next to no words that are new, or next to no others, is no site.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scrawler.core.traps.says import Says
from scrawler.core.traps.sources import Source

OPEN: Final = 2  # new URLs to which a page of a line leads at least
_FEWEST: Final = 5  # generations that show a line to be endless at the least, where another one was
_NOTHING: Final = 4  # a generation that says nothing weighs more than one that says little
_LITTLE: Final = 1
_LONG: Final = 110  # generations that do so whatever is said on them, if next to none meets what was named before
_STRAYS: Final = 16  # ... one of so many at most: on a real site more do so the longer the line is
_LONGEST: Final = 1_000  # generations that do so in any case
_SOONER: Final = 10  # a line ends so many times sooner where another one was endless
_PATIENCE: Final = 32  # pages of a party within which the next page of a line has to come
_LONGEST_REST: Final = 256  # pages of a party between two lines


class Line:
    """The line that a party follows at the time, if any; guarded by the machine's turn."""

    __slots__ = ("_barren", "_failures", "_few", "_length", "_strays", "_until", "_waits", "next")

    def __init__(self) -> None:
        self.next = ""  # the URL with which the line goes on; empty: none is followed
        self._length = 0
        self._few = 0  # pages of the line with few words that are new, or few others
        self._strays = 0  # pages of the line with one known link more than the page before, or one fewer
        self._barren = 0  # its last pages that had nothing new to say, weighed
        self._failures = 0
        self._waits = 0  # pages of the party before the next line may begin
        self._until = 0  # pages of the party by which the next page of the line has to come

    def look(self, pages: int) -> None:
        """Give up a line whose next page does not come."""
        if self.next and pages > self._until:
            self._fail(pages)

    def may_begin(self, pages: int) -> bool:
        """Whether a line may begin with a page."""
        return not self.next and pages >= self._waits

    def take(self, page: Source, new: Sequence[str], pages: int) -> str:
        """Let a page that leads to new URLs alone begin the line, or continue it; return the URL to fetch next."""
        if page.url != self.next:
            self._length += max(0, page.open - 1)
        self._length += 1
        self._few += page.few
        self._strays += page.strays
        self._barren += _NOTHING if page.says is Says.NOTHING else _LITTLE
        if page.says is Says.NEW:
            self._barren = 0
        self.next = new[-1] if self._length % 2 else new[len(new) // 2]
        self._until = pages + _PATIENCE
        return self.next

    def is_endless(self, needed: int) -> bool:
        """Whether the line is shown to be without an end, by so many generations."""
        if self._length < needed:
            return False
        if 2 * self._few >= needed or self._length >= _LONGEST:
            return True
        return self._length >= _LONG and self._strays * _STRAYS <= self._length

    @property
    def is_barren(self) -> bool:
        """Whether generations enough have said nothing new at all."""
        return self._barren >= _FEWEST * _NOTHING

    def end(self, pages: int, is_endless: bool) -> None:
        """End the line; what comes after a real end waits for longer each time."""
        if not is_endless:
            self._fail(pages)
            return
        self.next = ""
        self._length = self._few = self._strays = self._barren = 0

    def pass_on(self, new: Sequence[str], pages: int) -> str:
        """Go on with what the next URL redirects to, if that is new; return it."""
        if not new:
            self._fail(pages)
            return ""
        self.next = new[0]
        return self.next

    def stop(self) -> None:
        """Leave off at a limit of depth: what another line comes to counts in addition."""
        self.next = ""

    def _fail(self, pages: int) -> None:
        self.next = ""
        self._length = self._few = self._strays = self._barren = 0
        self._failures += 1
        self._waits = pages + min(1 << self._failures, _LONGEST_REST)


def needed(trap_pages: int, known: bool) -> int:
    """Return how many generations show a line to be endless; fewer where the party has an endless one."""
    return max(_FEWEST, trap_pages // _SOONER) if known else trap_pages
