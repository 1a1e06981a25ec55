from __future__ import annotations

from scrawler.model.deltas import Rehoming
from scrawler.model.lanes import CHUNK_ENTRIES, ChunkRow, LaneState
from scrawler.model.replaced import EarlierPages
from scrawler.model.results import Result
from scrawler.model.rows import PatternRow
from scrawler.model.seeds import EndReason, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.frontier import Frontier
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta


def test_lanes_that_matter_to_a_take_up(database: Database) -> None:
    add(database, "http://a.org/0", "http://a.org/1", "http://a.org/2", "http://b.org/")
    worker = Worker.of(database)
    a, b = worker.claim()
    active, done, heir = (one.id for one in a.seeds)
    finished_of_active = LaneState(active, 0, active, 4, 4)
    finished_of_done = LaneState(done, 0, done, 4, 4)
    handed_on = LaneState(done, 1, heir, 1, 3, (2,))
    unfinished_of_done = LaneState(done, 2, done, 0, 3)
    other = LaneState(b.seeds[0].id, 0, b.seeds[0].id, 0, 1)
    worker.commit(
        site_delta(
            a,
            seed_delta(active, lanes=(finished_of_active,)),
            seed_delta(
                done,
                lanes=(finished_of_done, handed_on, unfinished_of_done),
                state=SeedState.DONE,
                end_reason=EndReason.MAX_PAGES,
            ),
        ),
        site_delta(b, seed_delta(b.seeds[0].id, lanes=(other,))),
    )
    assert Frontier(database).lanes(a.id) == [finished_of_active, handed_on, unfinished_of_done]
    assert Frontier(database).lanes(b.id) == [other]


def test_chunks_are_found_by_position(database: Database) -> None:
    add(database, "http://a.org/", "http://a.org/2")
    worker = Worker.of(database)
    site = worker.claim_one()
    one, two = (seed.id for seed in site.seeds)
    full = CHUNK_ENTRIES
    chunks = tuple(ChunkRow(one, 0, seq, seq * full, full, b"%d" % seq) for seq in range(40))
    retry, other = ChunkRow(one, 1, 0, 0, 3, b"retry"), ChunkRow(two, 0, 0, 0, 2, b"other")
    worker.commit(site_delta(site, seed_delta(one, chunks=(*chunks, retry)), seed_delta(two, chunks=(other,))))
    frontier = Frontier(database)
    found = [frontier.chunks(one, 0, position, 5) for position in (0, full - 1, full, 40 * full - 1)]
    assert found == [[chunks[0]], [chunks[0]], [chunks[1]], [chunks[39]]]
    assert frontier.chunks(one, 0, full + 5, 4 * full - 1) == [*chunks[1:4]]
    assert frontier.chunks(one, 0, 39 * full - 1, 10 * full) == [*chunks[38:]]
    assert frontier.chunks(one, 0, 0, 40 * full - 1) == [*chunks[:39]]
    assert frontier.chunks(one, 0, 0, 1_000_000) == [*chunks]
    assert frontier.chunks(one, 0, 40 * full, 100) == []
    assert frontier.chunks(two, 1, 0, 100) == []
    assert frontier.tail(one, 0) == chunks[39]
    assert frontier.tail(two, 1) is None
    assert list(frontier.listed(site.id)) == [chunk.data for chunk in chunks] + [b"other"]


def test_what_is_read_ahead_is_what_is_read_one_by_one(database: Database) -> None:
    add(database, *(f"http://{host}.org/" for host in "abc"))
    worker = Worker.of(database)
    deltas = []
    for site in worker.claim():
        (seed,) = site.seeds
        lanes = LaneState(seed.id, 0, seed.id, 1, 2), LaneState(seed.id, 1, seed.id, 0, 1)
        chunks = ChunkRow(seed.id, 0, 0, 0, 2, b"list"), ChunkRow(seed.id, 1, 0, 0, 1, b"again")
        rows = (page(seed.id, seed.url, result=Result.REDIRECT.value, lane_seed=seed.id),)
        jar = b"cookie" if "b.org" in seed.url else None
        deltas.append(site_delta(site, seed_delta(seed.id, lanes=lanes, chunks=chunks, pages=rows, jar=jar)))
    worker.commit(*deltas)
    sites, seeds = [delta.site_id for delta in deltas], [delta.seeds[0].seed_id for delta in deltas]
    frontier = Frontier(database)
    ahead = frontier.ahead(sites, seeds)
    assert ahead.lanes == {one: frontier.lanes(one) for one in sites}
    assert ahead.listed == {one: list(frontier.listed(one)) for one in sites}
    assert ahead.owners == {one: frontier.own_urls(one) for one in sites}
    assert ahead.robots == set()
    for seed_id in seeds:
        assert [row for row in ahead.chunks[seed_id] if row.kind == 0] == frontier.chunks(seed_id, 0, 0, 100)
        assert ahead.chunks[seed_id][-1] == frontier.tail(seed_id, 1)
        assert ahead.redirected[seed_id] == frontier.redirected(seed_id) != []
        assert ahead.jars.get(seed_id) == frontier.jar(seed_id)


def test_a_site_with_many_lists_is_not_read_ahead(database: Database) -> None:
    add(database, *(f"http://a.org/{number}" for number in range(4)))
    worker = Worker.of(database)
    site = worker.claim_one()
    worker.commit(
        site_delta(site, *(seed_delta(seed.id, chunks=(ChunkRow(seed.id, 0, 0, 0, 1, b"x"),)) for seed in site.seeds))
    )
    ahead = Frontier(database).ahead([site.id], [])
    assert (ahead.lanes, ahead.listed, ahead.owners) == ({site.id: []}, {}, {})


