"""Rounds: ended seeds are visited again, all of them by order, or those of which URLs are due.

Before a seed's second round, what is known of its URLs is derived from the rows of its pages: a crawl that is done once
writes none of that. Then the URLs are listed in a lane of their own, so many a transaction, and with the last of them
the round begins: the counts of the one before go into the table `seed_round`, and the seed goes on as one whose machine
was stopped. Cut short at any point, it is done again: what is derived, or listed, is marked so in the same transaction.
Only seeds that are done, at sites that no machine has in work, are touched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, case, insert, or_, select, update
from sqlalchemy import func as sql

from scrawler.features.revisit.policies.demand import kind_of
from scrawler.features.revisit.policies.due import Off, RevisitPolicy, Seen, Wishes
from scrawler.features.revisit.policies.learning import Learned, SiteLearning, unpack_rates
from scrawler.features.revisit.policies.visit import SITEMAP_FRESH
from scrawler.features.revisit.store.budget import Purse
from scrawler.features.revisit.store.demand import Demands
from scrawler.features.revisit.store.first_states import FirstStates, Headers, is_free
from scrawler.features.revisit.store.orders import Begun, Order
from scrawler.features.revisit.store.sitemap_words import may_spare, sort_by_words
from scrawler.model.results import PageFlag
from scrawler.model.seeds import SeedState
from scrawler.model.terms import Millis
from scrawler.model.visits import LISTED, NEVER, UrlState
from scrawler.store.claims.seeds import columns_of
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import HOME_URL, AnyRow, AnySelect, Reaches, sliced
from scrawler.store.lists.frontier import state_of
from scrawler.store.lists.relisting import Packed, Relisting, let_go_on
from scrawler.store.schema.tables import SEED_COUNTS, lane, seed, seed_round, site, url_state

_SEEDS = 200  # seeds that are looked at together
_ROWS = 1_000  # URLs of one transaction, and of one chunk at most
_STATE = [url_state.c[name] for name in UrlState._fields]
_COUNTS = [column.name for column in SEED_COUNTS]


class Revisits:
    """Begins rounds.

    `pack` makes the data of a chunk of (url, depth, position, referrer); `reaches` says whether a seed can ask for a
    URL, `wishes` how the URLs of a site become due, by the site's key; `headers` reads the archive. `per_day` is the
    budget of all sites, and `weight` tells what a URL at a depth weighs.
    """

    def __init__(
        self,
        database: Database,
        pack: Packed,
        lane_number: int,
        reaches: Reaches,
        wishes: Callable[[str], Wishes],
        headers: Headers,
        stopping: Callable[[], bool] = lambda: False,
        per_day: int | None = None,
        weight: Callable[[str, int], float] = lambda url, depth: 1.0,
    ) -> None:
        """Work on `database`, until `stopping`: what is left is done next time."""
        self._database = database
        self._reaches = reaches
        self._wishes = wishes
        self._weight = weight
        self._purse = None if per_day is None else Purse.of_all(per_day)
        self._demands = Demands(database)
        self._first_states = FirstStates(database, headers, stopping)
        self._stopping = stopping
        self._lane = lane_number
        self._relisting = Relisting(database, pack, lane_number)

    # -- by order ------------------------------------------------------------------------------------------

    def carry_out(self, order: Order, tell: Callable[[Begun], None] = lambda begun: None) -> tuple[Begun, list[int]]:
        """Begin the round for all seeds of an order, and `tell` after each how many there are by then.

        Returns as well the seeds that are left because a machine has their sites in work.
        """
        total, left = Begun(), []
        for row in self._ended(order):
            if self._stopping():
                break
            begun = self._begin(row, partial(old_urls, row.id, order))
            if begun.in_work:
                left.append(row.id)
            total = total.plus(begun)
            tell(total)
        return total, left

    def _ended(self, order: Order) -> Iterator[AnyRow]:
        """Yield the seeds of an order that have not begun its round yet: those that had ended when it was given."""
        wanted = _ended_seeds().where(seed.c.round_at < order.at, seed.c.ended_at <= order.at)
        if order.seeds is not None:
            for part in sliced(order.seeds, _SEEDS):
                yield from self._database.rows(wanted.where(seed.c.id.in_(part)).order_by(seed.c.id))
            return
        after = 0
        while rows := self._database.rows(wanted.where(seed.c.id > after).order_by(seed.c.id).limit(_SEEDS)):
            yield from rows
            after = rows[-1].id

    # -- as they become due --------------------------------------------------------------------------------

    def begin_due(self, pause: Millis) -> Begun:
        """Begin a round for seeds of which URLs are due, no sooner than `pause` after their last one.

        Seeds are found by an index on their next time, and their URLs by another: what is not due costs nothing.
        """
        now = self._now()
        total, after = Begun(), (0, 0)
        while rows := self._database.rows(due_seeds(now, after)):
            for row in rows:
                if self._stopping() or self._is_spent(now):
                    return total
                total = total.plus(self._begin_if_due(row, now, pause))
            after = rows[-1].due_at, rows[-1].id
        return total

    def know(self, seed_id: int) -> bool:
        """Derive the states of a seed's URLs that have none, if it has ended; False where a machine has it in work."""
        rows = self._database.rows(_ended_seeds().where(seed.c.id == seed_id))
        return bool(rows) and self._derived(rows[0])

    def schedule(self) -> None:
        """Give all URLs of ended seeds their time that have none: derived, or visited while nothing was to be due."""
        after = 0
        while rows := self._database.rows(_ended_seeds().where(seed.c.id > after).order_by(seed.c.id).limit(_SEEDS)):
            for row in rows:
                if self._stopping():
                    return
                self._derived(row)
                self._give_times(row)
                self._pull_in(row)
            after = rows[-1].id

    def _now(self) -> Millis:
        return self._database.reading(lambda connection: database_time(connection, self._database.clock))

    def _is_spent(self, now: Millis) -> bool:
        purse = self._purse
        if purse is None:
            return False
        return not self._database.reading(lambda connection: purse.look(connection, now)).visits

    def _wishes_of(self, row: AnyRow) -> Wishes:
        """Return what is wished of a seed's visits again: by its own columns, else by the settings of its site."""
        return self._wishes(row.site_key).of_seed(columns_of(row.columns))

    def _derived(self, row: AnyRow) -> bool:
        return self._first_states.derive(row, self._wishes_of(row).policy())

    def _pull_in(self, row: AnyRow) -> None:
        """Let no URL wait for longer than its policy ever lets it: the settings, or a clock, were other ones before."""
        wishes = self._wishes_of(row)
        if wishes.word == "off":
            return
        longest = max(wishes.interval_ms, wishes.most_ms, wishes.least_ms)

        def work(connection: Connection) -> None:
            if not is_free(connection, row):
                return
            latest = database_time(connection, self._database.clock) + longest
            late = url_state.c.seed_id == row.id, url_state.c.due_at > latest
            if connection.execute(update(url_state).where(*late).values(due_at=latest)).rowcount:
                connection.execute(update(seed).where(seed.c.id == row.id).values(due_at=0))

        self._database.retrying(work)

    def _give_times(self, row: AnyRow) -> None:
        wishes = self._wishes_of(row)
        policy = wishes.policy()
        if isinstance(policy, Off):
            return
        has_budget = wishes.per_day is not None
        timeless = url_state.c.seed_id == row.id, url_state.c.due_at == NEVER
        if not self._database.rows(select(url_state.c.seed_id).where(*timeless).limit(1)):
            return

        def work(connection: Connection) -> int:
            if not is_free(connection, row):
                return 0
            some = connection.execute(select(*_STATE).where(*timeless).limit(_ROWS)).all()
            rates = connection.scalar(select(site.c.rates).where(site.c.id == row.site_id)) if some else b""
            learning = SiteLearning(unpack_rates(bytes(rates or b"")), self._weight)
            alike: defaultdict[tuple[int, int], list[bytes]] = defaultdict(list)
            for one in map(state_of, some):
                learned = _expected(learning, one, policy)
                alike[first_interval(one, policy, learned), learned.cell].append(one.url_hash)
            for (wait, cell), hashes in alike.items():
                values = {"interval_ms": wait, "due_at": url_state.c.visited_at + wait, "demand_cell": cell}
                _update_states(connection, row.id, hashes, values)
            if alike:
                self._demands.add(connection, row.site_id, learning.take()[1], has_budget)
                connection.execute(update(seed).where(seed.c.id == row.id).values(due_at=0))
            return len(some)

        while self._database.retrying(work) == _ROWS and not self._stopping():
            pass

    def _begin_if_due(self, row: AnyRow, now: Millis, pause: Millis) -> Begun:
        if not self._derived(row):
            return Begun(in_work=1)
        self._give_times(row)
        first = self._database.rows(next_due(row.id))[0][0]
        own = self._wishes_of(row).per_day
        purse = None if own is None else Purse.of_site(row.site_id, own)
        if purse is not None and first is not None and first <= now:
            site_purse = purse
            first = max(first, self._database.reading(lambda connection: site_purse.look(connection, now)).next_at)
        if first is not None and first <= now and row.ended_at <= now - pause:
            purses = [one for one in (purse, self._purse) if one is not None]
            return self._begin(row, partial(due_urls, row.id, now), purses, is_due=True)
        still = seed.c.id == row.id, seed.c.state == SeedState.DONE.value, seed.c.due_at == row.due_at
        at = None if first is None else max(first, row.ended_at + pause)
        if at != row.due_at:
            noted = update(seed).where(*still).values(due_at=at)
            self._database.retrying(lambda connection: connection.execute(noted))
        return Begun()

    # -- one seed ------------------------------------------------------------------------------------------

    def _begin(
        self,
        row: AnyRow,
        wanted: Callable[[bytes], AnySelect],
        purses: Sequence[Purse] = (),
        is_due: bool = False,
    ) -> Begun:
        """Derive what is known of a seed's URLs, list those that are `wanted(after)`, and begin its round.

        No more are listed than all budgets have room for.
        """
        if not self._derived(row):
            return Begun(in_work=1)
        urls, after = 0, b""
        while not self._stopping():
            query = wanted(after)
            listed = self._database.retrying(partial(self._list, row=row, query=query, purses=purses, is_due=is_due))
            if listed is None:
                return Begun(urls=urls, in_work=1)
            urls += listed[0]
            if not listed[1]:
                return Begun(seeds=int(urls > 0), urls=urls)
            after = listed[1]
        return Begun(urls=urls)

    def _list(
        self, connection: Connection, row: AnyRow, query: AnySelect, purses: Sequence[Purse], is_due: bool
    ) -> tuple[int, bytes] | None:
        """List some URLs of a seed; return how many, and the last one's hash if there may be more.

        With the last of them the round begins. None: a machine has the seed in work.
        """
        if not is_free(connection, row):
            return None
        now = database_time(connection, self._database.clock)
        most = min((purse.left(connection, now).visits for purse in purses), default=_ROWS)
        found = [state_of(one) for one in connection.execute(query.limit(min(most, _ROWS)))] if most else []
        now_at = row.site_key, row.given, row.home_url
        own = [one for one in found if self._reaches(one.url, one.depth, *now_at)]
        reached = {one.url_hash for one in own}
        own = self._sorted(connection, row, own, now, is_due)
        _update_states(connection, row.id, [one.url_hash for one in own], {"due_at": LISTED})
        moved = [one.url_hash for one in found if one.url_hash not in reached]
        _update_states(connection, row.id, moved, {"due_at": NEVER})  # of a site at which the seed was before
        if own:
            self._relisting.list_again(connection, {row.id: own})
            for purse in purses:
                purse.spend(connection, now, len(own))
        if len(found) == _ROWS:
            return len(own), found[-1].url_hash
        if self._is_left(connection, row.id):
            begin_round(connection, row.id, now)
            let_go_on(connection, [row.id], [row.site_id], forgetting=False)
        return len(own), b""

    def _sorted(
        self, connection: Connection, row: AnyRow, states: list[UrlState], now: Millis, is_due: bool
    ) -> list[UrlState]:
        """Return URLs in the order in which a round asks for them, as far as sitemaps are believed.

        Those that they say to be as they were are left out where no user has ordered the round, and are due again
        after as long as the last time; never later than the longest time between two visits lets them.
        """
        states.sort(key=_in_order)
        told = sort_by_words(connection, row.id, row.site_id, states, now)
        if told is None:
            return states
        wishes = self._wishes_of(row)
        spared = []
        if is_due and may_spare(wishes.word):
            spared = [one for one in told.spared if now < one.visited_at + wishes.most_ms]
        left = {one.url_hash for one in spared}
        by_time: defaultdict[Millis, list[bytes]] = defaultdict(list)
        for one in spared:
            latest = one.visited_at + wishes.most_ms
            by_time[min(now + max(one.interval_ms, wishes.least_ms), latest)].append(one.url_hash)
        for at, hashes in by_time.items():
            _update_states(connection, row.id, hashes, {"due_at": at})
        first = {one.url_hash for one in told.first}
        asked = [one for one in states if one.url_hash not in left]
        return sorted(asked, key=lambda one: (one.position >= 0, one.url_hash not in first))

    def _is_left(self, connection: Connection, seed_id: int) -> bool:
        """Tell whether URLs of a seed are listed to be visited again, now or by a try that was cut short."""
        mine = lane.c.seed_id == seed_id, lane.c.kind == self._lane, lane.c.cursor_position < lane.c.length
        return connection.scalar(select(lane.c.seed_id).where(*mine)) is not None


