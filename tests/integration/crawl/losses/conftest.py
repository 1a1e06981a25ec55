"""A crawl whose files are to be harmed."""

from __future__ import annotations

import pytest

from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import run_whole
from tests.integration.crawl.losses.losing import Serve, files, site


@pytest.fixture
def crawled(crawl_on_both: Crawl, serve: Serve) -> Crawl:
    """A crawl that has ended, with several files; the records of one refer to payloads in another."""
    crawl = crawl_on_both
    crawl.add(serve(site(f"site {number}")).url() for number in range(2))
    run_whole(crawl, warc_size=1 << 20, threads=1, robots=False)
    assert len(files(crawl)) > 2
    assert any(row.revisit for row in crawl.pages())
    return crawl
