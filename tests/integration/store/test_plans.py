"""How SQLite finds pages and candidates: by an index, however many there are. It plans alike for none and millions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Engine, event

from scrawler.app import prepare_crawl
from scrawler.features.choose.scores import Scores
from scrawler.features.revisit.log import Changes
from scrawler.model.results import Result
from scrawler.model.terms import url_hash
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.frontier import Frontier
from scrawler.store.reading.candidates import Candidates
from scrawler.store.reading.committed import pages_of
from scrawler.store.reading.page_lists import Last, PageFilter, PageLists
from scrawler.store.reading.sizes import Sizes
from scrawler.store.reading.traces import Traces
from scrawler.store.upkeep.statistics import tell_statistics_again
from scrawler.store.upkeep.upgrade import upgrade_database
from tests.integration.store.crawling import Worker, add, candidate, page, seed_delta, site_delta
from tests.stored import load_schema

HASHES = [url_hash("http://a.org/"), url_hash("http://b.org/")]
IN_PARTS = "USING INDEX page_url_hash_in_parts (ANY(<expr>) AND url_hash=?"
CANDIDATES_IN_PARTS = re.compile(r"INDEX candidate_url_hash_in_parts \(ANY\(part\) AND \S+ AND url_hash")


@contextmanager
def _plans() -> Iterator[list[str]]:
    """Note how SQLite goes through tables for all that is asked meanwhile."""
    steps: list[str] = []

    def note(connection: Any, _cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        cursor = connection.connection.dbapi_connection.cursor()
        steps.extend(row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    event.listen(Engine, "after_cursor_execute", note)
    try:
        yield steps
    finally:
        event.remove(Engine, "after_cursor_execute", note)


@pytest.fixture(params=["new", "upgraded"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    if request.param == "upgraded":
        load_schema(5, url)
        upgrade_database(url)
    database = open_database(url)
    yield database
    database.close()


def test_pages_are_found_by_the_hashes_of_their_urls(opened: Database) -> None:
    traces = Traces(opened)
    asks = [
        lambda: traces.pages(HASHES),
        lambda: traces.originals(HASHES, b"digest"),
        lambda: traces.urls(HASHES),
        lambda: pages_of(opened, HASHES),
        lambda: Frontier(opened).fetched(HASHES[0]),
        lambda: Frontier(opened).own_page(1, HASHES[0]),
        lambda: Changes(opened).visits(HASHES),
        lambda: list(PageLists(opened).all(PageFilter(url_hashes=tuple(HASHES)))),
    ]
    for ask in asks:
        with _plans() as steps:
            ask()
        assert any(IN_PARTS in step for step in steps), steps
        assert not any(step.startswith("SCAN page") for step in steps)


def test_later_visits_of_a_page_are_found_among_those_of_its_url_not_of_its_seed(opened: Database) -> None:
    """Each of 100,000 pages of a seed would go through all of them."""
    wanted = PageFilter(results=(Result.FETCHED.value,), last=Last.STANDING)
    with _plans() as steps:
        list(PageLists(opened).all(wanted))
    assert {step for step in steps if step.startswith("SEARCH later")} == {f"SEARCH later {IN_PARTS})"}


def test_pages_of_some_sites_are_found_by_their_seeds(opened: Database) -> None:
    add(opened, "http://a.org/")
    with _plans() as steps:
        list(Sizes(opened).sites())
    assert any(step.startswith("SEARCH page USING INDEX page_seed (seed_id=?") for step in steps), steps


def test_what_is_read_ahead_of_a_take_up_is_found_by_sites_and_seeds(opened: Database) -> None:
    with _plans() as steps:
        Frontier(opened).ahead([1, 2], [1, 2])
    assert any(step.startswith("SEARCH page USING INDEX page_seed (seed_id=?") for step in steps), steps
    assert not any(step.startswith("SCAN") for step in steps), steps


def test_candidates_are_found_by_the_hashes_of_their_urls(opened: Database) -> None:
    add(opened, "http://a.org/")
    with opened.begin() as connection:
        connection.exec_driver_sql("UPDATE seed SET state = 'done'")
    candidates, urls = Candidates(opened), ["http://b.org/", "http://c.org/"]
    asks = [
        lambda: list(candidates.merged()),
        lambda: list(candidates.of_urls(urls)),
        lambda: list(candidates.unpromoted(1)),
        lambda: candidates.mark_promoted(HASHES),
        lambda: list(Scores(opened).links()),
    ]
    for ask in asks:
        with _plans() as steps:
            ask()
        of_candidates = [step for step in steps if re.match(r"(?:SCAN|SEARCH) candidate\b", step)]
        assert any(CANDIDATES_IN_PARTS.search(step) for step in of_candidates), steps
        assert not any(step == "SCAN candidate" for step in of_candidates), steps


@pytest.mark.parametrize("done", ["ANALYZE", "DROP TABLE sqlite_stat1", "DELETE FROM sqlite_stat1"])
def test_what_was_counted_while_there_was_next_to_nothing_is_forgotten_when_a_run_begins(
    tmp_path: Path, done: str
) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    with closing(open_database(url)) as database:
        assert not tell_statistics_again(database)
        worker = Worker.of(database, "one")
        add(database, "http://a.org/")
        site = worker.claim_one()
        number = site.seeds[0].id
        found = [candidate(number, f"http://x{n}.org/") for n in range(3)]
        worker.commit(site_delta(site, seed_delta(number, pages=[page(number, "http://a.org/")], externals=found)))
        with database.begin() as connection:
            connection.exec_driver_sql(done)
    with closing(open_database(url)) as misled:
        with _plans() as steps:
            Traces(misled).pages(HASHES)
        assert not any(IN_PARTS in step for step in steps), "else there is nothing to be told again"
        assert tell_statistics_again(misled)
        assert not tell_statistics_again(misled)
        for database in (misled, open_database(url)):
            with _plans() as steps:
                Traces(database).pages(HASHES)
                list(Candidates(database).urls())
            assert any(IN_PARTS in step for step in steps), steps
            assert any(CANDIDATES_IN_PARTS.search(step) for step in steps), steps
            database.close()


def test_what_was_counted_of_a_large_crawl_is_left(tmp_path: Path) -> None:
    with closing(open_database(f"sqlite:///{tmp_path / 'crawl.db'}")) as database:
        counted = {"page_seed": "90000 3", "page_url_hash_in_parts": "90000 22500 1"}
        with database.begin() as connection:
            for index, text in counted.items():
                connection.exec_driver_sql("UPDATE sqlite_stat1 SET stat = ? WHERE idx = ?", (text, index))
        assert not tell_statistics_again(database)
        with database.begin() as connection:
            found = {row[0]: row[1] for row in connection.exec_driver_sql("SELECT idx, stat FROM sqlite_stat1")}
        assert found | counted == found


def test_a_run_tells_them_before_its_machines_begin(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    with closing(open_database(url)) as database, database.begin() as connection:
        connection.exec_driver_sql("DELETE FROM sqlite_stat1")
    prepare_crawl(Settings.model_validate({"db": url, "user_agent": "TestCrawler/1.0 (+http://127.0.0.1/)"}), Event())
    with closing(open_database(url)) as database:
        assert not tell_statistics_again(database)
