"""What comes of a response that has landed, by what its request was for."""

from __future__ import annotations

from scrawler.crawl.answers import AnswerHandler
from scrawler.crawl.flights import AliasFlight, Flight, PageFlight, RobotsFlight, flight_of
from scrawler.crawl.origins import Origins
from scrawler.crawl.reading import AnswerReader, Reading
from scrawler.fetch.downloader import Response


class Landing:
    """Reads responses, which needs no turn, and applies them, which needs it; shared by the collectors."""

    def __init__(self, reader: AnswerReader, answers: AnswerHandler, origins: Origins) -> None:
        self._reader, self._answers, self._origins = reader, answers, origins

    def read(self, response: Response) -> Reading | None:
        """Archive and read the answer of a page; None for others. Raises ArchiveError."""
        flight = response.request.tag
        return self._reader.read(flight, response) if isinstance(flight, PageFlight) else None

    def apply(self, response: Response, reading: Reading | None) -> Flight:
        """Apply a response to its site, and return the flight that is over with it."""
        flight = flight_of(response.request)
        if isinstance(flight, RobotsFlight):
            follow = self._origins.robots_answer(flight, response)
            if follow is not None:
                flight.site.queued.append(follow)
        elif isinstance(flight, AliasFlight):
            self._answers.handle_alias(flight, response)
        else:
            assert reading is not None
            self._answers.handle(flight, response, reading)
            flight.party.in_flight -= 1
            flight.site.fetching.discard(flight.entry.url)
        return flight
