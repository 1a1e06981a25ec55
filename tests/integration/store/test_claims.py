from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from scrawler.model.claims import Resting, WorkLeft
from scrawler.model.lanes import LaneState
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.engine import Database
from tests.dead import declare_dead
from tests.integration.store.crawling import Worker, acknowledgement_lost, add, seed_delta, site_delta

_DONE = {"state": SeedState.DONE, "end_reason": EndReason.COMPLETED}


def test_a_claimed_site_comes_with_seeds_and_a_new_token(database: Database) -> None:
    add(database, *(f"http://a.org/{number}" for number in range(5)), "http://b.org/")
    worker = Worker.of(database)
    a, b = worker.claim(10, 3)
    assert (a.key, a.token, a.fresh, a.next_due_at) == ("a.org", 1, True, 0)
    assert [one.url for one in a.seeds] == ["http://a.org/0", "http://a.org/1", "http://a.org/2"]
    assert {one.state for one in (*a.seeds, *b.seeds)} == {SeedState.ACTIVE}
    assert {one.site_id for one in a.seeds} == {a.id}
    assert b.key == "b.org"
    assert worker.claim() == []
    assert Claims(database, worker.id).work_left() == WorkLeft(ready=2, active=4, done=0)
    assert worker.claims.states_left() == {SeedState.READY, SeedState.ACTIVE}


def test_that_nothing_is_left_is_seen_without_counting(database: Database) -> None:
    add(database, *(f"http://a.org/{number}" for number in range(5)))
    claims = Worker.of(database).claims
    for state in (SeedState.READY, SeedState.ACTIVE, SeedState.SLOW):
        with database.begin() as connection:
            connection.exec_driver_sql(f"UPDATE seed SET state = '{state.value}' WHERE id = 3")
            connection.exec_driver_sql("UPDATE seed SET state = 'done', end_reason = 'completed' WHERE id <> 3")
        assert claims.states_left() == {state}
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE seed SET state = 'done'")
    assert claims.states_left() == set()


def test_no_more_sites_than_wanted_are_claimed(database: Database) -> None:
    add(database, *(f"http://s{number}.org/" for number in range(30)))
    worker = Worker.of(database)
    first, second = worker.claim(20, 1), worker.claim(20, 1)
    assert len(first) == 20
    assert len(second) == 10
    assert len({one.id for one in first + second}) == 30


def test_sites_of_two_threads_and_machines_never_overlap(database: Database) -> None:
    add(database, *(f"http://s{number}.org/" for number in range(600)))
    workers = [Worker.of(database, "one"), Worker.of(database, "two")]
    together = Barrier(2)

    def claim_all(worker: Worker) -> list[int]:
        together.wait()
        mine: list[int] = []
        while Claims(database, worker.id).work_left().ready:
            mine += [one.id for one in worker.claim(7, 5)]
        return mine

    with ThreadPoolExecutor(2) as threads:
        claimed = list(threads.map(claim_all, workers))
    assert len(claimed[0]) + len(claimed[1]) == 600
    assert not set(claimed[0]) & set(claimed[1])


def test_more_seeds_come_only_to_the_owner(database: Database) -> None:
    add(database, *(f"http://a.org/{number}" for number in range(5)))
    worker = Worker.of(database)
    site = worker.claim(1, 2)[0]
    claims = Claims(database, worker.id)
    assert [one.url for one in claims.more(site.id, site.token, 2)] == ["http://a.org/2", "http://a.org/3"]
    assert claims.more(site.id, site.token - 1, 2) == ()
    assert Claims(database, worker.id + 1).more(site.id, site.token, 2) == ()
    assert [one.url for one in claims.more(site.id, site.token, 2)] == ["http://a.org/4"]
    assert claims.more(site.id, site.token, 2) == ()


def test_begun_parties_of_a_released_site_come_first_with_what_was_committed(database: Database) -> None:
    add(database, *(f"http://a.org/{number}" for number in range(4)))
    worker = Worker.of(database)
    site = worker.claim(1, 2)[0]
    one, two = site.seeds
    lane = LaneState(two.id, 0, two.id, 3, 9)
    worker.commit(
        site_delta(
            site,
            seed_delta(one.id, **_DONE),
            seed_delta(two.id, lanes=(lane,), elapsed_ms=77, verdicts={"scope": 2}),
            next_due_at=123,
            released=True,
        )
    )
    again = Worker.of(database, "two").claim(1, 2)[0]
    assert (again.id, again.token, again.fresh, again.next_due_at) == (site.id, 2, False, 123)
    assert [seed.url for seed in again.seeds] == ["http://a.org/1", "http://a.org/2"]
    assert (again.seeds[0].elapsed_ms, again.seeds[0].verdicts) == (77, {"scope": 2})


