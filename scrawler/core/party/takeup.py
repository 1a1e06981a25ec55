"""Takes up claimed sites: Site and Seed Contexts for them, fresh or as the last checkpoint left them."""

from __future__ import annotations

import time
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Protocol

from scrawler.core.clock import DatabaseClock
from scrawler.core.party.after_death import rest_after_death
from scrawler.core.party.ahead import Kept, ReadAhead, only_moved
from scrawler.core.party.context import SeedContext
from scrawler.core.party.depth import Lane
from scrawler.core.party.entries import Entry, decode_urls
from scrawler.core.party.gates import MOST_FIRST
from scrawler.core.party.own_lists import OwnLists
from scrawler.core.party.own_url import follow_inside, follow_own
from scrawler.core.party.rejections import RejectionSample
from scrawler.core.party.site import SiteContext
from scrawler.core.party.states import PartyState, SiteState
from scrawler.core.rules import CrawlRules, HostRules
from scrawler.core.seen import SeenFilter, SeenFullError
from scrawler.core.traps.traps import PartyTraps
from scrawler.faults import MOST_FAULTS
from scrawler.fetch.cookies import CookieJar
from scrawler.model.claims import ClaimedSite
from scrawler.model.deltas import SiteDelta
from scrawler.model.exchange import WaitingUrl
from scrawler.model.lanes import NORMAL, PUSHED, SITEMAP, ChunkRow, LaneKind, LaneState, lane_key
from scrawler.model.replaced import EarlierPages, ListedRow, WaitingRow
from scrawler.model.results import Result
from scrawler.model.rows import PatternRow
from scrawler.model.seeds import EndReason, Seed
from scrawler.model.terms import Millis, url_hash
from scrawler.model.visits import KnownVisit
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import ScopeRule, host_port, joined_at, moved_with, scope_of, site_key
from scrawler.urls.steps import spellings
from scrawler.urls.verdict import Verdict

SiteStateMaker = Callable[[SiteContext, ClaimedSite], SiteState | None]
LookUp = Callable[[int, Sequence[str], bool], Mapping[str, KnownVisit]]
PartyStateMaker = Callable[[SiteContext, SeedContext], PartyState | None]
_RECALLED = 20_000  # URLs of a party that are looked through for what led to them


class Frontier(Kept, Protocol):
    """The part of the store that keeps lanes and chunks."""

    def fetched(self, url_hash: bytes) -> bool:
        """Whether a page row with this URL exists."""

    def own_page(self, seed_id: int, url_hash: bytes) -> tuple[Result, int, str, int] | None:
        """Result, status and detail of the seed's own URL, or of one of those to which it redirects."""

    def patterns(self, seed_id: int) -> list[PatternRow]:
        """What the patterns of a party's URLs have yielded so far."""

    def waiting(self, seed_id: int, urls: Iterable[str]) -> Mapping[str, tuple[WaitingRow, ...]]:
        """The rows of those of a seed's URLs that a retry has listed."""

    def newest(self, seed_id: int, urls: Collection[str], digest: bytes) -> Sequence[ListedRow]:
        """Those of a seed's newest rows that are of some URLs, or have a payload."""

    def earlier_pages(self, seed_id: int) -> EarlierPages | None:
        """What a seed has fetched first and last; None if that was no page below its own URL."""


def _is_revisited(state: LaneState) -> bool:
    """Whether URLs of a lane were visited before: an ended seed may have left it to others of its site."""
    return lane_key(state.kind).kind is LaneKind.REVISIT


def known_of(looks_up: Iterable[LookUp], lane: Lane, rows: Iterable[ChunkRow]) -> dict[str, KnownVisit]:
    """Return what is known of the URLs in chunks of a lane that were visited before."""
    urls = list(chain.from_iterable(decode_urls(row.data) for row in rows))
    found: dict[str, KnownVisit] = {}
    for look_up in looks_up:
        found.update(look_up(lane.seed_id, urls, lane.reads_lists))
    return found


def waiting_of(frontier: Frontier, lane: Lane, rows: Iterable[ChunkRow]) -> Mapping[str, tuple[WaitingRow, ...]]:
    """Return the rows of the URLs in chunks of a lane that a retry has listed."""
    return frontier.waiting(lane.seed_id, chain.from_iterable(decode_urls(row.data) for row in rows))


