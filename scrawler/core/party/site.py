"""A site in work: what moves between collectors. Guarded by the machine's turn.

It carries the Seed Contexts of the site's active seeds, and what they share: politeness clocks, robots rules,
addresses, the Bloom filter (with one seed a site, as usual, that is the party's own) and the digests of archived
payloads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil, inf
from types import MappingProxyType
from typing import Protocol

from scrawler.core.clock import DatabaseClock
from scrawler.core.party.archived import ArchivedPayloads
from scrawler.core.party.conditions import Conditions
from scrawler.core.party.context import SeedContext
from scrawler.core.party.depth import Lane
from scrawler.core.party.health import SiteHealth
from scrawler.core.party.refusals import Refusals
from scrawler.core.party.states import SiteState, rows_of
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import SeenFilter
from scrawler.fetch.downloader import FetchLimits, Request, Response
from scrawler.fetch.robots import RobotsRules
from scrawler.model.deltas import SiteDelta
from scrawler.model.exchange import WaitingUrl
from scrawler.model.replaced import EarlierPages, WaitingRow
from scrawler.model.results import Result
from scrawler.model.robots import RobotsRecord, RobotsRow
from scrawler.model.seeds import EndReason
from scrawler.model.servers import Slot
from scrawler.model.visits import KnownVisit
from scrawler.model.windows import Window

LONG_REST = 60.0  # seconds
_SHORT_REST = 5.0  # seconds; of what a dead machine leaves all may have to rest, which would fill all places
_MOST_FOLLOWED = 10_000  # so many URLs it follows, those that were pushed last: 1 KB each
_MOST_ORIGINS = 2_000  # so many a site remembers: with scope `domain` a name server may know as many hosts as it likes


_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Origin:
    """One scheme, host and port of a site: where it is and what its robots.txt says."""

    origin: str  # "http://host:port"
    host: str
    address: str = ""
    expires_at: float = 0.0  # until when the address, or the failure, holds, machine clock
    failure: Result | None = None  # no address, or one that must not be asked
    detail: str = ""
    robots: RobotsRules | None = None
    robots_until: float = inf  # machine time at which they are asked for again
    robots_row: RobotsRow | None = None  # the last answer that said something
    robots_tries: int = 0  # how many requests for its robots.txt failed in a row ...
    robots_tried_at: float = -inf  # ... and when the last of them did
    robots_failure: Result = Result.ROBOTS_UNAVAILABLE  # what its URLs get when robots.txt could not be had
    robots_detail: str = ""  # why nothing is allowed, when robots.txt could not say
    pending: bool = False  # whether a look-up or a robots.txt is on its way
    own_rules: CrawlRules | None = None  # where its host has settings of its own
    fetch: FetchLimits | None = None  # how it is asked, where that is not as all others are
    refusals: Refusals | None = None  # what its last answers were, once one has come
    sure: bool = False  # whether the name is to blame if it does not resolve, not this machine's network


@dataclass(eq=False, slots=True)
class Server:
    """What is at one IP address; times are the machine's."""

    in_flight: int = 0
    asked_at: float = 0.0  # when the last request was over
    expected_until: float = 0.0  # so long is its share kept for a site in the queue, which will ask here
    queue: dict[SiteContext, None] = field(default_factory=dict)  # sites that wait to ask, the first one first
    queued_since: float = 0.0  # when the first site began to wait here, of those without a break ...
    asked_since: int = 0  # ... and requests that were over since then
    share: int = 0  # so many requests may this machine have in flight, if it does not live alone
    is_new: bool = False  # the database was asked for a share for the first time, and has not answered yet
    slot: Slot | None = None  # in which the next request may begin, if there are pauses between them
    unwanted: bool = False  # no site here has anything to ask: the share is for other machines
    ask_at: float = 0.0  # when to ask for a share again, while other machines have all of it
    ask_pause: float = 0.0  # for how long that waits; 0: this machine has a share


@dataclass(frozen=True, slots=True)
class UnsureLink:
    """A link to an address literal, found before it is known what stands there."""

    party: SeedContext
    url: str
    depth: int
    referrer: bytes


class Holder(Protocol):
    """The collector that holds a site."""

    def look_again(self, site: SiteContext) -> None:
        """Visit the site as soon as possible."""

    def wake(self) -> None:
        """Make the collector's loop turn once."""

    def submit_now(self, site: SiteContext) -> None:
        """Hand over what the site has not yet handed over."""

    def add_parties(self, site: SiteContext, parties: list[SeedContext], more: bool) -> None:
        """Take further seeds of the site."""


class Registry(Protocol):
    """What knows of a site for as long as it is here."""

    def forget(self, site: SiteContext) -> None:
        """Forget a site that is let go of."""


