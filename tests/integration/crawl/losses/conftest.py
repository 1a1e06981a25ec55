"""A crawl whose files are to be harmed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import run_whole
from tests.integration.crawl.losses.losing import files, site
from tests.integration.fetch.servers import RawServer


@pytest.fixture
def crawled(crawl_on_both: Crawl, request: pytest.FixtureRequest) -> Iterator[Crawl]:
    """A crawl that has ended, with several files; the records of one refer to payloads in another."""
    crawl = crawl_on_both
    if crawl.url.startswith("sqlite:"):
        _copy(request.getfixturevalue("crawled_once"), crawl)
        yield crawl
    else:
        with _crawled(crawl):
            yield crawl


@pytest.fixture(scope="session")
def crawled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """The crawl on SQLite of which each test has a copy; its sites are there until the last one ends."""
    folder = tmp_path_factory.mktemp("crawled")
    with _crawled(Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")) as crawl:
        yield crawl


def _copy(pattern: Crawl, crawl: Crawl) -> None:
    """Copy a crawl as if it had been where its copy is: its runs have noted their folders."""
    shutil.copytree(pattern.folder, crawl.folder, dirs_exist_ok=True)
    with closing(sqlite3.connect(crawl.folder / "crawl.db")) as database, database:
        places = (str(pattern.folder), str(crawl.folder))
        database.execute("UPDATE run SET settings = replace(settings, ?, ?)", places)


@contextmanager
def _crawled(crawl: Crawl) -> Iterator[Crawl]:
    with ExitStack() as stack:
        servers = [RawServer(site(f"site {number}")) for number in range(2)]
        for server in servers:
            stack.callback(server.stop)
        crawl.add(server.url() for server in servers)
        run_whole(crawl, warc_size=1 << 20, threads=1, robots=False)
        assert len(files(crawl)) > 2
        assert any(row.revisit for row in crawl.pages())
        yield crawl
