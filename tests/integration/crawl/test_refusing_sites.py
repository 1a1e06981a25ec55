"""Sites that begin to refuse: they rest, are tried again, and end as pushed-back; sites that only seem to do so."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from scrawler.app import retry_seeds
from scrawler.features.revisit.orders import begin_again
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, asked, end_details, page, run_whole
from tests.integration.crawl.rig import running, watch
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of
from tests.limits import HANGS
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    from scrawler.core.machine.machine import Machine

Serve = Callable[..., RawServer]

LETTERS = "abcdefghij"
REST = 0.005  # seconds of the first rest, which is doubled each time: walls here last for a dozen requests
AS_A_COMMAND = ("--checkpoint-interval", "0.1", "--retry-pause", str(REST))
PATHS = tuple(f"/{one}{two}" for one in LETTERS for two in LETTERS)
PAGES = {"/": page("home", links=PATHS)} | {
    path: page(f"<p>All about {path[1] * 9} and {path[2] * 7}") for path in PATHS
}
FORBIDDEN = answer(b"you have been blocked", "403 Forbidden", "Content-Type: text/html")
WALL = page("<title>Just a moment...</title><p>checking your browser " + "- " * 200)


class Wall:
    """A site that gives its pages until so many requests have come, and then one answer, until it is torn down."""

    def __init__(self, reply: bytes, after: int, lasts: float = float("inf")) -> None:
        self.reply = reply
        self.after = after
        self.lasts = lasts
        self.seen = 0

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            visit.send(self.says(path_of(head)))

    def says(self, path: str) -> bytes:
        """Return the answer to one request."""
        if path == "/robots.txt":
            return NOT_FOUND
        self.seen += 1
        shut = self.after < self.seen <= self.after + self.lasts
        return self.reply if shut else PAGES.get(path, NOT_FOUND)


def lengths_of(crawl: Crawl) -> dict[str, int]:
    return {row.url: row.length for row in crawl.pages()}


def lengths_at(server: RawServer) -> dict[str, int]:
    return {server.url(path): len(reply.partition(b"\r\n\r\n")[2]) for path, reply in PAGES.items()}


def all_pages(crawl: Crawl, server: RawServer) -> bool:
    """Whether each page was archived as what it is."""
    return lengths_of(crawl) == lengths_at(server)


@pytest.mark.parametrize("status", ["401 No", "403 Forbidden", "406 No", "418 Teapot", "451 No", "999 Denied"])
def test_a_site_that_shuts_the_crawler_out_ends_as_pushed_back(crawl: Crawl, serve: Serve, status: str) -> None:
    wall = Wall(answer(b"blocked", status, "Content-Type: text/html"), 40)
    server = serve(wall)
    crawl.add([server.url()])
    run_whole(crawl)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.http_errors) == (EndReason.PUSHED_BACK, 40, 0)
    assert wall.seen <= 60
    assert end_details(crawl)[server.url()].startswith(f"HTTP status {status[:3]} (8 times in a row)")
    wall.after = 1_000
    retry_seeds(crawl.settings(), {EndReason.PUSHED_BACK}, threading.Event())
    run_whole(crawl)
    seed = crawl.seed(server.url())
    assert seed.end_reason is EndReason.COMPLETED
    assert all_pages(crawl, server)


def test_the_end_of_a_site_counts_its_refusals_of_all_kinds(crawl: Crawl, serve: Serve) -> None:
    """Where it has asked for time before, one page that is forbidden is enough to look whether it refuses all."""
    wall, busy = Wall(FORBIDDEN, 40), answer(b"later", "429 Too Many Requests", "Content-Type: text/plain")

    def site(visit: Visit) -> None:
        while head := visit.request():
            said = wall.says(path_of(head))
            visit.send(busy if said is FORBIDDEN and wall.seen <= 44 else said)

    server = serve(site)
    crawl.add([server.url()])
    run_whole(crawl, max_pushbacks=8, retry_pause=REST)
    assert end_details(crawl)[server.url()].startswith("HTTP status 403 (5 times in a row), and for ")


@pytest.mark.parametrize("per_site", [1, 4])
def test_a_site_that_serves_again_after_a_rest_loses_no_page(crawl: Crawl, serve: Serve, per_site: int) -> None:
    server = serve(Wall(FORBIDDEN, 40, 14))
    crawl.add([server.url()])
    run_whole(crawl, per_site=per_site, max_pushbacks=20, retry_pause=REST)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert all_pages(crawl, server)


def test_one_page_for_all_urls_is_a_refusal(crawl: Crawl, serve: Serve) -> None:
    wall = Wall(WALL, 40)
    server = serve(wall)
    crawl.add([server.url()])
    run_whole(crawl)
    assert crawl.seed(server.url()).end_reason is EndReason.PUSHED_BACK
    assert wall.seen <= 60
    assert end_details(crawl)[server.url()].startswith("one page for all URLs (sha1:")
    wall.after = 1_000
    retry_seeds(crawl.settings(), {EndReason.PUSHED_BACK}, threading.Event())
    run_whole(crawl)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert all_pages(crawl, server)


def test_one_page_for_all_urls_from_the_start_is_no_refusal(crawl: Crawl, serve: Serve) -> None:
    """So answer sites whose pages a script makes in the browser; here the shell has links."""
    shell = page("shell", links=PATHS[:30])
    server = serve(lambda visit: give(visit, {"/": shell} | dict.fromkeys(PATHS, shell)))
    crawl.add([server.url()])
    run_whole(crawl, traps=False)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.pushed_back) == (EndReason.COMPLETED, 31, 0)
    assert max(asked(server).values()) == 1


def test_a_folder_for_members_is_no_refusal(crawl: Crawl, serve: Serve) -> None:
    """A hundred pages in a row are forbidden, and so is a wall that says of a hundred that they are not there."""
    members = tuple(f"/members/{path[1:]}" for path in PATHS)
    missing = tuple(f"/missing/{path[1:]}" for path in PATHS)
    replies = {
        "/": page("home", links=("/about", *members, *missing, "/end")),
        "/about": page("about"),
        "/end": page("end"),
    }
    replies |= dict.fromkeys(members, FORBIDDEN) | dict.fromkeys(missing, page("<p>nothing was found " + "- " * 99))

    def script(visit: Visit) -> None:
        while head := visit.request():
            visit.send(replies.get(path_of(head), NOT_FOUND))

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.http_errors, seed.counts.pushed_back) == (EndReason.COMPLETED, 100, 0)
    times = asked(server)
    assert {times[path] for path in members} == {1}
    assert times["/about"] <= 12
    assert times["/end"] == 1


def test_a_site_that_is_forbidden_from_the_start_ends_as_before(crawl: Crawl, serve: Serve) -> None:
    server = serve(Wall(FORBIDDEN, 0))
    crawl.add([server.url()])
    run_whole(crawl)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.requests) == (EndReason.HTTP_ERROR, 1)


@pytest.mark.parametrize("reply", [FORBIDDEN, WALL], ids=["403", "wall"])
def test_a_site_that_is_wanted_elsewhere_goes_in_the_midst_of_a_row(crawl: Crawl, serve: Serve, reply: bytes) -> None:
    """Another machine is to have it while answers are held and one is on its way; the same one takes it up again.

    It refuses all until a page that it has given before was asked for again, whenever that is.
    """
    wall = Wall(reply, 40)
    is_going = threading.Event()

    def script(visit: Visit) -> None:
        while head := visit.request():
            if wall.seen == wall.after + 4:
                is_going.wait(HANGS)
            path = path_of(head)
            visit.send(wall.says(path))
            if wall.seen > wall.after and path in PATHS[:30]:
                wall.lasts = 0

    def look(machine: Machine) -> None:
        if not is_going.is_set() and any(len(site.held) > 2 for site in machine.crew.held_sites()):
            machine.crew.keep_at_most(machine.checkpointer.submit, machine.sharing.budget, 0)
            is_going.set()

    server = serve(script)
    crawl.add([server.url()])
    stop = threading.Event()
    hangs = threading.Timer(HANGS, stop.set)
    hangs.start()
    watched = watch(crawl.settings(), look, stop)
    hangs.cancel()
    assert watched.ended, "it was never given back"
    assert is_going.is_set()
    crawl.check()
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.pages, seed.counts.http_errors) == (EndReason.COMPLETED, len(PAGES), 0)
    walls = sum(row.length == len(WALL.partition(b"\r\n\r\n")[2]) for row in crawl.pages())
    assert walls <= 1, "the first one says nothing yet"


@pytest.mark.parametrize("reply", [FORBIDDEN, WALL], ids=["403", "wall"])
def test_a_list_that_ends_in_the_midst_of_a_row(crawl: Crawl, serve: Serve, reply: bytes) -> None:
    """The last five are refused: by the site, so that they are asked for again, or because they are for members."""
    last = set(PATHS[-5:])
    server = serve(Wall(reply, len(PAGES) - 5, 8))
    own = serve(lambda visit: give(visit, PAGES | dict.fromkeys(last, reply)))
    crawl.add([server.url(), own.url()])
    run_whole(crawl, max_pushbacks=9, retry_pause=REST)
    ends = [crawl.seed(one.url()) for one in (server, own)]
    errors = 5 if reply is FORBIDDEN else 0
    assert [(seed.end_reason, seed.counts.http_errors) for seed in ends] == [
        (EndReason.COMPLETED, 0),
        (EndReason.COMPLETED, errors),
    ]
    lengths, right = lengths_of(crawl), lengths_at(server)
    assert {url: lengths[url] for url in right} == right
    assert [lengths[own.url(path)] for path in sorted(last)] == [len(reply.partition(b"\r\n\r\n")[2])] * 5


def give(visit: Visit, replies: dict[str, bytes]) -> None:
    while head := visit.request():
        visit.send(replies.get(path_of(head), NOT_FOUND))


@pytest.mark.parametrize("reply", [FORBIDDEN, WALL], ids=["403", "wall"])
def test_a_round_in_which_a_site_refuses_changes_nothing_of_its_pages(crawl: Crawl, serve: Serve, reply: bytes) -> None:
    """It refuses from the first request of its second round on."""
    wall = Wall(reply, 1_000)
    server = serve(wall)
    crawl.add([server.url()])
    run_whole(crawl)
    wall.after = wall.seen
    begin_again(crawl.settings(), (), 0.0, threading.Event())
    crawl.run()
    assert crawl.seed(server.url()).end_reason is EndReason.PUSHED_BACK
    visited = [row for row in crawl.pages() if row.visit]
    assert len(visited) <= 2
    assert wall.seen - wall.after <= 20


@pytest.mark.parametrize("kind", ["wall", "redirect"])
def test_a_wall_that_is_met_in_a_round_is_known_after_a_kill(crawl: Crawl, serve: Serve, kind: str) -> None:
    wall = Wall(b"", 1_000, 0)
    processes: list[subprocess.Popen[str]] = []

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            number = wall.seen + 1 - wall.after
            if processes and number == 4:
                wait_for(lambda: sum(row.visit for row in crawl.pages()) >= 2, HANGS, "two visits are durable")
            if processes and number == 12:
                processes.pop().send_signal(signal.SIGKILL)
            visit.send(wall.says(path) or as_wall(kind, path, wall.seen))

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl)
    wall.after, wall.lasts = wall.seen + 1, 25
    begin_again(crawl.settings(), (), 0.0, threading.Event())
    with running(crawl, "--checkpoint-interval", "0.1", "--retry-pause", "1") as process:
        processes.append(process)
        process.wait(HANGS)
    crawl.run(max_pushbacks=50)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert wall.seen > wall.after + wall.lasts
    last = {row.url: row.length for row in sorted(crawl.pages(), key=lambda row: row.visit) if "login" not in row.url}
    assert last == lengths_at(server)


def test_a_limit_without_retry_after_is_met_a_few_times(crawl: Crawl, serve: Serve) -> None:
    """A bucket of tokens that are counted, not timed: each answer of 429 fills it, and each page takes one."""
    left = [10]

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            left[0] -= 1
            if left[0] < 0 and path != "/robots.txt":
                left[0] = 10
                visit.send(answer(b"slow down", "429 Too Many"))
            else:
                visit.send(PAGES.get(path, NOT_FOUND))

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert all_pages(crawl, server)


@pytest.mark.parametrize("lasts", [12, 1_000])
def test_a_site_that_cuts_connections_is_asked_again_after_a_rest(crawl: Crawl, serve: Serve, lasts: int) -> None:
    """It is no dead one: it was well, and it is there. The run says how many such seeds there are, by kind."""
    wall = Wall(b"", 40, lasts)

    def script(visit: Visit) -> None:
        while head := visit.request():
            reply = wall.says(path_of(head))
            if not reply:
                return
            visit.send(reply)

    server = serve(script)
    crawl.add([server.url()])
    summary = run_whole(crawl, max_pushbacks=5 if lasts > 100 else 50, retry_pause=REST)
    seed = crawl.seed(server.url())
    assert seed.counts.failures == 0
    if lasts < 100:
        assert seed.end_reason is EndReason.COMPLETED
        assert summary.pushed_back == {}
    else:
        assert seed.end_reason is EndReason.PUSHED_BACK
        assert end_details(crawl)[server.url()].startswith("connections cut, and for ")
        assert summary.pushed_back == {"connections cut": 1}
        assert wall.seen <= 60
        wall.after = 1_000
        retry_seeds(crawl.settings(), {EndReason.PUSHED_BACK}, threading.Event())
        run_whole(crawl)
    assert all_pages(crawl, server)


def test_a_page_that_cuts_its_connection_is_no_refusal(crawl: Crawl, serve: Serve) -> None:
    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path in PATHS[50:54]:
                return
            visit.send(PAGES.get(path, NOT_FOUND))

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl, retries=1)
    seed = crawl.seed(server.url())
    assert (seed.end_reason, seed.counts.failures) == (EndReason.COMPLETED, 4)
    assert seed.counts.pages == len(PAGES) - 4


@pytest.mark.parametrize("kind", ["redirect", "empty", "wall"])
def test_the_first_page_of_a_wall_is_asked_for_again_as_well(crawl: Crawl, serve: Serve, kind: str) -> None:
    """A wall may be one page for all URLs with a number of its own in each, an empty page, or one target."""
    wall = Wall(b"", 40, 12)

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            visit.send(wall.says(path) or as_wall(kind, path, wall.seen))

    server = serve(script)
    crawl.add([server.url()])
    run_whole(crawl, max_pushbacks=50, retry_pause=REST)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert {url: length for url, length in lengths_of(crawl).items() if "login" not in url} == lengths_at(server)
    crawl.check()


@pytest.mark.parametrize(("kind", "killed_at"), [("wall", 3), ("wall", 10), ("redirect", 10), ("empty", 10)])
def test_a_wall_is_known_for_one_after_a_kill(crawl: Crawl, serve: Serve, kind: str, killed_at: int) -> None:
    """Its first page stands in the database by then. Who takes the site up takes none of its pages for a good one."""
    wall = Wall(b"", 40, killed_at + 12)
    processes: list[subprocess.Popen[str]] = []

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            reply = wall.says(path)
            number = wall.seen - wall.after
            if processes and number == 2:  # what came before is committed
                wait_for(lambda: len(crawl.pages()) == 41, HANGS, "the first page of the wall is durable")
            if processes and number == killed_at:
                processes.pop().send_signal(signal.SIGKILL)
            visit.send(reply or as_wall(kind, path, number))

    server = serve(script)
    crawl.add([server.url()])
    with running(crawl, *AS_A_COMMAND) as process:
        processes.append(process)
        process.wait(HANGS)
    assert not all_pages(crawl, server)
    run_whole(crawl, max_pushbacks=50, retry_pause=REST)
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED
    assert wall.seen > wall.after + wall.lasts
    assert {url: length for url, length in lengths_of(crawl).items() if "login" not in url} == lengths_at(server)


def as_wall(kind: str, path: str, number: int) -> bytes:
    if kind == "redirect":
        return answer(b"", "302 Found", f"Location: /login?next={path}")
    if kind == "wall":
        return page(f"<title>Just a moment...</title><p>checking {number:016x} " + "- " * 200)
    return answer(b"", "200 OK", "Content-Type: text/html")
