"""What seeds have died of, whose sites refused, and which hosts show one page: the same on each engine."""

from __future__ import annotations

from sqlalchemy import insert, select, update

from scrawler.model.results import Result
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import page as page_table
from scrawler.store.schema.tables import seed, site
from scrawler.store.sums.reports import Reports
from tests.integration.store.crawling import Worker, add, page

ENDS = (
    *[(EndReason.DEAD, "connection-refused: Connection refused")] * 3,
    *[(EndReason.DEAD, "time-out: no answer in 30 s")] * 2,
    (EndReason.NO_ADDRESS, "no such name"),
    (EndReason.DEAD, "told by an earlier program"),
    *[(EndReason.PUSHED_BACK, "HTTP status 429 for http://a.org/")] * 2,
    (EndReason.PUSHED_BACK, "connections cut, and for http://a.org/ as well, which was a page before"),
    (EndReason.COMPLETED, "dns: is no death"),
)


def test_deaths_and_refusals_are_counted_by_kind(database: Database) -> None:
    add(database, *(f"http://h{number}.org/" for number in range(len(ENDS))))
    with database.begin() as connection:
        ids = connection.scalars(select(seed.c.id).order_by(seed.c.id)).all()
        for number, (reason, detail) in zip(ids, ENDS, strict=True):
            values = {"state": SeedState.DONE.value, "end_reason": reason.value, "end_detail": detail}
            connection.execute(update(seed).where(seed.c.id == number).values(values))
    deaths = Seeds(database).deaths()
    assert list(deaths.items()) == [("connection-refused", 3), ("time-out", 2), ("dns", 1)]
    assert Reports(database).deaths() == deaths
    assert list(Seeds(database).pushed_back().items()) == [("HTTP status 429", 2), ("connections cut", 1)]
    dead = {line.dead_as for line in Seeds(database).lines(None, EndReason.DEAD)}
    assert dead == {"connection-refused", "time-out", None}


def test_hosts_that_show_one_page_are_a_group(database: Database) -> None:
    """Not those whose seed has gone on to many pages, nor a page that is empty."""
    hosts = 8
    add(database, *(f"http://h{number}.org/" for number in range(hosts)))
    claimed = sorted(Worker.of(database).claim(hosts), key=lambda one: one.seeds[0].url)
    digests = [*[b"p" * 20] * 4, *[b"q" * 20] * 2, b"p" * 20, b""]
    rows = []
    for one, digest in zip(claimed, digests, strict=True):
        mine = one.seeds[0]
        rows.append(page(mine.id, mine.url, digest=digest, depth=0, result=Result.FETCHED.value)._asdict())
    with database.begin() as connection:
        connection.execute(insert(page_table), rows)
        connection.execute(update(site).values(address="192.0.2.1"))
        connection.execute(update(seed).where(seed.c.id == claimed[6].seeds[0].id).values(pages=1000))
    largest, second = Reports(database).parked(2, 10)
    assert largest == (4, "192.0.2.1", claimed[0].seeds[0].url)
    assert second == (2, "192.0.2.1", claimed[4].seeds[0].url)
    assert Reports(database).parked(3, 10) == [largest]
    assert Reports(database).parked(2, 1) == [largest]
