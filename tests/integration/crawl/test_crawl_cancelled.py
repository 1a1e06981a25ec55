"""A request that is given up was a request: its site rests before anybody asks it again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.integration.fetch.servers import RawServer, Visit, answer

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

DELAY, CLOCK = 1.5, 0.02  # seconds


def test_a_site_rests_after_a_request_that_was_given_up(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    asked_at: list[float] = []
    stop = threading.Event()

    def script(visit: Visit) -> None:
        while head := visit.request():
            asked_at.append(time.monotonic())
            if b"/robots.txt" in head:
                visit.send(answer(b"", "404 Not Found"))
                continue
            if len(asked_at) == 2:
                stop.set()
                visit.hang()
            visit.send(answer(b"<p>here</p>", "200 OK", "Content-Type: text/html"))

    url = serve(script).url()
    crawl.add([url])
    assert crawl.run(stop=stop, delay=DELAY, stop_timeout=0).outcome == "stopped"
    assert crawl.run(delay=DELAY).outcome == "ended"
    assert crawl.fetched() == {url}
    pauses = [later - earlier for earlier, later in pairwise(asked_at)]
    assert len(pauses) == 2, "robots.txt once, the page twice"
    assert min(pauses) > DELAY - CLOCK
