"""Frontier: what the database keeps of parties, read when a site is taken up and while its lists are followed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter

from sqlalchemy import ColumnElement, Integer, and_, bindparam, exists, literal, or_, select
from sqlalchemy import func as sql

from scrawler.model.lanes import CHUNK_ENTRIES, Ahead, ChunkRow, LaneState
from scrawler.model.replaced import EarlierPages, ListedRow, WaitingRow
from scrawler.model.results import Result
from scrawler.model.rows import PatternRow
from scrawler.model.seeds import SeedState
from scrawler.model.terms import Millis
from scrawler.model.terms import url_hash as hash_of
from scrawler.model.visits import UrlState
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow, among, sliced
from scrawler.store.lists.ahead import (
    CHUNK,
    LANES,
    LISTED_IN,
    OWNERS,
    REDIRECT_COLUMNS,
    lane_states,
    read_ahead,
    redirected_of,
)
from scrawler.store.lists.replacing import earlier_pages, newest_rows, waiting_rows
from scrawler.store.schema.tables import chunk, jar, page, pattern, seed, site

_CHUNKS_READ = 64  # chunks held in memory at a time
_SEEDS_READ = 2_000
_ROWS_READ = 20_000  # the newest rows of a party are searched for URLs that were redirected, so many at most
_PATTERNS_READ = 1_000

# Made once: a machine that crawls many sites, or many seeds that have moved, reads these for each of them.
_LANES = LANES.where(seed.c.site_id == bindparam("site"))
_OF_LANE = chunk.c.seed_id == bindparam("seed"), chunk.c.kind == bindparam("kind")
_CHUNK = CHUNK.where(*_OF_LANE)
_FIRST_CHUNK = (
    select(sql.max(chunk.c.seq)).where(*_OF_LANE, chunk.c.first_position <= bindparam("position")).scalar_subquery()
)
_CHUNKS = _CHUNK.where(chunk.c.seq >= _FIRST_CHUNK).order_by(chunk.c.seq).limit(bindparam("most", type_=Integer))
_TAIL = _CHUNK.order_by(chunk.c.seq.desc()).limit(1)
_LAST_CHUNKS = (
    select(chunk.c.seed_id, chunk.c.kind, sql.max(chunk.c.seq))
    .join(seed, seed.c.id == chunk.c.seed_id)
    .where(seed.c.site_id == bindparam("site"), chunk.c.kind.in_(LISTED_IN))
    .group_by(chunk.c.seed_id, chunk.c.kind)
)
_SOME_LISTED = (
    select(chunk.c.seed_id, chunk.c.kind, chunk.c.seq, chunk.c.data)
    .join(seed, seed.c.id == chunk.c.seed_id)
    .where(seed.c.site_id == bindparam("site"), chunk.c.kind.in_(LISTED_IN))
    .limit(_CHUNKS_READ + 1)
)
_OWN_URLS = (
    OWNERS.where(seed.c.site_id == bindparam("site"), seed.c.id > bindparam("after"))
    .order_by(seed.c.id)
    .limit(_SEEDS_READ)
)
_JAR = select(jar.c.data).where(jar.c.seed_id == bindparam("seed"))
_BUSY = exists().where(seed.c.site_id == site.c.id, seed.c.state.in_((SeedState.READY.value, SeedState.ACTIVE.value)))
_FREE_SITES = select(site.c.key_hash, site.c.id, site.c.next_due_at).where(among(site.c.key_hash), ~_BUSY)
_NEWEST_PAGES = (
    select(*(page.c[name] for name in REDIRECT_COLUMNS))
    .where(page.c.seed_id == bindparam("seed"))
    .order_by(page.c.id.desc())
    .limit(_ROWS_READ)
    .subquery()
)
_REDIRECTED = (
    select(_NEWEST_PAGES)
    .where(or_(_NEWEST_PAGES.c.result == Result.REDIRECT.value, _NEWEST_PAGES.c.attempts > 1))
    .order_by(_NEWEST_PAGES.c.id)
)


class Frontier:
    """Lanes, chunks and known URLs of the parties of a crawl."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def lanes(self, site_id: int) -> list[LaneState]:
        """Return the lanes held by the site's seeds that are not finished, or whose holder is active.

        Those of a holder that waits with its slow lane are no one else's.
        """
        return lane_states(self._database.rows(_LANES, {"site": site_id}))

    def ahead(self, sites: Sequence[int], seeds: Sequence[int]) -> Ahead:
        """Return what there is of sites, and of seeds with short lists, that are taken up together."""
        return read_ahead(self._database, sites, seeds)

    def chunks(self, seed_id: int, kind: int, position: int, entries: int) -> list[ChunkRow]:
        """Return the chunk of a lane that holds the entry at `position`, if it is in the database yet.

        With it come those that follow it, as long as together they have no more than `entries`.
        """
        most = max(1, entries // CHUNK_ENTRIES)
        wanted = {"seed": seed_id, "kind": kind, "position": position, "most": most}
        rows = [ChunkRow(*row) for row in self._database.rows(_CHUNKS, wanted)]
        if not rows or position >= rows[0].first + rows[0].count:
            return []
        totals = accumulate(row.count for row in rows)
        return rows[:1] + [row for row, total in list(zip(rows, totals, strict=True))[1:] if total <= entries]

    def tail(self, seed_id: int, kind: int) -> ChunkRow | None:
        """Return the last chunk of a lane."""
        rows = self._database.rows(_TAIL, {"seed": seed_id, "kind": kind})
        return ChunkRow(*rows[0]) if rows else None

    def listed(self, site_id: int) -> Iterator[bytes]:
        """Yield the data of all chunks in which URLs of the site were listed first, some in memory at a time."""
        some = self._database.rows(_SOME_LISTED, {"site": site_id})
        if len(some) <= _CHUNKS_READ:  # as with nearly all sites
            yield from (row.data for row in sorted(some, key=itemgetter(0, 1, 2)))
            return
        lanes = sorted((row[0], row[1], row[2]) for row in self._database.rows(_LAST_CHUNKS, {"site": site_id}))
        keys = ((seed_id, kind, seq) for seed_id, kind, length in lanes for seq in range(length + 1))
        # The keys alone are sorted: rows with the data would go to the server's disk, all of them for each part.
        for part in sliced(keys, _CHUNKS_READ):
            columns = (chunk.c.seed_id, chunk.c.kind, chunk.c.seq, chunk.c.data)
            rows = self._database.rows(select(*columns).where(or_(*(_is_chunk(*key) for key in part))))
            yield from (row.data for row in sorted(rows, key=itemgetter(0, 1, 2)))

    def own_urls(self, site_id: int) -> dict[bytes, int]:
        """Return hash of the home URL -> seed id of the site's seeds that are active or done, less the covered ones."""
        found: dict[bytes, int] = {}
        after = 0
        while rows := self._database.rows(_OWN_URLS, {"site": site_id, "after": after}):
            for identity, home_url in rows:
                found.setdefault(hash_of(home_url), identity)
            if len(rows) < _SEEDS_READ:
                break
            after = rows[-1][0]
        return found

    def fetched(self, url_hash: bytes) -> bool:
        """Tell whether the URL with this hash has its final result, for whichever seed, or waits in a slow lane.

        Of URLs that wait so only those of seeds are known.
        """
        waits = exists().where(seed.c.url_hash == url_hash, seed.c.state == SeedState.SLOW.value)
        there = exists().where(page.c.url_hash == url_hash)
        return bool(self._database.rows(select(literal(1)).where(or_(there, waits))))

    def own_page(self, seed_id: int, url_hash: bytes) -> tuple[Result, int, str, int] | None:
        """Return result, status, detail and flags of a URL that is the seed's own, or where its redirects led."""
        mine = page.c.url_hash == url_hash, page.c.lane_seed == seed_id, page.c.depth == 0
        query = select(page.c.result, page.c.status, page.c.detail, page.c.flags).where(*mine)
        query = query.order_by(page.c.id.desc()).limit(1)  # a URL behind a cookie gate has two answers
        rows = self._database.rows(query)
        return (Result(rows[0][0]), *rows[0][1:]) if rows else None

    def free_sites(self, keys: Collection[str]) -> dict[str, tuple[int, Millis]]:
        """Return those of the sites that have no seed to be crawled: id, and the time before which it is not asked."""
        hashes = {hash_of(key): key for key in keys}
        rows = self._database.rows(_FREE_SITES, {"among": sorted(hashes)})
        return {hashes[bytes(row[0])]: (row[1], row[2]) for row in rows}

    def patterns(self, seed_id: int) -> list[PatternRow]:
        """Return what the patterns of a party's URLs have yielded so far, what is capped first, then the largest.

        There can be as many rows as the party has pages; 1,000 are read.
        """
        columns, capped = [pattern.c[name] for name in PatternRow._fields], pattern.c.evidence != ""
        query = select(*columns).where(pattern.c.seed_id == seed_id).limit(_PATTERNS_READ)
        query = query.order_by(capped.desc(), pattern.c.fetched.desc(), pattern.c.pattern)
        return [PatternRow(*row) for row in self._database.rows(query)]

    def jar(self, seed_id: int) -> bytes | None:
        """Return the cookies of a party as they were last written, None if it never had any."""
        rows = self._database.rows(_JAR, {"seed": seed_id})
        return bytes(rows[0][0]) if rows else None

    def waiting(self, seed_id: int, urls: Iterable[str]) -> dict[str, tuple[WaitingRow, ...]]:
        """Return the rows of those of the URLs that a retry has listed: they stay until others take their place."""
        return waiting_rows(self._database, seed_id, urls)

    def newest(self, seed_id: int, urls: Collection[str], digest: bytes) -> list[ListedRow]:
        """Return those of a seed's newest rows that are of some URLs, or have a payload."""
        return newest_rows(self._database, seed_id, urls, digest)

    def earlier_pages(self, seed_id: int) -> EarlierPages | None:
        """Return what a seed has fetched first and last; None if that was no page below its own URL."""
        return earlier_pages(self._database, seed_id)

    def redirected(self, seed_id: int) -> list[tuple[bytes, int, int, bytes]]:
        """Return what was redirected, and asked for once, among the newest rows: hash, depth, position, referrer."""
        return redirected_of(self._database.rows(_REDIRECTED, {"seed": seed_id}), seed_id)


def state_of(row: AnyRow) -> UrlState:
    """Make a state of a row of its columns."""
    state = UrlState._make(row)
    return state._replace(
        url_hash=bytes(state.url_hash), referrer=bytes(state.referrer), digest=bytes(state.digest),
        checks=bytes(state.checks), text_print=bytes(state.text_print),
    )  # fmt: skip


def _is_chunk(seed_id: int, kind: int, seq: int) -> ColumnElement[bool]:
    return and_(chunk.c.seed_id == seed_id, chunk.c.kind == kind, chunk.c.seq == seq)
