"""Seeds that ended because something was out of order for a while are made to go on (`run --retry`).

What such a seed had not fetched goes on from where it was; so does one that ended by a limit, which was raised since.
Where that was the depth, its deepest pages are read again: their links were left out, and are known no more. Their rows
and records stay, whatever comes of that. URLs of a seed whose final result was a failure that may have passed are
listed again, as those that a user wants by their results (see `url_retries`): their rows are marked, and stay until an
answer comes that takes their place. Each transaction is a whole step, and what is left is seen from the rows: cut short
at any point, it is done again. Only sites that no machine has in work are touched.
"""

from __future__ import annotations

import json
import re
from base64 import b32decode
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, false, or_, select, update
from sqlalchemy import func as sql

from scrawler.model.lanes import REREAD, WANTED
from scrawler.model.results import MAY_PASS, Result
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.engines.engine import Database
from scrawler.store.engines.faults import read_json
from scrawler.store.engines.rows import AnyRow, in_order_of_id
from scrawler.store.lists.relisting import IS_WAITING, Packed, Relisting, let_go_on, sites_in_work
from scrawler.store.schema.tables import page, rejection, seed
from scrawler.urls.verdict import Verdict

LIMITS = (EndReason.MAX_PAGES, EndReason.MAX_BYTES, EndReason.MAX_TIME, EndReason.MAX_DEPTH)
RETRYABLE = (
    EndReason.DEAD,
    EndReason.NO_ADDRESS,
    EndReason.PUSHED_BACK,
    EndReason.ROBOTS_UNAVAILABLE,
    EndReason.HTTP_ERROR,
    EndReason.PRIVATE_ADDRESS,
    EndReason.CRAWL_DELAY,
    EndReason.OUTSIDE_BOUNDARY,
    EndReason.INTERNAL_ERROR,
    *LIMITS,
)

_SEEDS = 200  # seeds of one transaction
_PAGES = 1_000  # pages of one transaction, and of one chunk at most
_DENIED = Result.ROBOTS_UNAVAILABLE.value
_BUSY = or_(page.c.status.in_([408, 425, 429]), page.c.status.between(500, 599))
_PASSING: ColumnElement[bool] = and_(
    or_(
        page.c.result.in_([_DENIED, *sorted(result.value for result in MAY_PASS)]),
        and_(page.c.result == Result.HTTP_ERROR.value, or_(_BUSY, page.c.depth == 0)),  # 0: the seed ended for it
    ),
    or_(page.c.depth > 0, page.c.lane_seed == page.c.seed_id),  # another seed's own URL is listed by that one
)
# Statuses of a site that refuses all, given to URLs before that was known: they may be the pages' own.
_REFUSED: ColumnElement[bool] = and_(
    page.c.result == Result.HTTP_ERROR.value,
    page.c.status.between(400, 499) | (page.c.status >= 600),
    page.c.status.not_in([404, 410]),
    or_(page.c.depth > 0, page.c.lane_seed == page.c.seed_id),
)
_SHA1 = re.compile(r"sha1:([A-Z2-7]{32})")
_TO_LIST = (
    page.c.id, page.c.seed_id, page.c.url_hash, page.c.url, page.c.depth, page.c.position, page.c.flags,
    page.c.referrer,
)  # fmt: skip


class Taken(NamedTuple):
    """How many seeds were taken up again, and how many were left because a machine has their site in work."""

    seeds: int
    in_work: int


