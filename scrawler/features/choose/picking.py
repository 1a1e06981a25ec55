"""What users want of single seeds: to skip them, to take that back, to remove them, and to undo a promotion.

Each transaction locks the sites of some seeds, and touches only those that no machine has in work: the lease stays the
authority. What is cut short is seen from the rows, and done by the same order again: a seed that is to be removed is
skipped first, and its row goes last.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, insert, or_, select, update
from sqlalchemy import case as sql_case
from sqlalchemy import func as sql

from scrawler.features.choose.tables import promotion
from scrawler.model.claims import SiteState
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import Millis
from scrawler.store.claims.crawls import bump_revision
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.faults import read_json
from scrawler.store.engines.rows import inserted_id, sliced
from scrawler.store.lists.orphans import OrphanWriter
from scrawler.store.lists.relisting import let_go_on, sites_in_work
from scrawler.store.schema.tables import candidate, inbox, lane, outbox, page, seed, site
from scrawler.store.schema.whole import all_tables

_SEEDS = 200  # of one transaction
_ROWS = 1_000  # of one transaction
_PROMOTED = 1  # as candidate.promoted
# What else is known for a seed alone. Of what waits for other sites it was only the finder.


class Picked(NamedTuple):
    """What became of the seeds that were named."""

    done: int = 0
    in_work: int = 0  # machines have their sites in work
    kept: int = 0  # what they have done is still needed
    already: int = 0  # there was nothing to do

    def plus(self, other: Picked) -> Picked:
        """Add up."""
        return Picked._make(map(sum, zip(self, other, strict=True)))


class Promotion(NamedTuple):
    """A promotion of candidate seeds, with what is left of it."""

    batch: int
    promoted_at: Millis
    what: dict[str, Any]
    seeds: int
    begun: int  # of these, as a machine has taken them up
    undone_at: Millis | None


class Picking:
    """Does what users want of single seeds."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        self._orphans = OrphanWriter(database.compiler)

    # -- skipping ------------------------------------------------------------------------------------------

    def skip(self, seeds: Collection[int]) -> Picked:
        """Let no machine, round or retry take up these seeds, until that is taken back."""
        return self._for_each(seeds, self._skip)

    def unskip(self, seeds: Collection[int]) -> Picked:
        """Take that back: those that were not done go on where they were."""
        return self._for_each(seeds, self._unskip)

    def skipped(self) -> Iterator[int]:
        """Yield the seeds that are skipped."""
        after = 0
        query = select(seed.c.id).where(seed.c.skipped == 1).order_by(seed.c.id).limit(_ROWS)
        while rows := self._database.rows(query.where(seed.c.id > after)):
            yield from (row.id for row in rows)
            after = rows[-1].id

    def _for_each(self, seeds: Collection[int], work: Any) -> Picked:
        total = Picked()
        for part in sliced(sorted(set(seeds)), _SEEDS):
            total = total.plus(self._database.retrying(partial(work, part=part)))
        return total

    def _skip(self, connection: Connection, part: Sequence[int]) -> Picked:
        free, in_work = _free(connection, part)
        columns = seed.c.id, seed.c.state, seed.c.skipped
        rows = connection.execute(select(*columns).where(seed.c.id.in_(list(free)))).all()
        fresh = [row.id for row in rows if not row.skipped]
        undone = {row.id for row in rows if row.state != SeedState.DONE.value}
        connection.execute(update(seed).where(seed.c.id.in_(fresh)).values(skipped=1))
        if undone:
            now = database_time(connection, self._database.clock)
            values = {"state": SeedState.DONE.value, "end_reason": EndReason.SKIPPED.value, "ended_at": now}
            connection.execute(update(seed).where(seed.c.id.in_(sorted(undone))).values(values))
            _let_sites_end(connection, {free[one] for one in undone})
        return Picked(len(fresh), in_work, already=len(free) - len(fresh))

    @staticmethod
    def _unskip(connection: Connection, part: Sequence[int]) -> Picked:
        free, in_work = _free(connection, part)
        skipped = select(seed.c.id, seed.c.end_reason).where(seed.c.id.in_(list(free)), seed.c.skipped == 1)
        rows = connection.execute(skipped.order_by(seed.c.id)).all()
        connection.execute(update(seed).where(seed.c.id.in_([row.id for row in rows])).values(skipped=0))
        undone = [row.id for row in rows if row.end_reason == EndReason.SKIPPED.value]
        if undone:
            let_go_on(connection, undone, {free[one] for one in undone}, forgetting=False)
        return Picked(len(rows), in_work, already=len(free) - len(rows))

    # -- removing ------------------------------------------------------------------------------------------

    def remove(self, seeds: Collection[int], with_pages: bool = False) -> Picked:
        """Remove seeds, and all that is known for them; those with pages only `with_pages`.

        Records of these stay in the archive, as orphans. What other seeds of a site need of one is kept, with it.
        """
        total = Picked()
        for one in sorted(set(seeds)):
            total = total.plus(self._remove(one, with_pages))
        return total

    def _remove(self, seed_id: int, with_pages: bool) -> Picked:
        said = self._database.retrying(partial(self._begin_to_remove, seed_id=seed_id, with_pages=with_pages))
        if said is not None:
            return said
        others = [one for one in all_tables() if "seed_id" in one.c and one not in (page, inbox, outbox)]
        steps = [self._take_pages_away, *(partial(_take_rows_away, table=table) for table in others)]
        for step in steps:
            while (left := self._database.retrying(partial(_if_free, seed_id=seed_id, step=step))) != 0:
                if left < 0:
                    return Picked(in_work=1)
        gone = self._database.retrying(partial(_if_free, seed_id=seed_id, step=_take_seed_away))
        return Picked(in_work=1) if gone < 0 else Picked(done=1)

    def _begin_to_remove(self, connection: Connection, seed_id: int, with_pages: bool) -> Picked | None:
        """Skip the seed; return what is to be told where it is not to be removed."""
        free, in_work = _free(connection, [seed_id])
        if not free:
            return Picked(in_work=in_work, already=1 - in_work)
        has_pages = connection.scalar(select(page.c.id).where(page.c.seed_id == seed_id).limit(1)) is not None
        if (has_pages and not with_pages) or _is_needed(connection, seed_id, free[seed_id]):
            return Picked(kept=1)
        self._skip(connection, [seed_id])
        return None

    def _take_pages_away(self, connection: Connection, seed_id: int) -> int:
        columns = page.c.id, page.c.warc_file, page.c.warc_offset, page.c.warc_length
        rows = connection.execute(select(*columns).where(page.c.seed_id == seed_id).order_by(page.c.id).limit(_ROWS))
        found = rows.all()
        spans = [(row.warc_file, row.warc_offset, row.warc_length) for row in found if row.warc_file]
        self._orphans.write(connection, spans)
        for part in sliced([row.id for row in found]):
            connection.execute(delete(page).where(page.c.id.in_(part)))
        return len(found)

    # -- promotions ----------------------------------------------------------------------------------------

    def begin_promotion(self, what: dict[str, Any]) -> int:
        """Note that candidate seeds are promoted; return the number of the batch."""

        def work(connection: Connection) -> int:
            newest = connection.scalar(select(sql.max(seed.c.id))) or 0
            now = database_time(connection, self._database.clock)
            values = {"promoted_at": now, "what": json.dumps(what), "after_seed": newest}
            return inserted_id(connection.execute(insert(promotion).values(values)))

        return self._database.retrying(work)

    def forget_promotion(self, batch: int) -> None:
        """Forget a promotion that has made a seed of nothing."""
        mine = delete(promotion).where(promotion.c.id == batch)
        self._database.retrying(lambda connection: connection.execute(mine))

    def promotions(self, batch: int | None = None) -> list[Promotion]:
        """Return all promotions, or one, the newest last; seeds that were removed since are not counted."""
        query = select(promotion).order_by(promotion.c.id)
        rows = self._database.rows(query if batch is None else query.where(promotion.c.id == batch))
        found = []
        for row in rows:
            of_it = and_(seed.c.id > row.after_seed, seed.c.batch == row.id)
            begun = sql.sum(sql_case((_UNBEGUN, 0), else_=1))
            numbers = self._database.rows(select(sql.count(), begun).where(of_it))[0]
            undone = row.undone_at or None
            found.append(
                Promotion(row.id, row.promoted_at, read_json(row.what), numbers[0], int(numbers[1] or 0), undone)
            )
        return found

    def undo(self, batch: int) -> Picked:
        """Make seeds of a batch candidates again, but for those that a machine has begun.

        Raises KeyError: there is no such batch.
        """
        rows = self._database.rows(select(promotion.c.after_seed).where(promotion.c.id == batch))
        if not rows:
            raise KeyError(batch)
        total, after = Picked(), rows[0].after_seed
        query = select(seed.c.id).where(seed.c.batch == batch).order_by(seed.c.id).limit(_SEEDS)
        while found := self._database.rows(query.where(seed.c.id > after)):
            part = [row.id for row in found]
            total = total.plus(self._database.retrying(partial(_undo, part=part)))
            after = part[-1]

        def note(connection: Connection) -> None:
            now = database_time(connection, self._database.clock)
            connection.execute(update(promotion).where(promotion.c.id == batch).values(undone_at=now))

        self._database.retrying(note)
        return total