def _expected(learning: SiteLearning, state: UrlState, policy: RevisitPolicy) -> Learned:
    """Return what is expected of a URL that has no time yet; one that is counted already stays where it is."""
    if not state.demand_cell:
        return learning.expect(state.url, state.depth, policy)
    rate, weight = kind_of(state.demand_cell)
    return Learned(rate=rate, weight=weight, cell=state.demand_cell)


def first_interval(state: UrlState, policy: RevisitPolicy, learned: Learned) -> int:
    """Return how long after its last visit a URL is due of which that was not said then."""
    told = Seen(
        now=state.visited_at,
        last_at=0,
        interval_ms=0,
        changed=False,
        visits=state.visit + 1,
        changes=state.changes,
        known_since=state.known_since,
        rate=learned.rate,
        weight=learned.weight,
    )
    return policy.interval(told)


def due_seeds(now: Millis, after: tuple[Millis, int] = (0, 0)) -> AnySelect:
    """Return the query for ended seeds that have URLs to visit now, or of which that is to be looked up.

    They come in the order of their times and ids, behind such a pair.
    """
    at, seed_id = after
    due = _ended_seeds().where(seed.c.due_at.between(at, now), or_(seed.c.due_at > at, seed.c.id > seed_id))
    return due.order_by(seed.c.due_at, seed.c.id).limit(_SEEDS)


