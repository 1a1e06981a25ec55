"""A page with very many links is listed part by part: others get in between, and no part is lost or counted twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.long_pages import LongPage
from scrawler.core.collecting.collector import UrlCollector
from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.machine.machine import Machine
from scrawler.core.traps.alike import LinkClass
from scrawler.core.traps.traps import PartyTraps
from scrawler.errors import PluginError
from scrawler.fetch.curl import CurlDownloader
from scrawler.model.deltas import SiteDelta
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, asked, page, run_whole
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer, Script, Visit, path_of
from tests.limits import HANGS

Serve = Callable[..., RawServer]

# A third of what they are, for each link is a page that is fetched.
MANY_LINKS, PART = 600, 300
LINKS = 1_100


@pytest.fixture(autouse=True)
def shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrawler.core.answers.long_pages.MANY_LINKS", MANY_LINKS)
    monkeypatch.setattr("scrawler.core.answers.long_pages._PART", PART)


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
            sites = [site for collector in machines[0].crew.collectors for site in collector.sites.values()]
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
    assert len(parts) >= LINKS // PART, "it was listed in one go"


def test_all_is_as_if_it_were_listed_in_one_go(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server, plain = serve(long_site()), serve(long_site())
    crawl.add([server.url()])
    run_whole(crawl, traps=False)
    monkeypatch.setattr("scrawler.core.answers.long_pages.MANY_LINKS", 1 << 30)
    crawl.add([plain.url()])
    run_whole(crawl, traps=False)
    one, other = crawl.seed(server.url()), crawl.seed(plain.url())
    assert one.end_reason is EndReason.COMPLETED
    assert one.counts.pages == one.counts.listed == LINKS + 1
    assert one.verdicts == other.verdicts
    assert one.verdicts["internal"] == LINKS + 500
    names = ("pages", "listed", "candidates", "requests")
    assert [getattr(one.counts, name) for name in names] == [getattr(other.counts, name) for name in names]


def test_what_takes_all_links_is_done_once_a_page(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of 300,000 links has 300 parts: to look at all of its links with each of them would be quadratic."""
    asked_for: list[int] = []
    known_source = PartyTraps.known_source

    def noting(self: PartyTraps, url: str, hrefs: Sequence[str]) -> LinkClass | None:
        asked_for.append(len(hrefs))
        return known_source(self, url, hrefs)

    monkeypatch.setattr(PartyTraps, "known_source", noting)
    server = serve(long_site())
    crawl.add([server.url()])
    run_whole(crawl, max_pages=1)
    assert asked_for == [LINKS + 502]


def test_a_part_that_fails_ends_the_page_and_keeps_what_was_listed(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_part = LongPage.list_part

    def stumble(self: LongPage, answers: object) -> None:
        if self.done >= MANY_LINKS:
            raise ValueError("no good")
        list_part(self, answers)  # type: ignore[arg-type]

    monkeypatch.setattr(LongPage, "list_part", stumble)
    server = serve(long_site())
    crawl.add([server.url()])
    run_whole(crawl, traps=False)
    results = {row.url: row.result for row in crawl.pages()}
    assert results.pop(server.url()) == Result.INTERNAL_ERROR
    assert len(results) == MANY_LINKS
    assert set(results.values()) == {Result.FETCHED}


class InTheMidst:
    """Does something once, when a page is listed in part."""

    def __init__(self, patch: pytest.MonkeyPatch, act: Callable[[LongPage], None]) -> None:
        self._list_part, self._act = LongPage.list_part, act
        self.times = 0
        patch.setattr(LongPage, "list_part", lambda page, answers: self(page, answers))

    def __call__(self, page: LongPage, answers: AnswerHandler) -> None:
        if page.done == MANY_LINKS:
            self.times += 1
            self._act(page)
        self._list_part(page, answers)


def verdicts_in_one_go(crawl: Crawl, serve: Serve, patch: pytest.MonkeyPatch) -> dict[str, int]:
    """What the links of the long site come to where no page of it is listed in parts."""
    with patch.context() as patched:
        patched.setattr("scrawler.core.answers.long_pages.MANY_LINKS", 1 << 30)
        server = serve(long_site())
        crawl.add([server.url()])
        run_whole(crawl, traps=False)
    return dict(crawl.seed(server.url()).verdicts)


@pytest.mark.heavy
def test_whoever_takes_the_party_over_in_the_midst_lists_all_of_it(
    crawl_on_both: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine ends while the page is listed: all of it is taken back, and no link counts twice."""
    crawl = crawl_on_both
    expected = verdicts_in_one_go(crawl, serve, monkeypatch)

    def ends(page: LongPage) -> None:
        raise PluginError("gone")

    server = serve(long_site())
    crawl.add([server.url()])
    with monkeypatch.context() as patched:
        InTheMidst(patched, ends)
        with pytest.raises(PluginError):
            crawl.run(traps=False)
    assert crawl.seed(server.url()).counts.listed <= 1
    assert not crawl.seed(server.url()).verdicts
    run_whole(crawl, traps=False)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.listed) == (EndReason.COMPLETED, LINKS + 1, LINKS + 1)
    assert seed.verdicts == expected
    assert asked(server)["/"] == 2


def test_no_checkpoint_holds_a_part_of_a_page(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing of it counts twice, however the machine ends."""
    submit, listed = Checkpointer.submit, []

    def note(self: Checkpointer, delta: SiteDelta, wait: float) -> None:
        listed.extend(seed.counts.listed for seed in delta.seeds)
        submit(self, delta, wait)

    def ask(page: LongPage) -> None:
        assert page.flight.site.collector is not None
        page.flight.site.collector.submit_now(page.flight.site)

    monkeypatch.setattr(Checkpointer, "submit", note)
    midst = InTheMidst(monkeypatch, ask)
    server = serve(long_site())
    crawl.add([server.url()])
    run_whole(crawl, traps=False)
    assert midst.times == 1
    assert set(listed) <= {0, 1, LINKS + 1}


@pytest.mark.parametrize("at_once", [False, True])
def test_a_page_that_is_begun_is_listed_to_its_end_before_a_stop(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    stop = threading.Event()

    def ends(page: LongPage) -> None:
        stop.set()
        collector = page.flight.site.collector
        if at_once and isinstance(collector, UrlCollector):
            collector.hurry()

    server = serve(long_site())
    crawl.add([server.url()])
    with monkeypatch.context() as patched:
        InTheMidst(patched, ends)
        crawl.run(stop=stop, traps=False)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.listed) == (None, LINKS + 1)
    run_whole(crawl, traps=False)
    assert crawl.seed(server.url()).counts.pages == LINKS + 1
    assert asked(server)["/"] == 1


def test_the_bytes_of_a_page_count_before_it_is_listed(crawl: Crawl, serve: Serve) -> None:
    server = serve(long_site())
    crawl.add([server.url()])
    run_whole(crawl, traps=False, max_bytes=1000)
    assert crawl.seed(server.url()).end_reason is EndReason.MAX_BYTES
    assert set(asked(server)) <= {"/robots.txt", "/", "/0"}
    assert crawl.seed(server.url()).counts.requests == sum(asked(server).values()) - 1
