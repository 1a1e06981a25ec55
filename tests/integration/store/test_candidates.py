from __future__ import annotations

import pytest
from sqlalchemy import create_engine, insert, select

from scrawler.model.rows import ExternalRow
from scrawler.model.terms import url_hash
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.commit.externals import AsCandidates
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.reading.candidates import Candidates, CandidateView
from scrawler.store.schema import tables
from scrawler.store.schema.columns import PART
from scrawler.store.schema.migrations import migration_texts, statements
from scrawler.store.schema.tables import candidate as stored
from scrawler.store.schema.tables import page as stored_page
from scrawler.store.upkeep.upgrade import upgrade_database
from tests.integration.store.crawling import Worker, add, candidate, page, seed_delta, site_delta
from tests.stored import dialect_of


def _found(database: Database) -> tuple[int, int]:
    """Two seeds, of 0 and 2 hops, found common.org; one found a.org, which is a seed, and 2,500 others."""
    add(database, "http://a.org/")
    add(database, "http://b.org/", hops=2)
    worker = Worker.of(database)
    a, b = worker.claim()
    one, two = a.seeds[0].id, b.seeds[0].id
    known = (candidate(two, "http://common.org/", 4), candidate(two, "http://a.org/"))
    others = tuple(candidate(two, f"http://x{number}.org/") for number in range(2_500))
    worker.commit(
        site_delta(a, seed_delta(one, externals=(candidate(one, "http://common.org/", 3),))),
        site_delta(b, seed_delta(two, externals=known + others)),
    )
    return one, two


def test_candidates_are_merged_over_seeds_without_those_that_are_seeds(database: Database) -> None:
    one, _ = _found(database)
    merged = {view.url: view for view in Candidates(database).merged()}
    assert len(merged) == 2_501
    assert "http://a.org/" not in merged
    common = merged["http://common.org/"]
    assert (common.times, common.seeds, common.first_seed_id, common.hops) == (7, 2, one, 1)
    assert merged["http://x7.org/"].hops == 3
    assert [view.url for view in Candidates(database).merged(min_count=2)] == ["http://common.org/"]
    assert len(list(Candidates(database).merged(like="http://x1__.org/"))) == 100


def test_urls_of_candidates_are_those_that_are_merged_in_their_order(database: Database) -> None:
    _found(database)
    candidates = Candidates(database)
    candidates.mark_promoted([url_hash("http://x7.org/")])
    urls = list(candidates.urls())
    assert urls == [view.url for view in candidates.merged()]
    assert len(urls) == 2_500


def test_promotion_goes_by_hash_and_is_done_once(database: Database) -> None:
    _found(database)
    candidates = Candidates(database)
    assert [view.url for view in candidates.unpromoted(1)] == ["http://common.org/"]
    seen: list[str] = []
    read: list[bytes] = []
    for view in candidates.unpromoted(3):  # as it goes on, what was read is promoted
        seen.append(view.url)
        read.append(view.url_hash)
        if len(read) == 30 and len(seen) <= 1_200:
            candidates.mark_promoted(read)
            read.clear()
    assert len(seen) == len(set(seen)) == 2_501
    assert seen == sorted(seen, key=url_hash)
    assert [view.url for view in candidates.merged()] == seen[1_200:]
    assert list(candidates.unpromoted(0)) == []


def test_a_candidate_that_became_a_seed_is_none_any_more(database: Database) -> None:
    _found(database)
    add(database, "http://common.org/", hops=1)
    assert list(Candidates(database).unpromoted(1)) == []


def test_hops_are_right_when_all_seeds_have_the_same_and_when_others_come_meanwhile(database: Database) -> None:
    add(database, *(f"http://s{number}.org/" for number in range(2)))
    worker = Worker.of(database)
    site, _ = worker.claim()
    mine = site.seeds[0].id
    found = tuple(candidate(mine, f"http://x{number}.org/", 2) for number in range(4_100))
    worker.commit(site_delta(site, seed_delta(mine, externals=found)))
    views = Candidates(database).merged()
    assert next(views).hops == 1
    add(database, "http://found.org/", hops=4)
    late = worker.claim_one()
    seed_id = late.seeds[0].id
    worker.commit(site_delta(late, seed_delta(seed_id, externals=(_with_last_hash(seed_id),))))
    rest = list(views)
    assert {view.hops for view in rest[:-1]} == {1}
    assert (rest[-1].seeds, rest[-1].hops, rest[-1].times) == (1, 5, 1)


def _with_last_hash(seed_id: int) -> ExternalRow:
    """Make a candidate that is read after all others."""
    return max((candidate(seed_id, f"http://late{n}.org/") for n in range(50_000)), key=lambda one: one.url_hash)