def next_due(seed_id: int) -> AnySelect:
    """Return the query for the time when the first URL of a seed is due; NULL: never."""
    return select(sql.min(url_state.c.due_at)).where(url_state.c.seed_id == seed_id, url_state.c.due_at > NEVER)


def due_urls(seed_id: int, now: Millis, after: bytes = b"") -> AnySelect:
    """Return the query for the URLs of a seed that are due; those that are listed are no more among them."""
    due = url_state.c.seed_id == seed_id, url_state.c.due_at > NEVER, url_state.c.due_at <= now
    return select(*_STATE).where(*due).order_by(url_state.c.due_at).limit(_ROWS)


def old_urls(seed_id: int, order: Order, after: bytes) -> AnySelect:
    """Return the query for the URLs of a seed that an order wants, by hash; sitemaps by an age of their own."""
    of_changes = url_state.c.flags.bitwise_and(PageFlag.CHANGE_LIST.value) != 0, order.at
    stale = case(of_changes, (url_state.c.position < 0, order.at - SITEMAP_FRESH), else_=order.before)
    mine = url_state.c.seed_id == seed_id, url_state.c.url_hash > after, url_state.c.due_at != LISTED
    return select(*_STATE).where(*mine, url_state.c.visited_at <= stale).order_by(url_state.c.url_hash).limit(_ROWS)


