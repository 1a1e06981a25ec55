"""The rows of a checkpoint, table after table.

Every machine goes through the tables in the same order, and through a table in the order of its keys: writers that go
in different orders lock each other out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from http import HTTPStatus
from operator import attrgetter, itemgetter
from typing import Any, Protocol

from sqlalchemy import Connection, delete
from sqlalchemy.engine import Dialect

from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.lanes import LaneState
from scrawler.model.results import NO_ERROR, Result
from scrawler.model.robots import RobotsRecord, RobotsRow
from scrawler.model.row_kinds import RowKind, gathered
from scrawler.model.rows import PageRow, PatternRow, RejectionRow, RelationRow, SitemapRow
from scrawler.model.seeds import SeedState
from scrawler.references import load_object
from scrawler.store.claims.sites import lay_to_rest, release_sites, wake_sites
from scrawler.store.commit.batches import Batch
from scrawler.store.commit.externals import Externals
from scrawler.store.engines.bulk import BulkInsert, BulkUpdate
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import sliced
from scrawler.store.lists.ahead import LISTED_IN
from scrawler.store.lists.replacing import Replacing
from scrawler.store.schema.tables import (
    SEED_COUNTS,
    chunk,
    inbox,
    jar,
    lane,
    page,
    pattern,
    rejection,
    relation,
    robots,
    robots_record,
    seed,
    site,
    sitemap_url,
)

_LANE = ("seed_id", "kind", "holder_id", "cursor_position", "length", "ahead")
_SITE = ("next_due_at", "address", "pushbacks", "pause_ms", "slowest_ms")
_CHUNK = ("seed_id", "kind", "seq", "first_position", "entries", "data")
_COUNTS = tuple(column.name for column in SEED_COUNTS)
_SEED = (*_COUNTS, "verdicts", "elapsed_ms", "state", "end_reason", "end_detail", "ended_at")
_counts_of = attrgetter(*_COUNTS)
_clock_of = attrgetter(*_SITE)
_by_two = itemgetter(0, 1)
_plain_json = json.JSONEncoder(separators=(",", ":")).encode  # `json.dumps` makes an encoder each time, for 2 us
_sorted_json = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode
_NOT_MODIFIED = HTTPStatus.NOT_MODIFIED.value
_PAGES = 1_024  # rows that are unpacked and written at a time
_LONGEST_DETAIL = 1_000  # characters of a detail that is kept


Write = Callable[[Batch], None]  # raises what the database raises


class FeatureWriter(Protocol):
    """Writes rows of a feature that are not only to be put into their tables.

    It keeps nothing between two calls: a transaction that fails is done again.
    """

    @property
    def kinds(self) -> Collection[RowKind]:
        """The kinds of which it writes all rows."""
        ...

    def write(self, batch: Batch) -> None:
        """Write what a batch has of these kinds, if anything. Raises what the database raises."""


class RowWriters:
    """Writes all rows of a batch but the machine's own."""

    def __init__(self, database: Database, externals: Externals) -> None:
        self._features: list[FeatureWriter] = []
        pages, seeds, sites = PageRows(database, externals), SeedRows(database), SiteRows(database)
        kinds = self._kinds = FeatureRows(database.compiler)
        self._writers: tuple[Write, ...] = (
            pages.write_pages,
            pages.replace_pages,
            seeds.write_lanes,
            seeds.write_chunks,
            pages.write_externals,
            seeds.write_lists,
            self._write_by_features,
            kinds.write,
            sites.write_robots,
            seeds.write_seeds,
            seeds.move_seeds,
            sites.write_sites,
            take_out_of_batch,
        )

    def add(self, write: Write) -> None:
        """Let this write as well, after all others."""
        self._writers = (*self._writers, write)

    def add_feature(self, writer: FeatureWriter) -> None:
        """Let a feature write the rows of its kinds itself."""
        self._features.append(writer)
        self._kinds.leave(writer.kinds)

    def _write_by_features(self, batch: Batch) -> None:
        for writer in self._features:
            writer.write(batch)

    def write(self, batch: Batch) -> None:
        """Write all rows."""
        for write in self._writers:
            write(batch)