class Retries:
    """Takes seeds up again; `pack` makes the data of a chunk of (url, depth, position, referrer)."""

    def __init__(self, database: Database, pack: Packed, stopping: Callable[[], bool] = lambda: False) -> None:
        """Work on `database`, until `stopping`: what is left is done next time."""
        self._database = database
        self._stopping = stopping
        self._relisting = Relisting(database, pack, WANTED.number)
        self._rereading = Relisting(database, pack, REREAD.number)

    def take_up(self, reasons: Collection[EndReason]) -> Taken:
        """Let all seeds that ended for one of `reasons`, which are among RETRYABLE, go on."""
        ours = theirs = 0
        for reason in reasons:
            ended = in_order_of_id(select(seed.c.id, seed.c.site_id).limit(_SEEDS), SeedState.DONE, reason)
            ended = ended.where(seed.c.skipped == 0)
            after = 0
            while not self._stopping() and (rows := self._database.rows(ended.where(seed.c.id > after))):
                batch = {row.id: row.site_id for row in rows}
                taken = self._take(batch, self._passing(reason, rows), rereads=reason is EndReason.MAX_DEPTH)
                ours += taken
                theirs += len(rows) - taken
                after = rows[-1].id
        return Taken(ours, theirs)

    def _passing(self, reason: EndReason, seeds: Sequence[AnyRow]) -> ColumnElement[bool]:
        """Return which pages of seeds that ended for a reason are to be fetched again."""
        if reason is EndReason.MAX_DEPTH:
            return self._deepest([row.id for row in seeds])
        if reason is EndReason.PUSHED_BACK:
            return or_(_PASSING, _REFUSED, *self._walls([row.id for row in seeds]))
        return false() if reason in LIMITS else _PASSING

    def _walls(self, seeds: Sequence[int]) -> list[ColumnElement[bool]]:
        """Return which pages were the one that seeds had for all URLs in the end, which their details name."""
        named = select(seed.c.id, seed.c.end_detail).where(seed.c.id.in_(seeds), seed.c.end_detail.like("%sha1:%"))
        found = [(row.id, _SHA1.search(row.end_detail)) for row in self._database.rows(named)]
        return [
            and_(page.c.seed_id == one, page.c.result == Result.FETCHED.value, page.c.digest == b32decode(sha1[1]))
            for one, sha1 in found
            if sha1 is not None
        ]

    def _deepest(self, seeds: Sequence[int]) -> ColumnElement[bool]:
        """Return which pages are the deepest of their seeds as they are now: a condition on rows, by their depth."""
        depths = select(page.c.seed_id, sql.max(page.c.depth)).where(page.c.seed_id.in_(seeds), page.c.position >= 0)
        by_depth: defaultdict[int, list[int]] = defaultdict(list)
        for seed_id, depth in self._database.rows(depths.group_by(page.c.seed_id)):
            by_depth[depth].append(seed_id)
        pages = page.c.result == Result.FETCHED.value, page.c.position >= 0, page.c.lane_seed == page.c.seed_id
        of_seeds = (and_(page.c.depth == depth, page.c.seed_id.in_(some)) for depth, some in by_depth.items())
        return and_(or_(false(), *of_seeds), *pages)

    def _take(self, batch: Mapping[int, int], passing: ColumnElement[bool], rereads: bool) -> int:
        """List URLs of some seeds again, so many a transaction, and with the last of them let the seeds go on.

        Returns how many seeds these were. With `rereads` the URLs are listed to be read again for their links.
        """
        after: int | None = 0
        while after is not None:
            step = partial(self._step, batch=batch, after=after, passing=passing, rereads=rereads)
            after, free = self._database.retrying(step)
        return free

    def _step(
        self,
        connection: Connection,
        batch: Mapping[int, int],
        after: int,
        passing: ColumnElement[bool],
        rereads: bool,
    ) -> tuple[int | None, int]:
        """List URLs of rows with ids above `after`; return where to go on, None: nowhere, and how many seeds are free.

        The seeds go on with the last step. A site that was claimed meanwhile is left alone.
        """
        held = sites_in_work(connection, batch.values())
        free = [one for one, site_id in batch.items() if site_id not in held]
        still = select(seed.c.id).where(seed.c.id.in_(free), seed.c.state == SeedState.DONE.value)
        seeds = list(connection.scalars(still.order_by(seed.c.id)))
        of_these = and_(page.c.seed_id.in_(seeds), passing, ~IS_WAITING, page.c.id > after)
        rows = connection.execute(select(*_TO_LIST).where(of_these).order_by(page.c.id).limit(_PAGES)).all()
        if rereads:
            self._rereading.list_again(connection, _by_seed(rows))
        elif rows:
            self._relisting.ask_again(connection, rows)
        if len(rows) == _PAGES:
            return rows[-1].id, len(free)
        let_go_on(connection, seeds, {batch[one] for one in seeds})
        _take_refusals_back(connection, seeds)
        _forget_depth(connection, seeds)
        connection.execute(update(seed).where(seed.c.id.in_(seeds)).values(internal_errors=0))
        return None, len(free)


def _by_seed(rows: Iterable[AnyRow]) -> dict[int, list[AnyRow]]:
    by_seed: defaultdict[int, list[AnyRow]] = defaultdict(list)
    for row in rows:
        by_seed[row.seed_id].append(row)
    return by_seed


def _take_refusals_back(connection: Connection, seeds: Sequence[int]) -> None:
    """Forget that seeds were led outside the boundary: they are led there once more, and it may be a wider one."""
    theirs = and_(rejection.c.seed_id.in_(seeds), rejection.c.reason == Verdict.OUTSIDE_BOUNDARY.value)
    connection.execute(delete(rejection).where(theirs))


def _forget_depth(connection: Connection, seeds: Sequence[int]) -> None:
    """Forget that links were left out for their depth: pages that have them are read again, or none was."""
    known = select(seed.c.id, seed.c.verdicts).where(seed.c.id.in_(seeds), seed.c.verdicts.like('%"depth"%'))
    for row in connection.execute(known.order_by(seed.c.id)).all():
        verdicts = {name: times for name, times in read_json(row.verdicts).items() if name != Verdict.DEPTH.value}
        connection.execute(update(seed).where(seed.c.id == row.id).values(verdicts=json.dumps(verdicts)))
