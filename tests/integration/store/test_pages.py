from __future__ import annotations

import zlib
from functools import partial
from itertools import chain

import pytest

from scrawler.errors import StoreError
from scrawler.model.records import CdxRow
from scrawler.store.engines.bulk import BulkInsert
from scrawler.store.engines.engine import Database
from scrawler.store.lists.orphans import Orphans, OrphanWriter
from scrawler.store.reading.pages import Pages
from scrawler.store.schema.tables import orphan
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
    orphans = Orphans(database)
    assert orphans.last("a.warc.gz") is None
    assert orphans.add("b.warc.gz", [(7, 5)]) == 1
    spans = [(n * 10, 5) for n in range(2_500)]
    assert orphans.add("a.warc.gz", iter(spans[:2_000])) == 2_000
    assert orphans.add("a.warc.gz", iter(spans)) == 2_500
    assert orphans.add("a.warc.gz", ()) == 0
    assert orphans.files() == ["a.warc.gz", "b.warc.gz"]
    assert [list(orphans.of_file(file)) for file in ("a.warc.gz", "b.warc.gz")] == [spans, [(7, 5)]]
    assert _rows(database, "orphan") < 20
    assert (orphans.last("a.warc.gz"), orphans.last("b.warc.gz")) == (spans[-1], (7, 5))


def test_orphans_are_read_in_order_and_once_however_they_were_noted(database: Database) -> None:
    """Rows overlap, a span that is known comes first in a row or within it, and a row is the old version's."""
    orphans, writer = Orphans(database), OrphanWriter(database.compiler)
    pieces = [[0, 900, 30], [10, 20, 950], [10, 25, 940], [940, 0, 5], [2**62, 17], [25]]
    for piece in pieces:
        database.retrying(partial(writer.write, spans=[("a.warc.gz", offset, offset + 1) for offset in piece]))
    with database.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO orphan (warc_file, warc_offset, warc_length) VALUES ('a.warc.gz', 12, 13)"
        )
    expected = sorted({12, *chain.from_iterable(pieces)})
    assert list(orphans.of_file("a.warc.gz")) == [(offset, offset + 1) for offset in expected]
    assert orphans.last("a.warc.gz") == (2**62, 2**62 + 1)


@pytest.mark.parametrize("packed", ["7 x", "7", "", "9" * 5_000])
def test_orphans_that_another_program_wrote_are_one_line(database: Database, packed: str) -> None:
    row = ("a.warc.gz", 7, 5, zlib.compress(packed.encode()) if packed else b"no zlib")
    insert = BulkInsert.inserting(orphan, [column.name for column in orphan.columns], database.compiler)
    database.retrying(partial(insert.run, rows=[row]))
    with pytest.raises(StoreError, match=r"the orphans of a\.warc\.gz at 7 are not as this program writes them"):
        list(Orphans(database).of_file("a.warc.gz"))


def _rows(database: Database, table: str) -> int:
    with database.read() as connection:
        number: int = connection.exec_driver_sql(f"SELECT COUNT(*) FROM {table}").scalar_one()
        return number
