"""Settings of single hosts: each site is asked as its own say, and all others as the crawl's say."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scrawler.insight.why import why
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason
from scrawler.store.claims.control import Control
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, RESOLVE, page
from tests.integration.crawl.test_crawl_orders import running
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of

ROBOTS = answer(b"User-agent: *\nDisallow: /closed\n", "200 OK", "Content-Type: text/plain")


def links_of(host: str) -> bytes:
    return page(host, links=("/1", "/2", "/3", "/closed"))


class Web:
    """Two sites at one port, and who asked them for what, and how."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str, float]] = []  # host, path, user agent, at
        self._lock = threading.Lock()
        self.server = RawServer(self._serve)

    def _serve(self, visit: Visit) -> None:
        while head := visit.request():
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line)
            host, path = fields["Host"].partition(":")[0], path_of(head)
            with self._lock:
                self.asked.append((host, path, fields["User-Agent"], time.monotonic()))
            visit.send(ROBOTS if path == "/robots.txt" else links_of(host) if path == "/" else page(host + path))

    def of(self, host: str) -> list[tuple[str, str, float]]:
        return [one[1:] for one in self.asked if one[0] == host]

    def seeds(self) -> list[str]:
        return [f"http://{host}:{self.server.port}/" for host in ("a.example", "b.example")]


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    yield web
    web.server.stop()


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_each_host_is_asked_as_its_own_settings_say(crawl: Crawl, web: Web, profile: str) -> None:
    crawl.add(web.seeds())
    own = {"delay": "0.25s", "user_agent": "Other/2.0", "robots": False, "max_pages": 4, "delay_factor": 0}
    crawl.run(sites={"a.example": own, "*.example": {"delay": 3}, "b.example": {"delay": 0}}, resolve=RESOLVE,
              profile=profile)  # fmt: skip
    first, other = web.of("a.example"), web.of("b.example")
    assert [path for path, _, _ in first if path in ("/robots.txt", "/closed")] in ([], ["/closed"])
    assert {agent for _, agent, _ in first} == {"Other/2.0"}
    assert {agent for _, agent, _ in other} == {"TestCrawler/1.0 (+http://127.0.0.1/)"}
    assert min(after[2] - before[2] for before, after in itertools.pairwise(first)) > 0.2
    ended = {seed.url: (seed.end_reason, seed.counts.pages) for seed in crawl.seeds()}
    assert ended == dict(zip(web.seeds(), [(EndReason.MAX_PAGES, 4), (EndReason.COMPLETED, 4)], strict=True))
    denied = [row.url for row in crawl.pages() if row.result == Result.ROBOTS_DENIED]
    assert denied == [web.seeds()[1] + "closed"]
    crawl.check()


def test_settings_of_a_host_can_be_set_while_it_is_crawled(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    """Both sites are endless: only what is set for one of them can end it."""

    def endless(visit: Visit) -> None:
        while head := visit.request():
            visit.send(page(links=(f"{path_of(head)}x",)) if path_of(head) != "/robots.txt" else NOT_FOUND)

    port = serve(endless).port
    first, other = (f"http://{host}:{port}/" for host in ("a.example", "b.example"))
    with running(crawl, [first, other], delay=0.05, max_depth=10_000, traps=False, resolve=RESOLVE) as run:
        run.wait(lambda progress: progress.pages > 4)
        run.control.set({}, {f"a.example:{port}": {"max_pages": 3}})
        run.wait(lambda progress: progress.done == 1)
    assert crawl.seed(first).end_reason is EndReason.MAX_PAGES
    assert crawl.seed(other).end_reason is None


def test_why_says_what_is_set_for_a_host(crawl: Crawl, web: Web) -> None:
    crawl.add(web.seeds())
    crawl.run(sites={"a.example": {"max_depth": 0}, "d.test": {"header": ["X-Key: secret"]}}, resolve=RESOLVE)
    database = open_database(crawl.url)
    Control(database).set({}, {"*.example": {"delay": 2.0}})
    told: Callable[[str], Any] = lambda url: why(database, crawl.settings(), Scope.HOST, url)  # noqa: E731
    lines = [line for fact in told(web.seeds()[0] + "9").facts for line in fact.lines]
    other = [line for fact in told("https://c.test/").facts for line in fact.lines]
    secret = [line for fact in told("https://d.test/").facts for line in fact.lines]
    database.close()
    assert '[sites."a.example"] sets max_depth=0' in lines
    assert any(line.startswith('[sites."d.test"] sets nothing that is written down') for line in secret)
    assert '[sites."*.example"] sets delay=2s' in lines
    assert any("left out below depth 0" in line for line in lines)
    assert not any("[sites" in line for line in other)


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_links_that_patterns_do_not_want_are_not_followed(
    crawl: Crawl, serve: Callable[..., RawServer], profile: str
) -> None:
    links = ("/docs/1", "/docs/old", "/x", "http://c.test/docs/", "http://c.test/x", "/DOCS/../docs/%7e")

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            visit.send(NOT_FOUND if path == "/robots.txt" else page(path, links=links))

    port = serve(script).port
    first, other = (f"http://{host}:{port}/" for host in ("a.example", "b.example"))
    crawl.add([first, other])
    own = {"b.example": {"include": [], "exclude": ["re:[0-9]$"]}}
    patterns = {"include": ["/docs/*"], "exclude": "*/old\n*/nothing, but this"}
    crawl.run(**patterns, sites=own, resolve=RESOLVE, profile=profile)
    fetched = {row.url for row in crawl.pages()}
    assert fetched == {
        *(f"{first}{path}" for path in ("", "docs/1", "docs/~")),
        *(f"{other}{path}" for path in ("", "docs/old", "x", "docs/~")),
    }
    assert crawl.candidates() == {"http://c.test/docs/", "http://c.test/x"}
    assert crawl.seed(first).verdicts["excluded"] >= 3
    database = open_database(crawl.url)
    told = {url: why(database, crawl.settings(), Scope.HOST, url) for url in (f"{first}docs/old", f"{first}new")}
    database.close()
    assert [answer.outcome for answer in told.values()] == ["refused", "refused"]
    lines = [line for answer in told.values() for fact in answer.facts for line in fact.lines]
    assert any("as excluded: excluded by */old" in line for line in lines)
    assert any("as excluded: included by none of /docs/*" in line for line in lines)
    crawl.check()
