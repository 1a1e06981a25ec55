"""An earlier archive that is damaged while what comes later refers to it: what comes over the wire can be read.

What comes later is another crawl (`dedup_from`), or the next round of the same one (`--again`).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

from scrawler.api.opened import OpenedCrawl
from scrawler.app import retry_lost
from scrawler.errors import ScrawlerError
from scrawler.features.earlier.lost import lost_references
from scrawler.features.synthweb.spec import WebSpec
from scrawler.model.terms import url_hash
from scrawler.settings import Settings, load_settings
from scrawler.store.reading.traces import Traces
from tests.forks import SCRAWLER, forks
from tests.limits import HANGS
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.web import TortureWeb, served

_RECORDS = 12  # that one strike hits
_BYTES = 4  # of each of them
_SLACK = 5_000  # milliseconds from the time at which a copy was looked at to that which stands in the row of its page
_LOST = 7  # exit code of a run that tells of losses


class _Record(NamedTuple):
    digest: bytes
    file: str
    offset: int
    length: int


class _Crawl(CrawlUnderTest):
    """A crawl whose archive may be lost in part."""

    def runs(self) -> list[int]:
        """Return the process ids of the runs; AssertionError if one has ended otherwise than well, or with losses."""
        for run in self._runs:
            if run.poll() not in (None, 0, _LOST):
                raise AssertionError(f"run {run.pid} ended with exit code {run.returncode}, see {self.folder}")
        self._runs = [run for run in self._runs if run.returncode is None]
        return [run.pid for run in self._runs]

    def settings(self) -> Settings:
        """Return the settings of whoever reads the crawl."""
        return load_settings({"db": self.url, "pages_dir": self.pages_dir})


class DamagedOrdeal:
    """A web, a crawl of it, and a later one that refers to the first; the same number gives the same choices."""

    def __init__(self, number: int, strikes: int, sites: int = 40, *, again: bool = False) -> None:
        """With `again` the later crawl is the next round of the first one."""
        self._again = again
        self._chance = Random(number)
        self._spec = WebSpec(seed=number, sites=sites, mean_pages=20, max_pages=60, page_bytes=1_000, links=8)
        self._strikes = strikes
        self._records: list[_Record] = []
        self._struck: dict[_Record, int] = {}  # when records of the earlier crawl were hit first, milliseconds
        self.said: list[str] = []

    def run(self, folder: Path) -> None:
        """Crawl twice. Raises AssertionError where a page that came can be read nowhere, and nobody was told of it."""
        with served(self._spec, 1, folder / "access.log") as web:
            earlier = self._crawl(folder / "earlier", web)
            earlier.start()
            self._wait_for_end(earlier)
            columns = "digest, warc_file, warc_offset, warc_length"
            rows = earlier.sql.rows(f"SELECT {columns} FROM page WHERE revisit = 0 AND warc_file <> '' ORDER BY url")
            self._records = [_Record(*row) for row in rows]
            later = self._begin_again(earlier) if self._again else self._begin_later(folder, web)
            try:
                self._strike_all(later, earlier.pages_dir, web)
                self._wait_for_end(later)
                self._judge(later)
                self._look_at_all(later)
                retry_lost(later.settings(), threading.Event(), self.said.append)
                later.join()
                self._wait_for_end(later)
            finally:
                later.stop()
            self._judge_whole(later, web)

    def _begin_later(self, folder: Path, web: TortureWeb) -> _Crawl:
        later = self._crawl(folder / "later", web, f"--dedup-from={folder / 'earlier' / 'crawl.db'}")
        later.start()
        return later

    @staticmethod
    def _begin_again(earlier: _Crawl) -> _Crawl:
        """Let the next round begin; a run that takes the place of a killed one finishes it, and begins no other."""
        later = _Crawl(earlier.folder, earlier.url, replace(earlier.pace, more=("--again",)))
        later.start()
        later.pace = earlier.pace
        return later

    def _crawl(self, folder: Path, web: TortureWeb, *more: str) -> _Crawl:
        folder.mkdir()
        crawl = _Crawl(folder, f"sqlite:///{folder / 'crawl.db'}", Pace(runs=1, delay=0.05, more=more))
        crawl.add_seeds(web.seeds)
        return crawl

    @staticmethod
    def _wait_for_end(crawl: _Crawl) -> None:
        wait_for(lambda: not crawl.runs(), HANGS, "the end", lambda: crawl.sql.one("SELECT COUNT(*) FROM page"))

    # -- what befalls it -----------------------------------------------------------------------------------------

    def _strike_all(self, later: _Crawl, pages: Path, web: TortureWeb) -> None:
        share = len(web.results) // (self._strikes + 1)
        for number in range(1, self._strikes + 1):
            self._wait_for_pages(later, number * share)
            fault = self._chance.choice([self._flip, self._flip, self._zero, self._cut, self._remove, self._replace])
            hit = fault(pages)
            if self._chance.random() < 0.3 and (running := later.runs()):
                later.kill_run(self._chance.choice(running))
                hit += ", and the run was killed"
            self.said.append(hit)
            print(hit, file=sys.stderr, flush=True)

    def _wait_for_pages(self, later: _Crawl, due: int) -> None:
        wait_for(lambda: self._fetched(later) >= due, HANGS, f"{due} pages", lambda: self._fetched(later))

    def _fetched(self, crawl: _Crawl) -> int:
        query = f"SELECT COUNT(*) FROM page WHERE visit >= {int(self._again)}"
        return int(crawl.sql.one(query)) if crawl.runs() else sys.maxsize

    def _note(self, records: list[_Record]) -> None:
        now = int(time.time() * 1000)
        for one in records:
            self._struck.setdefault(one, now)

    def _flip(self, pages: Path) -> str:
        return self._overwrite(pages, "bits flipped", lambda data: bytes(one ^ 1 for one in data))

    def _zero(self, pages: Path) -> str:
        return self._overwrite(pages, "zeros written", lambda data: bytes(len(data)))

    def _overwrite(self, pages: Path, words: str, change: Callable[[bytes], bytes]) -> str:
        hit = self._chance.sample(self._records, min(_RECORDS, len(self._records)))
        for one in hit:
            with suppress(FileNotFoundError), (pages / one.file).open("r+b") as file:
                file.seek(one.offset + self._chance.randrange(one.length // 2, one.length - _BYTES))
                data = file.read(_BYTES)
                file.seek(-len(data), os.SEEK_CUR)
                file.write(change(data))
        self._note(hit)
        return f"{words} in {len(hit)} records"

    def _cut(self, pages: Path) -> str:
        one = self._chance.choice(self._records)
        at = one.offset + one.length // 2
        with suppress(FileNotFoundError):
            os.truncate(pages / one.file, min(at, (pages / one.file).stat().st_size))
        self._note([other for other in self._records if other.file == one.file and other.offset + other.length > at])
        return f"{one.file} cut at {at:,}"

    def _remove(self, pages: Path) -> str:
        name = self._chance.choice(self._records).file
        (pages / name).unlink(missing_ok=True)
        self._note([one for one in self._records if one.file == name])
        return f"{name} removed"

    def _replace(self, pages: Path) -> str:
        """Put another file into the place of one, whose readers may have it open still."""
        name = self._chance.choice(self._records).file
        new = pages / "new"
        new.write_bytes(self._chance.randbytes(100_000))
        new.replace(pages / name)
        self._note([one for one in self._records if one.file == name])
        return f"{name} replaced by another file"

    # -- the verdict ---------------------------------------------------------------------------------------------

    def _judge(self, later: _Crawl) -> None:
        """What cannot be read came before its copy was damaged: what came after that was archived itself."""
        for url, fetched_at, struck in self._lost(later):
            late = fetched_at - struck
            assert late <= _SLACK, f"{url} came {late} ms after its copy was damaged; {self.said}"

    def _lost(self, later: _Crawl) -> Iterator[tuple[str, int, int]]:
        """Yield what refers to payloads of which no copy is whole: URL, when it came, when the last copy was hit."""
        struck: dict[bytes, int] = {}
        for record, at in self._struck.items():
            struck[record.digest] = max(at, struck.get(record.digest, 0))
        if not self._again:
            with OpenedCrawl(settings=later.settings()) as crawl:
                for page in lost_references(later.settings(), crawl.database):
                    yield page.url, page.fetched_at, struck.get(page.digest, 0)
            return
        archived = "SELECT digest, warc_file, warc_offset, warc_length FROM page WHERE revisit = 0 AND warc_file <> ''"
        whole = {one.digest for row in later.sql.rows(archived) if (one := _Record(*row)) not in self._struck}
        for url, fetched_at, digest in later.sql.rows("SELECT url, fetched_at, digest FROM page WHERE revisit = 1"):
            if digest not in whole:
                yield url, fetched_at, struck.get(digest, 0)

    def _look_at_all(self, later: _Crawl) -> None:
        """Read all records, as a user does who wants to know what is lost: bits that are flipped are seen only so."""
        if self._again:
            done = forks().run([SCRAWLER, "verify", "--db", later.url], later.folder, os.environ, None, HANGS)
            assert done.returncode == _LOST, done.stderr

    def _judge_whole(self, later: _Crawl, web: TortureWeb) -> None:
        """After `--retry lost` all pages can be read, and are what their rows say."""
        wanted = {url for url, result in web.results.items() if result == "fetched"}
        with OpenedCrawl(settings=later.settings()) as crawl:
            assert not list(lost_references(later.settings(), crawl.database)), self.said
            missing = []
            for url in sorted(wanted):
                rows = Traces(crawl.database).pages([url_hash(url)])
                try:
                    assert rows, url
                    crawl.read(url)
                except ScrawlerError as error:
                    missing.append(f"{url}: {error}")
        assert not missing, f"{len(missing)} pages cannot be read: {missing[:5]}; {self.said}"
