"""`run --retry urls` in the database: which rows are marked, cut short at any point, and what is left alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import select, update

from scrawler.model.deltas import SeedDelta
from scrawler.model.lanes import WANTED
from scrawler.model.results import PageFlag, Result
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.lists import url_retries
from scrawler.store.lists.frontier import Frontier
from scrawler.store.lists.url_retries import TakenUrls, UrlRetries
from scrawler.store.reading.pages import Pages
from scrawler.store.schema.tables import chunk, orphan, seed
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta
from tests.integration.store.test_retries import pack

RESULTS = [
    *(Result.FETCHED, Result.TRAP, Result.TRAP, Result.TIMEOUT, Result.HTTP_ERROR, Result.HTTP_ERROR),
    *(Result.ROBOTS_DENIED, Result.TRAP),
]


def delta_of(number: int, host: str) -> SeedDelta:
    rows = [
        page(
            number, f"http://{host}/{n}", depth=min(n, 1), position=n, result=result.value, digest=bytes([n] * 20),
            warc_file=f"{host}.warc.gz" if result is Result.HTTP_ERROR else "", warc_offset=n,
        )
        for n, result in enumerate(RESULTS)
    ]  # fmt: skip
    counts = SeedCounts(requests=4, pages=1, http_errors=2, failures=1, denied=1, trapped=3)
    return seed_delta(
        number, pages=tuple(rows), counts=counts, state=SeedState.DONE, end_reason=EndReason.COMPLETED
    )  # fmt: skip


def ended_seed(database: Database, host: str, released: bool = True) -> int:
    """A completed seed with rows of several results; unless it is released, its site is still in work."""
    add(database, f"http://{host}/")
    worker = Worker.of(database, host)
    claimed = worker.claim_one()
    number = claimed.seeds[0].id
    worker.commit(site_delta(claimed, delta_of(number, host), released=released))
    return number


def left_of(database: Database, number: int) -> list[str]:
    """What was not listed again."""
    return [row.result for row in Pages(database).of_seed(number) if not row.flags & PageFlag.WAITING]


def check(database: Database, number: int) -> None:
    """No row has come or gone, nor has a record; counts are those of the rows, and what is marked is listed once."""
    view = next(view for view in Seeds(database).list() if view.seed.id == number)
    counts, rows = view.seed.counts, list(Pages(database).of_seed(number))
    kinds = [row.result for row in rows]
    assert [counts.pages, counts.trapped, counts.http_errors, counts.failures, counts.denied] == [
        kinds.count(result.value)
        for result in (Result.FETCHED, Result.TRAP, Result.HTTP_ERROR, Result.TIMEOUT, Result.ROBOTS_DENIED)
    ]
    with database.read() as connection:
        of_lane = chunk.c.seed_id == number, chunk.c.kind == WANTED.number
        data = connection.scalars(select(chunk.c.data).where(*of_lane)).all()
        orphans = connection.execute(select(orphan).where(orphan.c.warc_file == f"{view.site_key}.warc.gz")).all()
    listed = [line.rsplit(" ", 1)[1] for one in data for line in one.decode().split("\n")]
    assert [row.url for row in rows] == [f"{view.seed.url}{n}" for n in range(len(RESULTS))]
    assert sorted(listed) == [row.url for row in rows if row.flags & PageFlag.WAITING]
    assert orphans == []


def test_urls_are_listed_again_by_their_results(database: Database) -> None:
    one, other = ended_seed(database, "one.example"), ended_seed(database, "other.example")
    retries = UrlRetries(database, pack, lambda *asked: True)
    assert retries.take_up([Result.CONNECT_FAILED]) == TakenUrls(), "there is none"
    assert {view.seed.state for view in Seeds(database).list()} == {SeedState.DONE}
    assert retries.take_up([Result.TRAP, Result.HTTP_ERROR]) == TakenUrls(10)
    assert retries.take_up([Result.TRAP, Result.HTTP_ERROR]) == TakenUrls(), "done again, there is nothing to do"
    for number in (one, other):
        check(database, number)
        assert left_of(database, number) == ["fetched", "timeout", "robots-denied"]
    views = {view.seed.id: view for view in Seeds(database).list()}
    assert (views[one].seed.state, views[one].seed.end_reason) == (SeedState.ACTIVE, None)
    claimed = Worker.of(database).claim_one()
    (lane,) = [lane for lane in Frontier(database).lanes(claimed.id) if lane.kind == WANTED.number]
    assert (lane.cursor, lane.length) == (0, 5)


@pytest.mark.parametrize("packed", [1, 2, 3])
def test_cut_short_at_any_point_it_is_done_again(
    database: Database, monkeypatch: pytest.MonkeyPatch, packed: int
) -> None:
    monkeypatch.setattr(url_retries, "_PAGES", 2)
    numbers = [ended_seed(database, f"{n}.example") for n in range(2)]
    left = [packed]

    def failing(entries: Sequence[tuple[str, int, int, bytes]]) -> bytes:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return pack(entries)

    with pytest.raises(KeyboardInterrupt):
        UrlRetries(database, failing, lambda *asked: True).take_up([Result.TRAP])
    for number in numbers:
        check(database, number)
    assert UrlRetries(database, pack, lambda *asked: True).take_up([Result.TRAP]).urls > 0
    for number in numbers:
        check(database, number)
        assert left_of(database, number).count("trap") == 0


def test_what_is_in_work_skipped_or_moved_is_left_alone(database: Database) -> None:
    busy = ended_seed(database, "busy.example", released=False)
    skipped, moved, free = (ended_seed(database, f"{name}.example") for name in ("skipped", "moved", "free"))
    retries = UrlRetries(database, pack, lambda url, *asked: "moved" not in url)
    with database.begin() as connection:
        connection.execute(update(seed).where(seed.c.id == skipped).values(skipped=1))
    assert retries.take_up([Result.TRAP]) == TakenUrls(3, in_work=3, unreachable=3)
    assert [left_of(database, one).count("trap") for one in (busy, skipped, moved, free)] == [3, 3, 3, 0]
