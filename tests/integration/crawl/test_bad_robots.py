"""What robots.txt files do to crawls when they are missing, broken, endless, elsewhere or hostile."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import (
    GOOD_PAGES,
    Reply,
    asked,
    by_path,
    end_details,
    good,
    page,
    redirect,
    run_whole,
)
from tests.integration.fetch.servers import RawServer, Visit, answer

Serve = Callable[..., RawServer]

ALLOWED = EndReason.COMPLETED, {"/": Result.FETCHED, "/open": Result.FETCHED, "/closed": Result.FETCHED}
RULES = EndReason.COMPLETED, {"/": Result.FETCHED, "/open": Result.FETCHED, "/closed": Result.ROBOTS_DENIED}
DENIED = EndReason.ROBOTS_DENIED, {"/": Result.ROBOTS_DENIED}
UNAVAILABLE = EndReason.ROBOTS_UNAVAILABLE, {"/": Result.ROBOTS_UNAVAILABLE}
SILENT = EndReason.DEAD, {"/": Result.TIMEOUT}
CUT = EndReason.DEAD, {"/": Result.CUT}
NOT_HTTP = EndReason.DEAD, {"/": Result.BAD_ANSWER}

CLOSED = b"User-agent: *\nDisallow: /closed\n"
Expected = tuple[EndReason, dict[str, Result]]


def endless(visit: Visit) -> None:
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + CLOSED)
    while not visit.stopping.is_set():
        visit.send(b"# and so on\n" * 1000)


LARGE = CLOSED + b"# and so on\n" * 50_000 + b"Disallow: /open\n"

CASES: dict[str, tuple[Reply, Expected]] = {
    "missing": (answer(b"", "404 Not Found"), ALLOWED),
    "rules": (answer(CLOSED), RULES),
    "forbids-all": (answer(b"User-agent: *\nDisallow: /\n"), DENIED),
    "server-error": (answer(b"", "500 Oops"), UNAVAILABLE),
    "cut": (lambda visit: visit.send(answer(CLOSED)[:-5]), CUT),
    "not-http": (lambda visit: visit.send(b"\x00\xff" * 100), NOT_HTTP),
    "endless": (endless, RULES),
    "gzip-bomb": (answer(gzip.compress(CLOSED + b"#" * 50_000_000, 1), "200 OK", "Content-Encoding: gzip"), RULES),
    "large": (answer(LARGE), RULES),
    "large-gzip": (answer(gzip.compress(LARGE), "200 OK", "Content-Encoding: gzip"), RULES),
    "gzip-unsaid": (answer(gzip.compress(CLOSED)), RULES),
    "gzip-said-but-not-done": (answer(CLOSED, "200 OK", "Content-Encoding: gzip"), RULES),
    "gzip-said-and-no-line-end": (answer(CLOSED.strip(), "200 OK", "Content-Encoding: gzip"), RULES),
    "gzip-said-twice": (
        answer(gzip.compress(CLOSED), "200 OK", "Content-Encoding: gzip", "Content-Encoding: gzip"), RULES
    ),
    "gzip-said-to-be-deflate": (answer(gzip.compress(CLOSED), "200 OK", "Content-Encoding: deflate"), RULES),
    "neither-text-nor-gzip": (answer(bytes(range(256)), "200 OK", "Content-Encoding: gzip"), UNAVAILABLE),
    "utf-16": (answer(CLOSED.decode().encode("utf-16")), RULES),
    "binary": (answer(bytes(range(256)) * 100), ALLOWED),
    "html": (page("<h1>Not here</h1>"), ALLOWED),
    "moved-inside": (redirect("/robots-2.txt"), RULES),
    "moved-and-said-twice": (
        answer(b"", "302 Found", "Location: /robots-2.txt", "Location: /robots-2.txt"), RULES
    ),
    "moved-5-times": (redirect("/5"), RULES),
    "moved-6-times": (redirect("/6"), ALLOWED),
    "moved-in-a-loop": (redirect("/robots.txt"), ALLOWED),
    "moved-without-location": (answer(b"", "301 Moved"), ALLOWED),
    "moved-to-nonsense": (redirect("http://["), ALLOWED),
    "moved-to-a-file": (redirect("file:///etc/passwd"), ALLOWED),
    "moved-to-other-letters": (redirect("/rob\xf6ts 3.txt"), RULES),
    "moved-to-forbidden-address": (redirect("http://169.254.169.254/robots.txt"), UNAVAILABLE),
    "moved-to-no-address": (redirect("http://nosuch.invalid/robots.txt"), UNAVAILABLE),
}  # fmt: skip


def site(robots: Reply) -> dict[str, Reply]:
    return {
        "/robots.txt": robots,
        "/robots-2.txt": redirect("/robots-3.txt"),
        "/robots-3.txt": answer(CLOSED),
        **{f"/{left}": redirect(f"/{left - 1}") for left in range(3, 7)},
        "/2": redirect("/robots-3.txt"),
        "/rob%C3%B6ts%203.txt": answer(CLOSED),
        "/": page(links=("/open", "/closed")),
        "/open": page("open"),
        "/closed": page("closed"),
    }


def outcomes(crawl: Crawl, servers: dict[str, RawServer]) -> dict[str, Expected]:
    """Why each server's seed ended, and what its pages came to."""
    found: dict[str, Expected] = {}
    for name, server in servers.items():
        rows = {row.url.removeprefix(server.url()[:-1]): Result(row.result) for row in crawl.pages()
                if row.url.startswith(server.url())}  # fmt: skip
        reason = crawl.seed(server.url()).end_reason
        assert reason is not None
        found[name] = reason, rows
    return found


