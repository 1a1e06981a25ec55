"""What a request in flight is for: a page, a robots.txt, or the look at an address literal.

A flight goes with its request as the tag, and comes back with the response.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from scrawler.core.party.context import SeedContext
from scrawler.core.party.depth import Lane
from scrawler.core.party.entries import Entry
from scrawler.core.party.site import Origin, SiteContext
from scrawler.fetch.downloader import Request
from scrawler.fetch.robots import robots_url
from scrawler.model.lanes import NORMAL
from scrawler.model.visits import KnownVisit
from scrawler.urls.scope import host_port
from scrawler.urls.scope import origin as origin_of


class PageFlight(NamedTuple):
    """A page in flight: which entry of which lane, for which party."""

    site: SiteContext
    party: SeedContext
    lane: Lane
    index: int  # type: ignore[assignment]  # in the lane; hides tuple.index, which nobody wants here
    entry: Entry
    origin: Origin
    known: KnownVisit | None = None  # the last visit to the URL, if this is another one

    @property
    def asked(self) -> Origin:
        """The origin that is asked."""
        return self.origin

    @property
    def is_seed(self) -> bool:
        """Whether it is its party's own URL, or where that redirects (not where a page there refreshes itself to)."""
        entry = self.entry
        return entry.depth == 0 and entry.hops == 0 and self.lane.seed_id == self.party.seed.id

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        key = self.lane.key
        if key is NORMAL:
            return 1
        return key.retries + key.pushbacks + 1 + self.lane.slow


@dataclass(frozen=True, slots=True, eq=False)
class RobotsFlight:
    """A robots.txt in flight."""

    site: SiteContext
    origin: Origin  # whose it is
    url: str
    hop: int = 0

    @property
    def asked(self) -> Origin:
        """The origin that is asked: a redirect may lead elsewhere, also to one of which the site has pages."""
        if not self.hop:
            return self.origin
        name = origin_of(self.url)
        return self.site.origins.get(name) or Origin(name, host_port(self.url)[0])


@dataclass(frozen=True, slots=True, eq=False)
class AliasFlight:
    """A page asked for at an address literal."""

    site: SiteContext
    origin: Origin  # of the name
    literal: str  # authority by address
    payload: bytes  # digest of the same page at the name

    @property
    def asked(self) -> Origin:
        """The origin that counts as asked."""
        return self.origin


@dataclass(frozen=True, slots=True, eq=False)
class ProbeFlight:
    """A page that was good, asked for once more to learn whether its site refuses."""

    site: SiteContext
    party: SeedContext
    origin: Origin

    @property
    def asked(self) -> Origin:
        """The origin that is asked."""
        return self.origin


Flight = PageFlight | RobotsFlight | AliasFlight | ProbeFlight
_KINDS: Final = (PageFlight, RobotsFlight, AliasFlight, ProbeFlight)  # the union would be made anew for each question


def flight_of(request: Request) -> Flight:
    """Return what a request is for."""
    flight = request.tag
    assert isinstance(flight, _KINDS)
    return flight


def read_url(flight: Flight, request: Request) -> str:
    """Return the URL that is to blame if its answer is not read to an end: of a robots.txt, that of its origin."""
    if not isinstance(flight, RobotsFlight):
        return request.url
    return robots_url(flight.origin.origin + "/") if flight.hop else flight.url
