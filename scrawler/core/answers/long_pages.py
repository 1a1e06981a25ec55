"""Pages with very many links: these are judged and listed part by part, so that others get in between.

Their entry is finished with the last part. Nothing of their site is handed over before (see `handover`): whoever takes
it over after a kill reads the page again, and finds none of its links listed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.page_read import PageRead
from scrawler.core.party.flights import PageFlight
from scrawler.core.traps.alike import LinkClass
from scrawler.extract.links import PageLinks
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result
from scrawler.urls.analyzer import Analysis

MANY_LINKS = 2_000  # below that a page is listed in one go
_PART = 1_000  # links: 5 ms, if all are new and each is in a folder of its own


@dataclass(slots=True)
class LongPage:
    """A page in work, which was read."""

    flight: PageFlight
    response: Response
    reading: PageRead
    links: PageLinks
    done: int = 0  # links
    counts: Counter[str] = field(default_factory=Counter)  # verdicts
    internal: set[str] = field(default_factory=set)
    external: dict[str, None] = field(default_factory=dict)
    source: LinkClass | None = None  # the pages that have the same links; looked up once, for it takes all of them

    @property
    def over(self) -> bool:
        """Whether all of its links are listed, or it met a fault."""
        return self.done >= len(self.links.hrefs) or self.reading.fault is not None

    def list_part(self, answers: AnswerHandler) -> None:
        """List some more links; with the last ones the reading holds what they all came to."""
        flight, links = self.flight, self.links
        if not self.done:
            answers.take_cookies(flight, self.response)  # what is asked for meanwhile shall have them
            self.source = answers.known_source(flight, links)
        hrefs = links.hrefs[self.done : self.done + _PART]
        found = flight.party.analyzer.analyze(flight.entry.url, hrefs, links.base, links.charset)
        new = [url for url in found.internal if url not in self.internal]
        self.counts.update(answers.urls.list_part(flight, self.reading, new, self.source))
        self.counts.update(found.counts)
        self.internal.update(new)
        self.external.update(dict.fromkeys(found.external))
        self.done += _PART
        if self.over:
            self.reading.listed = Analysis([], list(self.external), self.counts)


def long_page(response: Response, reading: PageRead | None) -> LongPage | None:
    """Return the page to be listed part by part, None for what is applied in one go."""
    flight = response.request.tag
    if not isinstance(flight, PageFlight) or reading is None or reading.links is None or reading.fault is not None:
        return None
    if len(reading.links.hrefs) <= MANY_LINKS or flight.lane.refetches or response.result is Result.REDIRECT:
        return None
    if flight.party.states and flight.party.is_of_step(flight.entry.url):
        return None  # its step follows it as a whole
    reading.counted = True
    return LongPage(flight, response, reading, reading.links)
