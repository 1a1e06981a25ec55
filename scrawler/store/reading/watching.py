"""Watches a crawl: what has happened since the last look, from the rows that all machines commit.

Nothing is written for it. Seeds are found by their times, for which there is no index: with a million of them a look
takes a second. So who looks does so the less often the longer it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, literal_column, or_, select

from scrawler.dates import moment
from scrawler.model.claims import SiteState
from scrawler.model.events import (
    Checkpoint,
    Event,
    MachineDied,
    MachineEnded,
    MachineJoined,
    SeedBegun,
    SeedEnded,
    SiteResting,
    TrapCapped,
)
from scrawler.model.machines import LEASE, MachineState
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import Millis
from scrawler.store.claims.overview import LIVING, is_silent
from scrawler.store.engines.engine import Database, database_time
from scrawler.store.engines.rows import AnyRow, in_state, sliced
from scrawler.store.schema.tables import machine, pattern, seed, site

# A transaction has its time from its beginning, and may be committed so long after a look at that time.
_LATE: Millis = 60_000
_MOST_CAPPED = 100_000  # patterns that are remembered as told


class _Seen(NamedTuple):
    """What one look has found."""

    now: Millis
    machines: list[AnyRow]
    since: Millis  # seeds that began or ended before were told by earlier looks, or are none of ours
    seeds: list[AnyRow]
    resting: list[AnyRow]
    capped: list[AnyRow]
    in_work: set[int]  # seeds


class CrawlWatch:
    """Tells what happens from its making on; used by one thread at a time. It remembers a minute, and what lives."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock: ColumnElement[Millis] = literal_column(database.clock).label("now")
        self._began = database.now()
        self._looked_at = self._began
        self._told: dict[tuple[str, int], Millis] = {}  # begins and ends of seeds that were told, with their times
        self._resting: dict[int, Millis] = {}  # site -> end of its rest
        self._capped: dict[tuple[int, bytes], None] = {}  # patterns that are known to be capped, the newest last
        self._in_work: set[int] = set()  # seeds, at the last look
        self._machines: dict[int, tuple[bool, int]] = {}  # those that were seen: whether they live, their checkpoints
        self._names: dict[int, str] = {}  # of machines, by their ids
        database.reading(self._note_what_is_there)

    def look(self) -> list[Event]:
        """Return what has happened since the last look, in an order that makes sense. Raises StoreError."""
        seen = self._database.reading(self._read)
        self._names = {row.id: row.name for row in seen.machines}
        events = [
            *self._joined(seen.machines),
            *self._begun(seen.seeds, seen.since),
            *self._rested(seen.resting, seen.now),
            *self._trapped(seen.capped, seen.in_work, seen.now),
            *self._ended(seen.seeds, seen.since),
            *self._worked(seen.machines),
        ]
        self._looked_at = seen.now
        self._told = {key: at for key, at in self._told.items() if at > seen.now - 2 * _LATE}
        return events

    def _read(self, connection: Connection) -> _Seen:
        """Read what there is; nothing is remembered here, for what fails is read again from its start."""
        now = database_time(connection, self._database.clock)
        machines = list(connection.execute(select(machine, self._clock).order_by(machine.c.id)))
        since = max(self._began, self._looked_at - _LATE)
        seeds = self._changed_seeds(connection, since)
        resting = self._resting_sites(connection, now)
        capped = self._capped_patterns(connection, [row.id for row in seeds])
        return _Seen(now, machines, since, seeds, resting, capped, _seeds_in_work(connection))

    def _note_what_is_there(self, connection: Connection) -> None:
        for row in connection.execute(select(machine, self._clock)):
            self._machines[row.id] = _lives(row), row.checkpoints
        self._resting = {row.id: row.next_due_at for row in self._resting_sites(connection, self._began)}
        capped = self._capped_patterns(connection, [])
        self._capped = {(row.seed_id, row.pattern_hash): None for row in capped}
        self._in_work = _seeds_in_work(connection)

    # -- what is read --------------------------------------------------------------------------------------

    def _changed_seeds(self, connection: Connection, since: Millis) -> list[AnyRow]:
        changed = or_(seed.c.started_at >= since, seed.c.ended_at >= since)
        columns = seed.c.id, seed.c.url, seed.c.state, seed.c.end_reason, seed.c.end_detail, seed.c.pages
        times = seed.c.started_at, seed.c.ended_at
        query = select(*columns, *times, seed.c.machine_id, site.c.site_key).where(changed)
        query = query.outerjoin(site, site.c.id == seed.c.site_id)  # outer: so that seeds are read first
        return list(connection.execute(query.order_by(seed.c.id)))

    def _resting_sites(self, connection: Connection, now: Millis) -> list[AnyRow]:
        asked = and_(in_state(SiteState.ACTIVE), site.c.pushbacks > 0)
        rests = or_(in_state(SiteState.RESTING), asked), site.c.next_due_at > now
        query = select(site.c.id, site.c.site_key, site.c.next_due_at, site.c.owner)
        return list(connection.execute(query.where(*rests)))

    def _capped_patterns(self, connection: Connection, changed: list[int]) -> list[AnyRow]:
        """Return the capped patterns of seeds that are in work, and of those that have changed."""
        columns = pattern.c.seed_id, pattern.c.pattern_hash, pattern.c.pattern, pattern.c.evidence
        query = select(*columns, seed.c.url, seed.c.machine_id, seed.c.started_at, site.c.site_key)
        query = query.join(seed, seed.c.id == pattern.c.seed_id).outerjoin(site, site.c.id == seed.c.site_id)
        query = query.where(pattern.c.evidence != "")
        found = list(connection.execute(query.where(seed.c.state == SeedState.ACTIVE.value)))
        for part in sliced(changed):
            found += connection.execute(query.where(seed.c.id.in_(part), seed.c.state != SeedState.ACTIVE.value))
        return found

    # -- what it says --------------------------------------------------------------------------------------

    def _begun(self, seeds: list[AnyRow], since: Millis) -> Iterator[Event]:
        for row in seeds:
            began = row.started_at is not None and row.started_at >= since
            if began and self._is_new("begun", row.id, row.started_at):
                yield SeedBegun(_time(row.started_at), row.url, row.site_key, self._name(row.machine_id))

    def _ended(self, seeds: list[AnyRow], since: Millis) -> Iterator[Event]:
        for row in seeds:
            if row.state != SeedState.DONE.value or row.ended_at is None or row.ended_at < since:
                continue
            if self._is_new("ended", row.id, row.ended_at):
                whose = row.site_key, self._name(row.machine_id)
                reason = EndReason(row.end_reason)
                yield SeedEnded(_time(row.ended_at), row.url, reason, row.end_detail, row.pages, *whose)

    def _name(self, machine_id: int | None) -> str:
        return "" if machine_id is None else self._names.get(machine_id, "")

    def _is_new(self, what: str, seed_id: int, at: Millis) -> bool:
        new = self._told.get((what, seed_id)) != at
        self._told[what, seed_id] = at
        return new

    def _rested(self, resting: list[AnyRow], now: Millis) -> Iterator[Event]:
        before, self._resting = self._resting, {row.id: row.next_due_at for row in resting}
        for row in resting:
            if row.next_due_at > before.get(row.id, 0):
                yield SiteResting(_time(now), row.site_key, _time(row.next_due_at), self._name(row.owner))

    def _trapped(self, capped: list[AnyRow], in_work: set[int], now: Millis) -> Iterator[Event]:
        known = self._capped
        for row in capped:
            key = row.seed_id, row.pattern_hash
            is_new = key not in known
            known[key] = None
            # What is taken up again brings what was capped then: a moment later it would be told as well.
            if is_new and (row.started_at >= self._began or row.seed_id in self._in_work):
                whose = row.site_key, self._name(row.machine_id)
                yield TrapCapped(_time(now), row.url, row.pattern, row.evidence, *whose)
        self._in_work = in_work
        for key in list(islice(known, max(0, len(known) - _MOST_CAPPED))):
            del known[key]

    def _joined(self, machines: list[AnyRow]) -> Iterator[Event]:
        for row in machines:
            if row.id not in self._machines:
                self._machines[row.id] = True, 0
                yield MachineJoined(_time(row.started_at), row.name, row.host, row.pid)

    def _worked(self, machines: list[AnyRow]) -> Iterator[Event]:
        for row in machines:
            lived, checkpoints = self._machines[row.id]
            lives = _lives(row)
            self._machines[row.id] = lives, row.checkpoints
            if row.checkpoints > checkpoints:
                at = _time(row.now)
                yield Checkpoint(at, row.name, row.checkpoints, row.pages, row.bytes, row.errors)
            if lived and not lives:
                kind = MachineEnded if row.state == MachineState.STOPPED.value else MachineDied
                yield kind(_time(row.now), row.name)


def _seeds_in_work(connection: Connection) -> set[int]:
    return set(connection.execute(select(seed.c.id).where(seed.c.state == SeedState.ACTIVE.value)).scalars())


def _lives(row: AnyRow) -> bool:
    return row.state in LIVING and not is_silent(row, LEASE)


def _time(at: Millis) -> datetime:
    return moment(at)