@dataclass(eq=False, slots=True)
class SiteContext:
    """A claimed site with its parties; the unit that is dealt out, moved and checkpointed.

    What most sites never have is None, or a tuple, until they do: an empty dictionary takes 64 bytes, a set 216.
    """

    id: int
    key: str
    token: int
    seen: SeenFilter
    more_seeds: bool  # the database may hold further ready seeds of this site
    parties: list[SeedContext] = field(default_factory=list)
    set_aside: list[SeedContext] = field(default_factory=list)  # no room for them at the collector yet
    own_rules: CrawlRules | None = None  # where it has settings of its own
    clock: DatabaseClock = field(default_factory=DatabaseClock)
    rest_until: float = 0.0  # machine time before which no host is asked: of what an earlier owner did
    after_death: bool = False  # whether its last owner died, and may have asked it at last
    pause: float = 0.0  # seconds between two requests, as last applied
    slowest_ms: int = 0  # its slowest answer so far, or download that was given up, under whatever owner
    collector: Holder | None = None
    origins: dict[str, Origin] = field(default_factory=dict)
    most_origins: int = _MOST_ORIGINS  # at which the oldest are forgotten
    due: dict[str, float] = field(default_factory=dict)  # host -> machine time before which it is not asked
    health: SiteHealth = field(default_factory=SiteHealth)
    pages_before: EarlierPages | None = None  # what one of its parties had before it was taken up
    held: tuple[Response, ...] = ()  # answers that may be refusals of the whole site: see `refusals`
    probing: bool = False  # whether a page that was good is asked for, which tells that
    refusing: Origin | None = None  # the origin that refuses; nothing else is asked meanwhile
    in_flight: int = 0
    asked_at: float = 0.0  # machine time at which it was asked last
    asked_slowly: bool = False  # whether that was for a page of the slow lane
    is_opening: bool = False  # whether it has not brought a page here, and may never need its place for long
    is_aside: bool = False  # whether it only waits, so that it has no place at its collector
    comes_back: bool = False  # whether it has no place, and needs one to go on
    queues_at: Server | None = None  # the server at whose address it waits to ask
    still_queues: bool = False  # whether its last visit found that it still has to wait there
    held_since: float = 0.0  # machine time since which only politeness holds it; 0: it does not
    fetching: tuple[str, ...] = ()  # URLs whose answer has not been handled
    listing: bool = False  # whether a page of it is listed in part: what it has done waits for the rest
    waiting: int = 0  # answers expected from the store or the resolver; see `await_answer`
    owners: dict[bytes, int] = field(default_factory=dict)  # url_hash of admitted seeds' URLs -> seed id
    fetched_homes: tuple[bytes, ...] = ()  # url_hash of seeds' URLs of which the store has said that they are fetched
    condemned: Mapping[str, str] = field(default_factory=lambda: _NOTHING)  # URLs that have killed a process, and how
    visited: dict[str, KnownVisit] | None = None  # URLs that are visited again, by what is known of the last visit
    latest: dict[str, KnownVisit | None] | None = None  # see `follow`
    waiting_rows: dict[str, tuple[WaitingRow, ...]] = field(default_factory=dict)  # of URLs that a retry has listed
    archived: ArchivedPayloads = field(default_factory=ArchivedPayloads)
    conditions: Conditions | None = None  # what conditional requests have come to, once one came to something
    reads_lists: bool = False  # whether lists may tell which of its URLs need not be visited again
    states: tuple[SiteState | None, ...] = ()  # of steps, each at its number; none where no step has one
    orphans: tuple[Lane, ...] = ()  # unfinished lanes whose seed has ended
    queued: list[Request] = field(default_factory=list)  # to be started before anything else
    robots_kept: dict[str, RobotsRow] | None = None  # of origins not met yet, from the database
    robots_news: tuple[RobotsRow, ...] = ()  # what the next checkpoint writes of robots.txt files
    robots_records: tuple[RobotsRecord, ...] = ()  # the records of these, for it as well
    aliases: dict[str, str] = field(default_factory=dict)  # authority by address -> authority by name
    sample: tuple[str, bytes] | None = None  # the first page by name, and the digest of its payload
    unsure: dict[str, list[UnsureLink]] | None = None  # by authority by address
    judged: dict[str, None] | None = None  # authorities by address that have been looked into
    unsaved: int = 0  # answers since it was last handed over
    told: bool = False  # whether a server has asked for time since then, or a page was put off: a taker must know that
    wake_at: float = -1.0  # the one valid entry in its collector's heap
    connected: bool = False  # whether the collector that holds it has asked it for something
    going: bool = False  # whether it is given back to the database as soon as it is inactive
    lost: bool = False  # whether the lease is gone: then nothing of it may be written
    next_party: int = 0  # whose turn it is, round robin
    arrived: Sequence[WaitingUrl] = ()  # out of its inbox, to be listed: the site stays until that is done
    taken: list[int] = field(default_factory=list)  # of these, by id, what the next checkpoint takes out of there
    left: list[int] = field(default_factory=list)  # of what a communicator brought: what is for no party here
    guest_at: int = 0  # the id of the site itself, where this machine is a guest at it
    window: Window | None = None  # in which its owner wants it to be asked; None: at any time
    registry: Registry | None = None  # of the hosts that it asks, once it asks any
    leaves_inbox: bool = False  # whether something there is not for the parties that are here: a new one is to begin

    @property
    def loads(self) -> bool:
        """Whether more of a list is on its way from the store."""
        return any(lane.loading for party in self.parties for lane in party.lanes)

    def keep_states(self, states: Iterable[SiteState | None]) -> None:
        """Take what all steps know of it, in their order."""
        made = tuple(states)
        self.states = made if any(one is not None for one in made) else ()

    def state_of(self, at: int) -> SiteState | None:
        """Return what the step with a number knows of it."""
        return self.states[at] if at < len(self.states) else None

    @property
    def inactive(self) -> bool:
        """Whether it can move: nothing is in flight, being read, or expected."""
        return not (self.in_flight or self.fetching or self.waiting)

    @property
    def is_doubtful(self) -> bool:
        """Whether its host may be dead: it fails, or was asked and has never answered.

        It stays where that is counted: whoever takes it up begins to count anew, and tries as often once more.
        """
        return bool(self.health.failures) or (self.asked_at > 0 and not self.slowest_ms)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it here: its parties are over, and there are no further seeds."""
        if self.more_seeds or self.set_aside or self.listing or not self.inactive:
            return False
        return all(party.ended for party in self.parties)

    def forget(self) -> None:
        """Give back the memory that it shares with other sites, as it is let go of."""
        self.seen.close()
        if self.registry is not None:
            self.registry.forget(self)
        for state in self.states:
            if state is not None:
                state.close()

    def is_held_by(self, holder: Holder) -> bool:
        """Whether a collector holds it: any call of another part may end that."""
        return self.collector is holder

    def begin_fetching(self, url: str) -> None:
        """Note that a URL is asked for."""
        self.fetching += (url,)

    def end_fetching(self, url: str) -> None:
        """Note that the answer to a URL has been handled."""
        self.fetching = tuple([one for one in self.fetching if one != url])

    def shared(self, host: str) -> str:
        """Return the name of a host: where that is the site's key, the same text, so that it is in memory once."""
        return self.key if host == self.key else host

    def await_answer(self) -> None:
        """Note that the store, the resolver or the end of an outage is to tell something: the site stays until then."""
        self.waiting += 1

    def answer_came(self) -> None:
        """Note that what the site waited for has come."""
        self.waiting -= 1

    @property
    def urls_left(self) -> int:
        """About how many URLs of its parties are still to be fetched."""
        return sum([lane.left for party in (*self.parties, *self.set_aside) for lane in party.lanes])

    @property
    def count(self) -> int:
        """How many of its seeds count as held by its collector."""
        return len(self.parties)

    def bring(self, urls: Sequence[WaitingUrl]) -> None:
        """Give it URLs out of its inbox, which its holder lists with its next visit."""
        self.arrived = urls
        self.follow(one.url for one in urls if one.known is not None)
        self.await_answer()

    def follow(self, urls: Iterable[str]) -> None:
        """Note what visits to URLs bring from now on: these may stand in two lists.

        What was read of their last visits may be out of date when they are asked for.
        """
        latest = self.latest or {}
        for url in urls:
            latest[url] = latest.pop(url, None)
        while len(latest) > _MOST_FOLLOWED:
            latest.pop(next(iter(latest)))  # its visits are in the database by now
        self.latest = latest or None

    def note_refused(self, url: str) -> None:
        """Note that a URL is asked for once more, as a whole."""
        self.conditions = self.conditions or Conditions()
        self.conditions.refused(url)

    def note_condition(self, url: str, response: Response) -> Response:
        """Note a URL's last answer; return it, without what would be the condition of a visit that is to have none."""
        self.conditions = self.conditions or Conditions()
        if not self.conditions.answered(url, response):
            return response
        kept = {name: value for name, value in response.headers.items() if name not in ("etag", "last-modified")}
        return response._replace(headers=kept)

    def follows(self, url: str) -> bool:
        """Whether it is noted what visits to a URL bring."""
        return self.latest is not None and url in self.latest

    def literals(self) -> tuple[dict[str, list[UnsureLink]], dict[str, None]]:
        """Return what is unsure, and what was judged, of authorities by address; made on first use."""
        self.unsure = {} if self.unsure is None else self.unsure
        self.judged = {} if self.judged is None else self.judged
        return self.unsure, self.judged

    def last_visit(self, url: str, known: KnownVisit | None) -> KnownVisit | None:
        """Return what is known of the last visit to a URL: what was read of it, or what one has brought since."""
        newest = None if self.latest is None else self.latest.get(url)
        return known if newest is None or (known is not None and known.number > newest.number) else newest

    def visit_again(self) -> None:
        """Let URLs be visited again, as in a round after the first."""
        self.visited = {}
        for party in chain(self.parties, self.set_aside):
            party.visited = self.visited
            for lane in party.lanes:
                lane.visited = self.visited

    def leave(self, urls: Sequence[WaitingUrl]) -> None:
        """Note that some of what was brought is not for the parties here: it waits in the inbox, or goes back there."""
        self.left += [one.id for one in urls if one.id < 0]

    def put_aside(self) -> None:
        """Note that what was brought is listed, or left where it is."""
        self.arrived = ()
        self.answer_came()

    def in_work(self, seed_id: int) -> SeedContext | None:
        """Return the party of a seed, if it is here and not over."""
        here = (party for party in chain(self.parties, self.set_aside) if party.seed.id == seed_id)
        return next((party for party in here if not party.ended), None)

    def forget_ended(self) -> None:
        """Forget the parties that are over; what they did has been handed over."""
        if any(party.end is EndReason.SEEN_MEMORY for party in self.parties):
            self.more_seeds = False  # its holder lets go of it and its memory; what is left is claimed again later
        self.parties = [party for party in self.parties if not party.ended]

    def count_push_back(self, party: SeedContext | None) -> None:
        """Count a refusal for a party, that of a robots.txt for the first one."""
        for one in [party] if party else self.parties[:1]:
            one.counts.pushed_back += 1
            one.touch()
        self.told = True

    @property
    def has_news(self) -> bool:
        """Whether anything has come of it here that a checkpoint is to keep."""
        if self.robots_news or self.robots_records or self.taken:
            return True
        return any(party.has_news for party in self.parties)

    def rests_long(self, at: float, now: float) -> bool:
        """Tell whether, with nothing to do before `at`, it rests so long that its place is for others.

        What an earlier owner was told counts as well. Failures do not: who takes it up later begins to count anew, and
        would never give it up.
        """
        rest = max(self.rest_until, *self.health.rests.values()) if self.health.rests else self.rest_until
        long = _SHORT_REST if self.after_death and at <= self.rest_until else LONG_REST
        return not self.health.failures and now + long < at <= rest

    def next_due(self) -> float:
        """Return the latest politeness clock of the site's hosts, machine time."""
        due = max(self.due.values(), default=self.rest_until)
        return max(due, *self.health.rests.values()) if self.health.rests else due

    def due_at(self, host: str) -> float:
        """Return the machine time before which a host is not asked."""
        due, rests = self.due.get(host, self.rest_until), self.health.rests
        return max(due, rests.get(host, due)) if rests else due

    def forget_origins(self, now: float) -> None:
        """Forget the older half of the origins, and how their hosts are; they are looked up anew if there is need.

        Those for which something is on its way stay, and those whose hosts are to be left alone, or are a party's home.
        """
        homes = {party.home_host for party in chain(self.parties, self.set_aside)}
        for name, origin in list(self.origins.items())[: len(self.origins) // 2]:
            host = origin.host
            if origin.pending or host in homes or self.due_at(host) > now:
                continue
            del self.origins[name]
            self.due.pop(host, None)
            self.health.rests.pop(host, None)
            self.health.failures.pop(host, None)
        self.most_origins = max(_MOST_ORIGINS, 2 * len(self.origins))  # not again for each one, where many have to stay

    def address(self) -> str:
        """Return the address of the site's first host, if it is known."""
        return next((origin.address for origin in self.origins.values() if origin.address), "")

    def take_delta(self, now: float, released: bool = False, resting: bool = False) -> SiteDelta | None:
        """Return what changed since the last checkpoint, or None; `now` is machine time."""
        seeds = [delta for party in self.parties if (delta := party.take_delta(now))]
        if not (seeds or self.robots_news or self.robots_records or self.taken or released):
            return None
        taken, self.taken = tuple(self.taken), []
        robots, self.robots_news = self.robots_news, ()
        records, self.robots_records = self.robots_records, ()
        due_at = self.clock.now() + self.clock.doubt + ceil((self.next_due() - now) * 1000)
        return SiteDelta(
            site_id=self.id,
            token=self.token,
            seeds=tuple(seeds),
            next_due_at=due_at,
            address=self.address(),
            released=released,
            pause_ms=int(self.pause * 1000),
            slowest_ms=self.slowest_ms,
            pushbacks=self.health.pushbacks,
            resting=resting,
            robots=robots,
            robots_records=records,
            taken=taken,
            guest_at=self.guest_at,
            rows=rows_of(self.states) if self.states else (),
        )
