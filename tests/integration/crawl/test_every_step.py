"""Landing and applying an answer raise at every step, once for each: what is left is whole wherever it was.

First a site of each kind is crawled, and the lines are noted on which the program reads and applies its answers. Then
many more are crawled together, and at each of them another one of these lines raises, the first time that it is
reached: at a site of the smallest kind that reaches it. Where a line raises no answer is lost sight of: the crawl ends,
which it does only when nothing counts as in flight and the turn is free; all that the seen filter took is listed; all
that is listed has its one row.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import scrawler
from scrawler.core.answers import aliases, long_pages
from scrawler.core.answers.answers import AnswerHandler
from scrawler.core.answers.lister import SitemapLister
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.pipeline import PagePipeline
from scrawler.core.answers.reading import AnswerReader
from scrawler.core.asking import visits
from scrawler.core.asking.checks import Checks
from scrawler.core.asking.origins import Origins
from scrawler.core.asking.visits import Visits
from scrawler.core.blame.slots import Slot
from scrawler.core.collecting import collector
from scrawler.core.collecting.landing import Landing
from scrawler.core.party.context import SeedContext
from scrawler.core.party.depth import Lane
from scrawler.core.party.entries import decode_urls
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import LayeredSeen
from scrawler.core.traps.traps import PartyTraps
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, check_whole, page, redirect
from tests.integration.fetch.servers import RawServer, Script, Visit, answer, path_of
from tests.limits import HANGS, allow

pytestmark = pytest.mark.interpreted("follows the program line by line")

Line = tuple[str, int]
Serve = Callable[..., RawServer]

LIMIT = 5 * HANGS  # seconds for all sites, which are hundreds
LARGE = 2_000  # bytes from which on a page is read outside the turn: thousands of such pages are served
PACKAGE = str(Path(scrawler.__file__).parent)
WHOLE = ("core", "fetch")  # folders of which each line counts; of others, where functions begin

# What holds the guards is outside of them. The steps that leave nothing half done are one step each, and fail, if at
# all, as the machinery does: listing URLs, finishing one, counting a fault.
GUARDS = (
    Landing.read, Landing.apply, Landing._apply_robots, AnswerReader.archive,
    AnswerReader.read, AnswerHandler.handle, AnswerHandler.handle_alias,
    Origins.robots_answer, SitemapLister.work_off, SitemapLister.read, Checks.past, Checks.robots,
    Visits._start_page,
)  # fmt: skip
ONE_STEP = (
    PagePipeline.archive, PagePipeline.archive_alone, AnswerReader._archive, AnswerReader._find_copy,
    PageRead.__init__, PageRead.met,
    AnswerHandler.count, AnswerHandler.finish, SeedContext.list_new, SeedContext.list_sitemap, SeedContext.list_again,
    SeedContext.add_page, SeedContext.note_fault, SeedContext.lane, LayeredSeen.unseen, LayeredSeen.add,
    Lane.append, Lane.finish,
    Visits._refuse, Visits._page_request, Visits._start, Checks.met, Origins.robots_request, Origins.obeys, Lane.take,
    visits._flight, aliases._let_wait, Slot.enter, Slot.leave, SiteContext.begin_fetching, SiteContext.end_fetching,
    vars(PartyTraps)["capping"].fget,
)  # fmt: skip


class Stumble(Exception):
    """Raised at a line."""


class Steps:
    """Notes, site by site, which lines are reached, and raises at those that were chosen."""

    def __init__(self, chosen: dict[str, Line] | None = None) -> None:
        self.reached: defaultdict[str, dict[Line, None]] = defaultdict(dict)
        self.raised: dict[str, Line] = {}
        self._chosen = chosen or {}
        self._notes_all = chosen is None
        self._outside = {part.__code__ for part in GUARDS}
        self._one_step = {part.__code__ for part in ONE_STEP}

    def within(self, call: Callable[..., Any], site_of: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call, watched."""

        def watched(*arguments: Any, **named: Any) -> Any:
            site = site_of(*arguments)
            if site is None or sys.gettrace() is not None or site.key in self.raised:
                return call(*arguments, **named)
            sys.settrace(self._tracer(site.key))
            try:
                return call(*arguments, **named)
            finally:
                sys.settrace(None)

        return watched

    def _tracer(self, key: str) -> Callable[[FrameType, str, Any], Any]:
        hidden = 0  # depth of calls within one step
        wanted = self._chosen.get(key, ("", 0))[0]  # where it is to raise: lines elsewhere need not be followed

        def leaves(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal hidden
            hidden -= event == "return"
            return leaves

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self._reach(key, (frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal hidden
            code = frame.f_code
            if hidden or code in self._one_step:
                hidden += 1
                return leaves
            if not self._notes_all and code.co_filename != wanted:
                return None
            if code in self._outside or not code.co_filename.startswith(PACKAGE) or _is_inner(code):
                return None
            if code.co_filename.removeprefix(PACKAGE + "/").startswith(WHOLE):
                return line
            self._reach(key, (code.co_filename, code.co_firstlineno))
            return None

        return call

    def _reach(self, key: str, where: Line) -> None:
        self.reached[key][where] = None
        if self._chosen.get(key) == where and key not in self.raised:
            self.raised[key] = where
            raise Stumble(f"{where[0].removeprefix(PACKAGE)}:{where[1]}")


def _is_inner(code: CodeType) -> bool:
    return code.co_name.startswith("<")  # a comprehension, the lines of which are those of its function


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> Callable[[Steps], Any]:
    """Lets steps be watched where answers are read and applied."""

    @contextmanager
    def watch(steps: Steps) -> Iterator[dict[str, set[str]]]:
        def of_flight(_self: Any, flight: Any, *_: Any) -> Any:
            return flight.site

        added: defaultdict[str, set[str]] = defaultdict(set)
        add = LayeredSeen.add

        def noted(self: LayeredSeen, urls: list[str]) -> None:
            add(self, urls)
            for url in urls:
                added[url.split("/")[2]].add(url)

        noted.__code__ = noted.__code__.replace(co_name="noted")
        with monkeypatch.context() as patched:
            for owner, name, site_of in (
                (Landing, "read", of_flight),
                (Landing, "apply", of_flight),
                (Visits, "note", of_flight),
                (SitemapLister, "wants", lambda _self, response: response.request.tag.site),
                (SitemapLister, "read", lambda lister: lister._unread[0][0].site if lister._unread else None),
                (SitemapLister, "work_off", lambda lister: lister._current and lister._current.flight.site),
                (Checks, "past", lambda _self, site, *_: site),
                (Checks, "robots", lambda _self, site, *_: site),
                (Visits, "_start_page", lambda _self, site, *_: site),
            ):
                patched.setattr(owner, name, steps.within(getattr(owner, name), site_of))
            patched.setattr(LayeredSeen, "add", noted)
            steps._one_step.add(noted.__code__)
            yield added

    return watch


ALIAS = "http://127.0.0.1:{port}/alias"
OTHER = "http://o.example/"
# Kinds of sites, the smallest first: what each has. All together have something of all that is read and applied.
KINDS = {
    "page": ("/a",),
    "moved": ("/moved", "/gated", "/gone", "/i.png"),
    "ill": ("/flaky", "/busy", "/big", "/doc", ALIAS),
    "mapped": ("/no", "/d?n=1", "/d?n=2", "/index.xml", OTHER),
    "whole": ("/a", "/moved", "/gated", "/flaky", "/busy", "/no", "/gone", "/big", "/d?n=1", "/d?n=2", "/doc", "/i.png",
              "/index.xml", ALIAS, OTHER),
}  # fmt: skip


def everything() -> Script:
    """A site for each name that is asked for, of the kind with which the name begins."""
    times: Counter[tuple[str, str]] = Counter()
    lock = threading.Lock()

    def script(visit: Visit) -> None:
        while head := visit.request():
            host = head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode()
            path = path_of(head)
            with lock:
                times[host, path] += 1
                first = times[host, path] == 1
            visit.send(_reply(path, host, host.rpartition(":")[2], first))

    return script


def _reply(path: str, host: str, port: str, first: bool) -> bytes:
    has = KINDS.get(host.partition("-")[0], ())  # none where a site is asked by its address
    robots = f"User-agent: *\nDisallow: /no\nCrawl-delay: 0.001\nSitemap: http://{host}/index.xml\n"
    links = tuple(link.format(port=port) for link in has if link not in ("/i.png", "/index.xml"))
    image = "<img src=/i.png>" if "/i.png" in has else ""
    replies = {
        "/rules.txt": answer(robots.encode(), "200 OK", "Content-Type: text/plain"),
        "/": page(
            f"{image}<a rel=nofollow href=/z>z</a>",
            "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d; Max-Age=60",
            'Link: </>; rel="canonical"', "X-Robots-Tag: noarchive",
            links=links,
        ),
        "/a": page(
            "<link rel=canonical href=/c><base href=/b/><meta name=robots content=nofollow>", links=("/", "b1", "b2")
        ),
        "/moved": redirect("/landed", "301 Moved"),
        "/landed": page("landed", "Refresh: 5; url=/refreshed"),
        "/gated": redirect("/check") if first else page("gated"),
        "/check": answer(b"", "302 Found", "Location: /gated", "Set-Cookie: pass=1; Path=/"),
        "/flaky": answer(b"", "500 Oops") if first else page("flaky"),
        "/busy": answer(b"", "429 Slow down", "Retry-After: 0") if first else page("busy"),
        "/big": page("big" + " x" * LARGE, links=("/behind",)),
        "/doc": answer(b"<title>no type</title><a href=/untyped>x</a>"),
        "/i.png": redirect("/j.png"),
        "/index.xml": answer(
            f"<sitemapindex><sitemap><loc>http://{host}/map.xml</loc></sitemap></sitemapindex>".encode(),
            "200 OK", "Content-Type: text/xml",
        ),
        "/map.xml": answer(
            f"<urlset><url><loc>http://{host}/m1</loc></url><url><loc>http://p.example/</loc></url></urlset>".encode(),
            "200 OK", "Content-Type: text/xml",
        ),
    }  # fmt: skip
    if "/index.xml" in has:
        replies["/robots.txt"] = redirect("/rules.txt")
    others = ("/b/", "/d?", "/m1", "/behind", "/refreshed", "/alias", "/untyped", "/j.png")
    return replies.get(path) or (page(f"page {path}") if path.startswith(others) else NOT_FOUND)


def run(crawl: Crawl, server: RawServer, names: list[str], limit: float) -> None:
    stop = threading.Event()
    timer = threading.Timer(limit, stop.set)
    timer.start()
    crawl.add(f"http://{name}:{server.port}/" for name in names)
    try:
        summary = crawl.run(
            stop=stop, sitemaps="also", assets=True, near_duplicates="all", threads=2, seeds_per_thread=4, retries=2,
            seen="rbloom",  # the usual filter has no lines
            resolve=tuple(f"{name}=127.0.0.1" for name in names), per_ip=8,
        )  # fmt: skip
    finally:
        timer.cancel()
    assert summary.outcome == "ended", "the crawl hung"
    check_whole(crawl)


def listed(crawl: Crawl) -> dict[str, Counter[str]]:
    """Host -> how often each URL stands in the lists of first tries, which are those of sitemaps and of pages."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    database = open_database(crawl.url)
    with database.read() as connection:
        for (data,) in connection.exec_driver_sql("SELECT data FROM chunk WHERE kind IN (0, -3)"):
            for url in decode_urls(data):
                found[url.split("/")[2]][url] += 1
    database.close()
    return found


def test_wherever_it_raises_what_is_left_is_whole(
    crawl: Crawl, serve: Serve, tmp_path: Path, watching: Callable[[Steps], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(2 * LIMIT)
    monkeypatch.setattr(collector, "_LARGE_BODY", LARGE)
    monkeypatch.setattr(long_pages, "MANY_LINKS", 0)  # so that the large page is listed part by part
    server = serve(everything())
    first = Crawl(tmp_path / "first", f"sqlite:///{tmp_path / 'first.db'}")
    steps = Steps()
    with watching(steps):
        run(first, server, [f"{kind}-0.example" for kind in KINDS], LIMIT)
    by_kind = {key.partition("-")[0]: found for key, found in steps.reached.items()}
    where = {line: kind for kind in reversed(KINDS) for line in by_kind[kind]}  # the smallest one comes last
    lines = list(where)
    of_folder = Counter(Path(file).relative_to(PACKAGE).parts[0] for file, _ in lines)
    assert of_folder["core"] > 500, "that is not all of it"
    assert of_folder["fetch"] > 200, "that is not all of it"
    assert {Path(file).name for file, _ in lines} >= {"gates.py", "lister.py", "long_pages.py"}
    assert {row.result for row in first.pages()} >= {Result.FETCHED, Result.REDIRECT, Result.HTTP_ERROR}
    assert OTHER in first.candidates()

    names = [f"{where[line]}-{number}.example" for number, line in enumerate(lines, 1)]
    keys = [f"{name}:{server.port}" for name in names]
    steps = Steps(dict(zip(keys, lines, strict=True)))
    with watching(steps) as added:
        run(crawl, server, names, LIMIT)
    assert len(steps.raised) >= 0.95 * len(lines), "some lines are reached by chance, most must be"
    lists, rows = listed(crawl), defaultdict(set)
    for row in crawl.pages():
        rows[row.url.split("/")[2]].add(row.url)
    for key, seed in zip(keys, sorted(crawl.seeds(), key=lambda seed: seed.id), strict=True):
        line = steps.raised.get(key)
        assert set(lists[key]) == added[key], f"the seen filter and the lists differ after {line}"
        assert set(lists[key].values()) <= {1}, f"listed twice after {line}"
        assert seed.counts.listed == len(lists[key]), f"listed, after {line}"
        assert rows[key] == set(lists[key]), f"rows and lists differ after {line}"
        assert seed.counts.internal_errors == (line is not None), f"after {line}"
        assert seed.end_reason in (EndReason.COMPLETED, EndReason.INTERNAL_ERROR, EndReason.ROBOTS_UNAVAILABLE), line
