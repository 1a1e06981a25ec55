"""WARC files and database say the same: an index line for every committed record, after a kill too."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from scrawler.synthweb.process import SynthServer
from scrawler.synthweb.spec import WebSpec
from tests.consistency import check_records
from tests.integration.crawl.rig import watch

if TYPE_CHECKING:
    from scrawler.crawl.machine import Machine
    from tests.integration.crawl.conftest import Crawl

SPEC = WebSpec(seed=7, sites=5, mean_pages=20, page_bytes=800)


def test_each_committed_record_has_its_index_line(crawl_on_both: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl_on_both.add(server.web.seeds(per_site=2))
        summary = crawl_on_both.run()
    assert summary.warc_files
    check_records(crawl_on_both.url, crawl_on_both.folder / "pages")


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
    check_records(crawl.url, crawl.folder / "pages")
    crawl.check()
