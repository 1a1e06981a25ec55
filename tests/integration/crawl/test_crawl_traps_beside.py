"""Both sides of the rule of traps in one crawl: lists of real pages are fetched whole, endless spaces end.

`python -m experiments.traps` crawls many more of either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from scrawler.synthweb.process import WebProcess
from scrawler.synthweb.traps.server import TrapWeb

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

BEYOND = 300  # pages that an endless site may cost beside its real ones
HONEST = ("prices-index", "prices-pages", "films", "chain", "weather", "alike", "named-alike")
ENDLESS = ("same", "markov", "facets-path", "random-images", "mixed", "calendar-days")


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