def test_a_take_up_makes_no_table_on_the_servers_disk(mariadb_url: str) -> None:
    """Lists are long; sorted by the server, they would all go there for each part that is read."""
    database = open_database(mariadb_url)
    add(database, "http://a.org/", "http://a.org/2")
    worker = Worker.of(database)
    site = worker.claim_one()
    deltas = []
    for seed in site.seeds:
        chunks = tuple(ChunkRow(seed.id, 0, seq, seq * 10, 10, b"x" * 2_000) for seq in range(20))
        deltas.append(seed_delta(seed.id, chunks=chunks, lanes=(LaneState(seed.id, 0, seed.id, 0, 200),)))
    worker.commit(site_delta(site, *deltas))
    before = _tables_on_disk(database)
    assert len(list(Frontier(database).listed(site.id))) == 40
    assert len(Frontier(database).lanes(site.id)) == 2
    assert _tables_on_disk(database) == before
    database.close()


def _tables_on_disk(database: Database) -> int:
    with database.read() as connection:
        return int(connection.exec_driver_sql("SHOW GLOBAL STATUS LIKE 'Created_tmp_disk_tables'").one()[1])


def test_urls_of_begun_seeds_and_fetched_urls_are_known(database: Database) -> None:
    add(database, *(f"http://a.org/{number}" for number in range(3)))
    worker = Worker.of(database)
    site = worker.claim(1, 2)[0]
    one, two = site.seeds
    worker.commit(site_delta(site, seed_delta(one.id, pages=(page(one.id, "http://a.org/0"),))))
    frontier = Frontier(database)
    assert frontier.own_urls(site.id) == {url_hash("http://a.org/0"): one.id, url_hash("http://a.org/1"): two.id}
    assert frontier.fetched(url_hash("http://a.org/0"))
    assert not frontier.fetched(url_hash("http://a.org/1"))


def test_patterns_are_as_last_written_and_those_of_one_seed(database: Database) -> None:
    add(database, "http://a.org/", "http://a.org/2")
    worker = Worker.of(database)
    site = worker.claim_one()
    one, two = (seed.id for seed in site.seeds)

    def row(seed_id: int, pattern: str, fetched: int, evidence: str = "") -> PatternRow:
        return PatternRow(seed_id, url_hash(pattern), pattern, fetched, 2, 3, 4, evidence)

    worker.commit(site_delta(site, seed_delta(one, patterns=(row(one, "http://a.org/*", 9), row(one, "x?a=", 8)))))
    capped = row(one, "x?a=", 60, "x?a=: 60 fetched, \u2028 'none' said %s")
    worker.commit(
        site_delta(site, seed_delta(one, patterns=(capped,)), seed_delta(two, patterns=(row(two, "x?a=", 7),)))
    )
    assert Frontier(database).patterns(one) == [capped, row(one, "http://a.org/*", 9)]
    assert Frontier(database).patterns(two) == [row(two, "x?a=", 7)]


def test_of_very_many_patterns_those_that_matter_are_read(database: Database) -> None:
    """A party can have as many as pages; first of all what is capped stays so."""
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    one = site.seeds[0].id
    names = [f"http://a.org/{number}/*" for number in range(1_200)]
    rows = [
        PatternRow(one, url_hash(name), name, 5 + number, 0, 0, 0, "" if number else "capped")
        for number, name in enumerate(names)
    ]
    worker.commit(site_delta(site, seed_delta(one, patterns=tuple(rows))))
    assert Frontier(database).patterns(one) == [rows[0], *rows[:-1000:-1]]


def test_the_first_page_below_a_home_and_what_came_last_are_found(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    a, b = worker.claim()
    one, other = a.seeds[0].id, b.seeds[0].id
    rows = (
        page(one, "http://a.org/", depth=0), page(one, "http://a.org/gone", result="http-error", status=404),
        page(one, "http://a.org/good", length=77, digest=b"\x07" * 20), page(one, "http://a.org/later"),
        page(one, "http://a.org/last", result="redirect", status=302), page(one, "http://a.org/bad", result="cut"),
    )  # fmt: skip
    worker.commit(site_delta(a, seed_delta(one, pages=rows)), site_delta(b, seed_delta(other, pages=rows[:0])))
    frontier = Frontier(database)
    was = rows[2]._replace(length=76, digest=b"\x06" * 20, visit=1)
    assert frontier.earlier_pages(one) == EarlierPages("http://a.org/good", b"\x07" * 20, 77, "http://a.org/last")
    worker.commit(site_delta(a, seed_delta(one, pages=(was, rows[4]._replace(visit=1)))))
    assert frontier.earlier_pages(one) == EarlierPages("http://a.org/good", b"\x07" * 20, 77, "http://a.org/last")
    assert frontier.earlier_pages(other) is None


def test_new_seeds_of_a_site_that_has_moved_are_of_the_site_to_which_it_has(database: Database) -> None:
    """It has moved if its home page has, and nobody is left there."""
    add(database, "http://a.org/", "http://b.org/", "http://b.org/stays", "http://c.org/below")
    worker = Worker.of(database)
    deltas = []
    for claimed in worker.claim(10):
        first = claimed.seeds[0]
        to = Rehoming(f"http://www.{claimed.key}/", f"www.{claimed.key}", 1)
        deltas.append(site_delta(claimed, seed_delta(first.id, rehoming=to, state=SeedState.READY), released=True))
    worker.commit(*deltas)
    add(database, "http://a.org/new", "http://b.org/new", "http://c.org/new", "http://d.org/new")
    keys = {view.seed.url: view.site_key for view in Seeds(database).list() if view.seed.url.endswith("/new")}
    assert keys == {
        "http://a.org/new": "www.a.org", "http://b.org/new": "b.org", "http://c.org/new": "c.org",
        "http://d.org/new": "d.org",
    }  # fmt: skip
