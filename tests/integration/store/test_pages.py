from __future__ import annotations

from scrawler.store.engine import Database
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
    assert list(pages.of_file("f1.warc.gz")) == list(rows[1::2])
    assert len(list(pages.all())) == 2_501
    assert pages.files() == {"f0.warc.gz": 2_498 * 500 + 400, "f1.warc.gz": 2_499 * 500 + 400}