def test_sites_of_a_dead_machine_come_before_fresh_ones(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/", "http://c.org/")
    dead, living, new = Worker.of(database, "one"), Worker.of(database, "two"), Worker.of(database, "three")
    a, b = dead.claim_one(), living.claim_one()
    Machines(database).stop(dead.id)
    assert [(one.key, one.token) for one in new.claim(1)] == [(a.key, 2)]
    assert {one.key for one in new.claim(5)} == {"a.org", "b.org", "c.org"} - {a.key, b.key}


def test_a_machine_that_was_declared_dead_claims_nothing_not_even_its_own(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    held = worker.claim_one()
    declare_dead(database, worker.id)
    assert worker.claim() == []
    assert {one.id: one.token for one in Worker.of(database, "two").claim()}[held.id] == 2


def test_a_release_makes_a_site_ready_or_done(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    a, b = worker.claim()
    worker.commit(site_delta(a, seed_delta(a.seeds[0].id, **_DONE)))
    Worker.of(database, "two").release(b)  # not the owner
    worker.release(replace(b, token=b.token - 1))  # not its token
    assert worker.claim() == []
    worker.release(a, b)
    assert [(one.key, one.token) for one in worker.claim()] == [("b.org", 2)]


def test_a_site_left_without_a_seed_to_crawl_is_claimed_to_rest_alone(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    dead = Worker.of(database)
    a, _ = dead.claim()
    dead.commit(site_delta(a, seed_delta(a.seeds[0].id, **_DONE)))
    Machines(database).stop(dead.id)
    heir = Worker.of(database, "two")
    left, other = heir.claim()
    assert [(one.key, len(one.seeds), one.after_death) for one in (left, other)] == [
        ("a.org", 0, True),
        ("b.org", 1, True),
    ]
    heir.commit(site_delta(left, released=True))
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT state FROM site ORDER BY id").scalars().all() == ["done", "active"]
    assert not heir.claim()


def test_many_sites_with_many_seeds_are_claimed_at_once(database: Database) -> None:
    seeds = [NewSeed(f"http://s{site}.org/{number}", f"s{site}.org") for site in range(300) for number in range(20)]
    Seeds(database).add(seeds)
    claimed = Worker.of(database).claim(250, 4)
    assert len(claimed) == 250
    for site in claimed:
        assert [one.url for one in site.seeds] == [f"http://{site.key}/{number}" for number in range(4)]


def test_a_claim_whose_acknowledgement_was_lost_is_not_made_twice(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(database, *(f"http://s{number}.org/" for number in range(6)))
    worker = Worker.of(database)
    with acknowledgement_lost(database, monkeypatch):
        claimed = worker.claim(2)
    assert [one.token for one in claimed] == [1, 1]
    assert Claims(database, worker.id).work_left().active == 2


def test_a_site_that_rests_longer_than_can_be_asked_for_is_claimed(database: Database) -> None:
    """The clock was set back after it was laid to rest; one that rests as long as can be goes on to rest."""
    add(database, *(f"http://{letter}.org/" for letter in "abcd"))
    one, longest = Worker.of(database, "one"), 3_600_000
    sites, now = {site.key: site for site in one.claim(10)}, database.now()
    due = {
        "a.org": now + longest,
        "b.org": now + 30 * longest,
        "c.org": now + 30 * longest,
        "d.org": now + longest // 2,
    }
    for key, at in due.items():
        pause_ms = 40 * longest if key == "c.org" else 0
        one.commit(site_delta(sites[key], next_due_at=at, pause_ms=pause_ms, released=True, resting=True))
    two = Worker.of(database, "two")
    (claimed,) = two.claims.claim(10, 10, longest_rest=longest)
    assert (claimed.key, claimed.next_due_at) == ("b.org", due["b.org"])


def test_a_site_that_rests_is_claimed_when_its_rest_is_over(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    a, b = Worker.of(database, "one").claim(10)
    worker = Worker(database, 1)
    now = database.now()
    worker.commit(
        site_delta(a, next_due_at=now + 60_000, pushbacks=3, released=True, resting=True),
        site_delta(b, next_due_at=now, pushbacks=1, released=True, resting=True),
    )
    add(database, "http://a.org/new")
    (claimed,) = worker.claim()
    assert (claimed.key, claimed.pushbacks, claimed.after_death) == ("b.org", 1, False)
    assert worker.claims.work_left() == WorkLeft(ready=1, active=2, done=0)
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE site SET next_due_at = 0")
    (claimed,) = Worker.of(database, "two").claim()
    assert (claimed.key, claimed.pushbacks, len(claimed.seeds)) == ("a.org", 3, 2)


def test_sites_that_rest_are_counted_with_the_time_until_the_first_of_them(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/", "http://c.org/", "http://d.org/")
    worker = Worker.of(database)
    sites = {one.key: one for one in worker.claim()}
    assert worker.claims.resting() == Resting()
    now = database.now()
    worker.commit(
        site_delta(sites["a.org"], next_due_at=now + 900_000, pushbacks=1),  # held, and asked for rest
        site_delta(sites["b.org"], next_due_at=now + 600_000, released=True, resting=True),
        site_delta(sites["c.org"], next_due_at=now + 300_000),  # held, with a pause alone
    )
    found = worker.claims.resting()
    assert found.sites == 2
    assert 0 < found.next_ms <= 600_000
