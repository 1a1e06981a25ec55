"""The yields of a party's patterns: URLs that differ in numbers and parameters alone, and what they have brought.

Where all queries of a path together have lately brought nothing, each set of parameters has fewer pages to show that it
does. What lists name is not weighed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scrawler.core.traps.says import Says
from scrawler.core.traps.sources import Source
from scrawler.core.traps.tally import LITTLE_LEFT, Tally
from scrawler.core.traps.yields import Yield
from scrawler.model.rows import PatternRow
from scrawler.model.terms import url_hash
from scrawler.urls.patterns import Patterns, patterns_of

_PROBATION: Final = 10  # pages in which a set of parameters has to show something new where others have not
_PATTERNS: Final = 1_000  # so many patterns a party remembers
_ESTABLISHED: Final = 5  # pages of a pattern, with which its URLs are judged by it alone


class PatternYields:
    """The yields of one party's patterns; guarded by the machine's turn."""

    __slots__ = ("_tally", "_yields")

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._yields: dict[str, Yield] = {}

    def __len__(self) -> int:
        return len(self._yields)

    def restore(self, found: Yield) -> None:
        """Take what an earlier owner of the party has counted."""
        self._yields[found.pattern] = found

    def every(self) -> Iterable[Yield]:
        """Return all that are remembered."""
        return self._yields.values()

    def get(self, pattern: str) -> Yield | None:
        """Return a pattern's yield, if it is remembered."""
        return self._yields.get(pattern)

    def is_established(self, own: str) -> bool:
        """Tell whether a pattern has pages enough for its URLs to be judged by it alone."""
        found = self._yields.get(own) if own else None
        return found is not None and found.fetched >= _ESTABLISHED

    def capped(self, own: str) -> Yield | None:
        """Return the yield of a pattern, if it is capped."""
        found = self._yields.get(own) if own else None
        return found if found is not None and found.evidence else None

    def holds(self, source: Source, group: str) -> bool:
        """Tell whether a page is a list of a kind to its end, as far as it goes if it is made up itself."""
        if source.names(group):
            return True
        if not source.may_list(group):
            return False
        found = self._yields.get(group)
        return found is None or found.lends

    def count(self, of: Patterns, exact: bool, near: bool) -> None:
        """Count a fetched page whose URL has a pattern, whatever follows of it."""
        self._yield(of.own).count(exact, near)
        if of.queries:
            self._yield(of.queries).count(exact, near)

    def lend(self, page: Source, exact: bool) -> None:
        """Count a page that a made-up list names."""
        self._yield(page.group).lend(page.says, exact)

    def weigh(self, page: Source, says: Says) -> None:
        """Let a page count for or against a cap of its pattern."""
        own, least = self._yield(page.own), self._tally.rules.trap_pages
        group = own if page.group == page.own else self._yield(page.group)
        if says is Says.NEW:
            own.weigh(is_new=True)
            if group is not own:
                group.weigh(is_new=True)
            return
        is_new = group.allows(says, self._tally.allowance(LITTLE_LEFT), page.in_chain)
        own.weigh(is_new)
        if group is not own:
            group.weigh(is_new)
            if self._tally.is_barren(group):
                least = min(_PROBATION, least)
        if not is_new:
            self._tally.cap_low(own, least)

    def judge(self, source: Source, says: Says) -> None:
        """Let a page count by the first of what it leads to, and once more if another of it is new."""
        if says is not Says.NOTHING:
            source.waits = False
            self.weigh(source, says)
        elif not source.judged:
            source.judged = True
            self.weigh(source, says)

    def _yield(self, pattern: str) -> Yield:
        found = self._yields.get(pattern)
        if found is None:
            if len(self._yields) >= _PATTERNS:
                self._forget_small()
            found = self._yields[pattern] = Yield(pattern, url_hash(pattern), self._tally.rules.trap_pages)
        return found

    def _forget_small(self) -> None:
        """Forget half of the patterns, those with the fewest pages; what is capped stays."""
        kept = sorted(self._yields.values(), key=lambda one: (not one.evidence, -one.fetched))[: _PATTERNS // 2]
        self._yields = {one.pattern: one for one in kept}


def pattern_of(url: str, rows: Iterable[PatternRow]) -> PatternRow | None:
    """Return what a seed's stored patterns say about a URL: its own pattern, else that of all queries of its path."""
    of = patterns_of(url)
    known = {row.pattern: row for row in rows}
    return known.get(of.own) or known.get(of.queries)
