"""What is remembered of what the web says is bounded, however many different things it says."""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import _lru_cache_wrapper
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import scrawler
from scrawler.core.outage.witnesses import Witnesses
from scrawler.core.party.gates import MOST_FIRST, MOST_NEWEST, Redirected
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.extract import plain_simhash
from scrawler.extract.links import LinkPolicy
from scrawler.extract.rules import link_kind, relations
from scrawler.extract.scanner import fastest_extractor
from scrawler.features.outlinks.step import MOST_BYTES, MOST_OUTLINKS, outlink_fields
from scrawler.fetch.downloader import Request, Response
from scrawler.fetch.transfer import TlsSessions
from scrawler.mime import media_type
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of

MANY = 5_000
WITHOUT_ARGUMENTS = {
    "scrawler.fetch.old_tls.accept_old_servers",
    "scrawler.urls.scope._suffixes",
    "scrawler.settings.sites._suffixes",
    "scrawler.store.engines.sqlite_sums.attached",
}
OF_THIS_HOST = {"scrawler.store.claims.processes"}  # module whose caches are keyed by nothing that comes from the web


def caches() -> dict[str, _lru_cache_wrapper[object]]:
    """All caches of functions, by name."""
    found: dict[str, _lru_cache_wrapper[object]] = {}
    for info in walk_packages([str(Path(scrawler.__file__).parent)], "scrawler."):
        if info.name.endswith("__main__") or info.name.rpartition(".")[2].startswith("_"):
            continue
        module = import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, _lru_cache_wrapper) and value.__module__ == info.name:
                found[f"{info.name}.{name}"] = value
    return found


def test_every_cache_of_a_function_has_a_bound() -> None:
    found = caches()
    assert len(found) > 10
    unbounded = {name for name, cache in found.items() if cache.cache_parameters()["maxsize"] is None}
    unbounded = {name for name in unbounded if name.rpartition(".")[0] not in OF_THIS_HOST}
    assert unbounded <= WITHOUT_ARGUMENTS


@pytest.mark.parametrize("ask", [relations, link_kind, media_type])
def test_of_many_short_texts_some_are_remembered_and_of_long_ones_none(ask: Callable[[str], object]) -> None:
    found = caches()
    for cache in found.values():
        if (cache.cache_parameters()["maxsize"] or 0) > MANY:
            cache.cache_clear()  # other tests may have filled it, within its bound
    for number in range(MANY):
        ask(f"value{number}")
    sizes = {name: cache.cache_info().currsize for name, cache in found.items()}
    assert max(sizes.values()) < MANY
    for number in range(10):
        ask(f"{number}" + "x" * 100_000)
    assert {name: cache.cache_info().currsize for name, cache in found.items()} == sizes


def test_words_hosts_servers_redirects_and_links_are_bounded() -> None:
    hashes, lanes = plain_simhash._WordHashes(), plain_simhash._Lanes()
    sessions, redirected, witnesses = TlsSessions(), Redirected(), Witnesses()
    analyzer = UrlAnalyzer(scope_of("http://a.example/", Scope.HOST), cache_entries=1_000)
    site = SiteContext(1, "a.example", 1, ExactSeen(MemoryBudget(1)), False)
    for number in range(plain_simhash._WORDS_KEPT + MANY):
        hashes[f"w{number}".encode()]
        lanes[number]
    for number in range(3 * MANY):
        sessions.note((f"https://h{number}/", "1.2.3.4"), "TLSv1.3", "x")
        redirected.note(number.to_bytes(16, "big"), 1, number, bytes(16), "")
        witnesses.answered(f"10.0.{number >> 8}.{number & 255}", site)
        base = f"http://b{number}.example/"
        analyzer.analyze("http://a.example/", [f"/{number}"], base)
    assert max(len(hashes), len(lanes)) <= plain_simhash._WORDS_KEPT
    assert len(sessions._known) <= 10_000
    assert len(redirected) <= MOST_FIRST + MOST_NEWEST
    assert len(witnesses._sites) <= 100
    of_links: tuple[Sized, ...] = (analyzer._caches, analyzer._in_origins)
    assert max(map(len, of_links)) <= 1_001


@pytest.mark.parametrize("base", [10, 1_900])
def test_what_is_kept_of_the_links_of_a_page_is_bounded_however_long_their_base_is(base: int) -> None:
    page = "http://a.example/"
    written = "".join(f"<a href={number}>x</a>" for number in range(7_000))
    body = f"<base href='/{'b' * base}/'>{written}".encode()
    found = fastest_extractor(LinkPolicy(outlinks=True)).links(body, page, "text/html")
    answer = Response(Request(page, "192.0.2.1"), Result.FETCHED, 200)
    fields = outlink_fields(UrlAnalyzer(scope_of(page, Scope.HOST)), answer, found)
    lines = [line for line in fields.splitlines(keepends=True) if line.startswith(b"outlink: ")]
    size = sum(map(len, lines))
    assert fields.endswith(b" L a/@href\r\n")
    assert size <= MOST_BYTES
    assert len(lines) == MOST_OUTLINKS or size + len(lines[-1]) > MOST_BYTES
