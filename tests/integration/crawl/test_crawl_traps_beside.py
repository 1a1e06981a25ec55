"""Both sides of the rule of traps in one crawl: lists of real pages are fetched whole, endless spaces end.

`python -m experiments.traps` crawls many more of either.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import pytest

from scrawler.core.traps import texts
from scrawler.extract.simhash import Fingerprint, fingerprint_of
from scrawler.features.synthweb.process import WebProcess
from scrawler.features.synthweb.traps.pages import BEYOND
from scrawler.features.synthweb.traps.server import TrapWeb
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

HONEST = ("prices-index", "prices-pages", "films", "chain", "weather", "alike", "named-alike")
ENDLESS = ("same", "markov", "facets-path", "random-images", "mixed", "calendar-days", "moved", "home-again")


def test_no_real_page_is_lost_and_no_endless_space_holds_the_crawl(crawl: Crawl) -> None:
    with WebProcess("--traps", "--port=0") as process:
        web = TrapWeb(process.port)
        crawl.add(web.home(name) for name in (*HONEST, *ENDLESS))
        crawl.run(max_depth=1_000, max_pages=2_000, threads=2)
    crawl.check()
    fetched = crawl.fetched()
    for name in (*HONEST, *ENDLESS):
        home, real = web.home(name), web.real(name)
        assert real <= fetched, name
        beyond = {url for url in fetched if url.startswith(home)} - real
        assert len(beyond) <= (BEYOND if name in ENDLESS else 0), name
        assert crawl.seed(home).end_reason in (EndReason.COMPLETED, EndReason.ENDLESS), name
    left_out = {row.url for row in crawl.pages() if row.result == Result.TRAP}
    assert not any(url.startswith(web.home(name)) for name in HONEST for url in left_out)


def test_few_bytes_are_read_of_pages_whose_urls_are_made_of_words(
    crawl: Crawl, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them is 30 KB: two are read of all 60, where a budget of 64 KB and 128 bytes a page holds."""
    names = ["".join(pair) for pair in product("abcdefgh", repeat=2)][:60]
    read: list[int] = []

    def reading(page: bytes, is_xml: bool = False, skeleton: int | None = None) -> Fingerprint:
        read.append(len(page))
        return fingerprint_of(page, is_xml, skeleton)

    def script(visit: Visit) -> None:
        while head := visit.request():
            name = path_of(head)[1:]
            named = names if not name else [names[names.index(name) - 1]]
            links = "".join(f'<a href="/{one}">{one}</a> ' for one in named)
            words = " ".join(f"{name}{''.join(letters)}" for letters in product("klmnopqrstuvwxyz", repeat=3))
            visit.send(
                answer(f'<p>{links}<a href="/">home</a><p>{words}'.encode(), "200 OK", "Content-Type: text/html")
            )

    monkeypatch.setattr(texts, "fingerprint_of", reading)
    server = serve(script)
    crawl.add([server.url()])
    crawl.run(delay=0.001, threads=1, robots=False)
    assert len(crawl.fetched()) == len(names) + 1
    assert 0 < sum(read) <= 65_536 + 128 * (len(names) + 1)


def test_a_page_that_shows_another_film_says_something(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    """Each names the next one alone, in the same words: 150 of them are a series, and were capped after some 60."""
    films = 150

    def script(visit: Visit) -> None:
        while head := visit.request():
            number = int(path_of(head).rpartition("=")[2] or 0) if "=" in path_of(head) else 0
            more = f'<a href="/film?n={number + 1}">next</a>' if number < films else ""
            film = f'<p>Look at this.<iframe src="https://films.example/{number * 7919 % 1009:x}"></iframe>'
            visit.send(answer(f"{film}{more}".encode(), "200 OK", "Content-Type: text/html"))

    crawl.add([serve(script).url()])
    crawl.run(max_depth=1_000, threads=1, robots=False)
    assert len(crawl.fetched()) == films + 1