_UNBEGUN = and_(
    seed.c.requests == 0,
    seed.c.started_at.is_(None),
    or_(seed.c.state == SeedState.READY.value, seed.c.end_reason == EndReason.SKIPPED.value),
)


def _free(connection: Connection, seeds: Sequence[int]) -> tuple[dict[int, int], int]:
    """Lock the sites of seeds; return those that no machine has in work, with their sites, and how many others."""
    query = select(seed.c.id, seed.c.site_id).where(seed.c.id.in_(seeds))
    held = sites_in_work(connection, {row.site_id for row in connection.execute(query)})
    rows = connection.execute(query.order_by(seed.c.id)).all()  # under the locks: a seed may have moved
    free = {row.id: row.site_id for row in rows if row.site_id not in held}
    return free, len(rows) - len(free)


def _let_sites_end(connection: Connection, sites: Iterable[int]) -> None:
    """Let locked sites be done that nobody owns, and that have no seed to crawl any more."""
    unfinished = SeedState.READY.value, SeedState.ACTIVE.value
    has_work = exists().where(seed.c.site_id == site.c.id, seed.c.state.in_(unfinished))
    waits = site.c.state.in_([SiteState.READY.value, SiteState.RESTING.value])
    for part in sliced(sorted(sites)):
        of_nobody = site.c.id.in_(part), site.c.owner.is_(None), waits, ~has_work
        connection.execute(update(site).where(*of_nobody).values(state=SiteState.DONE.value))
    bump_revision(connection)


