"""Seed Context: all state of one party in work (paper 004, section 3.2). Guarded by the machine's turn.

What the parties of one site share (Bloom filter, politeness clocks, robots rules, addresses) is in its SiteContext.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Final

from scrawler.core.party.decisions import end_detail
from scrawler.core.party.depth import DEPTH_BUFFER, Lane
from scrawler.core.party.entries import Entry, EntryRole, stored_entry
from scrawler.core.party.gates import Redirected
from scrawler.core.party.rejections import RejectionSample
from scrawler.core.party.states import PartyState, rows_of
from scrawler.core.party.waiting_rows import Finding, WaitingExternals, WaitingRows
from scrawler.core.seen import SeenFilter
from scrawler.core.traps.traps import PartyTraps
from scrawler.faults import MOST_FAULTS
from scrawler.fetch.cookies import CookieJar
from scrawler.model.deaths import detail_of_death
from scrawler.model.deltas import Rehoming, SeedDelta
from scrawler.model.lanes import LEFTOVER, NORMAL, PUSHED, SITEMAP, WANTED, LaneKey, LaneKind, LaneState, priority
from scrawler.model.replaced import ListedRow, WaitingRow
from scrawler.model.results import AS_EXPECTED, COUNTED_AS, PageFlag, Result
from scrawler.model.rows import PageRow, RelationRow, SitemapRow
from scrawler.model.seeds import EndReason, Seed, SeedCounts, SeedState
from scrawler.model.terms import Millis
from scrawler.model.visits import KnownVisit
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import ScopeRule, host_port
from scrawler.urls.verdict import Verdict

_NOT_MODIFIED: Final = HTTPStatus.NOT_MODIFIED.value
_BEFORE_PRIORITY = (LaneKind.PUSHED, LaneKind.SITEMAP)
_NO_URLS: frozenset[str] = frozenset()  # one for all parties: each call of `frozenset` makes another, of 216 bytes


class _Said:
    """What pages and sitemaps have said of URLs since the last checkpoint, where they have said anything."""

    __slots__ = ("relations", "sitemap_urls")

    def __init__(self) -> None:
        self.sitemap_urls: dict[bytes, SitemapRow] = {}
        self.relations: list[RelationRow] = []

    @property
    def rows(self) -> int:
        return len(self.relations) + len(self.sitemap_urls)


class SeedContext:
    """One party in work: its seed, lanes, counts and what the next checkpoint has to make durable."""

    __slots__ = (
        "_depth_buffer",
        "_dirty",
        "_externals",
        "_is_told",
        "_said",
        "analyzer",
        "base",
        "base_ms",
        "begun",
        "cookies",
        "counts",
        "deciding",
        "end",
        "end_detail",
        "finder",
        "home_host",
        "in_flight",
        "kept",
        "lanes",
        "leaving",
        "led_from",
        "lengthless",
        "marked",
        "ordered",
        "pages",
        "put_off",
        "reads_lists",
        "redirected",
        "redirects",
        "rehoming",
        "rejections",
        "replaced",
        "scope",
        "seed",
        "seed_problem",
        "seed_result",
        "started",
        "states",
        "traps",
        "unowned",
        "verdicts",
        "visited",
        "waiting_rows",
    )

    def __init__(
        self,
        seed: Seed,
        analyzer: UrlAnalyzer,
        scope: ScopeRule,
        started: float,
        traps: PartyTraps | None = None,
        depth_buffer: int = DEPTH_BUFFER,
        rejections: RejectionSample | None = None,
    ) -> None:
        self.seed = seed
        self.analyzer = analyzer
        self.scope = scope
        self.traps = traps
        self._depth_buffer = depth_buffer
        self.lanes: list[Lane] = []  # own: sitemaps first; then those taken over from ended seeds
        self.counts = seed.counts.copy()
        self.verdicts: Counter[str] = Counter(seed.verdicts)
        self.rejections = RejectionSample(seed.id) if rejections is None else rejections  # the analyzer's as well
        self.ordered = False  # whether URLs that a user has ordered may be left
        self.in_flight = 0  # requests whose answer has not been handled
        self.deciding = False  # whether the store was asked if its URL is fetched already
        self.begun = False  # whether it has been decided that the seed is crawled
        self.redirects = seed.rehomed  # of the seed's own URL
        self.home_host = host_port(seed.home_url)[0]  # another one of its domain, if its URL redirects there
        self.led_from = _NO_URLS  # URLs of those redirects, as far as they were followed here
        self.seed_result: Result | None = None
        self.seed_problem = ""  # why its URL could not be fetched
        self.leaving: EndReason | Rehoming | None = None  # see `leave`
        self.end: EndReason | None = None
        self.end_detail = ""
        self.rehoming: Rehoming | None = None
        self.put_off = False  # see `put_slow_lane_off`
        self.finder = b""  # hash of the page whose links are in work, which is the referrer of those that are new
        self.started = started
        self.cookies: CookieJar | None = None  # made when the first one is set
        self.redirected = Redirected()
        self.lengthless = _NO_URLS  # URLs with an invalid Content-Length, until they are asked again
        self.states: tuple[PartyState | None, ...] = ()  # of steps, each at its number; none where no step has one
        self.pages = WaitingRows()
        self.visited: dict[str, KnownVisit] | None = None  # its site's, in a round after the first
        # Its site's: rows of URLs that a retry has listed. What has come of these, since the last checkpoint: rows that
        # went, those that stay, those that are listed now, and records that have no row.
        self.waiting_rows: dict[str, tuple[WaitingRow, ...]] = {}
        self.replaced: tuple[WaitingRow, ...] = ()
        self.kept: tuple[int, ...] = ()
        self.marked: tuple[int, ...] = ()
        self.unowned: tuple[tuple[str, int, int], ...] = ()
        self.reads_lists = False  # whether lists may tell which of its URLs need not be visited again
        self.base: SeedCounts | None = None  # what it had counted when this round began; None: nothing
        self.base_ms = 0  # ... and the time that it had been in work
        self._externals: dict[str, Finding] = {}
        self._said: _Said | None = None
        self._dirty = False
        self._is_told = False  # whether a delta was taken of it here

    @property
    def has_news(self) -> bool:
        """Whether a checkpoint is worth its cost: not while its own URL is listed, and has had no answer.

        Whoever takes it over from a machine that was killed lists that URL again.
        """
        return self._dirty or self._is_told

    @property
    def ended(self) -> bool:
        """Whether the party is over here: it has an end reason, goes to another site, or waits with its slow lane."""
        return self.end is not None or self.rehoming is not None or self.put_off

    def leave(self, why: EndReason | Rehoming, detail: str = "") -> None:
        """Start nothing more, and end or move as soon as nothing is in flight; `detail` tells more in words.

        The first reason stands; only a move, which waits until the party's list is done, gives way to an end.
        """
        if self.leaving is None or (isinstance(self.leaving, Rehoming) and isinstance(why, EndReason)):
            self.leaving = why
            self.end_detail = detail

    def finish(self, why: EndReason | Rehoming, detail: str = "") -> None:
        """End here: for a reason, told in the words of whoever let the party leave, in `detail`, or by its counts."""
        self._dirty = True
        if isinstance(why, Rehoming):
            self.rehoming = why
            return
        self.end = why
        self.end_detail = self.end_detail or detail or ("" if self.counts.pages else self.seed_problem)
        if why is EndReason.ENDLESS and self.traps is not None:
            self.end_detail = self.traps.endless
        if why is EndReason.DEAD:
            self.end_detail = detail_of_death(self.seed_result, self.end_detail)
        if why is EndReason.COMPLETED and not self.end_detail:
            self.end_detail = end_detail(self.counts, self.verdicts[Verdict.NOFOLLOW])

    def put_slow_lane_off(self) -> None:
        """End here for now: only the slow lane is left, which waits until the rest of the crawl is done."""
        self.put_off = True
        self._dirty = True

    def lane(self, key: LaneKey) -> Lane:
        """Return the party's own lane of a key, made on first use."""
        for lane in self.lanes:
            if lane.key is key and lane.seed_id == self.seed.id:
                return lane
        made = Lane(LaneState(self.seed.id, key.number, self.seed.id, 0, 0), depth_buffer=self._depth_buffer)
        made.visited = self.visited
        made.waiting_rows = self.waiting_rows if made.retries_rows else None
        made.reads_lists = self.reads_lists
        if key is PUSHED:
            own = 0
        elif key is SITEMAP:
            own = sum(lane.key is PUSHED and lane.seed_id == self.seed.id for lane in self.lanes)
        elif key.kind is LaneKind.PRIORITY:
            own = self._place_of(key)
        else:
            own = sum(lane.seed_id == self.seed.id for lane in self.lanes)
        self.lanes.insert(own, made)
        return made

    def _place_of(self, key: LaneKey) -> int:
        """Return where a lane of priority is put: behind the sitemaps and what promises more, before all others."""
        place = 0
        for index, lane in enumerate(self.lanes):
            before = lane.kind in _BEFORE_PRIORITY or (lane.kind is LaneKind.PRIORITY and lane.key.level > key.level)
            if before and lane.seed_id == self.seed.id:
                place = index + 1
        return place

    def next_lane(self, now: Millis, longest: Millis) -> tuple[Lane, Entry] | Millis | None:
        """Choose the lane to fetch from: a retry whose time has come, else the first with an entry.

        What was pushed back comes after that, and the slow lane when nothing else is left. Before all of them comes
        what a user has ordered: what failed, was left out, or whose record was lost. Returns a time when only retries
        that are not due are left, None when there is nothing to hand out (or a chunk is missing: see `missing_lane`). A
        retry that would wait for more than `longest` was listed by a clock which was ahead, and is due.
        """
        if self.ordered:
            if self.ordered_left:
                return self._next_ordered(now, longest)
            self.ordered = False
        found = self._next_among(now, longest, slow=False)
        return self._next_among(now, longest, slow=True) if found is None and self.only_slow_left else found

    @property
    def ordered_left(self) -> bool:
        """Whether URLs are to be asked for, or are being asked for, because a user has ordered that."""
        return any(lane.ordered and lane.unfinished for lane in self.lanes)

    def _next_ordered(self, now: Millis, longest: Millis) -> tuple[Lane, Entry] | Millis | None:
        earliest: Millis | None = None
        for lane in self.lanes:
            entry = lane.peek() if lane.ordered else None
            if entry is None:
                continue
            if not now < entry.not_before <= now + longest:
                return lane, entry
            earliest = entry.not_before if earliest is None else min(earliest, entry.not_before)
        return earliest

    def _next_among(self, now: Millis, longest: Millis, slow: bool) -> tuple[Lane, Entry] | Millis | None:
        first: tuple[Lane, Entry] | None = None
        pushed_back: tuple[Lane, Entry] | None = None
        earliest: Millis | None = None
        reading = False  # what a sitemap lists comes before the rest, and a chunk of what promises more before less
        for lane in self.lanes:
            kind = lane.turn
            if lane.slow is not slow or (kind is LaneKind.LEFTOVER and self._keeps(lane)):
                continue
            entry = None if reading and (kind is LaneKind.NORMAL or kind is LaneKind.PRIORITY) else lane.peek()
            if entry is not None and kind is LaneKind.REVISIT and self._waits_for_lists(lane, entry):
                reading = True
                continue
            if entry is None:
                reading = reading or (kind is LaneKind.SITEMAP and lane.unfinished)
                reading = reading or (kind is LaneKind.PRIORITY and lane.missing is not None)
                continue
            if now < entry.not_before <= now + longest:
                earliest = entry.not_before if earliest is None else min(earliest, entry.not_before)
            elif kind is LaneKind.RETRY:
                return lane, entry
            elif kind is LaneKind.PUSHED_BACK:
                pushed_back = pushed_back or (lane, entry)
            elif first is None:
                first = lane, entry
        return first or pushed_back or earliest

    def _waits_for_lists(self, lane: Lane, entry: Entry) -> bool:
        """Whether a page is not visited again yet: the lists that stand before it may tell that it need not be."""
        if not self.reads_lists or lane.lists_read or entry.role is EntryRole.SITEMAP:
            return False
        listing = any(one.kind is LaneKind.SITEMAP and one.unfinished for one in self.lanes)
        lane.lists_read = not (listing or lane.in_work)
        return not lane.lists_read

    def _keeps(self, lane: Lane) -> bool:
        """Whether a lane of leftovers is this party's own: it keeps them for the next one."""
        return lane.holder_id == lane.seed_id == self.seed.id

    @property
    def only_slow_left(self) -> bool:
        """Whether the slow lane is all that is left: nothing else is listed, or in flight, that could list more."""
        left = [lane for lane in self.lanes if lane.unfinished and not (lane.key is LEFTOVER and self._keeps(lane))]
        return bool(left) and all(lane.slow for lane in left)

    @property
    def lists_unfinished(self) -> bool:
        """Whether URLs that this party itself has listed are still to be fetched."""
        return any(lane.unfinished and lane.seed_id == self.seed.id and lane.key is not LEFTOVER for lane in self.lanes)

    def missing_lane(self) -> Lane | None:
        """Return the lane whose next chunk has to be read from the store, if nothing else can go on."""
        with_slow = self.only_slow_left
        lanes = (lane for lane in self.lanes if with_slow or not lane.slow)
        if self.ordered:
            lanes = (lane for lane in self.lanes if lane.ordered)
        return next((lane for lane in lanes if lane.missing is not None), None)

    def elapsed_ms(self, now: float) -> int:
        """Time in work, over all machines, in milliseconds."""
        return self.seed.elapsed_ms + int((now - self.started) * 1000)

    @property
    def in_round(self) -> SeedCounts:
        """What was counted in this round: limits are for that."""
        counts, base = self.counts, self.base
        if base is None:
            return counts
        # A page that is as it was has been asked for as well.
        pages = counts.pages + counts.not_modified - base.pages - base.not_modified
        return SeedCounts(pages=pages, bytes=counts.bytes - base.bytes)

    def add_page(self, row: PageRow) -> None:
        """Note the final result of a URL, in the row and in the counts."""
        self.pages.add(row)
        counts, result = self.counts, row.result
        if result == Result.FETCHED:
            counts.pages += 1
            counts.revisits += row.revisit
            if row.revisit and (row.status == _NOT_MODIFIED or row.flags & PageFlag.EARLIER):
                counts.saved += row.length  # to ask the flags costs a microsecond: not of each page
        else:
            name = COUNTED_AS.get(Result(result), "failures")
            setattr(counts, name, getattr(counts, name) + 1)
            if result == Result.INTERNAL_ERROR:
                self.note_fault(row.detail)
        if row.flags:
            self._count_flags(row.flags, result == Result.FETCHED)
        if row.depth == 0 and row.lane_seed == self.seed.id:
            self.note_own(Result(result), row.status, row.detail, row.flags)
        self._dirty = True

    def note_fault(self, text: str) -> None:
        """Count an answer that met a fault of this program; with too many of them the party ends."""
        self.counts.internal_errors += 1
        self._dirty = True
        if self.counts.internal_errors >= MOST_FAULTS:
            self.leave(EndReason.INTERNAL_ERROR, text)

    def list_new(
        self, seen: SeenFilter, urls: list[str], depth: int, role: EntryRole = EntryRole.PAGE, hops: int = 0
    ) -> list[str]:
        """List those URLs that the site's filter has not seen; returns them. Raises SeenFullError, then listing none.

        Where anything else is raised, some may be listed twice, as they are not known to be listed; none is lost.
        """
        if not urls:
            return urls
        lane = self.lane(NORMAL)
        new = seen.unseen(urls)
        if new:
            lane.extend(new, depth, role, self.finder, hops=hops)
            seen.add(new)
            self.counts.listed += len(new)
            if role is EntryRole.ASSET:
                self.counts.assets += len(new)
        return new

    def list_by_level(
        self, seen: SeenFilter, urls: list[str], depth: int, level_of: Callable[[str], int], hops: int = 0
    ) -> list[str]:
        """List URLs of pages as `list_new` does, each in the lane of its level.

        Positions there count all that the party has listed. Raises SeenFullError, then listing none.
        """
        new = seen.unseen(urls)
        by_level: dict[int, list[str]] = {}
        for url in new:
            by_level.setdefault(level_of(url), []).append(url)
        for level in sorted(by_level, reverse=True):
            some = by_level[level]
            # No URL but the seed's own has position 0.
            position = max(1, self.counts.listed) if level else None
            self.lane(priority(level)).extend(some, depth, EntryRole.PAGE, self.finder, position, hops)
            seen.add(some)
            self.counts.listed += len(some)
        return new

    def list_pushed(self, seen: SeenFilter, urls: list[str], depth: int, hops: int = 0) -> list[str]:
        """List URLs that somebody else has sent as `list_new` does, before all others. Raises SeenFullError."""
        new = seen.unseen(urls)
        if new:
            # No URL but the seed's own has position 0.
            self.lane(PUSHED).extend(new, depth, EntryRole.PAGE, self.finder, max(1, self.counts.listed), hops)
            seen.add(new)
            self.counts.listed += len(new)
        return new

    def list_sitemap(self, seen: SeenFilter, url: str, level: int, referrer: bytes = b"", hops: int = 0) -> None:
        """List a sitemap that the site's filter has not seen. Raises SeenFullError."""
        lane = self.lane(SITEMAP)
        new = seen.unseen([url])
        if new:
            lane.append(url, level, EntryRole.SITEMAP, referrer, hops)
            seen.add(new)
            self.counts.listed += 1

    def list_again(self, lane: Lane, index: int, entry: Entry, key: LaneKey) -> None:
        """Pass an entry on to the party's own lane of a key."""
        self.lane(key).append_entry(entry)
        lane.finish(index)
        self._dirty = True

    def note_own(self, result: Result, status: int, detail: str, flags: int) -> None:
        """Note what became of the seed's own URL, or of where that redirects: from the row, now or after a stop.

        One that was cut, and read, is no result for which the seed could end.
        """
        self.seed_result = None if flags & PageFlag.TRUNCATED else result
        self.seed_problem = "" if result in AS_EXPECTED else detail or f"HTTP status {status}"

    def _count_flags(self, flags: int, fetched: bool) -> None:
        counts = self.counts
        counts.noindex += bool(flags & PageFlag.NOINDEX)
        counts.nofollow += bool(flags & PageFlag.NOFOLLOW)
        counts.near_duplicates += bool(flags & PageFlag.NEAR_DUPLICATE)
        if fetched:
            counts.slow_pages += bool(flags & PageFlag.SLOW)

    def take_cookies(self, url: str, head: bytes) -> None:
        """Keep the cookies that an answer sets; `head` is raw."""
        self.cookies = self.cookies or CookieJar()
        self.cookies.take(url, head)

    def ask_again(self, found: ListedRow) -> None:
        """List the URL of a row to be asked for before all others; the row stays until what comes takes its place."""
        row = found.row
        self.waiting_rows[row.url] = (row,)
        self.marked += (row.id,)
        self.lane(WANTED).append_entry(stored_entry(row.url, found.depth, found.position, referrer=found.referrer))
        self.ordered = True
        self._dirty = True

    def ask_opened(self, url: str) -> bool:
        """List a URL once more if it is to be asked again, with the cookies that were set since; see `gates`."""
        opened = self.redirected.take_opened(url, self.cookies)
        if opened is not None:
            self.lane(NORMAL.after(retries=1)).append_entry(opened._replace(not_before=0))
        return opened is not None

    def note_externals(self, urls: list[str], depth: int) -> None:
        """Note external URLs found on a page of a depth; the next checkpoint hands them to the crawl's `Externals`."""
        known = self._externals
        new = Finding(depth, 1, self.finder)
        for url in urls:
            before = known.get(url)
            known[url] = new if before is None else Finding(before.depth, before.times + 1, before.referrer)
        self.counts.candidates += len(urls)

    def add_sitemap_url(self, row: SitemapRow) -> None:
        """Note what a sitemap says of an internal URL."""
        self._to_say().sitemap_urls[row.url_hash] = row
        self._dirty = True

    def add_relation(self, page_hash: bytes, kind: str, target: str) -> None:
        """Note that a page says which URL stands for it."""
        self._to_say().relations.append(RelationRow(page_hash, kind, self.seed.id, target))

    def _to_say(self) -> _Said:
        self._said = self._said or _Said()
        return self._said

    @property
    def weight(self) -> int:
        """Rows that the next checkpoint of this party will write, about."""
        of_steps = sum([state.weight for state in self.states if state is not None])
        return len(self.pages) + len(self._externals) + (0 if self._said is None else self._said.rows) + of_steps

    @property
    def unsent(self) -> int:
        """External URLs that the next checkpoint of this party hands to the crawl's `Externals`."""
        return len(self._externals)

    def touch(self) -> None:
        """Note that something changed that the next checkpoint must write."""
        self._dirty = True

    def take_delta(self, now: float) -> SeedDelta | None:
        """Return what changed since the last checkpoint, or None."""
        changed = [change for lane in self.lanes if (change := lane.take_delta())]
        if self._is_told and not (self._dirty or changed):
            return None
        self._is_told = True
        seed_id = self.seed.id
        delta = SeedDelta(
            seed_id=seed_id,
            pages=self.pages,
            lanes=tuple(state for state, _ in changed),
            chunks=tuple(row for _, rows in changed for row in rows),
            externals=WaitingExternals(seed_id, self._externals),
            rejections=self.rejections.take(),
            counts=self.counts.copy(),
            verdicts=dict(self.verdicts),
            elapsed_ms=self.elapsed_ms(now),
            state=self._state(),
            end_reason=self.end,
            end_detail=self.end_detail,
            rehoming=self.rehoming,
            patterns=self.traps.take_rows() if self.traps is not None else (),
            jar=self.cookies.dump() if self.cookies is not None and self.cookies.changed else None,
        )
        self._hand_over_waiting(delta)
        said = self._said
        if said is not None:
            delta.relations, delta.sitemap_urls = tuple(said.relations), tuple(said.sitemap_urls.values())
        if self.states:
            delta.rows = rows_of(self.states)
        self.pages, self._externals, self._said, self._dirty = WaitingRows(), {}, None, False
        return delta

    def _hand_over_waiting(self, delta: SeedDelta) -> None:
        """Add what has become of rows that a retry has listed."""
        if self.replaced or self.kept or self.marked:
            delta.replaced, delta.kept, delta.marked = self.replaced, self.kept, self.marked
            delta.orphans = self.unowned
            self.replaced, self.kept, self.marked, self.unowned = (), (), (), ()

    def state_of(self, at: int) -> PartyState | None:
        """Return what the step with a number knows of it."""
        return self.states[at] if at < len(self.states) else None

    def keep_states(self, states: Iterable[PartyState | None]) -> None:
        """Take what all steps know of it, in their order."""
        made = tuple(states)
        self.states = made if any(one is not None for one in made) else ()

    def keep_state(self, at: int, state: PartyState) -> None:
        """Take what the step with a number knows of it from now on."""
        others = [self.state_of(number) for number in range(max(at + 1, len(self.states)))]
        others[at] = state
        self.states = tuple(others)

    def is_of_step(self, url: str) -> bool:
        """Tell whether a step has made a URL, and bounds how many there are: no trap holds it."""
        return any(state.owns(url) for state in self.states if state is not None)

    def _state(self) -> SeedState:
        if self.rehoming is not None:
            return SeedState.READY
        if self.put_off:
            return SeedState.SLOW
        return SeedState.DONE if self.end is not None else SeedState.ACTIVE
