"""A crawl in a folder of its own: seeds in, run, look at the rows."""

from __future__ import annotations

import ssl
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

import scrawler
from scrawler.app import run_crawl
from scrawler.core.progress import Progress, RunSummary
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.engine import Database, Waiting, connect
from scrawler.store.reading.candidates import Candidates
from scrawler.store.reading.pages import Pages
from scrawler.urls.scope import site_key
from tests.integration.fetch.servers import RawServer, Script
from tests.ready import make_ready


class Crawl:
    """One crawl's folder and database; each `run` is a machine of its own."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder, self.url = folder, database_url

    def settings(self, **changes: object) -> Settings:
        values: dict[str, object] = {
            "db": self.url,
            "pages_dir": self.folder / "pages",
            "output_dir": self.folder / "output_urls",
            "delay": 0,
            "retry_pause": 0.05,
            "patience": 0,  # a busy machine may answer late: no page is put off for that
            "timeout": 10,  # so long rests what a killed machine may have asked, and what has never answered
            "allow_private": True,
            "threads": 4,
            "user_agent": "TestCrawler/1.0 (+http://127.0.0.1/)",
        }
        return Settings.model_validate(values | changes)

    def add(self, urls: Iterable[str], scope: Scope = Scope.HOST) -> None:
        make_ready(self.url)
        with self.opened() as crawl:
            Crawls(crawl.database).open("crawl", scope)
            Seeds(crawl.database).add([NewSeed(url, site_key(url, scope), 0) for url in urls])

    def run(
        self,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        stop: threading.Event | None = None,
        say: Callable[[str], None] = lambda line: None,
        **changes: object,
    ) -> RunSummary:
        return run_crawl(self.settings(**changes), on_progress, stop or threading.Event(), say=say)

    def opened(self) -> scrawler.Crawl:
        """The crawl as the library has it."""
        return scrawler.Crawl(settings=self.settings())

    def reading(self) -> AbstractContextManager[Database]:
        """The database, whose schema is not looked at again."""
        return closing(connect(self.url, Waiting(), create=False))

    def pages(self) -> list[PageRow]:
        with self.reading() as database:
            return list(Pages(database).all())

    def fetched(self) -> set[str]:
        return {row.url for row in self.pages() if row.result == Result.FETCHED}

    def html(self) -> set[str]:
        """The HTML pages fetched; the synthetic web has PDF files too, which lead nowhere."""
        return {url for url in self.fetched() if not url.endswith(".pdf")}

    def seeds(self) -> list[Seed]:
        with self.reading() as database:
            return [view.seed for view in Seeds(database).list()]

    def seed(self, url: str) -> Seed:
        return next(seed for seed in self.seeds() if seed.url == url)

    def candidates(self) -> set[str]:
        with self.reading() as database:
            return {view.url for view in Candidates(database).merged()}

    def check(self) -> list[Seed]:
        """What must hold after any run: one row a URL, counters equal to rows. Returns the seeds.

        A URL that was redirected to a cookie gate may have one more, of its second answer.
        """
        with self.reading() as database:
            rows = list(Pages(database).all())
            seeds = [view.seed for view in Seeds(database).list()]
        gated = {row.url for row in rows if row.result == Result.REDIRECT and row.attempts == 1}
        again = Counter(row.url for row in rows if row.url in gated and row.attempts == 2)
        twice = [url for url, times in Counter(row.url for row in rows).items() if times > 1 + (again[url] == 1)]
        assert not twice, f"more than one row: {twice[:5]}"
        of_seed: defaultdict[int, list[PageRow]] = defaultdict(list)
        for row in rows:
            of_seed[row.seed_id].append(row)
        for seed in seeds:
            mine = of_seed[seed.id]
            counts = seed.counts
            by_result = Counter(row.result for row in mine)
            assert counts.pages == by_result[Result.FETCHED]
            assert counts.redirects == by_result[Result.REDIRECT]
            assert counts.http_errors == by_result[Result.HTTP_ERROR]
            denied = by_result[Result.ROBOTS_DENIED] + by_result[Result.ROBOTS_UNAVAILABLE]
            assert counts.denied == denied
            assert counts.unwanted == by_result[Result.UNWANTED_TYPE]
            assert counts.trapped == by_result[Result.TRAP]
            assert counts.near_duplicates == sum(bool(row.flags & PageFlag.NEAR_DUPLICATE) for row in mine)
            others = counts.redirects + counts.http_errors + counts.denied + counts.unwanted + counts.trapped
            others += counts.not_modified
            rest = len(mine) - counts.pages - others
            assert counts.failures == rest
            assert counts.revisits == sum(row.revisit for row in mine if row.result == Result.FETCHED)
        return seeds


@pytest.fixture
def crawl(tmp_path: Path, sqlite_url: str) -> Crawl:
    return Crawl(tmp_path, sqlite_url)


@pytest.fixture
def crawl_on_both(tmp_path: Path, database_url: str) -> Crawl:
    return Crawl(tmp_path, database_url)


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    """Starts servers that run a script for every connection, and stops them."""
    servers: list[RawServer] = []

    def start(script: Script, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> RawServer:
        servers.append(RawServer(script, host, tls))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
