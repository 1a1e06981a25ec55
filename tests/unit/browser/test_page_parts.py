"""What pages in the browser ask for: how often a server is asked, and how that is counted."""

from __future__ import annotations

import asyncio
from math import inf
from threading import RLock
from typing import Any

import pytest

from scrawler.core.asking.errands import Errands
from scrawler.core.party.flights import RobotsFlight
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.progress import Totals
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.features.browser.page_parts import PageParts
from scrawler.features.browser.parts import Given, Wanted
from scrawler.fetch.downloader import Document, FetchLimits, Request, Response
from scrawler.fetch.resolver import Resolution
from scrawler.model.results import Result
from scrawler.settings import Settings
from tests.crawl_rules import crawl_rules
from tests.limits import HANGS

PAGE, SCRIPT = "http://example.org/", "http://example.org/app.js"
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Net:
    """A fetcher, a resolver and the origins of hosts that all have one address, and answer at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.errands = Errands(lambda site: None)

    def check(self) -> None:
        """Have met no fault."""

    async def fetch(self, request: Request) -> Response:
        self.asked.append(request.url)
        return Response(request, Result.FETCHED, 200, head=HEAD, body=b"x" * 10)

    def lookup(self, host: str) -> Resolution:
        return Resolution("192.0.2.1", None, "", inf)

    def fetch_at(self, url: str, address: str) -> Any:
        return LIMITS

    def obeys_at(self, url: str) -> bool:
        return False


LIMITS = FetchLimits("agent", 1.0, 1.0, 1_000_000, 1)
SHOWN = Settings(browser_time=HANGS, browser_requests=10, browser_delay=1000.0, delay=1000.0)


def parts_of(net: Any, **rules: Any) -> PageParts:
    return PageParts(net, net, net, RLock(), crawl_rules(settings=SHOWN, **rules), "SCrawler", (1 << 20, 1000))


@pytest.mark.parametrize(("delay_per_ip", "pause"), [(0.0, 1000.0), (7000.0, 7000.0)])
def test_a_pause_for_each_address_holds_for_what_pages_ask_for(delay_per_ip: float, pause: float) -> None:
    net = Net()
    site = SiteContext(1, "example.org", 1, ExactSeen(MemoryBudget(1_000)), more_seeds=False)
    flight = RobotsFlight(site, Origin("http://example.org", "example.org"), PAGE)
    page = Request(PAGE, "192.0.2.1", flight, limits=LIMITS)

    async def asked() -> tuple[Given | None, float, float]:
        machine = parts_of(net, delay_per_ip=delay_per_ip)
        parts = machine.parts(Response(page, Result.FETCHED, 200, head=HEAD))
        server = machine.host("192.0.2.1")
        first = server.due - asyncio.get_running_loop().time()
        server.due = 0.0
        given = await parts.ask(Wanted(SCRIPT, "script", {}, no_cookies))
        return given, first, server.due - asyncio.get_running_loop().time()

    given, first, second = asyncio.run(asked())
    assert given is not None
    assert net.asked == [SCRIPT]
    for left in (first, second):
        assert pause / 2 < left <= pause


async def no_cookies(url: str) -> str:
    return ""


def test_what_a_page_asked_for_counts_among_the_requests() -> None:
    part = Response(Request(SCRIPT, "192.0.2.1"), Result.FETCHED, 200, body=b"123")
    made = Document(b"<p>made", PAGE)
    totals = Totals()
    page = Response(Request(PAGE, "192.0.2.1"), Result.FETCHED, 200, body=b"1234", document=made, further=(part, part))
    totals.count(page, well=True)
    assert (totals.requests, totals.pages, totals.bytes) == (3, 1, 10)
