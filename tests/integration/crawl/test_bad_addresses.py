"""No request goes to an address that was not allowed, however it is written and whoever names it.

One address of loopback is allowed and plays the public web; at the others stand servers that nothing may reach.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import pytest

from scrawler.fetch.resolver import Resolver
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason, Seed
from scrawler.urls.normalise import seed_url
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, page, redirect, run_whole
from tests.integration.fetch.servers import RawServer, Script, Visit, answer, path_of

Serve = Callable[..., RawServer]

PUBLIC, INSIDE, INSIDE_6 = "127.0.0.2", "127.0.0.1", "::1"
NAMES = {"inside.example": INSIDE, "inside6.example": INSIDE_6, "mapped.example": f"::ffff:{INSIDE}"}
SPELLINGS = [
    "127.0.0.1", "127.1", "0x7f.1", "0x7F000001", "2130706433", "017700000001", "0177.0.0.0x1", "127.0.0.1.",
    "\uff11\uff12\uff17.0.0.1", "%31%32%37.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:7F00:1]",
    "0.0.0.0", "0", "localhost", "LOCALHOST", "inside.example", "mapped.example",
]  # fmt: skip
SPELLINGS_6 = ["[::1]", "[::]", "[0:0::0:1]", "inside6.example"]
UNREACHABLE = ["169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "192.168.1.1", "[fe80::1]", "224.0.0.1", "100.64.0.1"]

FORBIDDEN = {EndReason.PRIVATE_ADDRESS, EndReason.COVERED}  # the second: for a seed that came to the same URL later


def public_web(targets: list[str]) -> Script:
    """Sites that lead to the targets: by links, by pages and seeds that redirect, by redirects of robots.txt."""
    jumps = tuple(f"/jump{n}" for n in range(len(targets)))

    def script(visit: Visit) -> None:
        while head := visit.request():
            host = head.partition(b"Host: ")[2].partition(b":")[0].decode()
            path = path_of(head)
            kind, _, number = host.removesuffix(".example").partition("-")
            if path == "/robots.txt":
                robots = redirect(targets[int(number)] + "robots.txt") if kind == "robots" else answer(b"", "404 No")
                visit.send(robots)
            elif path.startswith("/jump"):
                visit.send(redirect(targets[int(path.removeprefix("/jump"))] + "jumped"))
            elif kind == "redirect":
                visit.send(redirect(targets[int(number)] + "seed"))
            else:
                visit.send(page(host, links=(*targets, *jumps)))

    return script


@pytest.fixture
def inside(serve: Serve) -> Iterator[list[RawServer]]:
    """Servers inside, which nobody may reach."""
    servers = [serve(by_path({"/": page("secret"), "/robots.txt": answer(b"")}), INSIDE)]
    with suppress(OSError):  # no IPv6 on this machine
        servers.append(serve(by_path({"/": page("secret")}), INSIDE_6))
    yield servers
    assert [server.connections for server in servers] == [0] * len(servers)


@pytest.mark.parametrize("downloader", ["curl", "requests"])
def test_nothing_leads_inside(crawl: Crawl, serve: Serve, inside: list[RawServer], downloader: str) -> None:
    targets = [f"http://{spelling}:{inside[0].port}/" for spelling in SPELLINGS]
    targets += [f"http://{spelling}:{inside[-1].port}/" for spelling in SPELLINGS_6]
    targets += [f"http://{address}/" for address in UNREACHABLE]
    server = serve(public_web(targets), PUBLIC)
    names = ["links.example", *(f"{kind}-{n}.example" for kind in ("redirect", "robots") for n in range(len(targets)))]
    homes = {name: server.url(host=name) for name in names}
    seeds = {seed_url(target).url for target in targets}
    assert all(seeds)
    crawl.add([*homes.values(), *seeds])
    places = dict.fromkeys(names, PUBLIC) | NAMES
    run_whole(
        crawl, downloader=downloader, hops=1, allow_private=False, allow_addresses=(PUBLIC,), connect_timeout=1.0,
        resolve=tuple(f"{name}={address}" for name, address in places.items()),
    )  # fmt: skip
    found: dict[str, Seed] = {seed.url: seed for seed in crawl.seeds()}
    assert found[homes["links.example"]].end_reason is EndReason.COMPLETED
    assert found[homes["links.example"]].counts.redirects == len(targets)
    for url in seeds:
        assert found[url].end_reason is EndReason.PRIVATE_ADDRESS, url
    for n, target in enumerate(targets):
        assert found[homes[f"redirect-{n}.example"]].end_reason in FORBIDDEN, target
        assert found[homes[f"robots-{n}.example"]].end_reason is EndReason.ROBOTS_UNAVAILABLE, target
    jumped = {seed_url(target).url + "jumped" for target in targets}
    assert jumped <= found.keys(), "redirects of pages are candidates, which were made seeds"
    assert {found[url].end_reason for url in jumped} == {EndReason.PRIVATE_ADDRESS}
    public = {url for url in found if url in homes.values()}
    assert {row.url for row in crawl.pages() if row.result == Result.FETCHED} == {homes["links.example"]}
    assert {row.result for row in crawl.pages() if not row.url.startswith(tuple(public))} == {Result.PRIVATE_ADDRESS}


class TurningNames:
    """A name service that says where the public web is until it `turns`, and from then on an address inside."""

    def __init__(self, turns: Callable[[int], bool]) -> None:
        self.asked = 0
        self._turns = turns

    def __call__(self, host: str) -> list[str]:
        self.asked += 1
        return [INSIDE if self._turns(self.asked) else PUBLIC]


def both_at_one_port(serve: Serve, script: Script) -> tuple[RawServer, socket.socket]:
    """Start a public server, and listen at the same port inside."""
    for _ in range(20):
        server = serve(script, PUBLIC)
        try:
            return server, socket.create_server((INSIDE, server.port))
        except OSError:
            continue
    pytest.fail("no port is free on both addresses")


@pytest.mark.parametrize("downloader", ["curl", "requests"])
@pytest.mark.parametrize("ttl", [0.05, 300.0], ids=["asked-again", "asked-once"])
def test_a_name_that_turns_inside_wins_nothing(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch, downloader: str, ttl: float
) -> None:
    """The connection goes to the address that was checked; once that is asked for again, the next one is checked."""
    pages = {f"/{n}": page(f"page {n}") for n in range(60)}
    server, listener = both_at_one_port(serve, by_path(pages | {"/": page(links=tuple(pages))}))
    names = TurningNames(lambda asked: len(server.heads) > 5 if ttl < 1 else asked > 1)
    monkeypatch.setattr("scrawler.assembly.machine.Resolver", partial(Resolver, look_up=names, ttl=ttl))
    crawl.add([server.url(host="turning.example")])
    run_whole(crawl, downloader=downloader, delay=0.01, allow_private=False, allow_addresses=(PUBLIC,), traps=False)
    assert not select.select([listener], [], [], 0)[0], "a connection came inside"
    listener.close()
    results = [row.result for row in crawl.pages()]
    assert len(results) == 61
    assert results.count(Result.FETCHED) == len(server.heads) - 1, "all that arrived, robots.txt apart"
    if ttl < 1:
        assert results.count(Result.PRIVATE_ADDRESS) == 61 - results.count(Result.FETCHED) > 0
        assert names.asked > 1
    else:
        assert (results.count(Result.FETCHED), names.asked) == (61, 1)


def test_a_mixed_answer_gives_the_address_that_is_allowed(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, listener = both_at_one_port(serve, by_path({"/": page("public")}))
    names = partial(Resolver, look_up=lambda host: ["::1", INSIDE, "169.254.169.254", PUBLIC])
    monkeypatch.setattr("scrawler.assembly.machine.Resolver", names)
    crawl.add([server.url(host="mixed.example")])
    run_whole(crawl, allow_private=False, allow_addresses=(PUBLIC,))
    assert not select.select([listener], [], [], 0)[0]
    listener.close()
    assert crawl.fetched() == {server.url(host="mixed.example")}


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "ftp://127.0.0.2/x", "gopher://127.0.0.2:{port}/_GET", "data:text/html,<a href=/x>"],
)
@pytest.mark.parametrize("downloader", ["curl", "requests"])
def test_other_schemes_are_not_followed(crawl: Crawl, serve: Serve, location: str, downloader: str) -> None:
    """From a seed, from a page, from robots.txt."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = head.split(b" ", 2)[1]
            visit.send(page(links=("/there",)) if path == b"/" else redirect(location.format(port=server.port)))

    server = serve(script, PUBLIC)
    crawl.add([server.url("/"), server.url("/seed")])
    run_whole(crawl, downloader=downloader, hops=2)
    assert sorted(head.split(b" ", 2)[1] for head in server.heads) == [b"/", b"/robots.txt", b"/seed", b"/there"]
    assert len(crawl.seeds()) == 2
    assert crawl.seed(server.url("/seed")).end_reason is EndReason.REDIRECTED
    assert crawl.seed(server.url("/")).end_reason is EndReason.COMPLETED
    assert not crawl.candidates()


