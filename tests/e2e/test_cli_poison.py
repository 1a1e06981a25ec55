"""A page that kills the process which reads it does so once: the next process ends its URL, and goes on."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scrawler.errors import EndlessPageError
from scrawler.model.suspects import CONDEMNED
from tests.e2e.conftest import CRAWL, Rows, Scrawler, python_path
from tests.integration.crawl.hostile import by_path, page
from tests.integration.fetch.servers import RawServer
from tests.plugged import install

_PART = """
import ctypes, itertools, os
from scrawler.extract.lexbor import LexborExtractor

class Poisoned(LexborExtractor):
    def links(self, body, *rest):
        if b"please abort" in body:
            os.abort()
        if b"please exit" in body:
            os._exit(3)
        if b"please fault" in body:
            ctypes.string_at(0)
        if b"please loop" in body:
            while True:
                pass
        if b"please lock" in body:
            all(itertools.repeat(True))  # in C, and the interpreter lock is held
        return super().links(body, *rest)
"""
_FLAGS = ("--extractor", "poisoned", "--page-time", "1s", "--timeout", "1s", "--checkpoint-interval", "0.5s")
_GOOD = [f"/good/{number}" for number in range(12)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    install(tmp_path, "poisoned", _PART, {"scrawler.extractors:poisoned": "Poisoned"})
    return python_path(tmp_path)


@pytest.fixture
def poisons(request: pytest.FixtureRequest) -> list[str]:
    """The paths of the pages that kill; the first one is in the middle of the good ones."""
    return list(request.param)


@pytest.fixture
def site(poisons: list[str]) -> Iterator[RawServer]:
    """A site whose home page leads to good pages and poisonous ones."""
    links = (*_GOOD[:3], *poisons, *_GOOD[3:])
    replies = {path: page(f"good words {path}") for path in _GOOD}
    replies |= {path: page(f"please {path.strip('/')}") for path in poisons}
    server = RawServer(by_path({"/": page(links=links), **replies}))
    yield server
    server.stop()


def _run(scrawler: Scrawler, path: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return scrawler(*CRAWL, *_FLAGS, *flags, code=None, PYTHONPATH=path)


def _check(site: RawServer, poisons: list[str], folder: Path, told_where: str = "in links") -> None:
    """All good pages were fetched, and each poisonous one was ended, after it had killed one process."""
    with closing(sqlite3.connect(folder / "scrawler.db")) as database:
        results = dict(database.execute("SELECT url, result FROM page"))
        details = [row[0] for row in database.execute("SELECT detail FROM page WHERE result = 'internal-error'")]
        deaths = dict(database.execute("SELECT url, blame FROM suspect"))
        ends = database.execute("SELECT end_reason, internal_errors FROM seed").fetchall()
    assert results == {site.url(path): "fetched" for path in ("/", *_GOOD)} | {
        site.url(path): "internal-error" for path in poisons
    }
    assert all(detail.startswith("the process that read it has died: ") for detail in details)
    assert ends == [("completed", len(poisons))]
    assert deaths == {site.url(path): CONDEMNED for path in poisons}
    assert not list((folder / "pages").glob("*.reading"))
    told = (folder / "output_urls" / "crawl.internal-errors.txt").read_text()
    assert all(site.url(path) in told for path in poisons)
    assert told_where in told


@pytest.mark.parametrize("poisons", [["/abort"], ["/fault"], ["/loop"], ["/lock"]], indirect=True)
@pytest.mark.heavy
def test_the_next_run_ends_it(
    scrawler: Scrawler, site: RawServer, poisons: list[str], path: str, tmp_path: Path
) -> None:
    scrawler("import", "-", given=site.url())
    first = _run(scrawler, path)
    codes = {"/abort": -signal.SIGABRT, "/fault": -signal.SIGSEGV, "/lock": -signal.SIGPROF}
    assert first.returncode == codes.get(poisons[0], EndlessPageError.exit_code), first.stderr
    if poisons == ["/loop"]:
        assert f"error: reading {site.url('/loop')} took more than 1s of CPU time" in first.stderr
    second = _run(scrawler, path)
    assert second.returncode == 0, second.stderr
    assert f"{site.url(poisons[0])}: the process that read it has died" in second.stderr
    _check(site, poisons, tmp_path)


@pytest.mark.parametrize("poisons", [["/abort/1", "/fault", "/loop", "/abort/2"]],
                         indirect=True)  # fmt: skip
def test_machines_go_on(scrawler: Scrawler, site: RawServer, poisons: list[str], path: str, tmp_path: Path) -> None:
    scrawler("import", "-", given=site.url())
    done = _run(scrawler, path, "--machines", "2")
    assert done.returncode == 0, done.stderr
    _check(site, poisons, tmp_path)
    assert "was killed by SIGABRT while it read http://" in done.stderr


@pytest.mark.parametrize("poisons", [["/exit"]], indirect=True)
def test_a_part_that_exits_is_found_out_by_the_supervisor(
    scrawler: Scrawler, site: RawServer, poisons: list[str], path: str, tmp_path: Path
) -> None:
    """Without one nobody is left who knows that it was not kill -9: no page is blamed."""
    scrawler("import", "-", given=site.url())
    alone = _run(scrawler, path)
    assert (alone.returncode, alone.stderr.count("has died")) == (3, 0)
    again = _run(scrawler, path)
    assert (again.returncode, again.stderr.count("has died")) == (3, 0)
    done = _run(scrawler, path, "--machines", "2")
    assert done.returncode == 0, done.stderr
    assert f"and without a report while it read {site.url('/exit')}" in done.stderr
    _check(site, poisons, tmp_path, told_where="exit code 3")


@pytest.mark.parametrize("poisons", [["/"]], indirect=True)
@pytest.mark.heavy
def test_a_retry_asks_again(
    scrawler: Scrawler, rows: Rows, site: RawServer, poisons: list[str], path: str, tmp_path: Path
) -> None:
    site.script = by_path({"/": page("please abort")})
    scrawler("import", "-", given=site.url())
    assert _run(scrawler, path).returncode == -signal.SIGABRT
    assert _run(scrawler, path).returncode == 0
    (seed,) = rows("seeds")
    assert seed["end_reason"] == "internal-error", json.dumps(seed)
    site.script = by_path({"/": page("cured")})
    assert _run(scrawler, path, "--retry", "internal-error").returncode == 0
    assert [row["end_reason"] for row in rows("seeds")] == ["completed"]