def test_each_robots_txt_has_its_own_outcome(crawl: Crawl, serve: Serve) -> None:
    servers = {name: serve(by_path(site(reply))) for name, (reply, _) in CASES.items()}
    fine = serve(good("fine"))
    crawl.add([fine.url(), *(server.url() for server in servers.values())])
    run_whole(crawl, threads=2, seeds_per_thread=20)
    assert outcomes(crawl, servers) == {name: expected for name, (_, expected) in CASES.items()}
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES


def test_a_site_whose_robots_txt_never_comes_is_dead(crawl: Crawl, serve: Serve) -> None:
    servers = {"silent": serve(by_path(site(Visit.hang)))}
    crawl.add([servers["silent"].url()])
    run_whole(crawl, timeout=0.5)
    assert outcomes(crawl, servers) == {"silent": SILENT}


def test_a_seed_without_robots_txt_says_why(crawl: Crawl, serve: Serve) -> None:
    broken = serve(by_path(site(answer(b"", "500 Oops"))))
    gone = serve(good("gone"))
    gone.stop()
    crawl.add([broken.url(), gone.url()])
    run_whole(crawl)
    details = end_details(crawl)
    rows = {row.url: row.detail for row in crawl.pages()}
    assert details == rows | {gone.url(): f"connection-refused: {rows[gone.url()]}"}
    assert details[broken.url()] == "robots.txt: HTTP status 500"
    assert rows[gone.url()].startswith("robots.txt: ")
    assert "connect" in details[gone.url()].lower()
    assert crawl.seed(gone.url()).end_reason is EndReason.DEAD
    assert asked(broken) == {"/robots.txt": 3}, "a robots.txt is tried again like a page"


@pytest.mark.parametrize("slash", ["/robots.txt", ""])
def test_a_robots_txt_on_another_host_holds_for_the_first(crawl: Crawl, serve: Serve, slash: str) -> None:
    there = serve(by_path({"/robots.txt": answer(CLOSED), "/": answer(CLOSED)}))
    here = serve(by_path(site(redirect(there.url(host="other.example").removesuffix("/") + slash))))
    crawl.add([here.url()])
    run_whole(crawl, resolve=("other.example=127.0.0.1",))
    assert {row.url.removeprefix(here.url()): row.result for row in crawl.pages()} == {
        "": Result.FETCHED,
        "open": Result.FETCHED,
        "closed": Result.ROBOTS_DENIED,
    }
    assert sum(asked(there).values()) == 1


def test_a_refused_page_says_by_which_line(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path(site(answer(CLOSED))))
    crawl.add([server.url()])
    run_whole(crawl)
    details = {row.url.removeprefix(server.url()): row.detail for row in crawl.pages()}
    assert details == {"": "", "open": "", "closed": "Disallow: /closed (line 2, group *)"}
