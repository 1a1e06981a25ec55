"""Servers without SKIP LOCKED, as TiDB: a site is claimed by an update with a condition, and how many rows it changed.

It is MariaDB, which is believed not to know SKIP LOCKED, and is never asked for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, event, select, update

from scrawler.store.claims import claims
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines import locking
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.engines.locking import knows_skip_locked
from scrawler.store.schema.tables import machine, site
from tests.dead import declare_dead
from tests.integration.store.crawling import Worker, add
from tests.integration.store.racing import claim_all_without_skip_locked
from tests.limits import HANGS
from tests.together import together


@pytest.fixture
def database(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(locking, "knows_skip_locked", lambda version: False)
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    database = open_database(mariadb_url, patience=1)
    yield database
    database.close()
    event.remove(Engine, "before_cursor_execute", note)
    assert not [one for one in asked if "SKIP LOCKED" in one]


@pytest.mark.parametrize(
    ("version", "knows"),
    [
        ("5.5.5-10.11.6-MariaDB-0+deb12u1", True),
        ("11.8.2-MariaDB", True),
        ("5.5.5-10.5.23-MariaDB", False),
        ("8.4.3", True),
        ("8.0.0-dmr", False),
        ("5.7.44-log", False),
        ("8.0.11-TiDB-v8.5.1", False),
        ("unheard of", False),
    ],
)
def test_who_knows_it_is_seen_from_the_version(version: str, knows: bool) -> None:
    assert knows_skip_locked(version) == knows


def test_processes_claim_every_site_once_and_overlook_none(database: Database, mariadb_url: str) -> None:
    number = 1_600
    Seeds(database).add([NewSeed(f"http://s{n}.org/", f"s{n}.org") for n in range(number)])
    calls = [call for of_one in together(claim_all_without_skip_locked, 6, mariadb_url, 10, 1) for call in of_one]
    claimed = Counter(one for _, _, ids in calls for one in ids)
    assert len(claimed) == number
    assert set(claimed.values()) == {1}
    last = max(began for began, _, ids in calls if ids)
    assert all(len(ids) == 10 for _, ended, ids in calls if ended < last)


def test_who_comes_second_gets_what_the_first_has_left(database: Database) -> None:
    add(database, *(f"http://s{number}.org/" for number in range(6)))
    first, second = Worker.of(database, "first"), Worker.of(database, "second")
    with ThreadPoolExecutor(1) as threads:
        with database.begin() as claiming:
            theirs = claiming.scalars(select(site.c.id).order_by(site.c.id).limit(2)).all()
            values = {"owner": first.id, "token": 1, "state": "active"}
            claiming.execute(update(site).where(site.c.id.in_(theirs)).values(values))
            claiming_too = threads.submit(second.claim, 4, 10)
        mine = claiming_too.result(HANGS)
    assert len(mine) == 4
    assert not {one.id for one in mine} & set(theirs)
    assert {one.token for one in mine} == {1}


def test_sites_of_a_machine_that_died_are_taken_over_with_a_new_token(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_WAKE_EVERY", 0.0)
    add(database, "http://a.org/", "http://b.org/")
    dead, living = Worker.of(database, "dead"), Worker.of(database, "living")
    assert [one.token for one in dead.claim(2)] == [1, 1]
    assert living.claim(2) == []
    declare_dead(database, dead.id)
    assert [(one.token, one.after_death, len(one.seeds)) for one in living.claim(2)] == [(2, True, 1)] * 2
    assert dead.claim(2) == []


def test_a_frozen_machine_that_holds_a_lock_does_not_hold_up_the_others(database: Database) -> None:
    machines = Machines(database)
    other = machines.register("here", 1, 0).id
    frozen = machines.register("elsewhere", 1, 0).id
    with database.begin() as connection:
        row = connection.execute(select(machine).where(machine.c.id == frozen)).one()
        with database.begin() as holding:
            holding.execute(select(machine.c.id).where(machine.c.id == frozen).with_for_update())
            machines._declare(connection, [row])
            connection.execute(update(machine).where(machine.c.id == other).values(pages=7))
    with database.begin() as connection:
        states = connection.execute(select(machine.c.state, machine.c.pages).order_by(machine.c.id)).all()
        assert [tuple(one) for one in states] == [("running", 7), ("running", 0)], "the transaction goes on"
        machines._declare(connection, [row])
    assert [view.state.value for view in machines.machines()][1] == "dead"
