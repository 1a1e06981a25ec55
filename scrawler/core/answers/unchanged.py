"""Answers that say that nothing has changed, where this crawl does not know what there was."""

from __future__ import annotations

from scrawler.core.party.conditions import refuses_condition
from scrawler.core.party.flights import PageFlight
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result


def is_unchanged(flight: PageFlight, response: Response) -> bool:
    """Tell whether a server says that a page is as it was, and this crawl does not know how that is."""
    return response.result is Result.NOT_MODIFIED and flight.known is None and response.recalled is None


def is_to_be_whole(flight: PageFlight, response: Response) -> bool:
    """Tell whether a page is to be asked for once more as if nobody had visited it before.

    Its answer could not be made whole, or it may be what it is because of the condition alone.
    """
    return is_unchanged(flight, response) or refuses_condition(response)
