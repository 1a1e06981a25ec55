"""What a topic makes of a page: how much it has to do with it, whether it is archived, and where its links are listed.

What is read here needs no turn. A link's place is decided when it is listed, by what its page says: so nothing of it
has to be kept, and whoever takes a party over after a kill finds each URL in the lane in which it was put.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping

from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.steps import Want
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.extract.links import LinkMark, PageLinks
from scrawler.features.topic.terms import LEVELS, Topic, level_of
from scrawler.fetch.downloader import Response
from scrawler.model.lanes import LaneKind
from scrawler.model.results import PageFlag

_MOST_TEXT = 1 << 20  # bytes of a page that are looked at
# What is not shown, and tags: a tree costs ten times as much, and for counting words these will do.
_MARKUP = re.compile(
    rb"<(?:(script|style|template|noscript)\b.*?(?:</\1|\Z)|!--.*?(?:-->|\Z)|[^>]*(?:>|\Z))", re.IGNORECASE | re.DOTALL
)


class Focus:
    """The step, and the order, of a crawl with a topic; shared by the collectors of a machine.

    `orders` says whether links are listed by what they promise, `drops` whether pages that have nothing to do with
    the topic are not archived; `relevance` is the score from which on they have.
    """

    at: int

    def __init__(self, topic: Topic, orders: bool, drops: bool, relevance: float) -> None:
        self.topic = topic
        self.orders = orders
        self.wants = frozenset((Want.MARKS,)) if orders else frozenset()
        self._drops = drops
        self._relevance = relevance
        # How much the page that was applied last has to do with the topic, and the least level of what it leads to.
        self._last: tuple[str, float, int] = ("", 0.0, 0)
        self._marks: Mapping[str, LinkMark] = {}  # what it says of its links

    def read(self, flight: PageFlight, response: Response, page: PageRead) -> None:
        """Score a page, flag it where it has to do with the topic, and say whether it is archived."""
        if page.links is not None:
            score = page.found[self.at] = self._score(page.links)
            if score >= self._relevance:
                page.flags |= PageFlag.RELEVANT
        page.keep = self._keeps(flight, page.found[self.at])

    def _score(self, links: PageLinks) -> float:
        text = _MARKUP.sub(b" ", links.page[:_MOST_TEXT]).decode("utf-8", "replace")
        return self.topic.of_text(html.unescape(text))

    def _keeps(self, flight: PageFlight, score: float | None) -> bool:
        """Whether an answer is archived; one that has no text is judged by the link that led to it.

        Archived in any case are what pages show, what has been archived before, and what no link has told of.
        """
        if not self._drops or flight.entry.role is EntryRole.ASSET or flight.lane.refetches:
            return True
        if score is None:
            return not self.orders or inherited_level(flight) > 0
        return score >= self._relevance

    def note_page(self, flight: PageFlight, page: PageRead, redirects: bool) -> None:
        """Note what a page says of the topic; where a URL redirects, its target promises what it has promised."""
        level = inherited_level(flight)
        score = page.found[self.at] if page.found else None
        self._last = flight.entry.url, score_of_level(level) if score is None else score, level if redirects else 0
        self._marks = (page.links.marks if page.links is not None else None) or {}

    def levels(self, page: str) -> Callable[[str], int]:
        """Return what tells the level of a link on a page; of one that was not read just now, nothing is known."""
        of_page, score, least = self._last
        marks = self._marks
        if of_page != page:
            score, least, marks = 0.0, 0, {}

        def level(url: str) -> int:
            mark = marks.get(url)
            return max(least, level_of(self.topic.of_link(url, "" if mark is None else mark.anchor, score)))

        return level


def inherited_level(flight: PageFlight) -> int:
    """Return the level at which a URL was listed, 0 where that is not known any more: it was tried again."""
    key = flight.lane.key
    return key.level if key.kind is LaneKind.PRIORITY else 0


def score_of_level(level: int) -> float:
    """Return the lowest score of a level."""
    return level / LEVELS
