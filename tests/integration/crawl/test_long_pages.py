"""A page with very many links is listed part by part: others get in between, and no part is lost or counted twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from scrawler.crawl.long_pages import MANY_LINKS, LongPage
from scrawler.crawl.machine import Machine
from scrawler.errors import StoreError
from scrawler.fetch.curl import CurlDownloader
from scrawler.model import EndReason, Result
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, asked, page, run_whole
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer, Script, Visit, path_of
from tests.limits import HANGS

Serve = Callable[..., RawServer]

LINKS = MANY_LINKS + 1_500


def long_site(links: int = LINKS) -> Script:
    """A home page that links to all others, and twice to some, with text for which it is read outside the turn."""
    paths = tuple(f"/{n}" for n in range(links))
    home = page(
        " word" * 60_000, "Set-Cookie: a=b; Path=/", links=(*paths, *paths[:500], "http://o.example/", "/x.zip")
    )

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            visit.send(home if path == "/" else NOT_FOUND if path == "/robots.txt" else page(path))

    return script


def test_others_have_the_turn_between_two_parts(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the thread waits, somebody else can take the turn, and sees how far the list has grown."""
    machines: list[Machine] = []
    seen: list[int] = []
    wait = CurlDownloader.wait

    def look() -> None:
        with machines[0].turn:
            sites = [site for collector in machines[0].collectors for site in collector.sites.values()]
            seen.extend(party.counts.listed for site in sites for party in site.parties)

    def waiting(self: CurlDownloader, seconds: float, begin: bool = True) -> None:
        if machines and seconds:  # else it only looks, and keeps the turn
            others.submit(look).result(HANGS)
        wait(self, seconds, begin)

    monkeypatch.setattr(CurlDownloader, "wait", waiting)
    server = serve(long_site())
    crawl.add([server.url()])
    with ThreadPoolExecutor(1) as others:
        watch(crawl.settings(threads=1, max_pages=1), lambda machine: machines or machines.append(machine))
    parts = {listed for listed in seen if 1 < listed <= LINKS}
    assert len(parts) >= LINKS // 1_000, "it was listed in one go"


def test_all_is_as_if_it_were_listed_in_one_go(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server, plain = serve(long_site()), serve(long_site())
    crawl.add([server.url()])
    run_whole(crawl, traps=False)
    monkeypatch.setattr("scrawler.crawl.long_pages.MANY_LINKS", 1 << 30)
    crawl.add([plain.url()])
    run_whole(crawl, traps=False)
    one, other = crawl.seed(server.url()), crawl.seed(plain.url())
    assert one.end_reason is EndReason.COMPLETED
    assert one.counts.pages == one.counts.listed == LINKS + 1
    assert one.verdicts == other.verdicts
    assert one.verdicts["internal"] == LINKS + 500
    names = ("pages", "listed", "candidates", "requests")
    assert [getattr(one.counts, name) for name in names] == [getattr(other.counts, name) for name in names]


def test_a_part_that_fails_ends_the_page_and_keeps_what_was_listed(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_part = LongPage.list_part

    def stumble(self: LongPage, answers: object) -> None:
        if self.done >= 2_000:
            raise ValueError("no good")
        list_part(self, answers)  # type: ignore[arg-type]

    monkeypatch.setattr(LongPage, "list_part", stumble)
    server = serve(long_site())
    crawl.add([server.url()])
    run_whole(crawl, traps=False)
    results = {row.url: row.result for row in crawl.pages()}
    assert results.pop(server.url()) == Result.INTERNAL_ERROR
    assert len(results) == 2_000
    assert set(results.values()) == {Result.FETCHED}


def test_whoever_takes_the_party_over_in_the_midst_lists_the_rest(
    crawl_on_both: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine ends while the page is listed; what it had listed is durable, and the page is read again."""
    crawl, list_part = crawl_on_both, LongPage.list_part

    def ends(self: LongPage, answers: object) -> None:
        if self.done >= 2_000:
            raise StoreError("gone")
        list_part(self, answers)  # type: ignore[arg-type]

    server = serve(long_site())
    crawl.add([server.url()])
    with monkeypatch.context() as patched:
        patched.setattr(LongPage, "list_part", ends)
        with pytest.raises(StoreError):
            crawl.run(traps=False)
    assert crawl.seed(server.url()).counts.listed == 2_001
    assert server.url() not in crawl.fetched()
    run_whole(crawl, traps=False)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.listed) == (EndReason.COMPLETED, LINKS + 1, LINKS + 1)
    assert seed.verdicts["internal"] == LINKS + 500
    assert asked(server)["/"] == 2
