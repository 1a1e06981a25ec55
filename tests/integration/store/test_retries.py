"""`run --retry` in the database: what of ended seeds goes on, cut short at any point, and what is left alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import select

from scrawler.model.lanes import WANTED, ChunkRow, LaneState
from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.store.claims.seeds import Seeds
from scrawler.store.claims.slow import SlowSeeds
from scrawler.store.engines.engine import Database
from scrawler.store.lists import retries
from scrawler.store.lists.frontier import Frontier
from scrawler.store.lists.retries import Retries, Taken
from scrawler.store.reading.pages import Pages
from scrawler.store.schema.tables import chunk, orphan, robots_record, site
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta

PASSING = [Result.TIMEOUT, Result.CUT, Result.CONNECT_FAILED, Result.ROBOTS_UNAVAILABLE, Result.HTTP_ERROR]
FINAL = [Result.FETCHED, Result.REDIRECT, Result.TOO_LARGE, Result.ROBOTS_DENIED]


def pack(entries: Sequence[tuple[str, int, int, bytes]]) -> bytes:
    return "\n".join(f"{position} {depth} {url}" for url, depth, position, _ in entries).encode()


def ended_seed(database: Database, host: str, reason: EndReason = EndReason.DEAD, unfinished: int = 3) -> int:
    """A seed with one row of each result, and with entries that it had not fetched."""
    add(database, f"http://{host}/")
    worker = Worker.of(database, host)
    claimed = worker.claim_one()
    number = claimed.seeds[0].id
    results = [*FINAL, *PASSING, Result.HTTP_ERROR]
    rows = [
        page(
            number, f"http://{host}/{n}", position=n, result=result.value, digest=f"{host[:8]:8}{n:12}".encode(),
            status=503 if n < 9 else 404, flags=PageFlag.ASSET if n == 4 else 0,
            warc_file=f"{host}.warc.gz" if n % 2 else "",
        )
        for n, result in enumerate(results)
    ]  # fmt: skip
    counts = SeedCounts(requests=20, pages=1, redirects=1, http_errors=2, failures=4, denied=2)
    length = len(rows) + unfinished
    delta = seed_delta(
        number, pages=tuple(rows), counts=counts, state=SeedState.DONE, end_reason=reason, end_detail="why",
        lanes=(LaneState(number, 0, number, len(rows), length),), chunks=(ChunkRow(number, 0, 0, 0, length, b"x"),),
    )  # fmt: skip
    worker.commit(site_delta(claimed, delta, released=True))
    return number


def check(database: Database, number: int) -> None:
    """Counts are those of the rows; no row has come or gone, nor a record; what is marked is listed once."""
    view = next(view for view in Seeds(database).list() if view.seed.id == number)
    counts, rows = view.seed.counts, list(Pages(database).of_seed(number))
    assert counts.pages + counts.redirects + counts.http_errors + counts.failures + counts.denied == len(rows)
    with database.read() as connection:
        data = connection.scalars(
            select(chunk.c.data).where(chunk.c.seed_id == number, chunk.c.kind == WANTED.number)
        ).all()
        orphans = connection.execute(select(orphan).where(orphan.c.warc_file == f"{view.site_key}.warc.gz")).all()
    listed = [line.rsplit(" ", 1)[1] for one in data for line in one.decode().split("\n")]
    assert [row.url for row in rows] == [f"{view.seed.url}{n}" for n in range(10)]
    assert sorted(listed) == [row.url for row in rows if row.flags & PageFlag.WAITING]
    assert orphans == []


def test_what_may_have_passed_is_listed_again(database: Database) -> None:
    dead, busy, covered = (
        ended_seed(database, f"{reason.value}.example", reason)
        for reason in (EndReason.DEAD, EndReason.PUSHED_BACK, EndReason.COMPLETED)
    )
    assert Retries(database, pack).take_up([EndReason.DEAD]) == Taken(1, 0)
    assert Retries(database, pack).take_up([EndReason.DEAD]) == Taken(0, 0), "done again, there is nothing to do"
    views = {view.seed.id: view for view in Seeds(database).list()}
    assert (views[dead].seed.state, views[dead].seed.end_reason, views[dead].end_detail) == (SeedState.ACTIVE, None, "")
    assert views[busy].seed.state is views[covered].seed.state is SeedState.DONE
    kept = [row.position for row in Pages(database).of_seed(dead) if not row.flags & PageFlag.WAITING]
    assert kept == [0, 1, 2, 3, 9], "all but what may have passed: a 404 is for good"
    for number in (dead, busy, covered):
        check(database, number)
    [retried] = Frontier(database).chunks(dead, WANTED.number, 0, 100)
    assert "4 -1 http://dead.example/4" in retried.data.decode(), "an asset, with the depth that lists have for it"
    claimed = Worker.of(database).claim_one()
    assert [one.id for one in claimed.seeds] == [dead]
    assert not claimed.fresh
    lanes = {lane.kind: lane for lane in Frontier(database).lanes(claimed.id)}
    retried_lane = lanes[WANTED.number]
    assert (lanes[0].cursor, lanes[0].length, retried_lane.cursor, retried_lane.length) == (10, 13, 0, 5)
    assert Retries(database, pack).take_up([EndReason.PUSHED_BACK]) == Taken(1, 0)


@pytest.mark.parametrize("packed", [1, 2, 3])
def test_cut_short_at_any_point_it_is_done_again(
    database: Database, monkeypatch: pytest.MonkeyPatch, packed: int
) -> None:
    monkeypatch.setattr(retries, "_PAGES", 2)
    numbers = [ended_seed(database, f"{n}.example") for n in range(2)]
    left = [packed]

    def failing(entries: Sequence[tuple[str, int, int]]) -> bytes:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return pack(entries)

    with pytest.raises(KeyboardInterrupt):
        Retries(database, failing).take_up([EndReason.DEAD])
    for number in numbers:
        check(database, number)
    assert Retries(database, pack).take_up([EndReason.DEAD]) == Taken(2, 0)
    for number in numbers:
        check(database, number)
        assert [lane.length for lane in Frontier(database).lanes(site_of(database, number)) if lane.kind] == [5]
    [chunk_of] = Frontier(database).chunks(numbers[0], WANTED.number, 4, 100)
    assert chunk_of.first + chunk_of.count == 5


def site_of(database: Database, number: int) -> int:
    return next(view.seed.site_id for view in Seeds(database).list() if view.seed.id == number)


def test_an_answer_takes_the_place_of_a_row_or_leaves_it_as_it_is(database: Database) -> None:
    """All in one transaction, with the counts; a record to which a revisit refers stays known without its page."""
    number = ended_seed(database, "one.example")
    worker = Worker.of(database)
    add(database, "http://one.example/other")
    claimed = worker.claim_one()
    other = claimed.seeds[0].id
    payload = next(row.digest for row in Pages(database).of_seed(number) if row.position == 5)
    row = page(other, "http://one.example/x", revisit=1, digest=payload, warc_file="b.warc.gz", status=404)
    done = seed_delta(other, pages=(row,), state=SeedState.DONE, end_reason=EndReason.COMPLETED)
    worker.commit(site_delta(claimed, done, released=True))
    assert Retries(database, pack).take_up([EndReason.DEAD]) == Taken(1, 0)
    claimed = worker.claim_one()
    urls = [row.url for row in Pages(database).of_seed(number) if row.flags & PageFlag.WAITING]
    waiting = Frontier(database).waiting(number, [*urls, "http://one.example/0"])
    assert sorted(waiting) == sorted(urls)
    (five,), (seven,), (four,) = (waiting[f"http://one.example/{n}"] for n in (5, 7, 4))
    assert [(one.is_referred, bool(one.warc_file)) for one in (five, seven, four)] == [
        (True, True), (False, True), (False, False),
    ]  # fmt: skip
    new = tuple(page(number, f"http://one.example/{n}", position=n) for n in (5, 7))
    before = list(Pages(database).of_seed(number))
    delta = seed_delta(number, pages=new, replaced=(five, seven), kept=(four.id,), orphans=(("c.warc.gz", 1, 2),))
    worker.commit(site_delta(claimed, delta))
    after = {row.url: row for row in Pages(database).of_seed(number)}
    assert len(after) == len(before)
    assert [after[f"http://one.example/{n}"].result for n in (4, 5, 7)] == ["timeout", "fetched", "fetched"]
    assert not after["http://one.example/4"].flags & PageFlag.WAITING
    with database.read() as connection:
        orphans = connection.execute(select(orphan)).all()
        records = connection.execute(select(robots_record.c.warc_file, robots_record.c.url)).all()
    assert [row[:2] for row in sorted(orphans)] == [("c.warc.gz", 1), (seven.warc_file, seven.warc_offset)]
    assert records == [(five.warc_file, five.url)]


def test_sites_in_work_are_left_alone(database: Database) -> None:
    number = ended_seed(database, "one.example")
    add(database, "http://one.example/other")
    worker = Worker.of(database)
    claimed = worker.claim_one()
    assert Retries(database, pack).take_up([EndReason.DEAD]) == Taken(0, 1)
    check(database, number)
    worker.release(claimed)
    assert Retries(database, pack).take_up([EndReason.DEAD]) == Taken(1, 0)


def test_seeds_that_wait_with_their_slow_lane(database: Database) -> None:
    """They are nobody's until promoted; then they come with their site, all at once, and know that it is time."""
    add(database, "http://one.example/", "http://one.example/b", "http://one.example/c")
    worker = Worker.of(database)
    claimed = worker.claim_one()
    waiting = [one.id for one in claimed.seeds[:2]]
    deltas = [
        seed_delta(one, state=SeedState.SLOW, lanes=(LaneState(one, 0, one, 1, 1), LaneState(one, -1000, one, 0, 4)))
        for one in waiting
    ]
    ended = seed_delta(claimed.seeds[2].id, state=SeedState.DONE, end_reason=EndReason.COMPLETED)
    worker.commit(site_delta(claimed, *deltas, ended, released=True))
    left = worker.claims.work_left()
    assert (left.ready, left.active, left.slow, left.done) == (0, 0, 2, 1)
    assert not worker.claim()
    assert Frontier(database).lanes(claimed.id) == []
    assert SlowSeeds(database).promote() == 2
    assert SlowSeeds(database).promote() == 0
    again = worker.claims.claim(1, 1)[0]
    assert [(one.id, one.slow_pass) for one in again.seeds] == [(one, True) for one in waiting]
    assert len(Frontier(database).lanes(claimed.id)) == 4
    with database.read() as connection:
        assert connection.scalar(select(site.c.state)) == "active"
