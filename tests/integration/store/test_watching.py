"""Events are read from what machines commit, each once."""

from __future__ import annotations

import pytest

from scrawler.model.deltas import SeedDelta
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
from scrawler.model.machines import MachineState
from scrawler.model.rows import PatternRow
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database
from scrawler.store.reading.watching import CrawlWatch
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta


def _kinds(events: list[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


def _ending(seed_id: int) -> SeedDelta:
    return seed_delta(
        seed_id,
        pages=(page(seed_id, "http://a.org/"),),
        counts=SeedCounts(pages=1),
        state=SeedState.DONE,
        end_reason=EndReason.MAX_PAGES,
        end_detail="1 page",
    )


def test_a_seed_s_way_is_told_once(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    watch = CrawlWatch(database)
    assert watch.look() == []
    worker = Worker.of(database)
    sites = {site.key: site for site in worker.claim()}
    begun = watch.look()
    assert _kinds(begun) == [MachineJoined, SeedBegun, SeedBegun]
    assert {str(event) for event in begun[1:]} == {"seed http://a.org/ begun", "seed http://b.org/ begun"}
    assert watch.look() == []
    one, other = sites["a.org"], sites["b.org"]
    (seed,) = one.seeds
    trap = PatternRow(seed.id, b"x" * 16, "http://a.org/*", 60, 55, 0, 3, "55 of 60 pages were known")
    worker.commit(
        site_delta(one, seed_delta(seed.id, patterns=(trap,)), next_due_at=database.now() + 60_000, pushbacks=1)
    )
    told = watch.look()
    assert _kinds(told) == [SiteResting, TrapCapped, Checkpoint]
    assert str(told[0]).startswith("site a.org rests until ")
    assert str(told[1]) == "trap at http://a.org/: http://a.org/* is capped, 55 of 60 pages were known"
    assert watch.look() == []
    worker.commit(site_delta(one, _ending(seed.id), next_due_at=0, released=True))
    ended, checkpoint = watch.look()
    assert isinstance(ended, SeedEnded)
    assert (ended.seed, ended.reason, ended.detail, ended.pages) == ("http://a.org/", "max-pages", "1 page", 1)
    assert isinstance(checkpoint, Checkpoint)
    assert (checkpoint.number, checkpoint.pages) == (2, 1)
    worker.release(other)
    Machines(database).stop(worker.id)
    assert _kinds(watch.look()) == [Checkpoint, MachineEnded]
    assert watch.look() == []


def test_traps_that_were_told_are_not_told_again_when_their_seed_is_taken_up_again(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    (seed,) = site.seeds
    first = PatternRow(seed.id, b"x" * 16, "http://a.org/*", 60, 55, 0, 3, "55 of 60 pages were known")
    worker.commit(site_delta(site, seed_delta(seed.id, patterns=(first,), state=SeedState.READY), released=True))
    watch = CrawlWatch(database)
    site = worker.claim_one()
    assert TrapCapped not in _kinds(watch.look())
    second = PatternRow(seed.id, b"y" * 16, "http://a.org/?*", 60, 55, 0, 3, "55 of 60 pages were known")
    worker.commit(site_delta(site, seed_delta(seed.id, patterns=(second,))))
    assert [event.pattern for event in watch.look() if isinstance(event, TrapCapped)] == ["http://a.org/?*"]


def test_a_seed_that_takes_long_is_told_once_as_begun(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    add(database, "http://a.org/")
    told: list[Event] = []
    with monkeypatch.context() as earlier:
        earlier.setattr(database, "clock", f"({database.clock} - 300000)")
        watch = CrawlWatch(database)
        worker = Worker.of(database)
        site = worker.claim_one()
        told += watch.look()
    told += watch.look()
    worker.commit(site_delta(site, _ending(site.seeds[0].id), released=True))
    told += watch.look()
    told += watch.look()
    assert [kind for kind in _kinds(told) if kind in (SeedBegun, SeedEnded)] == [SeedBegun, SeedEnded]


def test_who_begins_to_watch_is_told_nothing_of_before(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    worker.commit(site_delta(site, _ending(site.seeds[0].id)))
    with database.begin() as connection:  # long ago
        connection.exec_driver_sql("UPDATE seed SET started_at = started_at - 90000, ended_at = ended_at - 90000")
    watch = CrawlWatch(database)
    assert watch.look() == []


def test_a_machine_that_is_silent_is_told_as_dead(database: Database) -> None:
    add(database, "http://a.org/")
    watch = CrawlWatch(database)
    worker = Worker.of(database)
    assert _kinds(watch.look()) == [MachineJoined]
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE machine SET heartbeat_at = heartbeat_at - 3600000")
    assert _kinds(watch.look()) == [MachineDied]
    with database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE machine SET state = '{MachineState.DEAD.value}' WHERE id = {worker.id}")
    assert watch.look() == []
