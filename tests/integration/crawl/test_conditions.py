"""Servers that refuse conditional requests, or answer them by what is no answer, keep their pages in later rounds."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from scrawler.features.revisit.orders import begin_again
from scrawler.model.results import PageFlag, Result
from tests.consistency import check_records
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]
STATUSES = (400, 401, 403, 404, 405, 409, 410, 412, 418, 451, 500, 501, 502, 503, 504)
OTHER_TAG = b'HTTP/1.1 304 Not Modified\r\nETag: "other"\r\n\r\n'
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"
A_PART = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/9\r\nContent-Length: 1\r\n\r\n<"
HONEST = b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n'
REFUSALS: dict[str, bytes | None] = {
    **{f"/{status}": answer(b"no", f"{status} No") for status in STATUSES},
    "/other-tag": OTHER_TAG,
    "/204": NO_CONTENT,
    "/206": A_PART,
    "/cut": None,
}


class Refusing:
    """A site whose pages have ETags, and of which some refuse to be asked by them; it counts what it is asked for."""

    def __init__(self, refusals: dict[str, bytes | None], honest: int = 0) -> None:
        self.refusals = refusals
        self.pages = [*refusals, *(f"/honest{number}" for number in range(honest))]
        self.gone: set[str] = set()
        self.asked: Counter[tuple[str, bool]] = Counter()  # path, whether under a condition

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            path, is_conditional = path_of(head), b"If-None-Match: " in head
            self.asked[path, is_conditional] += 1
            if path in self.gone or (path != "/" and path not in self.pages):
                visit.send(NOT_FOUND)
            elif is_conditional and path in self.refusals:
                refusal = self.refusals[path]
                if refusal is None:
                    return
                visit.send(refusal)
            elif is_conditional:
                visit.send(HONEST)
            else:
                visit.send(page(path, 'ETag: "1"', links=tuple(self.pages)))

    def paths(self, is_conditional: bool) -> set[str]:
        return {path for path, conditional in self.asked if conditional is is_conditional} - {"/", "/robots.txt"}


def again(crawl: Crawl, number: int, **settings: object) -> dict[str, tuple[str, int, int]]:
    """Begin a round; return result, status, and flags of its visits, by path."""
    begin_again(crawl.settings(), [], 0.0, threading.Event())
    crawl.run(**settings)
    return {
        "/" + row.url.split("/", 3)[3]: (row.result, row.status, row.flags)
        for row in crawl.pages()
        if row.visit == number
    }


@pytest.mark.parametrize(
    "settings", [{"retries": 0}, {"downloader": "requests", "retries": 2}], ids=["curl", "classic"]
)
def test_a_page_is_as_it_was_where_only_the_condition_was_refused(
    crawl: Crawl, serve: Serve, settings: dict[str, object]
) -> None:
    site = Refusing(REFUSALS, honest=len(REFUSALS))
    crawl.add([serve(site).url()])
    crawl.run(**settings)
    site.asked.clear()
    found = again(crawl, 1, **settings)
    assert {path: found[path] for path in REFUSALS} == dict.fromkeys(REFUSALS, (Result.FETCHED, 200, 0))
    assert {result for path, (result, _, _) in found.items() if "honest" in path} <= {"not-modified", "fetched"}
    assert max(site.asked.values()) == 1, "once under the condition, once without"
    assert site.paths(True) <= {*site.pages}
    site.asked.clear()
    found = again(crawl, 2, **settings)
    assert {path: found[path] for path in REFUSALS} == dict.fromkeys(REFUSALS, (Result.FETCHED, 200, 0))
    assert not site.paths(True) & set(REFUSALS), "what refused a condition is not asked under one any more"
    assert max(site.asked.values()) == 1
    check_records(crawl.url, crawl.folder / "pages")


def test_a_site_that_refuses_all_conditions_is_asked_under_a_few(crawl: Crawl, serve: Serve) -> None:
    site = Refusing({f"/{number}": answer(b"no", "412 No") for number in range(20)})
    crawl.add([serve(site).url()])
    crawl.run(threads=1)
    site.asked.clear()
    again(crawl, 1, threads=1)
    # After five; without a pause the next one of each may be out before its refusal is read.
    assert 5 <= len(site.paths(True)) <= 11
    assert len(site.paths(False)) == 20
    site.asked.clear()
    again(crawl, 2, threads=1)
    assert not site.paths(True)


def test_what_the_second_answer_says_counts(crawl: Crawl, serve: Serve) -> None:
    site = Refusing({"/forbidden": answer(b"no", "403 No")}, honest=2)
    crawl.add([serve(site).url()])
    crawl.run()
    site.gone.add("/honest0")
    first = again(crawl, 1)["/honest0"]
    assert first[:2] == (Result.HTTP_ERROR, 404)
    assert (site.asked["/honest0", True], site.asked["/honest0", False]) == (1, 2)
    assert again(crawl, 2)["/honest0"] == (Result.HTTP_ERROR, 404, PageFlag.GONE)
    assert (site.asked["/honest0", True], site.asked["/honest0", False]) == (1, 3), "of what is gone there is no body"
    site.gone.clear()
    assert again(crawl, 3)["/honest0"] == (Result.FETCHED, 200, PageFlag.BACK)


def test_204_and_206_that_come_to_a_whole_request_are_no_new_body(crawl: Crawl, serve: Serve) -> None:
    site = Refusing({}, honest=2)
    replies: dict[str, bytes] = {}

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            links = tuple(site.pages)
            visit.send(replies.get(path) or (page(path, links=links) if path in ("/", *links) else NOT_FOUND))

    crawl.add([serve(script).url()])
    crawl.run()
    replies.update({"/honest0": NO_CONTENT, "/honest1": A_PART})
    found = again(crawl, 1)
    assert [found[path][1:] for path in replies] == [(204, 0), (206, 0)]
    replies.clear()
    assert {flags for _, _, flags in again(crawl, 2).values()} == {0}, "they are as they were"
