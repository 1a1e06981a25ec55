"""A machine as the lease and checkpoint protocol sees it: the crawl's and the store's own parts, a step at a time.

It has no threads and no network: what a thread would do next happens when the test says so. The web is a table.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.page_read import PageRead
from scrawler.core.clock import DatabaseClock
from scrawler.core.durable.deltas import merged
from scrawler.core.party.depth import Lane
from scrawler.core.party.flights import PageFlight
from scrawler.core.party.parties import Choice, Parties
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.party.takeup import SiteTaker
from scrawler.core.rules import SeedLimits
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.extract.links import PageLinks
from scrawler.fetch.downloader import Request, Response
from scrawler.model.claims import ClaimedSite
from scrawler.model.deltas import SiteDelta
from scrawler.model.lanes import SLOW, ChunkRow, LaneKey, LaneKind
from scrawler.model.results import Result
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.engines.engine import Database
from scrawler.store.lists.frontier import Frontier
from scrawler.urls.analyzer import UrlAnalyzer
from tests.crawl_rules import crawl_rules
from tests.integration.store.crawling import Worker

_FAR = 2**40  # milliseconds: past every pause between two attempts

_RULES = crawl_rules(per_site=9, retries=2, retry_pause_ms=1, limits=SeedLimits(max_depth=99), capacity=99)


class Web:
    """Sites of a few pages each; every page links to pages of its site and to one outside."""

    def __init__(self, dice: random.Random, sites: int, pages: int) -> None:
        self.seeds: list[str] = []
        self.links: dict[str, list[str]] = {}
        for site in range(sites):
            urls = [f"http://s{site}.org/{number}" for number in range(dice.randint(1, pages))]
            for url in urls:
                self.links[url] = [*dice.choices(urls, k=3), f"http://out{dice.randrange(5)}.org/"]
            self.seeds += dice.sample(urls, min(len(urls), dice.randint(1, 3)))

    def reachable(self) -> set[str]:
        """Return all pages that the parties of all seeds have together."""
        found, left = set(self.seeds), list(self.seeds)
        while left:
            new = {url for url in self.links[left.pop()] if url in self.links} - found
            found |= new
            left += new
        return found


class Machine:
    """What one machine has in memory. `committing(machine, deltas)` is called before, `committed(...)` after."""

    def __init__(
        self,
        database: Database,
        web: Web,
        name: str,
        committing: Callable[[Machine, list[SiteDelta]], None],
        committed: Callable[[Machine, list[SiteDelta], frozenset[int]], None],
    ) -> None:
        self.worker = Worker.of(database, name)
        self.id = self.worker.id
        self.sites: dict[int, SiteContext] = {}
        self.flights: list[PageFlight] = []
        self._web = web
        self._checkpoints, self._frontier = Checkpoints(database, self.id), Frontier(database)
        self._committing, self._committed = committing, committed
        self._submitted: list[SiteDelta] = []
        self._taker = SiteTaker(
            self._frontier,
            _RULES,
            DatabaseClock(),
            lambda: ExactSeen(MemoryBudget(2**20)),
            lambda scope, aliases, sample: UrlAnalyzer(scope, aliases=aliases, sample=sample),
        )
        self._parties = Parties(_RULES, self._load_chunks, self._check_fetched, lambda site: None)
        self._answers = AnswerHandler(_RULES)

    def claim(self, sites: int, seeds_per_site: int, machines: int) -> list[ClaimedSite]:
        claimed = self.worker.claim(sites, seeds_per_site, machines)
        for one in claimed:
            site = self._taker.take_up(one, seeds_per_site)
            site.parties.extend(site.set_aside)
            site.set_aside.clear()
            self.sites[site.id] = site
        return claimed

    def start(self, site: SiteContext) -> bool:
        """Start a request, or end what has come to its end; tell whether anything was done."""
        choice = self._parties.choose(site, time.monotonic(), _FAR)
        if isinstance(choice, Choice):
            origin = Origin("http://" + site.key, site.key)
            self.flights.append(PageFlight(site, choice.party, choice.lane, choice.lane.take(), choice.entry, origin))
            choice.party.in_flight += 1
            site.in_flight += 1
            site.begin_fetching(choice.entry.url)
            return True
        return not site.lost and self._settle(site)

    def answer(self, flight: PageFlight, again: bool) -> None:
        """Let the request of a flight be over; with `again` it failed, and is repeated while that is allowed."""
        self.flights.remove(flight)
        url, site = flight.entry.url, flight.site
        site.in_flight -= 1
        links = PageLinks(url, self._web.links[url], "utf-8", "")
        response = Response(Request(url, "", flight), Result.FETCHED, 200, body=url.encode())
        listed_again = _lane_after(flight) if again and flight.attempt <= _RULES.retries else None
        reading = PageRead(listed_again)
        reading.links = links if listed_again is None else None
        self._answers.handle(flight, response, reading)
        flight.party.in_flight -= 1
        site.end_fetching(url)

    def submit(self, site: SiteContext, released: bool = False) -> None:
        """Hand over what changed; it is written by the next commit."""
        if (delta := site.take_delta(time.monotonic(), released)) is not None:
            self._submitted.append(delta)

    def release(self, site: SiteContext) -> None:
        """Let go of a site in the middle of its work."""
        self.submit(site, released=True)
        self._forget(site)

    def commit(self) -> None:
        """Write all that was handed over; sites that are another's by now are dropped. Raises LeaseLostError."""
        deltas, self._submitted = merged(self._submitted), []
        if not deltas:
            return
        self._committing(self, deltas)
        lost = self._checkpoints.commit(deltas)
        self._committed(self, deltas, lost)
        for site_id in lost & self.sites.keys():
            site = self.sites[site_id]
            if any((delta.site_id, delta.token) == (site_id, site.token) for delta in deltas):
                site.lost = True
                self._forget(site)

    def _forget(self, site: SiteContext) -> None:
        del self.sites[site.id]
        self.flights = [flight for flight in self.flights if flight.site is not site]

    def _settle(self, site: SiteContext) -> bool:
        if not any(party.ended for party in site.parties) and site.parties:
            return False
        self.submit(site)
        site.parties = [party for party in site.parties if not party.ended]
        if site.parties or not site.inactive:
            return True
        seeds = self.worker.claims.more(site.id, site.token, 1) if site.more_seeds else ()
        site.parties.extend(self._taker.further(site, seeds))
        if not seeds:
            self.release(site)
        return True

    def _load_chunks(self, lane: Lane, position: int, done: Callable[[list[ChunkRow]], None]) -> None:
        self.commit()
        done(self._frontier.chunks(lane.seed_id, lane.key.number, position, 7))

    def _check_fetched(self, site: SiteContext, url_hash: bytes, done: Callable[[bool], None]) -> None:
        self.submit(site)
        self.commit()
        done(self._frontier.fetched(url_hash))


def _lane_after(flight: PageFlight) -> LaneKey:
    """Return the lane in which a URL is tried again: for a retry, after a push-back, or because it was slow."""
    retried, pushed_back = flight.lane.key.after(retries=1), flight.lane.key.after(pushbacks=1)
    slow = retried if retried.kind is LaneKind.SLOW else SLOW
    return (retried, pushed_back, slow)[ord(flight.entry.url[-1]) % 3]
