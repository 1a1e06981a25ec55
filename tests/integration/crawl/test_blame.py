"""What stands in the slots while URLs are chosen, and what follows from it for those that have killed a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrawler.core.answers import aliases
from scrawler.core.blame.deaths import Deaths
from scrawler.core.blame.slots import SUFFIX, remains_of
from scrawler.core.party.context import SeedContext
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.fetch.robots import RobotsRules
from scrawler.model.claims import ClaimedSite
from scrawler.model.scope import Scope
from scrawler.model.seeds import Seed
from scrawler.store.claims.claims import Claims
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.forks import run_python
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, good, page, run_whole
from tests.integration.fetch.servers import RawServer, answer

Serve = Callable[..., RawServer]


def _read_now(folder: Path) -> set[str]:
    return {one.url for path in folder.glob(f"*{SUFFIX}") for one in remains_of(path.read_bytes(), 0).read}


def test_while_patterns_are_tried_on_a_url_it_stands_in_the_slot(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of robots.txt are a server's, and may take for ever."""
    tried: dict[str, set[str]] = {}
    allows = RobotsRules.allows

    def watched(self: RobotsRules, url: str) -> bool:
        tried[url] = _read_now(crawl.folder / "pages")
        return allows(self, url)

    monkeypatch.setattr(RobotsRules, "allows", watched)
    server = serve(by_path({"/": page(links=("/a", "/no")), "/a": page("a"), "/robots.txt": answer(_ROBOTS)}))
    crawl.add([server.url()])
    run_whole(crawl, threads=1)
    assert tried == {server.url(path): {server.url(path)} for path in ("/", "/a", "/no")}


_ROBOTS = b"User-agent: *\nDisallow: /no\n"


@pytest.mark.parametrize("condemned", [False, True])
def test_a_literal_that_has_killed_a_process_is_not_asked_for(condemned: bool) -> None:
    site = SiteContext(1, "a.example", 2, ExactSeen(MemoryBudget(1000)), more_seeds=False)
    site.sample = ("http://a.example/", b"digest")
    there = "http://192.0.2.7/"
    if condemned:
        site.condemned = {there: "the process that read it has died"}
    origin = Origin("http://a.example", "a.example", address="192.0.2.7")
    home = "http://a.example/"
    scope = scope_of(home, Scope.HOST)
    one = SeedContext(Seed(1, 1, home, home, 0, 0), UrlAnalyzer(scope), scope, 0.0)
    aliases.suspect(site, origin, one, [f"{there}x", f"{there}y"], 1)
    assert [request.url for request in site.queued] == ([] if condemned else [there])
    assert one.in_flight == (0 if condemned else 2), "nothing waits for an answer that does not come"


_CLAIMS_AND_DIES = """
import os, sys
from scrawler.store.claims.claims import Claims
from scrawler.store.engines.engine import open_database
from scrawler.store.claims.machines import Machines
import socket

database = open_database(sys.argv[1])
number = Machines(database).register(socket.gethostname(), os.getpid(), 0).id
print(len(Claims(database, number).claim(100, 10, machines=1)))
"""


def test_the_files_of_the_dead_are_looked_for_once_a_claim(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, server = [f"s{number}.example" for number in range(12)], serve(good("well"))
    crawl.add(f"http://{name}:{server.port}/" for name in names)
    assert run_python("-c", _CLAIMS_AND_DIES, crawl.url).stdout == "12\n"
    looks, claims = [0], []
    look, claim = Deaths.look, Claims.claim

    def looked(self: Deaths) -> None:
        looks[0] += 1
        look(self)

    def claimed(self: Claims, *arguments: Any, **named: Any) -> list[ClaimedSite]:
        sites = claim(self, *arguments, **named)
        claims.append(sum(site.after_death for site in sites))
        return sites

    monkeypatch.setattr(Deaths, "look", looked)
    monkeypatch.setattr(Claims, "claim", claimed)
    run_whole(crawl, timeout=0.5, resolve=tuple(f"{name}=127.0.0.1" for name in names), per_ip=8)
    assert sum(claims) == len(names)
    at_both_ends = 2
    assert looks[0] == at_both_ends + sum(map(bool, claims)) < len(names)
