"""Seeds: adds them in bulk, lists and counts them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection, select
from sqlalchemy import case as sql_case
from sqlalchemy import func as sql

from scrawler.errors import StoreError
from scrawler.model.deaths import Death, death_of
from scrawler.model.seeds import EndReason, Seed, SeedState
from scrawler.model.terms import Millis, url_hash
from scrawler.store.claims.crawls import bump_revision
from scrawler.store.claims.overview import LIVING
from scrawler.store.claims.sites import ensure_sites, lock_and_wake_sites, moved_sites
from scrawler.store.engines.bulk import LONGEST_TEXT, BulkInsert
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.faults import read_json, read_word
from scrawler.store.engines.rows import SEED_COLUMNS, AnyRow, bytes_literals, in_order_of_id, seed_of, sliced
from scrawler.store.schema.tables import machine, seed, site

EMPTY: Mapping[str, Any] = MappingProxyType({})
_NEW = ("site_id", "url", "url_hash", "hops", "added_at")
_WITH_COLUMNS = (*_NEW, "columns")
_OF_OTHERS = (*_NEW, "base_depth")
_OF_BATCH = (*_NEW, "batch")
_LISTED = 1_000  # seeds held in memory at a time
_LONG = 10_000  # seeds of a batch that takes so long that others must have a chance after it
_KEEP_ALIVE = 5.0  # seconds between two signs of life: servers end a transaction that stays idle


class NewSeed(NamedTuple):
    """A seed to add: a normalised URL, the key of its site, 0 hops if a user gave it, and its further columns."""

    url: str
    site_key: str
    hops: int = 0
    columns: str = ""  # JSON object of at most 16,000 characters; empty: none
    base_depth: int = 0  # links from a user's seed to it, if it comes from another site; it has no columns then
    batch: int = 0  # number of the promotion that makes it a seed; 0: none does


class Turn(NamedTuple):
    """The place of a batch among others that several threads add: it begins when the one before it has begun."""

    before: threading.Event
    taken: threading.Event


def turns() -> Iterator[Turn]:
    """Yield the turns of batches, in their order."""
    before = threading.Event()
    before.set()
    while True:
        taken = threading.Event()
        yield Turn(before, taken)
        before = taken


class Added(NamedTuple):
    """How many seeds of a batch were new, and how many the crawl (or the batch itself) had already."""

    new: int
    duplicate: int


_REFUSALS = ("one page for all URLs", "connections cut", "redirects to")
_KIND = max(map(len, _REFUSALS))  # characters of a detail that tell the kind
_AT_PROXY = "%proxy %://%: %"  # the details of what downloaders lay to a proxy


@dataclass(frozen=True, slots=True)
class SeedView:
    """A seed with all that is known of it, for people and exports."""

    seed: Seed
    site_key: str
    end_detail: str
    added_at: Millis
    started_at: Millis | None
    ended_at: Millis | None
    machine_id: int | None
    stored_columns: str | None

    @property
    def columns(self) -> Mapping[str, Any]:
        """Further columns of its line in the seed file."""
        return columns_of(self.stored_columns)

    @property
    def standing(self) -> dict[str, str | None]:
        """Its state and its end, by the names under which all that is written of seeds has them."""
        reason = self.seed.end_reason
        return {
            "state": self.seed.state.value,
            "end_reason": None if reason is None else reason.value,
            "end_detail": self.end_detail,
            "dead_as": death_of(reason, self.end_detail),
        }


class SeedLine(NamedTuple):
    """A seed as a list has it: what is known of very many in little time."""

    url: str
    state: str  # the value of a SeedState
    end_reason: str | None  # the value of an EndReason
    hops: int
    columns: str | None = None  # JSON; None or empty: none
    dead_as: str | None = None  # the value of a Death


_ENDED_DEAD = EndReason.DEAD.value, EndReason.NO_ADDRESS.value
_DEATH = sql_case(  # as `death_of`
    (seed.c.end_reason == EndReason.NO_ADDRESS.value, Death.DNS.value),
    (seed.c.end_reason.is_(None), None),
    (seed.c.end_reason != EndReason.DEAD.value, None),
    *((seed.c.end_detail.like(f"{death.value}:%"), death.value) for death in Death),
    else_=None,
)
_VIEW = (
    select(
        *SEED_COLUMNS,
        site.c.site_key,
        seed.c.end_detail,
        seed.c.added_at,
        seed.c.started_at,
        seed.c.ended_at,
        seed.c.machine_id,
        seed.c["columns"],
    )
    .join(site, site.c.id == seed.c.site_id)
    .order_by(seed.c.id)
    .prefix_with("STRAIGHT_JOIN", dialect="mysql")  # a small table site would make it sort
)


class Seeds:
    """The seeds of a crawl."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        self._insert = BulkInsert.ignoring(seed, _NEW, database.compiler)
        self._insert_all = BulkInsert.ignoring(seed, _WITH_COLUMNS, database.compiler)
        self._insert_others = BulkInsert.ignoring(seed, _OF_OTHERS, database.compiler)
        self._insert_batch = BulkInsert.ignoring(seed, _OF_BATCH, database.compiler)
        # So many calls of `add` at once bring something: a server works on the sites of one and the seeds of another.
        self.writers = 1 if database.dialect == "sqlite" else 2
        self._sites_turn = threading.Lock()
        self._seeds_turn = threading.Lock()

    def add(self, batch: Sequence[NewSeed], turn: Turn | None = None) -> Added:
        """Add the seeds that the crawl does not have, with their sites, in one transaction.

        Fastest with 20,000 at a time: each batch writes every page that it touches of the indexes on hashes, which
        are most of them. A site that was done becomes ready again. Threads with a batch each keep the order of their
        `turns`, unless the database wants one to be done again. Running machines look for seeds with their next
        heartbeat.

        Raises:
            StoreError: a URL has more than 16,000 characters.
        """
        if not batch:
            if turn is not None:
                turn.taken.set()
            return Added(0, 0)
        most = 0
        began = 0.0

        def work(connection: Connection) -> Added:
            nonlocal most, began
            began = time.monotonic()
            # After an earlier try that did commit, all are there.
            most = max(most, self._add_rows(connection, batch, turn, joins=True))
            return Added(most, len(batch) - most)

        if turn is not None:
            turn.before.wait()  # without a transaction: the batch before this one may want SQLite's only writer
        try:
            added = self._database.retrying(work)
        finally:
            if turn is not None:
                turn.taken.set()
        if len(batch) >= _LONG and self._database.reading(_machine_lives):
            self._database.let_others_write(time.monotonic() - began)
        return added

    def add_rows(self, connection: Connection, batch: Sequence[NewSeed]) -> int:
        """Add seeds as `add` does, inside the writing transaction of somebody else; return how many are new.

        Their sites are locked until its end, in the order of their ids: it must have locked no site before. It must be
        one that is done again from its start where the database asks for that.

        Raises:
            StoreError: a URL, or the further columns of a seed, have more than 16,000 characters.
        """
        return self._add_rows(connection, batch) if batch else 0

    def _add_rows(
        self, connection: Connection, batch: Sequence[NewSeed], turn: Turn | None = None, joins: bool = False
    ) -> int:
        """Add rows; `joins`: at sites that have moved to others those are of them, so that one machine asks both."""
        _check_lengths(batch)
        hashes = [url_hash(one.url) for one in batch]
        keys = {one.site_key for one in batch}
        with self._sites_turn:
            if turn is not None:
                turn.taken.set()
            ids, made = ensure_sites(connection, keys, self._database.compiler)
            while not self._seeds_turn.acquire(timeout=_KEEP_ALIVE):
                connection.exec_driver_sql("SELECT 1")
        try:
            known: set[bytes] = set()
            if made < len(ids):  # the owner of a site that was there may just be letting go of it
                if joins:
                    ids |= moved_sites(connection, ids)
                lock_and_wake_sites(connection, ids.values())
                known = _known(connection, hashes)
            now = database_time(connection, self._database.clock)
            fresh = [(one, hash_) for one, hash_ in zip(batch, hashes, strict=True) if hash_ not in known]
            rows = [(ids[one.site_key], one.url, hash_, one.hops, now) for one, hash_ in fresh]
            new = self._run_insert(connection, [one for one, _ in fresh], rows)
        finally:
            self._seeds_turn.release()
        if new:
            bump_revision(connection)
        return new

    def _run_insert(
        self, connection: Connection, fresh: Sequence[NewSeed], rows: Sequence[tuple[int, str, bytes, int, int]]
    ) -> int:
        """Insert the rows of these seeds, each with what only some seeds have; return how many were new."""
        if any(one.columns for one in fresh):
            return self._insert_all.run(connection, [(*row, one.columns) for one, row in zip(fresh, rows, strict=True)])
        if any(one.batch for one in fresh):
            return self._insert_batch.run(connection, [(*row, one.batch) for one, row in zip(fresh, rows, strict=True)])
        if any(one.base_depth for one in fresh):
            return self._insert_others.run(
                connection, [(*row, one.base_depth) for one, row in zip(fresh, rows, strict=True)]
            )
        return self._insert.run(connection, rows)

    def sites_with_ready(self, site_ids: Iterable[int]) -> list[int]:
        """Return which of the sites have a seed that waits for a machine."""
        waiting = select(seed.c.id).where(seed.c.site_id == site.c.id, seed.c.state == SeedState.READY.value)
        first = waiting.limit(1).scalar_subquery()  # MariaDB would make a join of an EXISTS, and read all seeds
        found: list[int] = []
        for part in sliced(sorted(site_ids)):
            query = select(site.c.id).where(site.c.id.in_(part), first.is_not(None)).order_by(site.c.id)
            found += (row.id for row in self._database.rows(query))
        return found

    def list(
        self, state: SeedState | None = None, end_reason: EndReason | None = None, like: str | None = None
    ) -> Iterator[SeedView]:
        """Yield seeds in order of import, some in memory at a time; `like` is an SQL pattern of the URL (% and _)."""
        query = in_order_of_id(_VIEW.limit(_LISTED), state, end_reason)
        if like is not None:
            query = query.where(seed.c.url.like(like))
        after = 0
        while rows := self._database.rows(query.where(seed.c.id > after)):
            yield from map(_view_of, rows)
            after = rows[-1].id

    def lines(self, state: SeedState | None = None, end_reason: EndReason | None = None) -> Iterator[SeedLine]:
        """Yield the same seeds in the same order with their most important columns, for a tenth of the price."""
        columns = seed.c.url, seed.c.state, seed.c.end_reason, seed.c.hops, seed.c["columns"]
        query = select(*columns, _DEATH, seed.c.id)
        query = in_order_of_id(query.limit(_LISTED), state, end_reason)
        after = 0
        while rows := self._database.plain_rows(query.where(seed.c.id > after)):
            yield from [SeedLine._make(row[:-1]) for row in rows]
            after = rows[-1][-1]

    def get(self, url: str) -> SeedView | None:
        """Return the seed that was imported as `url` (normalised)."""
        rows = self._database.rows(_VIEW.where(seed.c.url_hash == url_hash(url)))
        return _view_of(rows[0]) if rows else None

    def ids(self, urls: Iterable[str]) -> dict[str, int]:
        """Return the ids of those of these normalised URLs that are seeds."""
        found: dict[str, int] = {}
        for part in sliced(sorted(set(urls))):
            hashes = [url_hash(url) for url in part]
            rows = self._database.rows(select(seed.c.url, seed.c.id).where(seed.c.url_hash.in_(hashes)))
            found.update({row.url: row.id for row in rows})
        return found

    def of_site(self, site_id: int, limit: int) -> Sequence[SeedView]:
        """Return up to `limit` seeds of a site, in order of import."""
        return tuple(map(_view_of, self._database.rows(_VIEW.where(seed.c.site_id == site_id).limit(limit))))

    def by_ids(self, ids: Iterable[int]) -> dict[int, SeedView]:
        """Return the seeds with these ids."""
        parts = (self._database.rows(_VIEW.where(seed.c.id.in_(part))) for part in sliced(sorted(set(ids))))
        return {view.seed.id: view for view in map(_view_of, chain.from_iterable(parts))}

    def any_with_column(self, name: str) -> bool:
        """Tell whether the line of a seed has a further column of this name; all seeds are looked at if none has."""
        found = select(seed.c.id).where(seed.c.columns.contains(f'"{name}"', autoescape=True)).limit(1)
        return bool(self._database.rows(found))

    def counts(self) -> dict[SeedState, dict[EndReason | None, int]]:
        """Return how many seeds there are by state and end reason, which is None while they are not done."""
        query = select(seed.c.state, seed.c.end_reason, sql.count()).group_by(seed.c.state, seed.c.end_reason)
        found: dict[SeedState, dict[EndReason | None, int]] = {}
        for state, reason, count in self._database.rows(query):
            ended = read_word(EndReason, reason) if reason else None
            found.setdefault(read_word(SeedState, state), {})[ended] = count
        return found

    def deaths(self) -> dict[str, int]:
        """Return how many seeds have died of what, the most frequent first; of those of which that is known."""
        query = select(_DEATH, sql.count()).where(seed.c.state == SeedState.DONE, seed.c.end_reason.in_(_ENDED_DEAD))
        found = {death: count for death, count in self._database.rows(query.group_by(_DEATH)) if death}
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    def internal_errors(self) -> int:
        """Return how many answers of all seeds met a fault of this program."""
        return int(self._database.rows(select(sql.coalesce(sql.sum(seed.c.internal_errors), 0)))[0][0])

    def saved(self) -> int:
        """Return the bytes of bodies that did not come again, of all seeds: their servers have answered 304."""
        return int(self._database.rows(select(sql.coalesce(sql.sum(seed.c.saved), 0)))[0][0])

    def dead_at_proxies(self) -> tuple[int, str]:
        """Return how many seeds are dead by what a proxy said or did, and the detail of most of them."""
        number = sql.count()
        mine = (seed.c.state == SeedState.DONE, seed.c.end_reason == EndReason.DEAD, seed.c.end_detail.like(_AT_PROXY))
        query = select(seed.c.end_detail, number).where(*mine).group_by(seed.c.end_detail)
        found = self._database.rows(query.order_by(number.desc(), seed.c.end_detail))
        return sum(count for _, count in found), found[0][0] if found else ""

    def pushed_back(self) -> dict[str, int]:
        """Return how many seeds have ended because their sites refused, by the kind of refusal; most frequent first."""
        begin, number = sql.substr(seed.c.end_detail, 1, _KIND), sql.count()
        mine = seed.c.state == SeedState.DONE, seed.c.end_reason == EndReason.PUSHED_BACK
        found: Counter[str] = Counter()
        for detail, times in self._database.rows(select(begin, number).where(*mine).group_by(begin)):
            found[_refusal_of(detail)] += times
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _check_lengths(batch: Iterable[NewSeed]) -> None:
    """Raise StoreError where a seed's texts are longer than a column is."""
    for one in batch:
        if len(one.columns) > LONGEST_TEXT:
            raise StoreError(f"the further columns of a seed have more than {LONGEST_TEXT} characters")
        if len(one.url) > LONGEST_TEXT:
            raise StoreError(f"a seed URL has more than {LONGEST_TEXT} characters")


def _refusal_of(detail: str) -> str:
    """Return by which kind of refusal a seed ended, from the words in which that is told."""
    for kind in _REFUSALS:
        if detail.startswith(kind):
            return kind
    return detail[: len("HTTP status 429")] if detail.startswith("HTTP status ") else "other"


def _machine_lives(connection: Connection) -> bool:
    return connection.scalar(select(machine.c.id).where(machine.c.state.in_(LIVING)).limit(1)) is not None


def _known(connection: Connection, hashes: Iterable[bytes]) -> set[bytes]:
    """Return which of the URLs are seeds already: to look is cheaper than to let the database refuse them."""
    known: set[bytes] = set()
    for part in sliced(sorted(hashes)):
        query = f"SELECT url_hash FROM seed WHERE url_hash IN ({bytes_literals(connection, part)})"
        known.update(connection.exec_driver_sql(query).scalars())
    return known


def _view_of(row: AnyRow) -> SeedView:
    return SeedView(seed_of(row), *row[len(SEED_COLUMNS) :])


def columns_of(stored: str | None) -> Mapping[str, Any]:
    """Return the further columns of a seed as they are stored."""
    found: Mapping[str, Any] = read_json(stored) if stored else EMPTY
    return found
