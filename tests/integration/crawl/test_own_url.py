"""What became of a seed's own URL takes effect also where a stop, or a kill, comes before it could."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from scrawler.core.machine.machine import Machine
from scrawler.model.seeds import EndReason, SeedState
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import (
    LONGEST_RUN,
    NOT_FOUND,
    RESOLVE,
    asked,
    by_path,
    end_details,
    page,
    redirect,
    run_whole,
)
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer, Visit

Serve = Callable[..., RawServer]

WRONG = {
    "not-there": ({"/": NOT_FOUND}, EndReason.HTTP_ERROR),
    "to-itself": ({"/": redirect("/")}, EndReason.REDIRECTED),
    "loop": ({"/": redirect("/a"), "/a": redirect("/")}, EndReason.REDIRECTED),
    "to-nothing": ({"/": redirect("file:///etc/passwd")}, EndReason.REDIRECTED),
    "chain": (  # longer than twenty redirects in a row
        {"/": redirect("/1")} | {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 21)},
        EndReason.REDIRECTED,
    ),
    "redirect-to-no-page": ({"/": redirect("/a"), "/a": NOT_FOUND}, EndReason.HTTP_ERROR),
}


def run_until_asked(crawl: Crawl, server: RawServer, replies: dict[str, bytes], path: str) -> None:
    """Crawl until a path is asked for; its answer comes when the machine is stopping: it is taken, and no more done."""
    asked_for, stopped = threading.Event(), threading.Event()

    def answer_late(visit: Visit) -> None:
        asked_for.set()
        assert stopped.wait(LONGEST_RUN)
        visit.send(replies[path])

    def look(machine: Machine) -> None:
        if asked_for.is_set():
            machine.ending.stop()
            stopped.set()

    server.script = by_path(replies | {path: answer_late})
    watch(crawl.settings(threads=1, resolve=RESOLVE), look)
    assert SeedState.ACTIVE in {seed.state for seed in crawl.seeds()}
    server.script = by_path(replies)


@pytest.mark.parametrize("path", ["/", "/hop"])
def test_a_seed_that_was_about_to_move_moves(crawl_on_both: Crawl, serve: Serve, path: str) -> None:
    crawl, server = crawl_on_both, serve(by_path({}))
    there = "/" + "x" * 1_500  # longer than other details of a row
    seed, home, one = server.url(host="a.example"), *(server.url(to, "b.example") for to in (there, "/1"))
    replies = {"/": redirect("/hop"), "/hop": redirect(home), there: page(links=("/1",)), "/1": page("one")}
    crawl.add([seed])
    run_until_asked(crawl, server, replies, path)
    run_whole(crawl, resolve=RESOLVE)
    moved = crawl.seed(seed)
    assert (moved.end_reason, moved.home_url, moved.rehomed) == (EndReason.COMPLETED, home, 2)
    assert crawl.fetched() == {home, one}
    assert asked(server)[path] == 1


@pytest.mark.parametrize("name", WRONG)
def test_a_seed_that_was_about_to_end_has_the_same_end(crawl: Crawl, serve: Serve, name: str) -> None:
    replies, reason = WRONG[name]
    server = serve(by_path(replies))
    crawl.add([server.url()])
    run_whole(crawl)
    whole, words = crawl.seed(server.url()), end_details(crawl)
    assert whole.end_reason is reason
    paths = list(replies)  # of a long chain those at its start, in its middle and at its end
    for path in dict.fromkeys((*paths[:2], *paths[10:11], *paths[-2:])):
        folder = crawl.folder / f"stopped{path.replace('/', '-')}"
        folder.mkdir()
        again = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
        again.add([server.url()])
        run_until_asked(again, server, replies, path)
        run_whole(again)
        ended = again.seed(server.url())
        assert (ended.end_reason, ended.counts.requests) == (reason, whole.counts.requests)
        assert end_details(again) == words


def test_what_was_decided_long_ago_is_not_decided_again(crawl: Crawl, serve: Serve) -> None:
    """The seed's redirect was listed in a spelling that the next run does not use any more."""
    links = tuple(f"/{n}" for n in range(1, 5))
    replies = {"/": redirect("/in?PHPSESSID=0123456789abcdef0123456789abcdef"), "/in": page(links=links)}
    replies |= {link: page(link) for link in links}
    server = serve(by_path(replies))
    crawl.add([server.url()])
    run_until_asked(crawl, server, replies, "/1")
    run_whole(crawl, normalise=[])
    (seed,) = crawl.seeds()
    assert (seed.end_reason, seed.counts.pages) == (EndReason.COMPLETED, 5)
    assert max(asked(server).values()) == 1


def test_a_seed_that_was_about_to_be_covered_is(crawl: Crawl, serve: Serve) -> None:
    links = tuple(f"/{n}" for n in range(5))
    replies = {"/": page(links=("/there", *links)), "/there": page("there"), "/first": redirect("/there")}
    replies |= {link: page(link) for link in links}
    server = serve(by_path(replies))
    crawl.add([server.url()])
    run_until_asked(crawl, server, replies, "/there")  # so it is listed before the other seed is asked for
    crawl.add([server.url("/first")])
    run_until_asked(crawl, server, replies, "/first")
    run_whole(crawl)
    assert crawl.seed(server.url("/first")).end_reason is EndReason.COVERED
    assert max(asked(server).values()) == 1
