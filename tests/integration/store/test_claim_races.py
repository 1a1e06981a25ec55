"""Claims while other machines claim: nothing twice, nothing overlooked, nobody waits, fair shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Engine, event, select

from scrawler.model.claims import HeldSites
from scrawler.model.machines import MachineState
from scrawler.store.claims import claims, shares
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.claims.sites import lock_sites
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.schema.tables import site
from tests.dead import declare_dead
from tests.integration.store.crawling import Worker
from tests.integration.store.racing import claim_all
from tests.together import together


def _add_sites(database: Database, number: int) -> None:
    Seeds(database).add([NewSeed(f"http://s{n}.org/", f"s{n}.org") for n in range(number)])


@contextmanager
def _statements() -> Iterator[list[str]]:
    """Give the statements that go to a database during the block."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.parametrize(
    ("database_url", "number"),
    [
        ("sqlite", 800),
        ("mariadb", 800),
        ("postgresql", 800),
        pytest.param("mariadb", 10_000, marks=pytest.mark.heavy),
    ],
    indirect=["database_url"],
)
def test_eight_processes_claim_every_site_once_and_overlook_none(
    number: int, database: Database, database_url: str
) -> None:
    _add_sites(database, number)
    calls = [call for of_one in together(claim_all, 8, database_url, 10, 1) for call in of_one]
    claimed = Counter(one for _, _, ids in calls for one in ids)
    assert len(claimed) == number
    assert set(claimed.values()) == {1}
    # What was claimed by a call that began later was free and not locked all the while that this one looked.
    last = max(began for began, _, ids in calls if ids)
    assert all(len(ids) == 10 for _, ended, ids in calls if ended < last)


def test_a_claim_passes_over_what_others_have_locked_and_does_not_wait(server_url: str) -> None:
    database = open_database(server_url)
    _add_sites(database, 3_000)
    worker = Worker.of(database)
    with database.begin() as other:
        *locked, last = other.scalars(select(site.c.id).order_by(site.c.id)).all()
        lock_sites(other, locked)
        assert [one.id for one in worker.claim(2)] == [last]
        assert worker.claim(2) == []  # all are being claimed
    assert [one.id for one in worker.claim(2)] == locked[:2]  # but were not
    database.close()


