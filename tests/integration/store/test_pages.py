from __future__ import annotations

from scrawler.model.records import CdxRow
from scrawler.store.engine import Database
from scrawler.store.orphans import Orphans
from scrawler.store.pages import Pages
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta


def test_pages_are_streamed_by_seed_and_by_file(database: Database) -> None:
    add(database, "http://a.org/", "http://b.org/")
    worker = Worker.of(database)
    a, b = worker.claim()
    one, two = a.seeds[0].id, b.seeds[0].id
    rows = tuple(
        page(one, f"http://a.org/{n}", position=n, warc_offset=n * 500, warc_file=f"f{n % 2}.warc.gz")
        for n in range(2_500)
    )
    failed = page(two, "http://b.org/", result="timeout", warc_file="", warc_offset=0, warc_length=0)
    worker.commit(site_delta(a, seed_delta(one, pages=rows)), site_delta(b, seed_delta(two, pages=(failed,))))
    pages = Pages(database)
    assert list(pages.of_seed("http://a.org/")) == list(rows)
    assert list(pages.of_seed(two)) == [failed]
    assert list(pages.of_seed("http://none.org/")) == []
    assert list(pages.of_file("f1.warc.gz")) == [
        CdxRow(
            row.url, row.fetched_at, row.content_type, row.status, row.digest,
            row.warc_length, row.warc_offset, row.warc_file, row.revisit,
        )
        for row in rows[1::2]
    ]  # fmt: skip
    assert len(list(pages.all())) == 2_501
    assert list(pages.spans("f1.warc.gz")) == [(n * 500, 400) for n in range(1, 2_500, 2)]
    assert pages.committed("f0.warc.gz") == (1_250, 2_498 * 500 + 400)
    assert pages.committed("none.warc.gz") == (0, 0)


def test_pages_of_a_file_come_by_offset_whatever_the_order_of_their_commits(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    site = worker.claim_one()
    seed = site.seeds[0].id
    for part in (range(1_500, 3_000), range(1_500)):
        rows = tuple(page(seed, f"http://a.org/{n}", warc_offset=n * 500) for n in part)
        worker.commit(site_delta(site, seed_delta(seed, pages=rows)))
    pages = Pages(database)
    assert [row.offset for row in pages.of_file("crawl-1.warc.gz")] == [n * 500 for n in range(3_000)]
    assert pages.committed("crawl-1.warc.gz") == (3_000, 2_999 * 500 + 400)


def test_orphans_of_a_file_come_to_those_that_are_known(database: Database) -> None:
    def all_of_them() -> list[tuple[str, int, int]]:
        with database.read() as connection:
            found = connection.exec_driver_sql("SELECT * FROM orphan ORDER BY warc_file, warc_offset")
            return [tuple(row) for row in found]

    orphans = Orphans(database)
    assert orphans.last("a.warc.gz") is None
    assert orphans.add("b.warc.gz", [(7, 5)]) == 1
    spans = [(n * 10, 5) for n in range(2_500)]
    assert orphans.add("a.warc.gz", iter(spans[:2_000])) == 2_000
    assert orphans.add("a.warc.gz", iter(spans)) == 2_500
    assert orphans.add("a.warc.gz", ()) == 0
    assert all_of_them() == [*(("a.warc.gz", *span) for span in spans), ("b.warc.gz", 7, 5)]
    assert list(orphans.of_file("a.warc.gz")) == spans
    assert (orphans.last("a.warc.gz"), orphans.last("b.warc.gz")) == (spans[-1], (7, 5))
