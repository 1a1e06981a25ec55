"""Seeds that ended by a limit go on when it is raised, and fetch what a crawl without the limit fetches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from scrawler.app import retry_seeds
from scrawler.model.seeds import EndReason
from scrawler.store.lists.retries import RETRYABLE
from tests.integration.crawl.hostile import NOT_FOUND, asked, by_path, page, run_whole
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of

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


@pytest.mark.parametrize("trouble", ["down", "private", "503"])
def test_pages_that_cannot_be_read_again_stay_what_they_are(crawl_on_both: Crawl, serve: Serve, trouble: str) -> None:
    """Their links are missing still, and the seed can be taken up again."""
    crawl, is_up = crawl_on_both, threading.Event()
    is_up.set()

    def script(visit: Visit) -> None:
        while head := visit.request():
            if not is_up.is_set() and trouble == "down":
                return
            busy = not is_up.is_set() and path_of(head) != "/robots.txt"
            whole = NOT_FOUND if path_of(head) not in PATHS else reply(path_of(head))
            visit.send(answer(b"", "503 Busy", "Retry-After: 0") if busy else whole)

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl, max_depth=1)
    before = crawl.pages()
    counts = crawl.seed(server.url()).counts
    retry(crawl, EndReason.MAX_DEPTH)
    if trouble != "private":
        is_up.clear()
    run_whole(crawl, allow_private=trouble != "private", retries=1, max_pushbacks=2)
    assert crawl.pages() == before, "rows and records are those of the good visits"
    seed = crawl.seed(server.url())
    assert seed.end_reason in RETRYABLE
    assert (seed.counts.pages, seed.counts.failures) == (counts.pages, counts.failures)
    is_up.set()
    for reason in (seed.end_reason, EndReason.MAX_DEPTH):
        retry(crawl, reason)
        run_whole(crawl)
    assert crawl.fetched() == {server.url(path) for path in PATHS}
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert crawl.pages()[: len(before)] == before
    crawl.check()


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
