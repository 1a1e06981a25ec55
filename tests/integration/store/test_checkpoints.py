from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, select

from scrawler.errors import StoreError
from scrawler.model.deltas import Rehoming
from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.robots import RobotsRecord
from scrawler.model.rows import ExternalRow
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Seeds
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.commit.externals import AsCandidates
from scrawler.store.engines.bulk import BulkUpdate
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.frontier import Frontier
from scrawler.store.reading.candidates import Candidates
from scrawler.store.reading.pages import Pages
from scrawler.store.schema.tables import seed
from tests.integration.store.crawling import (
    Worker,
    acknowledgement_lost,
    add,
    as_stored,
    candidate,
    page,
    seed_delta,
    site_delta,
)


def _count(database: Database, table: str) -> int:
    with database.read() as connection:
        return int(connection.exec_driver_sql(f"SELECT COUNT(*) FROM {table}").scalar_one())


def test_all_of_a_delta_is_written_as_it_was(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    seed = site.seeds[0]
    pages = (
        page(seed.id, "http://a.org/"),
        page(seed.id, "http://a.org/🕷?'%s\\", position=1, digest=b"", result="http-error", detail="a\x00b\n'\"\\"),
        page(seed.id, "http://a.org/r", position=2, result="redirect", length=0, warc_file=""),
        page(seed.id, "http://a.org/t", position=3, result="trap", status=0, length=0, warc_file=""),
    )
    lanes = (LaneState(seed.id, 1, seed.id, 0, 2), LaneState(seed.id, 0, seed.id, 1, 7, (3, 5)))
    chunks = (ChunkRow(seed.id, 0, 0, 0, 4, bytes(range(256)) * 40),)
    delta = seed_delta(seed.id, pages=pages, lanes=lanes, chunks=chunks, counts=SeedCounts(pages=1, bytes=2))
    assert worker.commit(site_delta(site, delta, next_due_at=99, address="192.0.2.7")) == frozenset()
    assert tuple(Pages(database).of_seed(seed.id)) == tuple(
        row._replace(detail=as_stored(row.detail, database)) for row in pages
    )
    assert Frontier(database).lanes(site.id) == sorted(lanes)
    assert Frontier(database).tail(seed.id, 0) == chunks[0]
    view = Seeds(database).get("http://a.org/")
    assert view is not None
    assert (view.seed.counts.pages, view.seed.counts.bytes, view.seed.state) == (1, 2, SeedState.ACTIVE)
    (machine,) = Machines(database).summary().machines
    assert (machine.pages, machine.bytes, machine.errors) == (1, 2000, 1), "what a trap holds is no error"
    with database.read() as connection:
        row = connection.exec_driver_sql("SELECT next_due_at, address, state FROM site").one()
    assert tuple(row) == (99, "192.0.2.7", "active")


def test_text_that_no_column_holds_does_not_stop_a_checkpoint(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    seed = site.seeds[0].id
    odd = page(seed, "http://a.org/\ud800", content_type="x" * 20_000, detail="\udfff" * 9_000)
    worker.commit(site_delta(site, seed_delta(seed, pages=(odd, page(seed, "http://a.org/fine", position=1)))))
    first, second = Pages(database).of_seed(seed)
    assert (first.url, len(first.content_type)) == ("http://a.org/\\ud800", 16_000)
    assert second.url == "http://a.org/fine"


def test_a_lane_and_a_tail_chunk_are_written_again(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    seed = site.seeds[0].id
    for length in (2, 5):
        lane, chunk = LaneState(seed, 0, seed, length - 1, length), ChunkRow(seed, 0, 0, 0, length, b"x" * length)
        worker.commit(site_delta(site, seed_delta(seed, lanes=(lane,), chunks=(chunk,))))
    assert Frontier(database).lanes(site.id) == [lane]
    assert Frontier(database).tail(seed, 0) == chunk
    assert _count(database, "chunk") == 1


def test_candidates_add_up(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    seed = site.seeds[0].id
    for count, depth in ((2, 3), (5, 1)):
        found = tuple(candidate(seed, f"http://x{n}.org/", count, depth) for n in range(3))
        worker.commit(site_delta(site, seed_delta(seed, externals=found)))
    assert [one.times for one in Candidates(database).merged()] == [7, 7, 7]
    with database.read() as connection:
        assert set(connection.exec_driver_sql("SELECT depth FROM candidate").scalars()) == {3}


class Noting(AsCandidates):
    """Notes in which order rows come."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.came: list[ExternalRow] = []

    def keep(self, connection: Connection, found: Sequence[ExternalRow]) -> Mapping[str, int] | None:
        self.came = list(found)
        return super().keep(connection, found)


def test_external_urls_are_written_in_the_order_of_the_index_that_suits_the_database(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    noting = Noting(database)
    deltas = []
    for site in worker.claim():
        seed = site.seeds[0].id
        found = tuple(candidate(seed, f"http://x{number}.org/") for number in range(20))
        deltas.append(site_delta(site, seed_delta(seed, externals=found)))
    Checkpoints(database, worker.id, noting).commit(deltas)
    by_hash = sorted(noting.came, key=lambda row: row.url_hash)
    by_seed = sorted(noting.came)
    assert len(noting.came) == 40
    assert noting.came == (by_hash if database.dialect == "sqlite" else by_seed)
    assert by_hash != by_seed


def test_a_delta_with_a_stale_token_is_dropped_alone(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/", "http://c.org/")
    old, new = Worker.of(database, "one"), Worker.of(database, "two")
    sites = old.claim()
    old.release(sites[1])
    taken = new.claim_one()
    deltas = [
        site_delta(one, seed_delta(one.seeds[0].id, pages=(page(one.seeds[0].id, one.seeds[0].url),))) for one in sites
    ]
    assert old.commit(*deltas) == {taken.id}
    assert {row.url for row in Pages(database).all()} == {"http://a.org/", "http://c.org/"}
    assert new.commit(site_delta(taken, seed_delta(taken.seeds[0].id))) == frozenset()


def test_a_done_seed_and_a_released_site_end(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    done = seed_delta(site.seeds[0].id, state=SeedState.DONE, end_reason=EndReason.MAX_TIME, end_detail="60 s")
    worker.commit(site_delta(site, done, released=True))
    assert Seeds(database).counts() == {SeedState.DONE: {EndReason.MAX_TIME: 1}}
    left = Claims(database, worker.id).work_left()
    assert (left.ready, left.active, left.done) == (0, 0, 1)
    assert worker.claim() == []


@pytest.mark.parametrize("known", [False, True], ids=["new site", "done site"])
def test_a_seed_moves_to_the_site_of_its_home(database: Database, known: bool) -> None:
    add(database, "http://example.org/")
    worker = Worker.of(database)
    if known:
        add(database, "http://www.example.org/x")
        first, other = worker.claim(2)
        done = seed_delta(other.seeds[0].id, state=SeedState.DONE, end_reason=EndReason.COMPLETED)
        worker.commit(site_delta(other, done, released=True))
    else:
        first = worker.claim_one()
    move = Rehoming("http://www.example.org/", "www.example.org", 1)
    moved = seed_delta(first.seeds[0].id, state=SeedState.READY, rehoming=move)
    assert worker.commit(site_delta(first, moved, released=True)) == frozenset()
    again = worker.claim_one()
    (seed,) = again.seeds
    assert (again.key, seed.site_id != first.id) == ("www.example.org", True)
    assert (seed.url, seed.home_url, seed.rehomed) == ("http://example.org/", "http://www.example.org/", 1)
    assert worker.claim() == []


def test_a_commit_whose_acknowledgement_was_lost_is_not_written_twice(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    checkpoints = Checkpoints(database, worker.id)
    with acknowledgement_lost(database, monkeypatch):
        delta = seed_delta(site.seeds[0].id, pages=(page(site.seeds[0].id, "http://a.org/"),))
        record = RobotsRecord("crawl-1.warc.gz", 900, 100, "http://a.org/robots.txt", 1, 200, "text/plain", b"x" * 20)
        assert checkpoints.commit([site_delta(site, delta, robots_records=(record,))]) == frozenset()
    assert (_count(database, "page"), _count(database, "robots_record")) == (1, 1)
    assert checkpoints.commit([site_delta(site, delta)]) == frozenset()
    assert (_count(database, "page"), _count(database, "robots_record")) == (2, 1)


def test_a_machine_that_is_not_there_is_told(database: Database) -> None:
    add(database, "http://a.org/")
    site = Worker.of(database).claim_one()
    with pytest.raises(StoreError, match="machine 77 is not in the database"):
        Checkpoints(database, 77).commit([site_delta(site)])


def test_many_machines_commit_at_once_and_lose_nothing(database: Database) -> None:
    urls = [f"http://s{number}.org/" for number in range(40)]
    add(database, *urls)
    workers = [Worker.of(database, f"m{number}") for number in range(4)]
    held = [worker.claim(10) for worker in workers]

    def commit_rounds(number: int) -> None:
        chance = random.Random(number)
        for turn in range(8):
            sites = chance.sample(held[number], 10)
            deltas = []
            for site in sites:
                seed = site.seeds[0].id
                rows = tuple(page(seed, f"{site.seeds[0].url}{turn}-{n}", position=n) for n in range(5))
                found = [candidate(seed, f"http://common{n}.org/") for n in range(20)]
                chance.shuffle(found)
                move = Rehoming(f"http://t{turn}.org/", f"t{turn}.org", 1) if turn == 7 and site is sites[0] else None
                state = SeedState.READY if move else SeedState.ACTIVE
                deltas.append(
                    site_delta(site, seed_delta(seed, pages=rows, externals=tuple(found), rehoming=move, state=state))
                )
            assert workers[number].commit(*deltas) == frozenset()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(commit_rounds, range(4)))
    assert _count(database, "page") == 4 * 8 * 10 * 5
    assert {(one.times, one.seeds) for one in Candidates(database).merged()} == {(4 * 8 * 10, 40)}
    assert sum(one.pages for one in Machines(database).summary().machines) == 4 * 8 * 10 * 5


def test_updates_of_many_rows_make_no_table_on_the_servers_disk(mariadb_url: str) -> None:
    """They would for long texts, in the server's folder for temporary files, which may be full or cleaned up."""
    database = open_database(mariadb_url)
    add(database, *(f"http://s{number}.org/" for number in range(100)))
    long = "x" * 900
    rows = [
        (number, number * 3, long + str(number), None if number % 2 else f"http://h{number}/")
        for number in range(1, 101)
    ]
    with database.begin() as connection:
        before = _tables_on_disk(connection)
        BulkUpdate(seed, ("requests", "end_detail", "home_url"), database.compiler).run(connection, rows[::-1])
        assert _tables_on_disk(connection) == before
        columns = (seed.c.id, seed.c.requests, seed.c.end_detail, seed.c.home_url)
        assert [tuple(row) for row in connection.execute(select(*columns).order_by(seed.c.id))] == rows
    database.close()


def _tables_on_disk(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Created_tmp_disk_tables'").one()[1])


def test_what_is_worked_off_goes_from_lists_that_only_repeat_what_stands_in_others(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    seed = site.seeds[0].id
    frontier = Frontier(database)

    def commit(kind: int, cursor: int, length: int, *chunks: ChunkRow) -> list[int]:
        lane = LaneState(seed, kind, seed, cursor, length)
        worker.commit(site_delta(site, seed_delta(seed, lanes=(lane,), chunks=chunks)))
        return [row.first for row in frontier.chunks(seed, kind, min(cursor, 64), 10_000)]

    def full(kind: int, seq: int, count: int = 64) -> ChunkRow:
        return ChunkRow(seed, kind, seq, 64 * seq, count, b"x")

    for kind in (0, -3, -12, -20):  # where URLs stand first
        assert commit(kind, 128, 128, full(kind, 0), full(kind, 1)) == [64]
    for kind in (1, 103, -1, -1000, 1_000_000, 1_500_000, 2_000_000, 3_000_000):
        assert commit(kind, 70, 140, full(kind, 0), full(kind, 1), full(kind, 2, 12)) == [64, 128]
        assert commit(kind, 140, 140, full(kind, 2, 12)) == []
        assert frontier.tail(seed, kind) is None
        assert commit(kind, 140, 150, full(kind, 2, 22)) == []  # a machine has them in memory, and writes its tail anew
        assert [row.first for row in frontier.chunks(seed, kind, 140, 10)] == [128]
        assert commit(kind, 150, 150) == []
        assert commit(kind, 150, 152, ChunkRow(seed, kind, 0, 150, 2, b"x")) == []  # another begins to count anew
        assert [row.first for row in frontier.chunks(seed, kind, 151, 10)] == [150]