def test_a_port_of_another_service_is_never_asked(crawl: Crawl, serve: Serve) -> None:
    """Neither by a link, nor by a redirect, a sitemap, a robots.txt that redirects, or a seed of an older version."""
    with socket.create_server(("127.0.0.2", 6667)) as chat:
        elsewhere = "http://127.0.0.2:6667/"
        replies = {
            "/": page(links=(elsewhere, "/leads", "/fine")),
            "/leads": redirect(elsewhere),
            "/fine": page("fine"),
            "/robots.txt": answer(f"Sitemap: {elsewhere}".encode()),
        }
        server = serve(by_path(replies))
        robots = serve(by_path({"/": page("home"), "/robots.txt": redirect(elsewhere + "robots.txt")}))
        crawl.add([server.url(), robots.url(), elsewhere])
        run_whole(crawl, sitemaps="also", retries=0)
        chat.settimeout(0)
        with pytest.raises(BlockingIOError):
            chat.accept()
    seed = crawl.seed(server.url())
    assert seed.verdicts["port"] == 3  # the link, the redirect and the sitemap
    assert seed.counts.pages == 2
    assert crawl.seed(robots.url()).counts.pages == 1  # as with any robots.txt that leads nowhere
    assert crawl.seed(elsewhere).end_reason is EndReason.DEAD
    assert crawl.candidates() == set()
