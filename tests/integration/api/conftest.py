from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import scrawler
from tests.e2e.conftest import scrawl  # noqa: F401  a fixture
from tests.integration.api.quotes import QUOTES, quotes
from tests.integration.api.site import HTML, Answer, Site, chain, linking
from tests.limits import HANGS

SETTINGS = {
    "allow_private": True,
    "delay": 0,
    "patience": 0,  # a busy machine may answer late: no page is put off for that
    "threads": 2,
    "user_agent": "Test/1.0 (+http://127.0.0.1/)",
    "checkpoint_interval": "200ms",
}
ICON = "<svg><title>icon</title></svg>"
RUSSIAN = f"{ICON}<title>Привет &amp; мир</title><style>p{{}}</style><p>Слово<br>дело</p><script>no</script>"
ANSWERS = {
    "/": linking("home", "/russian", "/packed", "/twin", "/late/twin", "/gone", "/text", "/moved"),
    "/russian": Answer(RUSSIAN.encode("koi8-r"), {"Content-Type": "text/html; charset=koi8-r"}),
    "/packed": Answer(gzip.compress(b"<title>packed</title>" + b"x" * 5000), HTML | {"Content-Encoding": "gzip"}),
    "/twin": linking("twins"),
    "/late/twin": linking("twins"),
    "/text": Answer(b"<just> text", {"Content-Type": "text/plain"}),
    "/moved": Answer(b"", {"Location": "/twin", "Content-Type": "text/html"}, 302),
}


def make(folder: Path, **changes: object) -> scrawler.Crawl:
    """A crawl with all its files in a folder."""
    places = {"db": folder / "crawl.db", "pages_dir": folder / "pages", "output_dir": folder / "output_urls"}
    return scrawler.Crawl(**{**places, **SETTINGS, **changes})


def wait_for(what: Callable[[], bool]) -> None:
    """Return once something holds that comes of itself."""
    give_up_at = time.monotonic() + HANGS
    while not what():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[scrawler.Crawl, Site]]:
    """A crawl that has ended, and its site."""
    with Site(ANSWERS) as site, make(tmp_path_factory.mktemp("done"), threads=1) as crawl:
        crawl.add([site.root + "/"])
        crawl.run()
        yield crawl, site


@pytest.fixture
def chained() -> Iterator[Site]:
    """A site of six pages in a row, the last of which waits to be let go."""
    with Site(chain(6), frozenset({"/5"})) as site:
        yield site


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl of quotes, whose items went to a file."""
    folder = tmp_path_factory.mktemp("quotes")
    with Site(QUOTES) as site, make(folder) as crawl:
        crawl.add([site.root + "/0"])
        crawl.run(processors=[quotes], items=folder / "quotes.jsonl")
    return folder