def test_a_candidate_that_is_a_seed_is_left_out_when_all_hops_are_the_same(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    site, _ = worker.claim()
    mine = site.seeds[0].id
    links = candidate(mine, "http://b.org/"), candidate(mine, "http://c.org/", 3)
    worker.commit(site_delta(site, seed_delta(mine, externals=links)))
    (view,) = Candidates(database).merged()
    assert view == CandidateView(url_hash("http://c.org/"), "http://c.org/", 3, 1, mine, 1)
    assert type(view.times) is int


def test_candidates_of_all_parts_are_merged(database: Database) -> None:
    """In SQLite each so many pages of a crawl begin a part of the index on their hashes."""
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    mine = site.seeds[0].id
    for number, newest in enumerate((0, PART - 1, PART, 3 * PART)):
        if newest:
            with database.begin() as connection:
                row = page(mine, f"http://a.org/{number}")
                connection.execute(insert(stored_page).values(id=newest, **row._asdict()))
        found = candidate(mine, "http://common.org/"), candidate(mine, f"http://x{number}.org/")
        worker.commit(site_delta(site, seed_delta(mine, externals=found)))
    rows = database.rows(select(stored.c.url, stored.c.part).order_by(stored.c.url))
    parts = {row.url: row.part for row in rows}
    named = dict(zip([f"http://x{number}.org/" for number in range(4)], (0, 0, 1, 3), strict=True))
    assert parts == dict.fromkeys(parts, 0) | (named if database.dialect == "sqlite" else {})
    merged = {view.url: view.times for view in Candidates(database).merged()}
    assert merged == {"http://common.org/": 4, **dict.fromkeys(named, 1)}
    assert [view.url_hash for view in Candidates(database).merged()] == sorted(map(url_hash, merged))


def test_candidates_from_before_there_were_parts_are_found(database_url: str) -> None:
    engine = create_engine(database_url)
    with engine.begin() as connection:
        for number, text in migration_texts(dialect_of(database_url)).items():
            for statement in statements(text) if number < 12 else ():
                connection.exec_driver_sql(statement)
        for number in range(50):
            url = f"http://x{number}.org/"
            row = {"seed_id": 1, "url_hash": url_hash(url), "url": url, "depth": 1, "count": 2}
            connection.execute(insert(stored).values(**row, promoted=0))
    engine.dispose()
    assert upgrade_database(database_url) == [one for one in migration_texts(dialect_of(database_url)) if one >= 12]
    database = open_database(database_url)
    assert sorted(Candidates(database).urls()) == sorted(f"http://x{number}.org/" for number in range(50))
    database.close()


def test_a_seed_has_no_more_candidates_than_it_may(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known is counted on, what is left out is counted, and a few of it are told; other seeds have room."""
    monkeypatch.setattr("scrawler.store.commit.candidate_room._COUNTED_FROM", 4)
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    sites = {site.seeds[0].url: site for site in worker.claim(2)}
    site, other = sites["http://a.org/"], sites["http://b.org/"]
    one, two = site.seeds[0].id, other.seeds[0].id

    def commit(checkpoints: Checkpoints, first: int, last: int) -> None:
        found = [candidate(one, f"http://x{number}.org/") for number in range(first, last)]
        also = (candidate(two, f"http://y{first}.org/"),)
        checkpoints.commit(
            [
                site_delta(site, seed_delta(one, externals=tuple(found))),
                site_delta(other, seed_delta(two, externals=also)),
            ]
        )

    for start in (0, 6, 0, 6, 12, 18):  # each by a machine's process of its own, which remembers nothing
        commit(Checkpoints(database, worker.id, AsCandidates(database, 20)), start, start + 6)
    checkpoints = Checkpoints(database, worker.id, AsCandidates(database, 20))
    for start in (15, 17, 30):
        commit(checkpoints, start, start + 10)
    rows = {row.url: row for row in database.rows(select(tables.candidate))}
    assert sum(row.seed_id == one for row in rows.values()) == 20
    assert {url for url, row in rows.items() if row.seed_id == two} == {
        f"http://y{number}.org/" for number in (0, 6, 12, 18, 15, 17, 30)
    }
    assert rows["http://x7.org/"].count == 2
    assert [rows[url].count for number in range(18, 24) if (url := f"http://x{number}.org/") in rows] == [3, 3]
    told = database.rows(select(tables.rejection))
    assert {row.reason for row in told} == {"external-limit"}
    assert {row.evidence for row in told} == {"its seed has 20 candidate seeds, as many as max_candidates allows"}
    assert 4 <= len(told) <= 8
    with database.read() as connection:
        assert connection.scalar(select(tables.machine.c.dropped)) == 4 + 5 + 7 + 10
