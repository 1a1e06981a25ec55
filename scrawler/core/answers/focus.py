"""What a topic makes of a page: how much it has to do with it, whether it is archived, and where its links are listed.

What is read here needs no turn. A link's place is decided when it is listed, by what its page says: so nothing of it
has to be kept, and whoever takes a party over after a kill finds each URL in the lane in which it was put.
"""

from __future__ import annotations

import html
import re

from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.extract.links import PageLinks
from scrawler.model.lanes import LaneKind
from scrawler.model.results import PageFlag
from scrawler.urls.topic import LEVELS, Topic

_MOST_TEXT = 1 << 20  # bytes of a page that are looked at
# What is not shown, and tags: a tree costs ten times as much, and for counting words these will do.
_MARKUP = re.compile(
    rb"<(?:(script|style|template|noscript)\b.*?(?:</\1|\Z)|!--.*?(?:-->|\Z)|[^>]*(?:>|\Z))", re.IGNORECASE | re.DOTALL
)


class Focus:
    """A crawl's topic, and what is done with it; shared by the collectors of a machine.

    `orders` says whether links are listed by what they promise, `drops` whether pages that have nothing to do with
    the topic are not archived; `relevance` is the score from which on they have.
    """

    def __init__(self, topic: Topic, orders: bool, drops: bool, relevance: float) -> None:
        self.topic = topic
        self.orders = orders
        self._drops = drops
        self._relevance = relevance

    def read(self, links: PageLinks) -> float:
        """Return the score of a page that is being read."""
        text = _MARKUP.sub(b" ", links.page[:_MOST_TEXT]).decode("utf-8", "replace")
        return self.topic.of_text(html.unescape(text))

    def flag(self, links: PageLinks | None) -> int:
        """Return what is to be flagged in the row of a page."""
        if links is None or links.relevance is None or links.relevance < self._relevance:
            return 0
        return PageFlag.RELEVANT.value

    def keeps(self, flight: PageFlight, links: PageLinks | None) -> bool:
        """Whether an answer is archived; one that has no text is judged by the link that led to it.

        Archived in any case are what pages show, what has been archived before, and what no link has told of.
        """
        if not self._drops or flight.entry.role is EntryRole.ASSET or flight.lane.refetches:
            return True
        if links is None or links.relevance is None:
            return not self.orders or inherited_level(flight) > 0
        return links.relevance >= self._relevance


def inherited_level(flight: PageFlight) -> int:
    """Return the level at which a URL was listed, 0 where that is not known any more: it was tried again."""
    key = flight.lane.key
    return key.level if key.kind is LaneKind.PRIORITY else 0


def score_of_level(level: int) -> float:
    """Return the lowest score of a level."""
    return level / LEVELS
