"""Servers that fail for a while, limits that cut parties short, and links to a site by its address."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import GOOD_PAGES, asked, by_path, good, page, redirect, run_whole
from tests.integration.fetch.servers import RawServer, Script, Visit, answer, path_of
from tests.limits import HANGS

Serve = Callable[..., RawServer]

BUSY = answer(b"later", "503 Busy")
OOPS = answer(b"oops", "500 Oops")


def after(failures: int, failure: bytes, reply: bytes) -> Callable[[Visit], None]:
    """Fail so often, then answer; a connection lasts for one answer, and says so: else the next request may be cut."""
    left = iter([failure] * failures)
    return lambda visit: visit.send(next(left, reply).replace(b"\r\n", b"\r\nConnection: close\r\n", 1))


def test_what_fails_for_a_while_is_tried_again(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path({
        "/": after(2, BUSY, page(links=("/cut", "/never", "/once"))),
        "/cut": after(1, page("x" * 100)[:-50], page("whole")),
        "/never": BUSY,
        "/once": page("once"),
    }))  # fmt: skip
    crawl.add([server.url()])
    run_whole(crawl, retries=2)
    rows = {row.url.removeprefix(server.url()): (row.result, row.status, row.attempts) for row in crawl.pages()}
    assert rows == {
        "": (Result.FETCHED, 200, 3),
        "cut": (Result.FETCHED, 200, 2),
        "never": (Result.HTTP_ERROR, 503, 5),
        "once": (Result.FETCHED, 200, 1),
    }
    assert asked(server) == {"/robots.txt": 1, "/": 3, "/cut": 2, "/never": 5, "/once": 1}
    counts = crawl.seed(server.url()).counts
    assert (counts.requests, counts.retries, counts.pages, counts.http_errors) == (11, 1, 3, 1)
    assert counts.pushed_back == 7
    assert crawl.seed(server.url()).end_reason is EndReason.COMPLETED


def test_several_requests_at_a_time_on_a_failing_site(crawl_on_both: Crawl, serve: Serve) -> None:
    """Finished entries beyond the cursor, retries beside them: each URL still has one row."""
    crawl = crawl_on_both
    links = tuple(f"/{n}" for n in range(60))
    replies = {link: after(n % 3, OOPS, page(f"page {n}")) for n, link in enumerate(links)}
    server, fine = serve(by_path({"/": page(links=links)} | replies)), serve(good("fine"))
    crawl.add([server.url(), fine.url()])
    run_whole(crawl, per_site=3, retries=2, checkpoint_interval=0.1, traps=False)  # its pages are much alike
    missing = {server.url(), *(server.url(link) for link in links)} - crawl.fetched()
    assert not missing, [row for row in crawl.pages() if row.url in missing]
    assert {row.url: row.attempts for row in crawl.pages() if row.url.startswith(server.url("/1"))} == {
        server.url(link): n % 3 + 1 for n, link in enumerate(links) if link.startswith("/1")
    }
    assert crawl.seed(fine.url()).counts.pages == GOOD_PAGES


def endless(visit: Visit) -> None:
    """A site where each page links to the next one, for ever."""
    while head := visit.request():
        path = path_of(head)
        number = int(path.strip("/") or 0) if path != "/robots.txt" else 0
        visit.send(page("x" * 1000, links=(f"/{number + 1}",)))


@pytest.mark.parametrize(
    ("limit", "reason"),
    [({"max_time": 0.3}, EndReason.MAX_TIME), ({"max_bytes": 20_000}, EndReason.MAX_BYTES),
     ({"max_pages": 15}, EndReason.MAX_PAGES), ({"max_depth": 12}, EndReason.MAX_DEPTH)],
)  # fmt: skip
def test_each_limit_ends_an_endless_site(
    crawl: Crawl, serve: Serve, limit: dict[str, float], reason: EndReason
) -> None:
    trap, fine = serve(endless), serve(good("fine"))
    crawl.add([trap.url(), fine.url()])
    run_whole(crawl, delay=0.01, **({"max_depth": 60_000} | limit))
    seed, other = crawl.seed(trap.url()), crawl.seed(fine.url())
    assert seed.end_reason is reason
    assert 0 < seed.counts.pages < 200
    if reason is not EndReason.MAX_TIME:  # which on a busy machine is over for the other site as well
        assert other.end_reason is EndReason.COMPLETED
    if reason is EndReason.MAX_BYTES:
        assert 20_000 <= seed.counts.bytes < 22_000
    if reason is EndReason.MAX_TIME:
        assert 300 <= seed.elapsed_ms < HANGS * 1000


@pytest.mark.parametrize("same", [True, False], ids=["same-content", "other-content"])
def test_links_to_a_sites_own_address(crawl: Crawl, serve: Serve, same: bool) -> None:
    """A site by name whose pages link to it by address: the same content is the same site, other content is not."""

    def by_name_or_address(visit: Visit) -> None:
        while head := visit.request():
            host = head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode()
            literal = f"http://127.0.0.1:{host.partition(':')[2]}"
            path = path_of(head)
            other = not same and host.startswith("127.")
            links = {"/": (f"{literal}/a", f"{literal}/b", "/c"), "/c": (f"{literal}/d",)}.get(path, ())
            visit.send(page(f"{'other' if other else ''} {path}", links=links))

    server = serve(by_name_or_address)
    seed, literal = server.url(host="named.example"), server.url()
    crawl.add([seed])
    run_whole(crawl, resolve=("named.example=127.0.0.1",), robots=False)
    if same:
        assert crawl.fetched() == {seed + path for path in ("", "a", "b", "c", "d")}
        assert asked(server) == {"/": 2, "/a": 1, "/b": 1, "/c": 1, "/d": 1}
    else:
        assert crawl.fetched() == {seed, seed + "c"}
        assert crawl.candidates() == {literal + path for path in ("a", "b", "d")}
    assert crawl.seed(seed).end_reason is EndReason.COMPLETED


PUBLIC = ("93.184.216.34", "93.184.216.35")  # of this machine alone, in a network of its own


def public_part(folder: Path) -> dict[str, list[str]]:
    """Crawl sites at public addresses that redirect and link to private ones; runs where those addresses are here."""
    private = RawServer(good("private"))
    targets = [private.url(), "http://10.0.0.1/", "http://[::1]/", "http://named.example/", "http://2130706433/"]
    servers = [RawServer(by_path({"/": redirect(target)}), PUBLIC[0]) for target in targets]
    robots = by_path({"/robots.txt": redirect(private.url("/robots.txt")), "/": page()})
    linking: Script = by_path({"/": page(links=(private.url("/1"), "/away")), "/away": redirect(private.url("/2"))})
    servers += [RawServer(robots, PUBLIC[1]), RawServer(linking, PUBLIC[1])]
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    try:
        crawl.add(server.url() for server in servers)
        run_whole(crawl, allow_private=False, hops=1, resolve=("named.example=192.168.1.1",))
        reasons = [str(crawl.seed(server.url()).end_reason) for server in servers]
        promoted = [str(seed.end_reason) for seed in crawl.seeds() if seed.hops]
        return {"reasons": reasons, "promoted": promoted, "asked": [str(private.connections)]}
    finally:
        for server in [private, *servers]:
            server.stop()


def test_no_way_leads_from_a_public_to_a_private_address(tmp_path: Path) -> None:
    """In a network namespace with public addresses: redirects, robots.txt, links and promoted candidates."""
    addresses = "".join(f"ip address add {address}/32 dev lo && " for address in PUBLIC)
    program = (
        f"import json, pathlib, {__name__} as t; print(json.dumps(t.public_part(pathlib.Path({str(tmp_path)!r}))))"
    )
    inside = f"ip link set lo up && {addresses}exec {sys.executable} -c '{program.replace(chr(39), chr(34))}'"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    root = Path(__file__).parents[3]
    done = subprocess.run(
        ["unshare", *user, "--net", "sh", "-c", inside], cwd=root, capture_output=True, text=True, timeout=HANGS,
    )  # fmt: skip
    if "unshare" in done.stderr or "ip: not found" in done.stderr:
        pytest.skip(f"no network namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["reasons"] == ["private-address"] * 5 + ["robots-unavailable", "completed"]
    assert set(found["promoted"]) == {"private-address"}
    assert found["asked"] == ["0"]