class SiteTaker:
    """Makes the contexts of claimed sites; runs on the selector's thread, for it reads the database.

    `make_analyzer(scope, aliases, sample)` makes the analyzer of a party; where a site has rules of its own, the media
    types that are accepted are a fourth argument. `recall_robots(site)` brings back what is kept of a site's
    robots.txt, `condemned(claimed)` the URLs of the site that have killed a process, with the reasons. `refusal(url)`
    says why a URL to which a seed was redirected may not enter the crawl, an empty text if it may. `waiting(claimed)`
    returns what is in the inbox of a site that was begun: a party that goes on for that must have it before its end.
    `site_states`, `party_states` and `looks_up` are methods of the steps of
    features (see `core.answers.steps.Step`), which make what they know of a site, or a party, and say what is known of
    URLs that were visited before.
    """

    def __init__(
        self,
        frontier: Frontier,
        rules: CrawlRules,
        clock: DatabaseClock,
        make_seen: Callable[[], SeenFilter],
        make_analyzer: Callable[..., UrlAnalyzer],
        recall_robots: Callable[[SiteContext], None] = lambda site: None,
        condemned: Callable[[ClaimedSite], Mapping[str, str]] = lambda claimed: {},
        refusal: Callable[[str], str] = lambda url: "",
        hosts: HostRules | None = None,
        waiting: Callable[[ClaimedSite], Sequence[WaitingUrl]] = lambda claimed: (),
        site_states: Sequence[SiteStateMaker] = (),
        party_states: Sequence[PartyStateMaker] = (),
        looks_up: Sequence[LookUp] = (),
    ) -> None:
        self._frontier = frontier
        self._site_states = site_states
        self._party_states = party_states
        self._looks_up = looks_up
        self._ahead = ReadAhead(frontier)
        self._own = OwnLists(self._ahead)
        self._waiting = waiting
        self._rules = rules
        self._clock = clock
        self._recall_robots = recall_robots
        self._condemned = condemned
        self._refusal = refusal
        self._hosts = hosts
        self._make_seen = make_seen
        self._make_analyzer = make_analyzer

    @property
    def longest_rest_ms(self) -> Millis:
        """How long a site can have to rest, by the settings as they are."""
        return self._rules.longest_rest_ms if self._hosts is None else self._hosts.longest_rest_ms

    def _own_rules(self, key: str) -> CrawlRules | None:
        return None if self._hosts is None else self._hosts.of_site(key)

    def look_ahead(self, claimed: Collection[ClaimedSite]) -> None:
        """Read at once what is kept of those sites to which seeds have moved; `forget_ahead` ends it."""
        moved = [one for one in claimed if not one.fresh and any(seed.rehomed for seed in one.seeds)]
        short = [one for one in moved if all(map(only_moved, one.seeds))]
        self._ahead.read([one.id for one in short], [seed for one in short for seed in one.seeds], self._came_from)

    def forget_ahead(self) -> None:
        """Forget what was read ahead: it is in work from now on."""
        self._ahead.forget()

    def take_up(self, claimed: ClaimedSite, asked_for: int) -> SiteContext:
        """Make the context of a claimed site; its parties stand in `set_aside` until a collector has room."""
        site = self._new_site(claimed, asked_for)
        states = self._states(claimed)
        site.rest_until = time.monotonic() + self._rest_ms(claimed, states) / 1000
        if any(seed.round for seed in claimed.seeds) or any(_is_revisited(state) for state in states):
            site.visited = {}
        if self._site_states:
            site.keep_states(make(site, claimed) for make in self._site_states)
        site.set_aside.extend(self.party(site, seed, states) for seed in claimed.seeds)
        if not claimed.fresh:
            self._recall(site, claimed, states)
        elif claimed.next_due_at:  # its host was asked on behalf of others
            self._recall_robots(site)
        return site

    def _new_site(self, claimed: ClaimedSite, asked_for: int) -> SiteContext:
        """Make the context of a site with what its row says of it, and without its parties."""
        site = SiteContext(
            claimed.id,
            claimed.key,
            claimed.token,
            self._make_seen(),
            more_seeds=len(claimed.seeds) >= asked_for,
            clock=self._clock,
        )
        site.own_rules = self._own_rules(claimed.key)
        rules = site.own_rules or self._rules
        site.slowest_ms = claimed.slowest_ms
        site.pause = claimed.pause_ms / 1000
        site.guest_at = claimed.guest_at
        site.window = claimed.window
        site.after_death = claimed.after_death
        site.condemned = self._condemned(claimed) or site.condemned
        site.health.pushbacks = min(claimed.pushbacks, rules.max_pushbacks - 1)  # the site is asked once at least
        site.health.refused = site.health.pushbacks
        return site

    def _rest_ms(self, claimed: ClaimedSite, states: Iterable[LaneState]) -> Millis:
        """Return for how long a site rests before it is asked, as its last owner has left it."""
        longest = max(self.longest_rest_ms, claimed.pause_ms)
        rest_ms = min(claimed.next_due_at - self._clock.now(), longest) + self._clock.doubt
        return max(rest_ms, self._rest_after_death(claimed, states)) if claimed.after_death else rest_ms

    def _recall(self, site: SiteContext, claimed: ClaimedSite, states: list[LaneState]) -> None:
        """Bring back what is known of a site that was begun, once its parties are there."""
        if site.guest_at or self._ahead.may_have_robots(site.id):
            self._recall_robots(site)
        begun = next((party.seed for party in site.set_aside if party.counts.pages), None)
        site.pages_before = None if begun is None else self._frontier.earlier_pages(begun.id)
        site.owners.update(self._ahead.own_urls(claimed.id))
        site.owners.update((url_hash(party.seed.home_url), party.seed.id) for party in site.set_aside if party.begun)
        self._rebuild_seen(site)
        self._take_orphans(site, states)
        if waiting := self._waiting(claimed):
            site.bring(waiting)

    def untaken(self, claimed: ClaimedSite) -> SiteDelta:
        """Return what gives a site back that was claimed, and not taken up: nobody has asked it since.

        Left with this machine, which ends, it would be taken for one that it may have asked.
        """
        due_at = claimed.next_due_at
        if claimed.after_death:
            due_at = max(due_at, self._clock.now() + self._rest_after_death(claimed, self._states(claimed)))
        return SiteDelta(
            site_id=claimed.id,
            token=claimed.token,
            seeds=(),
            next_due_at=due_at,
            released=True,
            pause_ms=claimed.pause_ms,
            slowest_ms=claimed.slowest_ms,
            pushbacks=claimed.pushbacks,
            guest_at=claimed.guest_at,
        )

    def _states(self, claimed: ClaimedSite) -> list[LaneState]:
        return [] if claimed.fresh else self._ahead.lanes(claimed.id)

    def _rest_after_death(self, claimed: ClaimedSite, states: Iterable[LaneState]) -> Millis:
        rules = self._own_rules(claimed.key) or self._rules
        return rest_after_death(claimed, states, rules, self._clock.now()) + self._clock.doubt

    def party(self, site: SiteContext, seed: Seed, states: list[LaneState]) -> SeedContext:
        """Make the context of one seed; it is begun if it has a list already."""
        self._own.begin(seed.id)
        party = self._new_party(site, seed)
        held = [state for state in states if state.holder_id == seed.id]
        held.sort(key=lambda state: (state.seed_id != seed.id, lane_key(state.kind).place))
        party.lanes = [self._lane(site, state, with_tail=state.seed_id == seed.id) for state in held]
        party.ordered = party.ordered_left
        if seed.counts.internal_errors >= MOST_FAULTS and not party.ordered:
            party.leave(EndReason.INTERNAL_ERROR)  # its machine was gone before the party had ended
        if seed.counts.redirects and (site.own_rules or self._rules).cookies:
            self._recall_redirected(party, held)
        party.begun = any(lane.key is NORMAL and lane.seed_id == seed.id for lane in party.lanes)
        if seed.rehomed:
            self._settle_home(party)
        if party.begun and not party.redirected.asked_again(url_hash(seed.home_url)):
            self._recall_own(party)
        return party

    def _settle_home(self, party: SeedContext) -> None:
        """Find out how a party stands that has moved: it goes on at its new home, begins there, or ends."""
        if party.begun:
            self._look_for_home(party)
        if not party.begun and party.leaving is None:
            self._ask_boundary(party)

    def _new_party(self, site: SiteContext, seed: Seed) -> SeedContext:
        """Make the context of one seed without its lists."""
        scope = self._scope(site, seed)
        aliases = ChainMap(spellings(seed.home_url), site.aliases) if self._rules.www else site.aliases
        rejections = RejectionSample(seed.id)
        rules, own = site.own_rules or self._rules, site.own_rules
        accepted = (own.accept,) if own is not None else ()
        analyzer = self._make_analyzer(scope, aliases, rejections, *accepted)
        traps, depth_buffer = self._traps(seed, rules), self._rules.depth_buffer
        party = SeedContext(seed, analyzer, scope, time.monotonic(), traps, depth_buffer, rejections)
        party.home_host = site.shared(party.home_host)
        party.waiting_rows = site.waiting_rows
        if rules.cookies and seed.counts.requests:  # begun, or come here from another site
            jar = self._ahead.jar(seed.id)
            party.cookies = CookieJar.load(jar) if jar else None
        party.visited, party.reads_lists = site.visited, site.reads_lists
        if self._party_states:
            party.keep_states(make(site, party) for make in self._party_states)
        return party

    def _scope(self, site: SiteContext, seed: Seed) -> ScopeRule:
        """Return what is internal to a seed, with what belongs to it since it, or its site, has moved."""
        also: Iterable[str] = ()
        if seed.rehomed:
            also = self._moved_from(site, seed)
        elif not site.guest_at:
            also = joined_at(seed.home_url, site.key, self._rules.scope)
        return scope_of(seed.home_url, self._rules.scope, also)

    def _moved_from(self, site: SiteContext, seed: Seed) -> list[str]:
        """Return the URLs whose scopes belong to a seed that has moved to another site, as that is where they led from.

        A site that has seeds of its own to be crawled is another one: its owner alone asks it. Of one that has none the
        hosts are asked here, once the pause there is over, but for what its seeds have listed already.
        """
        scope = self._rules.scope
        led = self._led_from(seed)
        free = self._ahead.free_sites({site_key(url, scope) for url in led})
        left = [url for url in led if site_key(url, scope) in free]
        try:
            for site_id, _ in free.values():
                self._add_listed(site, site_id)
        except SeenFullError:
            return []
        for url in left:
            due_at = free[site_key(url, scope)][1]
            rest_ms = min(due_at - self._clock.now(), self.longest_rest_ms) + self._clock.doubt
            until = time.monotonic() + rest_ms / 1000
            host = host_port(url)[0]
            site.due[host] = max(until, site.due.get(host, until))
        return left

    def _led_from(self, seed: Seed) -> list[str]:
        between = [entry.url for _, entry in islice(self._own.entries(0), seed.rehomed) if entry.depth == 0]
        return moved_with(seed.home_url, seed.url, between, self._rules.scope)

    def _came_from(self, seed: Seed) -> list[str]:
        """Return the sites from which a seed has come that may belong to it."""
        self._own.begin(seed.id)
        return [site_key(url, self._rules.scope) for url in self._led_from(seed)]

    def _ask_boundary(self, party: SeedContext) -> None:
        """Let a party end that has come to a site which may not enter the crawl: nothing of it was asked for."""
        home = party.seed.home_url
        if refusal := self._refusal(home):
            party.verdicts[Verdict.OUTSIDE_BOUNDARY] += 1
            party.rejections.add(Verdict.OUTSIDE_BOUNDARY, home, refusal, page=party.seed.url)
            party.leave(EndReason.OUTSIDE_BOUNDARY, f"redirects to {home}, {refusal}")

    def _recall_redirected(self, party: SeedContext, held: list[LaneState]) -> None:
        """Bring back which URLs were redirected, and which of them wait to be asked once more.

        What cookies they got is not known any more: those that there are now count as set since.
        """
        seed_id, redirected = party.seed.id, party.redirected
        for key, depth, position, referrer in self._ahead.redirected(seed_id):
            redirected.note(key, depth, position, referrer, "")
        for state in held:
            if state.seed_id == seed_id and state.cursor < state.length and lane_key(state.kind).retries:
                waiting = islice(self._own.entries(state.cursor, state.kind), MOST_FIRST)
                for _, entry in waiting:
                    redirected.note_again(url_hash(entry.url))

    def _traps(self, seed: Seed, rules: CrawlRules) -> PartyTraps | None:
        if not rules.traps:
            return None
        if not seed.counts.requests or only_moved(seed):
            return PartyTraps(seed.id, rules)
        traps = PartyTraps(seed.id, rules, self._frontier.patterns(seed.id))
        listed, ahead, sitemaps = (
            [entry for _, entry in islice(self._own.entries(0, lane.number), _RECALLED)]
            for lane in (NORMAL, PUSHED, SITEMAP)
        )
        redirects = {entry.referrer for entry in (*listed, *ahead) if entry.hops}
        traps.recall(_found(listed), _found(ahead), [entry.url for entry in sitemaps], redirects)
        return traps

    def further(self, site: SiteContext, seeds: Collection[Seed]) -> list[SeedContext]:
        """Make the contexts of seeds that come to a site which is held already."""
        states = self._ahead.lanes(site.id) if any(seed.rehomed for seed in seeds) else []
        self._ahead.read((), seeds, self._came_from)
        parties = [self.party(site, seed, states if seed.rehomed else []) for seed in seeds]
        self._ahead.forget()
        return parties

    def _look_for_home(self, party: SeedContext) -> None:
        """Tell a party that went on at its new home from one that has just come there, or has come back in a loop.

        Its list goes on behind the URLs of the redirects, so these stand before position `rehomed`.
        """
        seed = party.seed
        before = islice(self._own.entries(0), seed.rehomed)
        party.led_from |= {entry.url for _, entry in before if entry.depth == 0}
        at = next((at for at, entry in self._own.entries(0) if entry.url == seed.home_url), None)
        party.begun = at is not None and (at >= seed.rehomed or self._has_opened(party))
        if at is not None and not party.begun:
            party.leave(EndReason.REDIRECTED, f"redirects lead back to {seed.home_url}")

    def _has_opened(self, party: SeedContext) -> bool:
        """Tell whether a home to which redirects over other sites have led back is no loop, but a gate; see `gates`.

        If a cookie for it was set on the way, it is asked for once more here. A party that was taken up before then may
        be waiting for that answer, or have had it.
        """
        home = party.seed.home_url
        key = url_hash(home)
        own = self._frontier.own_page(party.seed.id, key)
        was_shown = own is not None and own[0] is not Result.REDIRECT
        return was_shown or party.redirected.asked_again(key) or party.ask_opened(home)

    def _recall_own(self, party: SeedContext) -> None:
        """Bring back what became of the seed's own URL, and where its redirects led.

        That takes effect when nothing else of the party is to be done, and a stop may have come before. Where the list
        tells what a redirect led to, nothing is decided again: settings may have changed since.
        """
        seed, url, at = party.seed, party.seed.home_url, -1
        while (found := self._frontier.own_page(seed.id, url_hash(url))) is not None:
            result, status, detail, flags = found
            party.note_own(result, status, detail, flags)
            if result is not Result.REDIRECT:
                return
            if at < 0:
                at = next((at for at, entry in self._own.entries(0) if entry.url == url), 0)
            next_place, target = self._own_after(at)
            if not target and seed.round:  # since a later visit it leads there, which is a link as any other then
                return
            if not target:  # what it led to would be listed, had it not been before
                follow_own(party, url, detail, self._rules.scope, lambda target: True)
                return
            party.redirects += 1
            follow_inside(party, url, target)
            at, url = next_place, target

    def _own_after(self, at: int) -> tuple[int, str]:
        """Return where the next URL of depth 0 after a place stands; the place itself, and no URL, if there is none.

        No more of the list is read than that.
        """
        for place, entry in self._own.entries(at + 1):
            if entry.depth == 0:
                return place, entry.url
        return at, ""

    def _lane(self, site: SiteContext, state: LaneState, with_tail: bool) -> Lane:
        tail = self._ahead.tail(state.seed_id, state.kind) if with_tail else None
        lane = Lane(state, tail, self._rules.depth_buffer)
        if lane.retries_rows:
            lane.waiting_rows = site.waiting_rows
            if tail is not None and tail.first + tail.count > state.cursor:
                site.waiting_rows.update(waiting_of(self._frontier, lane, [tail]))
        if site.visited is not None:
            lane.visited = site.visited
            lane.reads_lists = site.reads_lists
            if tail is not None and tail.first + tail.count > state.cursor:
                known = known_of(self._looks_up, lane, [tail])
                site.visited.update(known)
                if lane.key is PUSHED:
                    site.follow(known)
        return lane

    def _rebuild_seen(self, site: SiteContext) -> None:
        try:
            self._add_listed(site, site.id)
        except SeenFullError:
            for party in site.set_aside:
                party.leave(EndReason.SEEN_MEMORY)

    def _add_listed(self, site: SiteContext, site_id: int) -> None:
        for data in self._ahead.listed(site_id):
            site.seen.add(site.seen.unseen(decode_urls(data)))

    def _take_orphans(self, site: SiteContext, states: list[LaneState]) -> None:
        taken = {party.seed.id for party in site.set_aside}
        orphans = [
            self._lane(site, state, with_tail=False)
            for state in states
            if state.holder_id not in taken and state.cursor < state.length
        ]
        begun = next((party for party in site.set_aside if party.begun), None)
        if begun is None:
            site.orphans = tuple(orphans)
            return
        for lane in orphans:
            lane.hand_to(begun.seed.id)
        begun.lanes += orphans


def _found(entries: Iterable[Entry]) -> list[tuple[str, bytes]]:
    """Return the URLs of entries with what led to them."""
    return [(entry.url, entry.referrer) for entry in entries]
