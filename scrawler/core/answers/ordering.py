"""In which order a party's links are followed, where it is not that in which they are met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from scrawler.core.answers.page_read import PageRead
from scrawler.core.party.flights import PageFlight


class Order(Protocol):
    """Says in which of a party's lanes links are listed; a machine has one, or none. It is called under the turn."""

    def note_page(self, flight: PageFlight, page: PageRead, redirects: bool) -> None:
        """Note the page whose links come next, or which redirects."""

    def levels(self, page: str) -> Callable[[str], int]:
        """Return what gives a link on a page its level, 0 to 4: the higher come first. `page` is the page's URL."""