def _ended_seeds() -> AnySelect:
    query = select(
        seed.c.id, seed.c.site_id, seed.c.due_at, seed.c.ended_at, seed.c.columns, seed.c.url.label("given"), HOME_URL,
        site.c.site_key,
    )  # fmt: skip
    return query.join(site, site.c.id == seed.c.site_id).where(
        seed.c.state == SeedState.DONE.value, seed.c.skipped == 0
    )


def _in_order(state: UrlState) -> tuple[bool, int, Millis]:
    """Sort URLs as they were first visited: sitemaps first, then by depth."""
    return state.position >= 0, state.depth, state.known_since


def _update_states(connection: Connection, seed_id: int, hashes: Sequence[bytes], values: Mapping[str, Any]) -> None:
    for part in sliced(hashes):
        theirs = url_state.c.seed_id == seed_id, url_state.c.url_hash.in_(part)
        connection.execute(update(url_state).where(*theirs).values(values))


def begin_round(connection: Connection, seed_id: int, now: Millis) -> None:
    """Keep what the round that is over has come to, and let the next one begin."""
    kept = (seed.c.id, seed.c.round, seed.c.round_at, seed.c.ended_at, seed.c.end_reason, seed.c.end_detail)
    columns = "seed_id", "round", "began_at", "ended_at", "end_reason", "end_detail", "elapsed_ms", *_COUNTS
    counts = (seed.c.elapsed_ms, *(seed.c[name] for name in _COUNTS))
    over = select(*kept, *counts).where(seed.c.id == seed_id)
    connection.execute(insert(seed_round).from_select(columns, over))
    values = {"round": seed.c.round + 1, "round_at": now, "internal_errors": 0, "due_at": 0}
    connection.execute(update(seed).where(seed.c.id == seed_id).values(values))
