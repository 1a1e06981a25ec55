"""Checkpoints: makes what the machine did durable, in one transaction for many sites, fenced by their tokens."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from itertools import chain
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, select, update

from scrawler.errors import LeaseLostError, StoreError
from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.exchange import GUEST, guest_key
from scrawler.model.lanes import LaneState
from scrawler.model.machines import ENDING, Command, MachineState
from scrawler.model.results import NO_ERROR, Result
from scrawler.model.robots import RobotsRecord, RobotsRow
from scrawler.model.row_kinds import RowKind, gathered
from scrawler.model.rows import (
    PageRow,
    PatternRow,
    PublishedRow,
    PublisherRow,
    RejectionRow,
    RelationRow,
    SitemapRow,
)
from scrawler.model.seeds import SeedState
from scrawler.model.visits import UrlChange, UrlState
from scrawler.references import load_object
from scrawler.store.ahead import LISTED_IN
from scrawler.store.bulk import BulkInsert, BulkUpdate
from scrawler.store.demand import Demands
from scrawler.store.engine import Database, database_time
from scrawler.store.externals import AsCandidates, Externals
from scrawler.store.published import make_due
from scrawler.store.replacing import Replacing
from scrawler.store.rows import AnyRow, sliced
from scrawler.store.sitemap_words import learn, pull_forward, states_before
from scrawler.store.sites import ensure_guest_sites, ensure_sites, lay_to_rest, lock_sites, release_sites, wake_sites
from scrawler.store.tables import (
    SEED_COUNTS,
    chunk,
    inbox,
    jar,
    lane,
    machine,
    page,
    pattern,
    published_url,
    publisher,
    rejection,
    relation,
    robots,
    robots_record,
    seed,
    site,
    sitemap_url,
    url_change,
    url_state,
)

if TYPE_CHECKING:
    from scrawler.store.thinning import Thinning

_LANE = ("seed_id", "kind", "holder_id", "cursor_position", "length", "ahead")
_SITE = ("next_due_at", "address", "pushbacks", "pause_ms", "slowest_ms")
_CHUNK = ("seed_id", "kind", "seq", "first_position", "entries", "data")
_COUNTS = tuple(column.name for column in SEED_COUNTS)
_counts_of = attrgetter(*_COUNTS)
_site_row = attrgetter("site_id", *_SITE)
_plain_json = json.JSONEncoder(separators=(",", ":")).encode  # `json.dumps` makes an encoder each time, for 2 us
_sorted_json = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode
_NOT_MODIFIED = HTTPStatus.NOT_MODIFIED.value
_PAGES = 1_024  # rows that are unpacked and written at a time
_LONGEST_DETAIL = 1_000  # characters of a detail that is kept

_SEED = (*_COUNTS, "verdicts", "elapsed_ms", "state", "end_reason", "end_detail", "ended_at")


class _CommittedAlready(Exception):
    """An earlier try did commit, only its acknowledgement was lost."""


class Checkpoints:
    """Commits deltas for one machine; used by one thread at a time."""

    def __init__(self, database: Database, machine_id: int, externals: Externals | None = None) -> None:
        """Commit in the name of `machine_id`; external URLs go to `externals`, by default as candidate seeds."""
        self._database = database
        self._externals = AsCandidates(database) if externals is None else externals
        # SQLite has one writer, and rows go to it in the order of the index that covers all seeds: in any other order
        # each touches a page of its own there, more pages than are kept in memory, and is written more than once.
        self._externals_order = itemgetter(1) if database.dialect == "sqlite" else itemgetter(0, 1)
        self._machine_id = machine_id
        self._thinning: Thinning | None = None
        self._committed: int | None = None  # checkpoints that are committed; None before it was asked
        self._tried = False  # whether the deltas at hand were about to be committed before: perhaps they were
        self._stale: frozenset[int] = frozenset()  # sites whose deltas that try has dropped
        compiler = database.compiler
        self._pages = BulkInsert.inserting(page, PageRow._fields, compiler)
        self._lanes = BulkInsert.replacing(lane, _LANE, compiler)
        self._chunks = BulkInsert.replacing(chunk, _CHUNK, compiler)
        self._of_seeds = {  # rows by their field in deltas of seeds, in the order in which all machines write them
            "relations": BulkInsert.replacing(relation, RelationRow._fields, compiler),
            "patterns": BulkInsert.replacing(pattern, PatternRow._fields, compiler),
            "rejections": BulkInsert.ignoring(rejection, RejectionRow._fields, compiler),
            "sitemap_urls": BulkInsert.replacing(sitemap_url, SitemapRow._fields, compiler),
        }
        self._jars = BulkInsert.replacing(jar, ("seed_id", "data"), compiler)
        self._kinds: dict[RowKind, BulkInsert] = {}  # of features, as they come
        self._published = BulkInsert.ignoring(published_url, PublishedRow._fields, compiler)
        self._publishers = BulkInsert.replacing(publisher, PublisherRow._fields, compiler)
        self._robots = BulkInsert.replacing(robots, RobotsRow._fields, compiler)
        self._robots_records = BulkInsert.inserting(robots_record, RobotsRecord._fields, compiler)
        self._states = BulkInsert.replacing(url_state, UrlState._fields, compiler)
        self._changes = BulkInsert.inserting(url_change, UrlChange._fields, compiler)
        self._demands = Demands(database)
        self._replacing = Replacing(database)
        self._seeds = BulkUpdate(seed, _SEED, compiler)
        self._moves = BulkUpdate(seed, ("site_id", "home_url", "rehomed"), compiler)
        self._sites = BulkUpdate(site, _SITE, compiler)

    def thin(self, keep: int) -> None:
        """Keep the newest visits of each URL from now on, so many, and those that say something; see `thinning.py`."""
        from scrawler.store.thinning import Thinning  # few crawls take visits together

        self._thinning = Thinning(self._database, keep)

    def commit(self, deltas: Sequence[SiteDelta]) -> frozenset[int]:
        """Write all deltas in one transaction; return the ids of the sites whose token was no longer valid.

        The delta of such a site is dropped whole, the others are written.

        Raises:
            LeaseLostError: this machine was declared dead; nothing was written.
            StoreBusyError: commit the same deltas again, before any others. They may have been written: then nothing
                is written twice.
            StoreError: the database refuses; nothing was written.
        """
        if not deltas:
            return frozenset()
        if self._committed is None:
            self._committed = self._database.reading(self._checkpoints_so_far)
        number = self._committed
        guests = [delta for delta in deltas if delta.visits]
        if guests:
            deltas = [_of_guests(delta) if delta.visits else delta for delta in deltas]

        def work(connection: Connection) -> None:
            if self._tried:  # first: rows that are there would be refused
                self._look_back(connection, number)
            targets = self._targets(connection, deltas)
            visited = (delta.visits for delta in guests)
            rows = lock_sites(connection, chain((delta.site_id for delta in deltas), visited, targets.values()))
            dropped = frozenset(one.site_id for one in deltas if not self._owns(rows.get(one.site_id), one))
            valid = [delta for delta in deltas if delta.site_id not in dropped]
            done = self._write(connection, valid, targets)
            if guests:
                self._write_visits(connection, [delta for delta in valid if delta.visits])
            self._count(connection, number, done)
            self._tried, self._stale = True, dropped

        with suppress(_CommittedAlready):
            self._database.retrying(work)
        self._committed, self._tried = number + 1, False
        return self._stale

    def _look_back(self, connection: Connection, number: int) -> None:
        """Raise _CommittedAlready if the try before did commit, once it is known whether it did."""
        mine = select(machine.c.checkpoints).where(machine.c.id == self._machine_id).with_for_update()
        if connection.scalar(mine) not in (number, None):
            raise _CommittedAlready

    def _checkpoints_so_far(self, connection: Connection) -> int:
        found = connection.scalar(select(machine.c.checkpoints).where(machine.c.id == self._machine_id))
        if found is None:
            raise StoreError(f"machine {self._machine_id} is not in the database {self._database.where}")
        return int(found)

    def _targets(self, connection: Connection, deltas: Sequence[SiteDelta]) -> dict[str, int]:
        """Return the sites to which seeds move, by key; made before any is locked, to lock all in one order."""
        moves = [(one.rehoming.site_key, delta.visits) for delta in deltas for one in delta.seeds if one.rehoming]
        if not moves:
            return {}
        targets, _ = ensure_sites(connection, {key for key, visits in moves if not visits}, self._database.compiler)
        of_guests = {key.removeprefix(GUEST) for key, visits in moves if visits}
        return targets | ensure_guest_sites(connection, of_guests, self._database.compiler)

    def _owns(self, row: AnyRow | None, delta: SiteDelta) -> bool:
        return row is not None and (row.owner, row.token) == (self._machine_id, delta.token)

    def _write(self, connection: Connection, deltas: list[SiteDelta], targets: dict[str, int]) -> Counter[str]:
        """Write all rows but the machine's own; return what to add to that, by column."""
        seeds = sorted((one for delta in deltas for one in delta.seeds), key=lambda one: one.seed_id)
        done = self._write_pages(connection, seeds)
        if retried := [one for one in seeds if one.replaced or one.kept or one.marked]:
            self._replacing.write(connection, retried)
        # Rows go in the order of their keys: writers that go through a table in different orders lock each other out.
        self._lanes.run(connection, sorted(_lane_row(row) for one in seeds for row in one.lanes))
        self._write_chunks(connection, seeds)
        by_two = itemgetter(0, 1)
        found = sorted((row for one in seeds for row in one.externals), key=self._externals_order)
        done.update(self._externals.keep(connection, found) or {})
        for name, insert in self._of_seeds.items():
            insert.run(connection, sorted((row for one in seeds for row in getattr(one, name)), key=by_two))
        self._jars.run(connection, [(one.seed_id, one.jar) for one in seeds if one.jar is not None])
        visited: list[SiteDelta] = []
        if any(one.states for one in seeds):
            visited = [delta for delta in deltas if any(one.states for one in delta.seeds)]
        before = states_before(connection, visited) if visited else {}
        self._states.run(connection, sorted((row for one in seeds for row in one.states), key=by_two))
        self._changes.run(connection, [row for one in seeds for row in one.changes])
        if self._thinning is not None and visited:
            self._thinning.thin(connection, seeds)
        if before:
            learn(connection, visited, before)
        if visited and any(one.sitemap_urls for delta in visited for one in delta.seeds):
            pull_forward(connection, visited, database_time(connection, self._database.clock))
        if learned := [one for one in deltas if one.demand or one.rates is not None]:
            self._demands.write(connection, self._machine_id, learned)
        self._write_published(connection, seeds)
        for kind, of_kind in gathered(one.rows for one in seeds if one.rows):
            self._of_kind(kind).run(connection, of_kind)
        self._robots.run(connection, sorted(row for one in deltas for row in one.robots))
        self._robots_records.run(connection, sorted(row for one in deltas for row in one.robots_records))
        self._write_seeds(connection, seeds)
        self._move_seeds(connection, seeds, targets)
        self._write_sites(connection, deltas)
        if taken := [number for one in deltas if not one.visits for number in one.taken if number > 0]:
            done["received"] = take_out(connection, taken)
        return done

    def _of_kind(self, kind: RowKind) -> BulkInsert:
        if kind not in self._kinds:
            table = load_object(kind.table)
            self._kinds[kind] = BulkInsert.replacing(table, kind.columns, self._database.compiler)
        return self._kinds[kind]

    def _write_pages(self, connection: Connection, seeds: list[SeedDelta]) -> Counter[str]:
        """Write page rows, of which only so many are there at a time; return what they add to the machine's totals."""
        done: Counter[str] = Counter()
        for rows in sliced(chain.from_iterable(one.pages for one in seeds), _PAGES):
            self._pages.run(connection, rows)
            results = Counter(row.result for row in rows)
            done["pages"] += results[Result.FETCHED.value]
            done["bytes"] += sum([row.length for row in rows if row.status != _NOT_MODIFIED])
            done["errors"] += sum(times for result, times in results.items() if result not in NO_ERROR)
        return done

    def _write_chunks(self, connection: Connection, seeds: list[SeedDelta]) -> None:
        """Write what lists have more, and take away what is behind the cursors of those that are worked off.

        Lists in which URLs stand for the first time stay: they tell which URLs are known.
        """
        over = {row[:2]: row.cursor for one in seeds for row in one.lanes if _is_worked_off(row)}
        rows = (row for one in seeds for row in one.chunks if row.first + row.count > over.get(row[:2], 0))
        self._chunks.run(connection, sorted(rows, key=itemgetter(0, 1, 2)))
        for (seed_id, kind), cursor in sorted(over.items()):
            of_lane = chunk.c.seed_id == seed_id, chunk.c.kind == kind
            connection.execute(delete(chunk).where(*of_lane, chunk.c.first_position < cursor))

    def _write_published(self, connection: Connection, seeds: list[SeedDelta]) -> None:
        """Write what servers publish of their URLs; those that have changed since their last visit are due now."""
        rows = sorted((row for one in seeds for row in one.published), key=itemgetter(0, 1))
        if rows:
            self._published.run(connection, rows)
            make_due(connection, rows, database_time(connection, self._database.clock))
        if made := sorted(one.publisher for one in seeds if one.publisher is not None):
            self._publishers.run(connection, made)

    def _write_visits(self, connection: Connection, guests: list[SiteDelta]) -> None:
        """Write what guests have to write besides, to the rows of the sites at which they are."""
        self._sites.run(connection, sorted((one.visits, *_site_row(one)[1:]) for one in guests))
        released = [one for one in guests if one.released]
        release_sites(connection, [one.visits for one in released])
        lay_to_rest(connection, [one.visits for one in released if one.resting])
        take_out(connection, [number for one in guests for number in one.taken])

    def _write_seeds(self, connection: Connection, seeds: list[SeedDelta]) -> None:
        ended = any(one.state is SeedState.DONE for one in seeds)
        now = database_time(connection, self._database.clock) if ended else 0
        self._seeds.run(connection, [_seed_row(one, now) for one in seeds])

    def _move_seeds(self, connection: Connection, seeds: list[SeedDelta], targets: dict[str, int]) -> None:
        moves = [(one.seed_id, targets[to.site_key], to.home_url, to.rehomed) for one in seeds if (to := one.rehoming)]
        self._moves.run(connection, moves)
        wake_sites(connection, [site_id for _, site_id, _, _ in moves])

    def _write_sites(self, connection: Connection, deltas: list[SiteDelta]) -> None:
        self._sites.run(connection, sorted(map(_site_row, deltas)))
        release_sites(connection, [one.site_id for one in deltas if one.released])
        lay_to_rest(connection, [one.site_id for one in deltas if one.released and one.resting])

    def _count(self, connection: Connection, number: int, done: Counter[str]) -> None:
        """Add to the machine's totals, last of all: its heartbeat writes the same row and shall not wait for long."""
        totals: dict[str, Any] = {name: machine.c[name] + times for name, times in done.items()}
        totals["checkpoints"] = number + 1
        mine = update(machine).where(
            machine.c.id == self._machine_id,
            machine.c.checkpoints == number,
            machine.c.state != MachineState.DEAD.value,
        )
        if connection.execute(mine.values(totals)).rowcount == 0:
            row = connection.execute(
                select(machine.c.state, machine.c.wanted).where(machine.c.id == self._machine_id)
            ).one()
            if row.state == MachineState.DEAD:
                raise LeaseLostError("other machines took this one for dead", was_to_end=Command(row.wanted) in ENDING)
            raise StoreError(f"another program commits for machine {self._machine_id}")


def _of_guests(delta: SiteDelta) -> SiteDelta:
    """Let parties of guests that move to another site be parties of guests there."""
    if not any(one.rehoming for one in delta.seeds):
        return delta
    seeds = (
        replace(one, rehoming=replace(to, site_key=guest_key(to.site_key))) if (to := one.rehoming) else one
        for one in delta.seeds
    )
    return replace(delta, seeds=tuple(seeds))


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
