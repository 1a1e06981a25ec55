"""Steps: what features do with each page, in a list that is made once, when a machine is built.

A step is an object with a few optional methods. The crawler calls those that are there and knows no step by name; a
step of another package is called like ours, so nobody has to derive from a class here. They are called for each page,
mostly outside the machine's turn: see `Step`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from scrawler.archive.record import RevisitOf
from scrawler.core.answers.listing import UrlLister
from scrawler.core.answers.ordering import Order
from scrawler.core.answers.page_read import PageRead
from scrawler.core.party.context import SeedContext
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.lists import SITEMAPS, SitemapLists
from scrawler.core.party.parties import Choice
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.party.states import PartyState, SiteState
from scrawler.fetch.downloader import Response
from scrawler.model.claims import ClaimedSite
from scrawler.model.rows import PageRow
from scrawler.model.visits import KnownVisit


class Want(Enum):
    """What is read of a page only where somebody wants it."""

    MARKS = "what a page says of its links: their texts and rel"
    SOURCES = "where on a page its links stand, those of images, scripts and styles among them"


class Step(Protocol):
    """What a feature does with pages. Each method is optional; `at` is its number, given when the list is made."""

    at: int
    wants: frozenset[Want]

    def read(self, flight: PageFlight, response: Response, page: PageRead) -> None:
        """Read an answer that is whole: its links are found, and nothing is archived.

        What it finds it keeps in `page.found[self.at]`; it may set `keep`, `metadata` and flags of the page. No turn is
        held. What it raises is a fault of the page, which ends its URL; its answer is archived all the same.
        """

    def site_state(self, site: SiteContext, claimed: ClaimedSite) -> SiteState | None:
        """Return what is known of a site that is taken up, which `site.state_of(at)` is then; None: nothing.

        It is called before the parties are there. No turn is held, and the database may be read. Raises StoreError.
        """

    def party_state(self, site: SiteContext, party: SeedContext) -> PartyState | None:
        """Return what is known of a party that is taken up, which `party.state_of(at)` is then; None: nothing.

        No turn is held, and the database may be read. Raises StoreError.
        """

    def look_up(self, seed_id: int, urls: Sequence[str], after_lists: bool) -> Mapping[str, KnownVisit]:
        """Return what is known of URLs of a seed that are visited again, `after_lists` where lists were read before.

        No turn is held, and the database may be read. Raises StoreError.
        """

    def conditions(self, flight: PageFlight) -> tuple[tuple[str, str], ...]:
        """Return the headers by which a page is asked for only if it has changed, under the turn; none: all of it is.

        This crawl has not visited the page before.
        """

    def restore(self, flight: PageFlight, response: Response) -> Response:
        """Make an answer whole that says that nothing has changed, where this crawl does not know what there was.

        As it came, where that cannot be: the page is asked for again then. No turn is held, and files may be read.
        """

    def find_copy(self, flight: PageFlight, response: Response, payload_digest: bytes) -> RevisitOf | None:
        """Return the record of another crawl that holds the payload of an answer, and was read just now; None: none.

        This crawl's archive has none of its own. No turn is held.
        """

    def check(self, site: SiteContext, choice: Choice, origin: Origin, now: float) -> Any:
        """Decide about a URL before it is asked for, under the turn: see `scrawler.core.asking.checks`, `Answer`."""

    def put_off(self, flight: PageFlight, response: Response) -> None:
        """Note that a URL is listed to be asked for again, under the turn: this answer is not its last one."""

    def follow(self, flight: PageFlight, page: PageRead, urls: UrlLister) -> bool:
        """List what a page leads to in another way, under the turn; False leaves that to the crawler.

        A page that asks not to follow its links, and is obeyed, does not come here.
        """

    def finish(self, flight: PageFlight, row: PageRow, response: Response | None, page: PageRead | None) -> PageRow:
        """Add to the row of a URL that has its last answer, or was refused (None), under the turn.

        After a fault, which may be one of this very method, it is called once more, without a page.
        """

    def ask_on(self, site: SiteContext, party: SeedContext, urls: UrlLister) -> bool:
        """List one more URL of a party that has nothing at hand or in flight, under the turn; False: there is none."""


Reads = tuple[Callable[[PageFlight, Response, PageRead], None], ...]
Follows = tuple[Callable[[PageFlight, PageRead, UrlLister], bool], ...]
Finishes = tuple[Callable[[PageFlight, PageRow, Response | None, PageRead | None], PageRow], ...]
AsksOn = tuple[Callable[[SiteContext, SeedContext, UrlLister], bool], ...]
LooksUp = tuple[Callable[[int, Sequence[str], bool], Mapping[str, KnownVisit]], ...]
ChecksOfSteps = tuple[Callable[[SiteContext, Choice, Origin, float], Any], ...]
PutsOff = tuple[Callable[[PageFlight, Response], None], ...]
ConditionsOfSteps = tuple[Callable[[PageFlight], tuple[tuple[str, str], ...]], ...]
Restores = tuple[Callable[[PageFlight, Response], Response], ...]
FindsCopies = tuple[Callable[[PageFlight, Response, bytes], RevisitOf | None], ...]
SiteStates = tuple[Callable[[SiteContext, ClaimedSite], SiteState | None], ...]
PartyStates = tuple[Callable[[SiteContext, SeedContext], PartyState | None], ...]


def _none(*_context: object) -> None:
    return None


class Steps:
    """The steps of a machine: their methods, gathered once."""

    def __init__(self, steps: Sequence[Any] = (), order: Order | None = None, lists: SitemapLists = SITEMAPS) -> None:
        """Number the steps; `order` says which links come first, None: they are listed as they are met.

        `lists` reads what documents list.
        """
        for number, step in enumerate(steps):
            step.at = number
        self.number = len(steps)
        self.order = order
        self.lists = lists
        self.looks_up: LooksUp = _methods(steps, "look_up")
        self.conditions: ConditionsOfSteps = _methods(steps, "conditions")
        self.restores: Restores = _methods(steps, "restore")
        self.finds_copies: FindsCopies = _methods(steps, "find_copy")
        self.checks: ChecksOfSteps = _methods(steps, "check")
        self.puts_off: PutsOff = _methods(steps, "put_off")
        self.reads: Reads = _methods(steps, "read")
        self.follows: Follows = _methods(steps, "follow")
        self.finishes: Finishes = _methods(steps, "finish")
        self.asks_on: AsksOn = _methods(steps, "ask_on")
        self.site_states: SiteStates = _made_by(steps, "site_state")
        self.party_states: PartyStates = _made_by(steps, "party_state")
        self.wants: frozenset[Want] = frozenset().union(*(step.wants for step in steps))


def _methods(steps: Sequence[Any], name: str) -> tuple[Any, ...]:
    """Return the methods of those steps that have one of this name."""
    return tuple(getattr(step, name) for step in steps if hasattr(step, name))


def _made_by(steps: Sequence[Any], name: str) -> tuple[Any, ...]:
    """Return the methods of all steps that make a state; none where no step has one."""
    has_state = any(hasattr(step, name) for step in steps)
    return tuple(getattr(step, name, _none) for step in steps if has_state)


NO_STEPS = Steps()
