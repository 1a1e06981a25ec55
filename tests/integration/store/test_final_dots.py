"""Sites of `a.test.` and `a.test`, which an earlier version kept apart, are one after an upgrade."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from scrawler.errors import StoreError
from scrawler.model.robots import RobotsRow
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow
from scrawler.store.schema.tables import machine, robots, site
from scrawler.store.upkeep.upgrade import upgrade_database
from tests.integration.store.crawling import Worker, add, seed_delta, site_delta

_BOTH = ("http://a.test/", "http://a.test./")


@pytest.fixture(autouse=True)
def crawl(database: Database) -> None:
    """A crawl with scope host, as all have that know these sites."""
    Crawls(database).open("crawl", Scope.HOST)


def _sites(database: Database) -> list[AnyRow]:
    return list(database.rows(select(site).order_by(site.c.site_key)))


def _set(database: Database, key: str, **values: object) -> None:
    with database.begin() as connection:
        connection.execute(update(site).where(site.c.site_key == key).values(values))


def _die(database: Database, worker: Worker) -> None:
    with database.begin() as connection:
        connection.execute(update(machine).where(machine.c.id == worker.id).values(process="", heartbeat_at=0))


def test_one_that_has_no_other_gets_the_new_key(database: Database, database_url: str) -> None:
    add(database, "http://b.test.:8080/x", "http://c.test/", "http://a.test./")
    ids = {row.site_key.replace("t.", "t"): row.id for row in _sites(database)}
    assert upgrade_database(database_url) == []
    assert {row.site_key: row.id for row in _sites(database)} == ids
    assert list(ids) == ["a.test", "b.test:8080", "c.test"]
    assert all(row.key_hash == url_hash(row.site_key) for row in _sites(database))
    assert add(database, "http://b.test:8080/y").new == 1
    assert len(_sites(database)) == 3


@pytest.mark.parametrize("dotted", ["active", "ready", "resting", "done"])
@pytest.mark.parametrize("undotted", ["active", "ready", "resting", "done"])
def test_two_become_one_that_has_the_work_of_both(
    database: Database, database_url: str, dotted: str, undotted: str
) -> None:
    add(database, *_BOTH)
    owners = {"active": 7}
    _set(database, "a.test.", state=dotted, owner=owners.get(dotted), token=4, next_due_at=900, pause_ms=1, pushbacks=0)
    _set(
        database, "a.test", state=undotted, owner=owners.get(undotted), token=2, next_due_at=5, pause_ms=3, pushbacks=1
    )
    before = {row.site_key: row.id for row in _sites(database)}
    upgrade_database(database_url)
    (one,) = _sites(database)
    assert (one.id, one.site_key, one.key_hash) == (before["a.test"], "a.test", url_hash("a.test"))
    assert (one.next_due_at, one.pause_ms, one.pushbacks) == (900, 3, 1)
    assert one.token > 4
    order = ["active", "ready", "resting", "done"]
    assert one.state == min(dotted, undotted, key=order.index)
    assert one.owner == (7 if "active" in (dotted, undotted) else None)
    assert {view.seed.url for view in Seeds(database).of_site(one.id, 10)} == set(_BOTH)


def test_what_was_in_work_for_both_goes_on_as_one_site(database: Database, database_url: str) -> None:
    add(database, *_BOTH)
    dead = Worker.of(database)
    claimed = {one.key: one for one in dead.claim()}
    dotted = claimed["a.test."]
    copy = RobotsRow(url_hash("http://a.test."), "http://a.test.", dotted.id, 1, 200, "", b"")
    dead.commit(site_delta(dotted, robots=(copy,)))
    _die(database, dead)
    upgrade_database(database_url)
    for one in claimed.values():  # it was frozen, and goes on with what it has
        assert dead.commit(site_delta(one, seed_delta(one.seeds[0].id))) == {one.id}
    with database.begin() as connection:
        connection.execute(update(machine).where(machine.c.id == dead.id).values(state="dead"))
    (one,) = Worker.of(database, "two").claim()
    assert (one.key, one.after_death) == ("a.test", True)
    assert {seed.url for seed in one.seeds} == set(_BOTH)
    assert [row.site_id for row in database.rows(select(robots.c.site_id))] == [one.id]


def test_nothing_is_changed_under_a_machine_that_crawls(database: Database, database_url: str) -> None:
    add(database, *_BOTH)
    worker = Worker.of(database)
    with pytest.raises(StoreError, match=r"machines crawl with the database .* \(host-of-one-1\): stop them"):
        upgrade_database(database_url)
    assert len(_sites(database)) == 2
    _die(database, worker)
    upgrade_database(database_url)
    assert len(_sites(database)) == 1