class PageRows:
    """Rows of pages, and of the external URLs that stand on them."""

    def __init__(self, database: Database, externals: Externals) -> None:
        self._pages = BulkInsert.inserting(page, PageRow._fields, database.compiler)
        self._replacing = Replacing(database)
        self._externals = externals
        # SQLite has one writer, and rows go to it in the order of the index that covers all seeds: in any other order
        # each touches a page of its own there, more pages than are kept in memory, and is written more than once.
        self._externals_order = itemgetter(1) if database.dialect == "sqlite" else _by_two

    def write_pages(self, batch: Batch) -> None:
        """Write page rows, of which only so many are there at a time, and add them to the machine's totals."""
        done = batch.done
        for rows in sliced(batch.rows("pages"), _PAGES):
            self._pages.run(batch.connection, rows)
            results = Counter(row.result for row in rows)
            done["pages"] += results[Result.FETCHED.value]
            done["bytes"] += sum([row.length for row in rows if row.status != _NOT_MODIFIED])
            done["errors"] += sum(times for result, times in results.items() if result not in NO_ERROR)

    def replace_pages(self, batch: Batch) -> None:
        """Take rows away whose place others take."""
        if retried := [one for one in batch.seeds if one.replaced or one.kept or one.marked]:
            self._replacing.write(batch.connection, retried)

    def write_externals(self, batch: Batch) -> None:
        """Hand external URLs to where they go."""
        found = sorted(batch.rows("externals"), key=self._externals_order)
        batch.done.update(self._externals.keep(batch.connection, found) or {})


