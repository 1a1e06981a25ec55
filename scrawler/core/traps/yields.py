"""What the URLs of one pattern have yielded so far: a count of new pages and of those that say nothing new."""

from __future__ import annotations

from scrawler.core.traps.says import Says
from scrawler.model.rows import PatternRow

_FEW = 5  # fetched pages below which a pattern is not worth a row
# What a page of a pattern takes of the allowance that its pattern has for pages without a new word.
_LITTLE = 32
_IN_A_CHAIN = 39  # a page that is the only new one to which the one before it led: a trap mostly makes several
_NUMBERS = 4  # a table of numbers is more than one number
# What a page takes of what is lent to made-up lists of its kind, as months of days are, but those of a shop as well.
_LENT = 2_000
_UNLIKE = 1  # known words in another text, or more
_ALIKE = 2
_EXACT = 40


class Yield:
    """Counts of one pattern, and a window over its last fetches."""

    __slots__ = (
        "_bits",
        "_held",
        "_lent",
        "_mask",
        "_spent",
        "_window",
        "changed",
        "evidence",
        "exact",
        "fetched",
        "key",
        "near",
        "pattern",
        "refused",
    )

    def __init__(self, pattern: str, key: bytes, window: int, row: PatternRow | None = None) -> None:
        self.pattern = pattern
        self.key = key  # by which the database knows its row
        self.fetched = 0
        self.exact = 0
        self.near = 0
        self.refused = 0
        self.evidence = ""  # why it is capped; empty: it is not
        self.changed = False
        self._window = window
        self._mask = (1 << window) - 1
        self._bits = 0  # a bit a fetch, 1 if it brought something new; the newest fetch is the lowest bit
        self._held = 0  # how many of the bits stand for a fetch
        self._lent = 0  # of what is lent to made-up lists
        self._spent = 0  # of the allowance for pages that say little
        if row is not None:
            self._continue(row, window)

    def _continue(self, row: PatternRow, window: int) -> None:
        """Go on after what an earlier owner has counted, with its new pages where they count for longest."""
        self.fetched, self.exact, self.near, self.refused, self.evidence = row[3:]
        self._held = min(self.fetched, window)
        self._bits = (1 << -(-self.new * self._held // max(1, self.fetched))) - 1

    @property
    def new(self) -> int:
        """Pages that said something new."""
        return self.fetched - self.exact - self.near

    @property
    def recent(self) -> int:
        """Fetches in the window."""
        return self._held

    @property
    def share(self) -> float:
        """Share of new pages in the window; 1 for an empty one."""
        return self._bits.bit_count() / self._held if self._held else 1.0

    def count(self, exact: bool, near: bool) -> None:
        """Count a fetched page, whatever follows of it."""
        self.fetched += 1
        self.exact += exact
        self.near += near and not exact
        self.changed = True

    def weigh(self, is_new: bool) -> None:
        """Let a page count for or against a cap."""
        if is_new and self._bits == self._mask:
            return
        self._bits = (self._bits << 1 | is_new) & self._mask
        if self._held < self._window:
            self._held += 1

    def allows(self, says: Says, allowance: int, in_chain: bool = False) -> bool:
        """Tell whether a page counts as new; those that say little do so for as many pages as `allowance`."""
        if says is Says.NEW or says is Says.NOTHING:
            return says is Says.NEW
        little = _IN_A_CHAIN if in_chain else _LITTLE
        self._spent += _NUMBERS if says is Says.NUMBERS else little
        return self._spent <= allowance * _LITTLE

    @property
    def lends(self) -> bool:
        """Whether further pages are fetched that made-up lists name."""
        return self._lent < _LENT

    def lend(self, says: Says, exact: bool) -> None:
        """Count a page that a made-up list names."""
        alike = _ALIKE if says is Says.NOTHING else _UNLIKE
        self._lent += _EXACT if exact else alike

    def refuse(self) -> None:
        """Count a URL that is not asked for, or not listed."""
        self.refused += 1
        self.changed = True

    def cap(self) -> None:
        """Let no more of it be fetched."""
        yielded = f"{self.fetched} fetched, {self.exact} exact and {self.near} near duplicates"
        new = f"{self._bits.bit_count() or 'none'} of the last {self._held} said something new"
        self.evidence = f"{self.pattern}: {yielded}; {new}"
        self.changed = True

    def cap_as(self, evidence: str, pages: int) -> None:
        """Let no more of it be fetched for another reason than its window, after so many pages."""
        self.fetched = max(self.fetched, pages, _FEW)
        self.evidence = f"{self.pattern}: {evidence}"
        self.changed = True

    def row(self, seed_id: int) -> PatternRow | None:
        """Return its row if it has changed and is worth one."""
        if not self.changed or self.fetched < _FEW:
            return None
        self.changed = False
        return PatternRow(
            seed_id, self.key, self.pattern, self.fetched, self.exact, self.near, self.refused, self.evidence
        )