def _is_needed(connection: Connection, seed_id: int, site_id: int) -> bool:
    """Tell whether other seeds of a site have pages that a seed has listed, or are to fetch some."""
    held = lane.c.seed_id == seed_id, lane.c.holder_id != seed_id, lane.c.cursor_position < lane.c.length
    if connection.scalar(select(lane.c.seed_id).where(*held).limit(1)) is not None:
        return True
    others = select(seed.c.id).where(seed.c.site_id == site_id, seed.c.id != seed_id)
    theirs = page.c.seed_id.in_(others), page.c.lane_seed == seed_id
    return connection.scalar(select(page.c.id).where(*theirs).limit(1)) is not None


def _if_free(connection: Connection, seed_id: int, step: Any) -> int:
    """Do a step of a removal, and return how many rows it took; -1: a machine has the seed in work now."""
    free, in_work = _free(connection, [seed_id])
    if in_work:
        return -1
    return int(step(connection, seed_id=seed_id)) if free else 0


def _take_rows_away(connection: Connection, seed_id: int, table: Table) -> int:
    """Delete some rows of a table that are of a seed."""
    mine = table.c.seed_id == seed_id
    keys = [column for column in table.primary_key if column.name != "seed_id"]
    if not keys:
        connection.execute(delete(table).where(mine))
        return 0
    key: ColumnElement[Any] = keys[-1]
    values = sorted(set(connection.scalars(select(key).where(mine).limit(_ROWS))))
    for part in sliced(values):
        connection.execute(delete(table).where(mine, key.in_(part)))
    return len(values)


def _take_seed_away(connection: Connection, seed_id: int) -> int:
    connection.execute(delete(seed).where(seed.c.id == seed_id))
    bump_revision(connection)
    return 0


def _undo(connection: Connection, part: Sequence[int]) -> Picked:
    """Make candidates of seeds that no machine has begun."""
    free, in_work = _free(connection, part)
    unbegun = select(seed.c.id, seed.c.url_hash).where(seed.c.id.in_(list(free)), _UNBEGUN)
    rows = connection.execute(unbegun.order_by(seed.c.id)).all()
    hashes = sorted(bytes(row.url_hash) for row in rows)
    for some in sliced(hashes):
        again = candidate.c.promoted == _PROMOTED, candidate.c.url_hash.in_(some)
        connection.execute(update(candidate).where(*again).values(promoted=0))
    ids = [row.id for row in rows]
    connection.execute(delete(seed).where(seed.c.id.in_(ids)))
    _let_sites_end(connection, {free[one] for one in ids})
    return Picked(len(ids), in_work, kept=len(free) - len(ids))
