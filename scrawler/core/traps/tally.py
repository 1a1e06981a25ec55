"""What the parts of a party's traps have in common: its rules, its pages so far, and when a yield is low."""

from __future__ import annotations

from typing import Final

from scrawler.core.rules import CrawlRules
from scrawler.core.traps.yields import Yield

LITTLE_LEFT: Final = 255  # pages of a pattern that may say little each; some 45 more are fetched before a cap
_MORE_LEFT: Final = 50  # so many pages of a party that say something new leave room for one more that says little


class Tally:
    """The pages of one party, counted."""

    __slots__ = ("capping", "new", "pages", "rules")

    def __init__(self, rules: CrawlRules) -> None:
        self.rules = rules
        self.pages = 0  # fetched here
        self.new = 0  # pages with a new word, as far as is known
        self.capping = False  # whether anything is capped

    def allowance(self, pages: int) -> int:
        """Return how many pages may say little, which grows with those that have more to say."""
        return pages + self.new // _MORE_LEFT

    def is_barren(self, found: Yield) -> bool:
        """Whether a pattern has lately brought next to nothing new."""
        return found.recent >= self.rules.trap_pages and found.share < self.rules.trap_yield

    def cap_low(self, found: Yield, needed: int) -> None:
        """Cap what has brought next to nothing new in so many pages."""
        if found.recent >= needed and found.share < self.rules.trap_yield and not found.evidence:
            self.cap(found)

    def cap(self, found: Yield) -> None:
        """Let no more of it be fetched."""
        found.cap()
        self.capping = True
