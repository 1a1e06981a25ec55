"""A body that came over the wire is dropped only where its older copy can be read: whatever has befallen that."""

from __future__ import annotations

import gzip
import json
import shutil
import threading
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from scrawler.app import accept_losses, retry_lost
from scrawler.cli.verify import verify
from scrawler.errors import RecordsLostError
from scrawler.features.revisit.orders import begin_again
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.store.engines.engine import Waiting, connect
from tests.integration.crawl.earlier import another, file_of, records
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.fetch.servers import RawServer, Visit, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]


class Site:
    """Pages that stay as they are; with `tags` their server says so. Some are packed."""

    def __init__(self, names: tuple[str, ...], tags: bool) -> None:
        self.tags = tags
        self.conditions = 0
        rng = Random(7)
        links = b"".join(b'<a href="/%s">x</a>' % name.encode() for name in names)
        self.bodies = {f"/{name}": links + rng.randbytes(2_000).hex().encode() for name in names}
        self.bodies["/"] = links

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            body = self.bodies.get(path_of(head))
            if body is None:
                visit.send(NOT_FOUND)
                continue
            tag = f'"{zlib.crc32(body):x}"'
            if f"If-None-Match: {tag}".encode() in head:
                self.conditions += 1
                visit.send(f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n".encode())
                continue
            more = [f"ETag: {tag}"] if self.tags else []
            if path_of(head).endswith("packed"):
                body, more = gzip.compress(body, mtime=0), [*more, "Content-Encoding: gzip"]
            visit.send(page(body, *more))


class Archive:
    """The archive of a crawl, in which something befalls the record of each page that has a name for that."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.folder = crawl.folder / "pages"
        self.rows = {row.url.rsplit("/", 1)[1]: row for row in crawl.pages() if not row.revisit}

    def damage(self) -> None:
        for name, row in self.rows.items():
            befall = getattr(self, name.removesuffix("-packed"), None)
            if befall is not None:
                befall(row, self._own_file(row))

    def empty(self, name: str) -> None:
        self.emptied(self.rows[name], self._own_file(self.rows[name]))

    def _own_file(self, row: PageRow) -> Path:
        """Give a record a file of its own: a copy of that in which it stands, of another number."""
        path = self.folder / row.warc_file
        beginning, _, number = path.name.removesuffix(".warc.gz").rpartition("-")
        copy = path.with_name(f"{beginning}-{int(number) + 100 + row.position:0{len(number)}d}.warc.gz")
        shutil.copy(path, copy)
        self._update(row, f"warc_file = '{copy.name}'")
        return copy

    def _update(self, row: PageRow, change: str) -> None:
        with closing(connect(self.crawl.url, Waiting(), create=False)) as database, database.begin() as connection:
            connection.exec_driver_sql(f"UPDATE page SET {change} WHERE url = '{row.url}' AND revisit = 0")

    def flipped(self, row: PageRow, path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[row.warc_offset + row.warc_length * 3 // 4] ^= 1
        path.write_bytes(data)

    def truncated(self, row: PageRow, path: Path) -> None:
        path.write_bytes(path.read_bytes()[: row.warc_offset + row.warc_length // 2])

    def emptied(self, row: PageRow, path: Path) -> None:
        path.write_bytes(b"")

    def gone(self, row: PageRow, path: Path) -> None:
        path.unlink()

    def folder_there(self, row: PageRow, path: Path) -> None:
        path.unlink()
        path.mkdir()

    def zeroed(self, row: PageRow, path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[row.warc_offset : row.warc_offset + row.warc_length] = bytes(row.warc_length)
        path.write_bytes(data)

    def without_end(self, row: PageRow, path: Path) -> None:
        """The gzip member lacks its checksum: what follows stands there."""
        data = path.read_bytes()
        end = row.warc_offset + row.warc_length
        path.write_bytes(data[: end - 8] + data[end:] + bytes(8))

    def shifted(self, row: PageRow, path: Path) -> None:
        path.write_bytes(b"\n" + path.read_bytes())

    def another_record(self, row: PageRow, path: Path) -> None:
        other = self.rows["whole"]
        self._update(row, f"warc_offset = {other.warc_offset}, warc_length = {other.warc_length}")

    def long_row(self, row: PageRow, path: Path) -> None:
        self._update(row, f"warc_length = {row.warc_length + 10}")

    def short_row(self, row: PageRow, path: Path) -> None:
        self._update(row, f"warc_length = {row.warc_length - 1}")

    def another_body(self, row: PageRow, path: Path) -> None:
        """The record says the digest of the page, and has another body, all in a whole gzip member."""
        self._rewrite(row, path, lambda raw: raw[:-40] + b"0" * 36 + raw[-4:])

    def cut_body(self, row: PageRow, path: Path) -> None:
        """The record is shorter than it says."""
        self._rewrite(row, path, lambda raw: raw[:-400] + raw[-4:])

    def _rewrite(self, row: PageRow, path: Path, change: Callable[[bytes], bytes]) -> None:
        data = path.read_bytes()
        raw = gzip.decompress(data[row.warc_offset : row.warc_offset + row.warc_length])
        member = gzip.compress(change(raw))
        path.write_bytes(data[: row.warc_offset] + member)
        self._update(row, f"warc_length = {len(member)}")


FATES = (
    *("flipped", "truncated", "emptied", "gone", "folder_there", "zeroed", "without_end", "shifted"),
    *("another_record", "long_row", "short_row", "another_body", "cut_body"),
)
WHOLE = ("whole", "sound")
NAMES = (*FATES, *WHOLE, "flipped-packed", "cut_body-packed", "whole-packed")


def _check(crawl: Crawl, site: Site, root: str, rows: list[PageRow]) -> None:
    """All that came can be read, and of what could be read nothing was archived twice."""
    revisits = {row.url.removeprefix(root) for row in rows if row.revisit}
    assert revisits == {"", "whole", "sound", "whole-packed"}
    assert {row.url.removeprefix(root) for row in rows} == {"", *NAMES}
    with crawl.opened() as opened:
        for row in rows:
            assert opened.read(row.url) == site.bodies["/" + row.url.removeprefix(root)], row.url


@pytest.mark.parametrize("tags", [False, True], ids=["sent", "unchanged"])
def test_a_later_crawl_archives_what_cannot_be_read_in_the_earlier_one(
    crawl: Crawl, serve: Serve, tmp_path: Path, tags: bool
) -> None:
    site = Site(NAMES, tags)
    root = serve(site).url("/")
    later = another(crawl, tmp_path / "later")
    for one in (crawl, later):
        one.add([root])
    crawl.run()
    Archive(crawl).damage()
    later.run(dedup_from=file_of(crawl))
    rows = [row for row in later.pages() if row.result == Result.FETCHED]
    _check(later, site, root, rows)
    assert set(records(later, "response")) == {root + name for name in NAMES if name.split("-")[0] in FATES}


def test_what_is_damaged_after_a_later_crawl_is_found_and_fetched_again(
    crawl: Crawl, serve: Serve, tmp_path: Path
) -> None:
    site = Site(NAMES, tags=False)
    root = serve(site).url("/")
    later = another(crawl, tmp_path / "later")
    for one in (crawl, later):
        one.add([root])
    crawl.run()
    later.run(dedup_from=file_of(crawl))
    assert not records(later, "response")
    Archive(crawl).damage()
    lost = {root + name for name in NAMES if name.split("-")[0] in FATES}
    assert {url for url, problem in _verified(later)} == lost
    assert {problem for url, problem in _verified(later)} == {"payload gone"}
    said: list[str] = []
    retry_lost(later.settings(), threading.Event(), said.append)
    assert said == [f"URLs to be fetched again because their records are gone: {len(lost)}"]
    later.run()
    assert set(records(later, "response")) == lost
    assert _verified(later) == []
    _check(later, site, root, later.pages())


def test_what_is_gone_from_an_earlier_crawl_can_be_accepted(crawl: Crawl, serve: Serve, tmp_path: Path) -> None:
    site = Site(("flipped", "gone", "whole"), tags=False)
    root = serve(site).url("/")
    later = another(crawl, tmp_path / "later")
    for one in (crawl, later):
        one.add([root])
    crawl.run()
    later.run(dedup_from=file_of(crawl))
    archive = Archive(crawl)
    archive.damage()
    assert {url for url, _ in _verified(later)} == {root + "flipped", root + "gone"}
    said: list[str] = []
    accept_losses(later.settings(), threading.Event(), said.append)
    assert said == [
        "gone and accepted: 0 records of 0 WARC files",
        "gone and accepted: 2 pages whose payload is gone from the archives of earlier crawls",
    ]
    assert _verified(later) == []
    retry_lost(later.settings(), threading.Event(), said.append)
    assert said[2:] == ["URLs to be fetched again because their records are gone: 0"]
    archive.empty("whole")
    assert _verified(later) == [(root + "whole", "payload gone")], "what was accepted is no more than there was"


def _verified(crawl: Crawl) -> list[tuple[str, str]]:
    """What `scrawler verify` lists: URLs and problems."""
    options = ["--json", "--db", crawl.url, "--pages-dir", str(crawl.folder / "pages")]
    done = CliRunner().invoke(verify, options)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert isinstance(done.exception, RecordsLostError) is bool(found), done.output
    return [(one["url"], one["problem"]) for one in found]


@pytest.mark.parametrize("tags", [False, True], ids=["sent", "unchanged"])
def test_another_round_archives_what_cannot_be_read_of_the_rounds_before(
    crawl: Crawl, serve: Serve, tags: bool
) -> None:
    site = Site(NAMES, tags)
    root = serve(site).url("/")
    crawl.add([root])
    crawl.run()
    first = _round(crawl)
    assert all(row.revisit for row in first)
    Archive(crawl).damage()
    site.conditions = 0
    _check(crawl, site, root, _round(crawl))
    assert site.conditions == (len(NAMES) + 1) * tags, "what is lost is found out by the answer alone"
    healed = _round(crawl)
    assert all(row.revisit for row in healed)
    with crawl.opened() as opened:
        assert all(opened.read(row.url) == site.bodies["/" + row.url.removeprefix(root)] for row in healed)


def _round(crawl: Crawl) -> list[PageRow]:
    before = len(crawl.pages())
    begin_again(crawl.settings(), (), 0.0, threading.Event(), print)
    crawl.run()
    return crawl.pages()[before:]
