"""WARC files and database say the same: an index line for every committed record, after a kill too."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warcio.archiveiterator import ArchiveIterator

from scrawler.crawl.records import Records
from scrawler.model import PageRow
from scrawler.store.engine import open_database
from scrawler.store.pages import Pages
from scrawler.synthweb.process import SynthServer
from scrawler.synthweb.spec import WebSpec
from tests.integration.crawl.rig import watch

if TYPE_CHECKING:
    from scrawler.crawl.machine import Machine
    from tests.integration.crawl.conftest import Crawl

SPEC = WebSpec(seed=7, sites=5, mean_pages=20, page_bytes=800)


def index_lines(folder: Path) -> list[str]:
    return [line for file in sorted(folder.glob("*.cdxj")) for line in file.read_text().splitlines()]


def places(rows: Iterable[PageRow]) -> list[tuple[str, int, int]]:
    return sorted((row.warc_file, row.warc_offset, row.warc_length) for row in rows if row.warc_file)


def indexed_places(folder: Path) -> list[tuple[str, int, int]]:
    fields = [json.loads(line.split(" ", 2)[2]) for line in index_lines(folder)]
    return sorted((one["filename"], int(one["offset"]), int(one["length"])) for one in fields)


def records(folder: Path) -> list[tuple[str, str]]:
    found = []
    for file in sorted(folder.glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                found.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI") or ""))
    return found


def check(crawl: Crawl) -> None:
    folder = crawl.folder / "pages"
    rows = crawl.pages()
    assert indexed_places(folder) == places(rows)
    for file in folder.glob("*.cdxj"):
        lines = file.read_bytes().splitlines()
        assert lines == sorted(lines)
    archived = sorted(url for kind, url in records(folder) if kind in ("response", "revisit"))
    assert archived == sorted(row.url for row in rows if row.warc_file)


def test_each_committed_record_has_its_index_line(crawl_on_both: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl_on_both.add(server.web.seeds(per_site=2))
        summary = crawl_on_both.run()
    assert summary.warc_files
    check(crawl_on_both)


@pytest.mark.parametrize("torn", [b"", b"\x1f\x8b\x08\x00half a gzip member", b"\x00" * 4096])
def test_a_torn_file_of_a_killed_machine_is_mended_by_the_next(crawl: Crawl, torn: bytes) -> None:
    """A machine that was killed leaves no index, records that were never committed, and a torn end."""
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        stop = threading.Event()

        def look(machine: Machine) -> None:
            if machine.totals().pages > 20:
                stop.set()

        watch(crawl.settings(delay=0.01), look, stop)  # writes no index
        (file,) = (crawl.folder / "pages").glob("*.warc.gz")
        whole = file.read_bytes()
        file.write_bytes(whole + whole[-500:] + torn)
        crawl.run()
    assert file.read_bytes() == whole
    check(crawl)
    crawl.check()


def test_mending_tells_what_it_cut_and_leaves_indexed_files_alone(crawl: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        crawl.run()
    folder = crawl.folder / "pages"
    (file,) = folder.glob("*.warc.gz")
    file.write_bytes(file.read_bytes() + b"x" * 77)
    database = open_database(crawl.url)
    try:
        mender = Records(folder, Pages(database))
        assert mender.mend(["crawl-m1"]) == 0
        for index in folder.glob("*.cdxj"):
            index.unlink()
        assert mender.mend(["crawl-m2"]) == 0
        assert mender.mend(["crawl-m1"]) == 77
    finally:
        database.close()
    check(crawl)
