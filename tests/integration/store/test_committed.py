"""The page rows as they are committed: each is given once, also where a lower id is committed later."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import Connection, insert

from scrawler.model.results import Result
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.reading.committed import PageFollower, Place, listed_pages, newest_place, pages_of
from scrawler.store.schema.tables import page as page_table
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta


def _urls(follower: PageFollower) -> list[str]:
    return [one.row.url for one in follower.fresh()]


def test_pages_are_given_once_with_their_ids_and_seeds(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    (seed,) = site.seeds
    assert newest_place(database) == Place(0)
    follower = PageFollower(database, Place())
    assert follower.fresh() == []
    rows = tuple(page(seed.id, f"http://a.org/{number}", position=number) for number in range(1200))
    worker.commit(site_delta(site, seed_delta(seed.id, pages=rows)))
    got = [one for _ in range(3) for one in follower.fresh()]
    assert [one.row for one in got] == list(rows)
    assert {one.seed for one in got} == {"http://a.org/"}
    assert follower.fresh() == []
    assert follower.place == newest_place(database) == Place(got[-1].id)
    assert list(listed_pages(database)) == got
    assert list(listed_pages(database, seed.id, {Result.REDIRECT})) == []
    assert pages_of(database, [rows[7].url_hash]) == [got[7]]
    assert [one.row for one in PageFollower(database, Place(got[-2].id)).fresh()] == [rows[-1]]


def _insert(connection: Connection, number: int) -> None:
    connection.execute(insert(page_table), page(1, f"http://a.org/{number}")._asdict())


def _checkpoint(connection: Connection, machine: int) -> None:
    connection.exec_driver_sql(f"UPDATE machine SET checkpoints = checkpoints + 1 WHERE id = {machine}")


def test_ids_that_are_committed_later_are_given_then(server_url: str) -> None:
    database = open_database(server_url)
    add(database, "http://a.org/")
    first, second = Worker.of(database, "first"), Worker.of(database, "second")
    follower = PageFollower(database, Place())
    with database.begin() as late:
        _insert(late, 1)
        _insert(late, 2)
        with database.begin() as early:
            _insert(early, 3)
            _checkpoint(early, second.id)
        assert _urls(follower) == ["http://a.org/3"]
        assert follower.place == Place(3, ((1, 2),))
        assert _urls(follower) == []
        _checkpoint(late, first.id)
    assert _urls(PageFollower(database, follower.place, most=1)) == ["http://a.org/1"], "another one may go on"
    assert _urls(follower) == ["http://a.org/1", "http://a.org/2"]
    assert _urls(follower) == []
    assert follower.place == Place(3)
    database.close()


def test_who_begins_in_the_midst_is_given_lower_ids_that_are_committed_later(server_url: str) -> None:
    database = open_database(server_url)
    add(database, "http://a.org/")
    first, second = Worker.of(database, "first"), Worker.of(database, "second")
    with database.begin() as late:
        _insert(late, 1)
        _insert(late, 2)
        with database.begin() as early:
            _insert(early, 3)
            _checkpoint(early, second.id)
        follower = PageFollower(database, newest_place(database))
        assert _urls(follower) == []
        _checkpoint(late, first.id)
    assert _urls(follower) == ["http://a.org/1", "http://a.org/2"]
    assert _urls(follower) == []
    database.close()


def test_ids_that_never_come_are_waited_for_until_all_machines_have_committed_or_ended(server_url: str) -> None:
    database = open_database(server_url)
    add(database, "http://a.org/")
    first, second = Worker.of(database, "first"), Worker.of(database, "second")
    follower = PageFollower(database, Place())
    with suppress(LookupError), database.begin() as undone:
        _insert(undone, 1)
        raise LookupError
    with database.begin() as connection:
        _insert(connection, 2)
        _checkpoint(connection, second.id)
    assert _urls(follower) == ["http://a.org/2"]
    with database.begin() as connection:
        _checkpoint(connection, second.id)
    assert _urls(follower) == []
    assert follower.place.gaps, "the first machine may have inserted it"
    Machines(database).stop(first.id)
    assert _urls(follower) == []
    assert follower.place == Place(2)
    database.close()
