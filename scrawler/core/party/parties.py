"""Begin and end of parties: which seeds are crawled at all, which entry is next, what an end leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

from scrawler.core.party.context import SeedContext
from scrawler.core.party.decisions import end_reason, limit_reached
from scrawler.core.party.depth import Lane
from scrawler.core.party.entries import Entry, EntryRole
from scrawler.core.party.site import SiteContext
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import SeenFullError
from scrawler.model.deltas import Rehoming
from scrawler.model.lanes import LEFTOVER, NORMAL, ChunkRow
from scrawler.model.seeds import EndReason
from scrawler.model.terms import Millis, url_hash
from scrawler.urls.verdict import Verdict

_HOMES = 50  # URLs of seeds, of one site, that are remembered as fetched

ChunkLoader = Callable[[Lane, int, Callable[[list[ChunkRow]], None]], None]
AskOn = Callable[[SiteContext, SeedContext], bool]
FetchedCheck = Callable[[SiteContext, bytes, Callable[[bool], None]], None]


class Choice(NamedTuple):
    """What a site fetches next."""

    party: SeedContext
    lane: Lane
    entry: Entry


class Parties:
    """Chooses the next entry of a site among its parties; ends those that have nothing left.

    `load_chunks(lane, position, done)` and `check_fetched(site, hash, done)` are answered later, under the turn;
    then `look_again(site)` is called. `ask_on` are of features: each may list one more URL where nothing is left.
    """

    def __init__(
        self,
        rules: CrawlRules,
        load_chunks: ChunkLoader,
        check_fetched: FetchedCheck,
        look_again: Callable[[SiteContext], None],
        ask_on: Sequence[AskOn] = (),
    ) -> None:
        self._rules = rules
        self._load_chunks = load_chunks
        self._check_fetched = check_fetched
        self._look_again = look_again
        self._ask_on = tuple(ask_on)

    def choose(self, site: SiteContext, now: float, wall: Millis) -> Choice | float:
        """Return the next entry, or the machine time at which to ask again (inf: an event will come first)."""
        earliest = inf
        parties = site.parties
        for turn in range(len(parties)):
            party = parties[(site.next_party + turn) % len(parties)]
            found = self._of_party(site, party, now, wall)
            if isinstance(found, Choice):
                site.next_party = (site.next_party + turn + 1) % len(parties)
                return found
            earliest = min(earliest, found)
        return earliest

    def goes_on(self, site: SiteContext, party: SeedContext, now: float) -> bool:
        """Whether a party is not over, and has an entry at hand, which may be one for later."""
        if not party.begun or party.ended or self._over(site, party, now) is not None:
            return False
        return any(not lane.slow and lane.peek() is not None for lane in party.lanes)

    def _of_party(self, site: SiteContext, party: SeedContext, now: float, wall: Millis) -> Choice | float:
        if party.ended or party.deciding or not (party.begun or party.leaving or self._begin(site, party)):
            return inf
        while (reason := self._over(site, party, now)) is None:
            found = party.next_lane(wall, (site.own_rules or self._rules).longest_retry_ms)
            if isinstance(found, int):
                if (lane := party.missing_lane()) is not None:  # the chunk need not wait for retries that are not due
                    self._ask_for_chunks(site, lane)
                return now + (found - wall) / 1000
            if found is None:
                if isinstance(party.leaving, Rehoming) and _waits_for_others(site, party):
                    return inf
                if self._ask_on and self._asks_on(site, party):
                    continue
                return self._nothing_at_hand(site, party)
            lane, entry = found
            if lane.slow and self._waits_with_slow_lane(site, party):
                party.put_slow_lane_off()
                return inf
            alone = len(site.owners) < 2 and lane.seed_id == party.seed.id
            if alone or self._is_for(site, party, lane, entry):
                return Choice(party, lane, entry)
        if party.in_flight == 0:
            given_up = reason is self._given_up(site, party)
            self._end(site, party, reason, site.health.problem if given_up else "")
        return inf

    def _waits_with_slow_lane(self, site: SiteContext, party: SeedContext) -> bool:
        """Whether a party of which only the slow lane is left is put off until the rest of the crawl is done.

        One that moves on to another site does not wait: nobody would know of that afterwards.
        """
        first_pass = (site.own_rules or self._rules).slow_pass == "crawl" and not party.seed.slow_pass
        return first_pass and party.leaving is None and party.in_flight == 0

    def _over(self, site: SiteContext, party: SeedContext, now: float) -> EndReason | Rehoming | None:
        if party.leaving is not None and not _leaves_later(site, party):
            return party.leaving
        reason = self._limit_of(site, party, now)
        if reason is None and site.health.troubled:
            reason = self._given_up(site, party)
        if reason is not None and party.in_flight == 0 and not any(lane.unfinished for lane in party.lanes):
            return self._natural_end(party)
        return reason

    def _limit_of(self, site: SiteContext, party: SeedContext, now: float) -> EndReason | None:
        """Return the limit at which a party is, if any; what a user has ordered is wanted in any case."""
        limits = (site.own_rules or self._rules).limits
        elapsed_ms = 0 if limits.max_time_ms is None else party.elapsed_ms(now) - party.base_ms
        counts = party.counts if party.base is None else party.in_round
        reason = limit_reached(counts, elapsed_ms, limits, party.in_flight)
        if reason is not None and party.ordered and party.ordered_left:
            return None
        return reason

    def _given_up(self, site: SiteContext, party: SeedContext) -> EndReason | None:
        asked = party.counts.requests > 0 or party.counts.pushed_back > 0  # of the latter robots.txt may be all
        asked = asked or site.refusing is not None  # then pages of all parties are refused
        return site.health.given_up(party.home_host, site.own_rules or self._rules, asked)

    def _nothing_at_hand(self, site: SiteContext, party: SeedContext) -> float:
        lane = party.missing_lane()
        if lane is not None:
            self._ask_for_chunks(site, lane)
        elif party.in_flight == 0:
            self._end(site, party, self._natural_end(party))
        return inf

    def _asks_on(self, site: SiteContext, party: SeedContext) -> bool:
        """Let features list one more URL of a party of which all is fetched; returns whether one did."""
        if party.in_flight or party.leaving is not None or site.listing or party.missing_lane() is not None:
            return False
        return any(ask_on(site, party) for ask_on in self._ask_on)

    def _is_for(self, site: SiteContext, party: SeedContext, lane: Lane, entry: Entry) -> bool:
        """Tell whether this party fetches the entry; else pass it by."""
        owner = site.owners.get(url_hash(entry.url)) if len(site.owners) > 1 else None
        # What is kept for the next seed stands in its last holder's list; there, position 0 tells a seed's own URL.
        kept_own = lane.key is LEFTOVER and entry.position == 0 and entry.role is EntryRole.PAGE
        if owner is not None and lane.seed_id != owner and not kept_own:
            lane.finish(lane.take())  # a seed's own URL is fetched from its own list, whoever holds that
            party.verdicts[Verdict.COVERED] += 1
            party.rejections.add(Verdict.COVERED, entry.url, f"a seed itself: fetched for seed {owner}", page="")
            return False
        if lane.seed_id != party.seed.id and not party.scope.contains(entry.url):
            party.lane(LEFTOVER).append_entry(entry)
            lane.finish(lane.take())
            return False
        return True

    @staticmethod
    def _natural_end(party: SeedContext) -> EndReason:
        is_endless = party.traps is not None and party.traps.endless != ""
        return end_reason(party.in_round, party.seed_result, party.verdicts[Verdict.DEPTH] > 0, is_endless)

    def _ask_for_chunks(self, site: SiteContext, lane: Lane) -> None:
        position = lane.missing
        if lane.loading or position is None:
            return

        def done(rows: list[ChunkRow]) -> None:
            lane.loading = False
            site.answer_came()
            if rows:
                lane.filled(rows)
            self._look_again(site)

        lane.loading = True
        site.await_answer()
        self._load_chunks(lane, position, done)

    def _begin(self, site: SiteContext, party: SeedContext) -> bool:
        """Decide whether the seed is crawled (paper 004, section 3.2, step 1); list its URL as entry 0."""
        home = party.seed.home_url
        key = url_hash(home)
        if site.in_work(site.owners.get(key, party.seed.id)) not in (None, party):
            self._end(site, party, EndReason.COVERED)
            return False
        if home in site.fetching or site.listing:  # for another party: its result will tell, and the store know of it
            return False
        site.owners[key] = party.seed.id
        if key in site.fetched_homes:  # thousands of seeds may redirect to one portal
            self._end(site, party, EndReason.COVERED)
            return False
        if home not in site.seen:
            return self._list_home(site, party)
        party.deciding = True  # listed by another party, perhaps fetched: ask

        def done(fetched: bool) -> None:
            site.answer_came()
            party.deciding = False
            if fetched:
                site.fetched_homes = (*site.fetched_homes[-_HOMES:], key)
                self._end(site, party, EndReason.COVERED)
            else:
                party.begun = True
                party.lane(NORMAL).append(home, 0)
                self._adopt(site, party)
            self._look_again(site)

        site.await_answer()
        self._check_fetched(site, key, done)
        return False

    def _list_home(self, site: SiteContext, party: SeedContext) -> bool:
        try:
            party.list_new(site.seen, [party.seed.home_url], 0)
        except SeenFullError:
            self._end(site, party, EndReason.SEEN_MEMORY)
            return False
        party.begun = True
        self._adopt(site, party)
        return True

    @staticmethod
    def _adopt(site: SiteContext, party: SeedContext) -> None:
        """Take over what ended seeds of the site have left unfetched."""
        for lane in site.orphans:
            lane.hand_to(party.seed.id)
            party.lanes.append(lane)
        site.orphans = ()

    def _end(self, site: SiteContext, party: SeedContext, reason: EndReason | Rehoming, detail: str = "") -> None:
        """Let a party end; another one of its site goes on with what is left of its lanes."""
        party.finish(reason, detail)
        left = [lane for lane in party.lanes if lane.unfinished]
        site.orphans += tuple(left)
        heir = next((other for other in site.parties if other.begun and not other.ended), None)
        if heir is not None:
            self._adopt(site, heir)
        if any(isinstance(other.leaving, Rehoming) and not other.ended for other in site.parties):
            self._look_again(site)


def _leaves_later(site: SiteContext, party: SeedContext) -> bool:
    """Tell whether a party that moves to another site has to stay for now: its list goes with it, done."""
    if not isinstance(party.leaving, Rehoming):
        return False
    return party.lists_unfinished or _waits_for_others(site, party)


def _waits_for_others(site: SiteContext, party: SeedContext) -> bool:
    """Whether a party that is to move stays until others of its site are over.

    Where it has moved, the hosts of this site belong to it as long as nobody else asks them. So it waits for those that
    may move as well, as none has shown a page; and where it is the home page that has moved, for all.
    """
    if len(site.parties) < 2:
        return False
    is_whole = party.seed.home_url.endswith("/") and party.seed.home_url.count("/") == 3
    for other in site.parties:
        if other is party or other.ended or isinstance(other.leaving, Rehoming):
            continue
        if is_whole or other.counts.pages == 0:
            return True
    return False
