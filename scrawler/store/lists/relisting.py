"""URLs of seeds are listed once more, and ended seeds made to go on; all of it inside the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, select, update
from sqlalchemy import func as sql

from scrawler.model.results import PageFlag
from scrawler.model.seeds import SeedState
from scrawler.model.visits import UrlState
from scrawler.store.claims.crawls import bump_revision
from scrawler.store.claims.overview import LIVING
from scrawler.store.claims.processes import runs
from scrawler.store.claims.sites import lock_sites, wake_sites
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow, listed_depth, sliced
from scrawler.store.schema.tables import chunk, lane, machine, page, seed, site, suspect

_LANE_COLUMNS = ("seed_id", "kind", "holder_id", "cursor_position", "length", "ahead")
_CHUNK_COLUMNS = ("seed_id", "kind", "seq", "first_position", "entries", "data")

Packed = Callable[[Sequence[tuple[str, int, int, bytes]]], bytes]
IS_WAITING = page.c.flags.bitwise_and(PageFlag.WAITING.value) != 0  # listed by a retry that is not over


class Relisting:
    """Adds to lanes of one kind; `pack` makes the data of a chunk of (url, depth, position, referrer)."""

    def __init__(self, database: Database, pack: Packed, kind: int) -> None:
        """Work on `database`."""
        self._pack = pack
        self._kind = kind
        self._lanes = BulkInsert.replacing(lane, _LANE_COLUMNS, database.compiler)
        self._chunks = BulkInsert.inserting(chunk, _CHUNK_COLUMNS, database.compiler)

    def ask_again(self, connection: Connection, rows: Sequence[AnyRow]) -> None:
        """List the URLs of page rows, which stay until answers come that take their place; each URL is listed once."""
        waiting = _waiting_among(connection, rows)
        for part in sliced([row.id for row in rows]):
            flagged = page.c.flags.bitwise_or(PageFlag.WAITING.value)
            connection.execute(update(page).where(page.c.id.in_(part)).values(flags=flagged))
        by_seed: defaultdict[int, list[AnyRow]] = defaultdict(list)
        for row in rows:
            key = row.seed_id, bytes(row.url_hash)
            if key not in waiting:
                waiting.add(key)
                by_seed[row.seed_id].append(row)
        self.list_again(connection, by_seed)

    def list_again(self, connection: Connection, by_seed: Mapping[int, Sequence[AnyRow | UrlState]]) -> None:
        """List the URLs of page rows, or of states, again: a chunk for each seed."""
        known = select(lane).where(lane.c.seed_id.in_(list(by_seed)), lane.c.kind == self._kind)
        lanes = {row.seed_id: row for row in connection.execute(known)}
        last = select(chunk.c.seed_id, sql.max(chunk.c.seq)).group_by(chunk.c.seed_id)
        last = last.where(chunk.c.seed_id.in_(list(by_seed)), chunk.c.kind == self._kind)
        numbers = {row[0]: row[1] for row in connection.execute(last)}
        changed, chunks = [], []
        for one, rows in sorted(by_seed.items()):
            before = lanes.get(one)
            cursor, length, ahead = (before.cursor_position, before.length, before.ahead) if before else (0, 0, "[]")
            data = self._pack([(row.url, listed_depth(row), row.position, bytes(row.referrer)) for row in rows])
            chunks.append((one, self._kind, numbers.get(one, -1) + 1, length, len(rows), data))
            changed.append((one, self._kind, one, cursor, length + len(rows), ahead))
        self._lanes.run(connection, changed)
        self._chunks.run(connection, chunks)


def _waiting_among(connection: Connection, rows: Iterable[AnyRow]) -> set[tuple[int, bytes]]:
    """Return seed and hash of those of the URLs that another row of them has had listed."""
    found: set[tuple[int, bytes]] = set()
    for part in sliced(sorted({row.url_hash for row in rows})):
        query = select(page.c.seed_id, page.c.url_hash).where(page.c.url_hash.in_(part), IS_WAITING)
        found.update((row.seed_id, bytes(row.url_hash)) for row in connection.execute(query))
    return found


def sites_in_work(connection: Connection, site_ids: Iterable[int]) -> set[int]:
    """Lock sites, and return those that a machine which may live has in work."""
    rows = lock_sites(connection, site_ids).values()
    living = connection.execute(select(machine.c.id, machine.c.process).where(machine.c.state.in_(LIVING)))
    owners = {row.id for row in living if runs(row.process) is not False}
    return {row.id for row in rows if row.owner in owners}


def let_go_on(connection: Connection, seeds: Sequence[int], sites: Iterable[int], forgetting: bool = True) -> None:
    """Make seeds active, as those of a machine that stopped: all of a site are taken up together, with their lists.

    With `forgetting`, what URLs of them have done to processes is forgotten: they may do it again.
    What other seeds of the site hold of a list is its lister's again. One that has no list yet becomes ready.
    """
    begun = set(connection.scalars(select(lane.c.seed_id).where(lane.c.seed_id.in_(seeds)).distinct()))
    connection.execute(update(lane).where(lane.c.seed_id.in_(seeds)).values(holder_id=lane.c.seed_id))
    values = {"end_reason": None, "end_detail": "", "ended_at": None}
    for state, some in ((SeedState.ACTIVE, begun), (SeedState.READY, set(seeds) - begun)):
        connection.execute(update(seed).where(seed.c.id.in_(sorted(some))).values(**values, state=state.value))
    connection.execute(update(site).where(site.c.id.in_(sorted(sites))).values(pushbacks=0))
    if forgetting:
        connection.execute(delete(suspect).where(suspect.c.site_id.in_(sorted(sites))))
    wake_sites(connection, sites)
    bump_revision(connection)