class SeedRows:
    """Rows of seeds, and those that hang on one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        compiler = database.compiler
        self._lanes = BulkInsert.replacing(lane, _LANE, compiler)
        self._chunks = BulkInsert.replacing(chunk, _CHUNK, compiler)
        self._lists = {  # by their field in deltas of seeds
            "relations": BulkInsert.replacing(relation, RelationRow._fields, compiler),
            "patterns": BulkInsert.replacing(pattern, PatternRow._fields, compiler),
            "rejections": BulkInsert.ignoring(rejection, RejectionRow._fields, compiler),
            "sitemap_urls": BulkInsert.replacing(sitemap_url, SitemapRow._fields, compiler),
        }
        self._jars = BulkInsert.replacing(jar, ("seed_id", "data"), compiler)
        self._seeds = BulkUpdate(seed, _SEED, compiler)
        self._moves = BulkUpdate(seed, ("site_id", "home_url", "rehomed"), compiler)

    def write_lanes(self, batch: Batch) -> None:
        """Write how far lists are worked off."""
        self._lanes.run(batch.connection, sorted(_lane_row(row) for row in batch.rows("lanes")))

    def write_chunks(self, batch: Batch) -> None:
        """Write what lists have more, and take away what is behind the cursors of those that are worked off.

        Lists in which URLs stand for the first time stay: they tell which URLs are known.
        """
        over = {row[:2]: row.cursor for row in batch.rows("lanes") if _is_worked_off(row)}
        rows = (row for row in batch.rows("chunks") if row.first + row.count > over.get(row[:2], 0))
        self._chunks.run(batch.connection, sorted(rows, key=itemgetter(0, 1, 2)))
        for (seed_id, kind), cursor in sorted(over.items()):
            of_lane = chunk.c.seed_id == seed_id, chunk.c.kind == kind
            batch.connection.execute(delete(chunk).where(*of_lane, chunk.c.first_position < cursor))

    def write_lists(self, batch: Batch) -> None:
        """Write what a party knows besides: relations, patterns, rejections, words of sitemaps, cookies."""
        for field, insert in self._lists.items():
            insert.run(batch.connection, sorted(batch.rows(field), key=_by_two))
        jars = [(one.seed_id, one.jar) for one in batch.seeds if one.jar is not None]
        self._jars.run(batch.connection, jars)

    def write_seeds(self, batch: Batch) -> None:
        """Write states and counts of seeds."""
        ended = any(one.state is SeedState.DONE for one in batch.seeds)
        now = database_time(batch.connection, self._database.clock) if ended else 0
        self._seeds.run(batch.connection, [_seed_row(one, now) for one in batch.seeds])

    def move_seeds(self, batch: Batch) -> None:
        """Give seeds to the sites to which their URLs redirect."""
        moving = ((one.seed_id, one.rehoming) for one in batch.seeds)
        moves = [(seed_id, batch.targets[to.site_key], to.home_url, to.rehomed) for seed_id, to in moving if to]
        self._moves.run(batch.connection, moves)
        wake_sites(batch.connection, [site_id for _, site_id, _, _ in moves])


class SiteRows:
    """Rows of sites."""

    def __init__(self, database: Database) -> None:
        compiler = database.compiler
        self._robots = BulkInsert.replacing(robots, RobotsRow._fields, compiler)
        self._robots_records = BulkInsert.inserting(robots_record, RobotsRecord._fields, compiler)
        self._sites = BulkUpdate(site, _SITE, compiler)

    def write_robots(self, batch: Batch) -> None:
        """Write what robots.txt of each origin said, and where its records stand."""
        self._robots.run(batch.connection, sorted(row for one in batch.sites for row in one.robots))
        self._robots_records.run(batch.connection, sorted(row for one in batch.sites for row in one.robots_records))

    def write_sites(self, batch: Batch) -> None:
        """Write what is new of all sites."""
        self.write(batch.connection, [(one.site_id, one) for one in batch.sites])

    def write(self, connection: Connection, sites: Sequence[tuple[int, SiteDelta]]) -> None:
        """Write the clocks of sites, by their ids, and let go of those that are released."""
        self._sites.run(connection, sorted((site_id, *_clock_of(one)) for site_id, one in sites))
        released = [(site_id, one.resting) for site_id, one in sites if one.released]
        release_sites(connection, [site_id for site_id, _ in released])
        lay_to_rest(connection, [site_id for site_id, is_resting in released if is_resting])


class FeatureRows:
    """Rows of features, of kinds that nobody here knows."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._kinds: dict[RowKind, BulkInsert] = {}  # as they come
        self._left: set[RowKind] = set()

    def leave(self, kinds: Iterable[RowKind]) -> None:
        """Leave rows of these kinds to others."""
        self._left.update(kinds)

    def write(self, batch: Batch) -> None:
        """Write the rows of each kind."""
        for kind, rows in gathered(batch.of_features()):
            if kind not in self._left:
                self._of_kind(kind).run(batch.connection, rows)

    def _of_kind(self, kind: RowKind) -> BulkInsert:
        if kind not in self._kinds:
            self._kinds[kind] = BulkInsert.replacing(load_object(kind.table), kind.columns, self._dialect)
        return self._kinds[kind]


def take_out_of_batch(batch: Batch) -> None:
    """Take URLs out of inboxes that parties have listed or refused."""
    if taken := [number for one in batch.sites if not one.guest_at for number in one.taken if number > 0]:
        batch.done["received"] = take_out(batch.connection, taken)


def take_out(connection: Connection, ids: Sequence[int]) -> int:
    """Take URLs out of inboxes, as far as nobody else has; return how many were there."""
    return sum(
        connection.execute(delete(inbox).where(inbox.c.id.in_(part))).rowcount for part in sliced(sorted(set(ids)))
    )


def _is_worked_off(state: LaneState) -> bool:
    """Tell whether nothing is left of a list that only repeats what stands in others."""
    return state.cursor >= state.length and state.kind not in LISTED_IN


def _lane_row(state: LaneState) -> tuple[Any, ...]:
    return (*state[:5], _plain_json(state.ahead))


def _seed_row(delta: SeedDelta, now: int) -> tuple[Any, ...]:
    detail = delta.end_detail[:_LONGEST_DETAIL].encode("utf-8", "backslashreplace").decode()
    done = delta.state is SeedState.DONE
    return (
        delta.seed_id,
        *_counts_of(delta.counts),
        _sorted_json(dict(delta.verdicts)),
        delta.elapsed_ms,
        delta.state.value,
        delta.end_reason.value if delta.end_reason and done else None,  # see `in_order_of_id`
        detail[:_LONGEST_DETAIL],
        now if done else None,
    )
