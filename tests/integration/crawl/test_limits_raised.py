"""Seeds that ended by a limit go on when it is raised, and fetch what a crawl without the limit fetches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from scrawler.app import retry_seeds
from scrawler.model.seeds import EndReason
from tests.integration.crawl.hostile import asked, by_path, page, run_whole
from tests.integration.fetch.servers import RawServer

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

# Four levels: /, /a0 .. /a3, /a0/b0 ..., /a0/b0/c; with menus, as sites have them.
PATHS = ["/", *(f"/a{a}" for a in range(4)), *(f"/a{a}/b{b}" for a in range(4) for b in range(3))]
PATHS += [f"/a{a}/b{b}/c" for a in range(4) for b in range(3)]


def reply(path: str) -> bytes:
    below = [one for one in PATHS if one != "/" and one.rpartition("/")[0] == path.rstrip("/")]
    return page(f"page {path}", links=("/", *below))


def retry(crawl: Crawl, reason: EndReason) -> list[str]:
    said: list[str] = []
    retry_seeds(crawl.settings(), [reason], threading.Event(), said.append)
    return said


@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        (EndReason.MAX_PAGES, {"max_pages": 7}),
        (EndReason.MAX_BYTES, {"max_bytes": 400}),
        (EndReason.MAX_DEPTH, {"max_depth": 1}),
    ],
)
def test_a_seed_goes_on_where_a_limit_has_ended_it(
    crawl: Crawl, serve: Serve, reason: EndReason, limit: dict[str, int]
) -> None:
    server = serve(by_path({path: reply(path) for path in PATHS}))
    crawl.add([server.url()])
    run_whole(crawl, **limit)
    assert crawl.seed(server.url()).end_reason is reason
    before = len(crawl.fetched())
    assert before < len(PATHS)
    # While the limit is the same, it ends so again, and nothing is fetched twice but what has to be read again.
    assert retry(crawl, reason) == ["seeds taken up again: 1"]
    run_whole(crawl, **limit)
    assert crawl.seed(server.url()).end_reason is reason
    assert len(crawl.fetched()) == before
    retry(crawl, reason)
    run_whole(crawl)
    assert crawl.fetched() == {server.url(path) for path in PATHS}
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    most = 3 if reason is EndReason.MAX_DEPTH else 1  # the deepest pages were read again, by each of the two orders
    assert max(times for path, times in asked(server).items() if path != "/robots.txt") == most


def test_a_skipped_seed_is_not_taken_up_again(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path({path: reply(path) for path in PATHS}))
    crawl.add([server.url()])
    run_whole(crawl, max_pages=3)
    with crawl.opened() as opened:
        opened.skip(server.url())
    assert retry(crawl, EndReason.MAX_PAGES) == ["seeds taken up again: 0"]
    with crawl.opened() as opened:
        opened.unskip(server.url())
    assert retry(crawl, EndReason.MAX_PAGES) == ["seeds taken up again: 1"]


def test_a_skip_in_the_midst_of_a_party_costs_nothing_of_it(crawl: Crawl, serve: Serve) -> None:
    """One that was stopped is skipped: the next run leaves it alone, and the one after that goes on where it was."""
    server = serve(by_path({path: reply(path) for path in PATHS}))
    crawl.add([server.url()])
    run_whole(crawl, max_pages=5)
    retry(crawl, EndReason.MAX_PAGES)  # it is active now, with a list that is not at its end
    with crawl.opened() as opened:
        opened.skip(server.url())
    run_whole(crawl)
    assert len(crawl.fetched()) == 5
    assert crawl.seed(server.url()).end_reason is EndReason.SKIPPED
    with crawl.opened() as opened:
        opened.unskip(server.url())
    run_whole(crawl)
    assert crawl.fetched() == {server.url(path) for path in PATHS}
    assert max(asked(server).values()) <= 3  # robots.txt by each run
