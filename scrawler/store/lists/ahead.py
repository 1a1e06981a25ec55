"""What the database keeps of seeds that have moved, and of their sites: read for all that one claim has brought.

A seed that has moved has a list of a few URLs, and its site has none of its own, as a rule. To read each by itself took
ten statements a seed, and four times as long as all else that a take-up does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter

from sqlalchemy import Connection, Integer, bindparam, or_, select

from scrawler.model.lanes import LISTED_FIRST, Ahead, ChunkRow, LaneState
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash as hash_of
from scrawler.store.engines.engine import Database
from scrawler.store.engines.faults import read_json
from scrawler.store.engines.rows import HOME_URL, AnyRow, AnySelect, among, listed_depth, sliced
from scrawler.store.schema.tables import chunk, jar, lane, page, robots, seed

LISTED_IN = tuple(key.number for key in LISTED_FIRST)
CHUNK = select(chunk.c.seed_id, chunk.c.kind, chunk.c.seq, chunk.c.first_position, chunk.c.entries, chunk.c.data)
REDIRECT_COLUMNS = "id", "url_hash", "result", "attempts", "depth", "position", "flags", "lane_seed", "referrer"
# Those that matter to whoever takes up the site of their holders.
LANES = (
    select(lane.c.seed_id, lane.c.kind, lane.c.holder_id, lane.c.cursor_position, lane.c.length, lane.c.ahead)
    .join(seed, seed.c.id == lane.c.holder_id)
    .where(
        seed.c.state != SeedState.SLOW.value,
        or_(lane.c.cursor_position < lane.c.length, seed.c.state == SeedState.ACTIVE.value),
    )
)
# Those whose URLs belong to them: seeds that were taken up, less the covered ones.
OWNERS = (
    select(seed.c.id, HOME_URL)
    .where(seed.c.state != SeedState.READY.value)
    .where(or_(seed.c.end_reason.is_(None), seed.c.end_reason != EndReason.COVERED.value))
)

_FEW = 4  # lists, and seeds, of sites that are read together, in the mean: of more each site is read by itself
_MOST = bindparam("most", type_=Integer)
_LANES = LANES.add_columns(seed.c.site_id).where(among(seed.c.site_id))
_OWNERS = OWNERS.add_columns(seed.c.site_id).where(among(seed.c.site_id)).limit(_MOST)
_LISTED = (
    select(seed.c.site_id, chunk.c.seed_id, chunk.c.kind, chunk.c.seq, chunk.c.data)
    .join(seed, seed.c.id == chunk.c.seed_id)
    .where(among(seed.c.site_id), chunk.c.kind.in_(LISTED_IN))
    .limit(_MOST)
)
_ROBOTS = select(robots.c.site_id).where(among(robots.c.site_id)).distinct()
_CHUNKS = CHUNK.where(among(chunk.c.seed_id))
_JARS = select(jar.c.seed_id, jar.c.data).where(among(jar.c.seed_id))
_REDIRECTED = select(page.c.seed_id, *(page.c[name] for name in REDIRECT_COLUMNS)).where(
    among(page.c.seed_id), or_(page.c.result == Result.REDIRECT.value, page.c.attempts > 1)
)


def read_ahead(database: Database, sites: Sequence[int], seeds: Sequence[int]) -> Ahead:
    """Read what is kept of sites, and of seeds with short lists.

    Sites that together have more lists, or more seeds, than a few each are left out of these.
    """

    def work(connection: Connection) -> Ahead:
        found = Ahead({}, {}, {}, set(), {}, {}, {})
        for part in sliced(sites):
            _read_sites(connection, part, found)
        for part in sliced(seeds):
            _read_seeds(connection, part, found)
        return found

    return database.reading(work)


def _read_sites(connection: Connection, sites: Sequence[int], found: Ahead) -> None:
    lanes: dict[int, list[AnyRow]] = {one: [] for one in sites}
    for row in connection.execute(_LANES, {"among": sites}):
        lanes[row.site_id].append(row)
    found.lanes.update((one, lane_states(rows)) for one, rows in lanes.items())
    found.robots.update(row.site_id for row in connection.execute(_ROBOTS, {"among": sites}))
    listed = _few(connection, _LISTED, sites)
    if listed is not None:
        found.listed.update((one, []) for one in sites)
        for row in sorted(listed, key=itemgetter(1, 2, 3)):
            found.listed[row.site_id].append(row.data)
    owners = _few(connection, _OWNERS, sites)
    if owners is not None:
        found.owners.update((one, {}) for one in sites)
        for row in sorted(owners, key=itemgetter(0)):
            found.owners[row.site_id].setdefault(hash_of(row.home_url), row.id)


def _read_seeds(connection: Connection, seeds: Sequence[int], found: Ahead) -> None:
    asked = {"among": seeds}
    found.chunks.update((one, []) for one in seeds)
    for row in sorted(connection.execute(_CHUNKS, asked), key=itemgetter(0, 1, 2)):
        found.chunks[row.seed_id].append(ChunkRow(*row))
    found.jars.update((row.seed_id, bytes(row.data)) for row in connection.execute(_JARS, asked))
    pages: dict[int, list[AnyRow]] = {one: [] for one in seeds}
    for row in sorted(connection.execute(_REDIRECTED, asked), key=attrgetter("id")):
        pages[row.seed_id].append(row)
    found.redirected.update((one, redirected_of(rows, one)) for one, rows in pages.items())


def _few(connection: Connection, query: AnySelect, sites: Sequence[int]) -> Sequence[AnyRow] | None:
    """Return all that a query finds at sites; None where there may be more than is read at a time."""
    most = _FEW * len(sites)
    rows = connection.execute(query, {"among": sites, "most": most}).all()
    return rows if len(rows) < most else None


def lane_states(rows: Iterable[AnyRow]) -> list[LaneState]:
    """Make states of rows of `LANES`, in the order of their keys; MariaDB would sort `ahead` on its disk."""
    return [LaneState._make((*row[:5], tuple(read_json(row[5])))) for row in sorted(rows, key=itemgetter(0, 1))]


def redirected_of(rows: Sequence[AnyRow], seed_id: int) -> list[tuple[bytes, int, int, bytes]]:
    """Return what was redirected, and asked for once, of a seed's own: hash, depth, position, referrer.

    The rows are those of redirects, and of what was asked for more than once.
    """
    again = {row.url_hash for row in rows if row.attempts > 1}
    found = (row for row in rows if row.lane_seed == seed_id and row.url_hash not in again)
    return [(bytes(row.url_hash), listed_depth(row), row.position, bytes(row.referrer)) for row in found]