def test_the_statements_of_a_claim_do_not_grow_with_the_sites_held(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_WAKE_EVERY", 0.0)  # each claim looks for sites whose rest is over, not one in a while
    _add_sites(database, 4_000)
    workers = [Worker.of(database, f"m{number}") for number in range(3)]
    declare_dead(database, workers[2].id)
    counts = []
    for wanted in (10, 600, 600, 10):
        for worker in workers[:2]:
            with _statements() as seen:
                assert len(worker.claim(wanted, machines=2)) == wanted
            counts.append(len(seen) if wanted == 10 else 0)
    assert counts[0] == counts[1] == counts[-1] == counts[-2] <= 13


def test_machines_that_start_together_get_equal_shares(database: Database, database_url: str) -> None:
    _add_sites(database, 50)
    calls = together(claim_all, 5, database_url, 100, 5)
    assert [sum(len(ids) for _, _, ids in of_one) for of_one in calls] == [10] * 5


def test_where_sites_abound_there_are_no_shares(database: Database) -> None:
    _add_sites(database, 31)
    worker = Worker.of(database)
    assert len(worker.claim(10, machines=3)) == 10
    assert len(worker.claim(10, machines=3)) == 1  # 21 are left for three with room for 10 each


def test_a_full_machine_queues_nothing_that_would_fill_seats_elsewhere(database: Database) -> None:
    """Two machines of twenty seats and four places in the queue, and as many sites as seats."""
    _add_sites(database, 40)
    first, second = Worker.of(database, "first"), Worker.of(database, "second")
    assert len(first.claim(24, machines=2, seats_elsewhere=20)) == 20
    assert first.claim(4, machines=2, seats_elsewhere=20) == []
    assert len(second.claim(24, machines=2, seats_elsewhere=20)) == 20


def test_a_full_machine_queues_what_is_more_than_the_seats_elsewhere(database: Database) -> None:
    _add_sites(database, 45)
    worker = Worker.of(database)
    assert len(worker.claim(20, machines=1)) == 20
    assert len(worker.claim(4, machines=2, seats_elsewhere=20)) == 4
    assert worker.claim(4, machines=2, seats_elsewhere=20) == []


def test_what_a_machine_leaves_is_shared_and_known_as_such(database: Database) -> None:
    _add_sites(database, 12)
    workers = [Worker.of(database, f"m{number}") for number in range(3)]
    for worker in workers:
        assert [one.after_death for one in worker.claim(100, machines=3)] == [False] * 4
    declare_dead(database, workers[0].id)
    for worker in workers[1:]:
        assert [(one.after_death, one.token) for one in worker.claim(100, machines=2)] == [(True, 2)] * 2
    Machines(database).stop(workers[1].id)  # without having given its sites back
    assert [(one.after_death, one.token > 1) for one in workers[2].claim(100)] == [(True, True)] * 6


def test_a_machine_without_a_site_always_gets_one(database: Database) -> None:
    _add_sites(database, 1)
    assert len(Worker.of(database).claim(100, machines=50)) == 1


def test_what_nobody_takes_is_taken_beyond_the_share(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    _add_sites(database, 7)
    busy, other = Worker.of(database, "busy"), Worker.of(database, "other")
    hangs = Worker.of(database, "hangs")
    assert len(hangs.claim(1)) == 1
    assert [len(one.claim(100, machines=3)) for one in (busy, other)] == [3, 2]
    declare_dead(database, hangs.id)  # its two sites are in the share of a third machine, which is believed to live
    assert busy.claim(100, machines=3) == other.claim(100, machines=3) == []
    monkeypatch.setattr(shares, "PATIENCE", 0.0)
    assert [one.after_death for one in other.claim(100, machines=3)] == [True, False]
    assert busy.claim(100, machines=3) == []


def test_what_a_machine_gives_back_is_for_the_one_with_the_fewest(database: Database) -> None:
    _add_sites(database, 4)
    giver, taker = Worker.of(database, "giver"), Worker.of(database, "taker")
    held = giver.claim(100)
    assert len(held) == 4
    Machines(database).beat(giver.id, capacity=9)
    told = {giver.id: 9, taker.id: 0}
    assert giver.claims.held() == HeldSites(giver.id, {giver.id: 4, taker.id: 0}, told, {giver.id: 0, taker.id: 0})
    giver.release(*held[:2])
    assert giver.claims.held() is None, "what is free comes first"
    assert Machines(database).beat(giver.id, capacity=9).free, "so it is not asked for while a beat hears of such"
    assert giver.claim(100, machines=2) == []
    assert {one.id for one in taker.claim(100, machines=2)} == {one.id for one in held[:2]}
    Machines(database).beat(taker.id, capacity=3)
    told = {giver.id: 9, taker.id: 3}
    assert taker.claims.held() == HeldSites(taker.id, {giver.id: 2, taker.id: 2}, told, {giver.id: 0, taker.id: 0})
    assert not Machines(database).beat(giver.id, capacity=9).free


def test_what_was_meant_for_a_machine_that_died_is_for_the_others(database: Database) -> None:
    _add_sites(database, 4)
    giver, taker = Worker.of(database, "giver"), Worker.of(database, "taker")
    held = giver.claim(100)
    giver.release(*held[:2])
    declare_dead(database, taker.id)
    assert len(giver.claim(100, machines=1)) == 2
    assert giver.claims.held() == HeldSites(giver.id, {giver.id: 4}, {giver.id: 0}, {giver.id: 0})


def test_where_urls_count_what_is_free_is_for_the_one_with_the_fewest_left(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add_sites(database, 6)
    many, few = Worker.of(database, "many"), Worker.of(database, "few")
    Machines(database).beat(many.id, capacity=9)
    Machines(database).beat(few.id, capacity=9)
    held = many.claim(2, machines=2, by_urls=True)
    assert len(held) == len(few.claim(3, machines=2, by_urls=True)) - 1 == 2, "sites, while nobody has told of URLs"
    many.claims.tell_urls_left(5_000)
    few.claims.tell_urls_left(40)
    assert many.claims.held() is None, "what is free comes first"
    assert many.claim(9, machines=2, by_urls=True) == []
    assert len(few.claim(9, machines=2, by_urls=True)) == 1
    found = many.claims.held()
    assert found is not None
    assert found.urls == {many.id: 5_000, few.id: 40}
    many.release(held[0])
    assert many.claim(9, machines=2, by_urls=True) == [], "it is not taken back"
    assert few.claims.held() is None
    monkeypatch.setattr(shares, "PATIENCE", 0.0)
    assert many.claim(9, machines=2, by_urls=True) != [], "unless nobody takes it"


def test_where_urls_count_sites_are_for_places_that_are_free(database: Database) -> None:
    _add_sites(database, 4)
    large, full = Worker.of(database, "large"), Worker.of(database, "full")
    Machines(database).beat(large.id, capacity=3)
    Machines(database).beat(full.id, capacity=1)
    assert len(large.claim(1, machines=2)) == len(full.claim(1, machines=2)) == 1
    large.claims.tell_urls_left(800)
    full.claims.tell_urls_left(400)
    assert full.claim(9, machines=2, by_urls=True) == [], "it has fewer URLs, and no place"
    assert len(large.claim(9, machines=2, by_urls=True)) == 2, "of those that have places it has the fewest"


def test_where_urls_count_a_machine_that_ends_is_not_waited_for(database: Database) -> None:
    _add_sites(database, 2)
    one, leaving = Worker.of(database, "one"), Worker.of(database, "leaving")
    Machines(database).beat(one.id, capacity=3)
    Machines(database).beat(leaving.id, state=MachineState.STOPPING, capacity=3)
    one.claims.tell_urls_left(800)
    assert len(one.claim(9, machines=2, by_urls=True)) == 2


def test_nothing_is_given_while_sites_of_a_dead_machine_are_there(database: Database) -> None:
    _add_sites(database, 3)
    one, dead = Worker.of(database, "one"), Worker.of(database, "dead")
    assert (len(one.claim(2)), len(dead.claim(1))) == (2, 1)
    declare_dead(database, dead.id)
    assert one.claims.held() is None


def test_a_machine_whose_places_are_taken_keeps_nothing_from_others(database: Database) -> None:
    _add_sites(database, 6)
    full, other = Worker.of(database, "full"), Worker.of(database, "other")
    assert len(full.claim(1)) == 1
    Machines(database).beat(full.id, capacity=1)
    assert len(other.claim(100, machines=2)) == 5


def test_patience_counts_from_when_a_site_was_seen_open(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    _add_sites(database, 4)
    one, two = Worker.of(database, "one"), Worker.of(database, "two")
    held = one.claim(100, machines=2)
    monkeypatch.setattr(shares, "PATIENCE", 1e-9)
    assert len(held) == 2
    assert two.claim(100, machines=2) != []
    one.release(*held)
    assert len(two.claim(100, machines=2)) == 0  # seen for the first time
    assert len(two.claim(100, machines=2)) == 2
