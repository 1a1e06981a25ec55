"""URLs that are spelt in several ways are fetched once, and no spelling that the server insists on is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from scrawler.model.seeds import EndReason
from tests.integration.crawl.hostile import NOT_FOUND, RESOLVE, asked, by_host, by_path, page, redirect, run_whole
from tests.integration.fetch.servers import RawServer

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

LINKS = ("/%7ea", "/~a", "/b?utm_source=x", "/b?", "/b", "/c;jsessionid=1", "/c?PHPSESSID=2", "/moved")
SITE = {"/": page(links=LINKS), "/~a": page("a"), "/b": page("b"), "/c": page("c"), "/moved": redirect("/b?gclid=1")}


def test_spellings_of_a_page_are_one_page(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path(SITE))
    crawl.add([server.url("/")])
    run_whole(crawl)
    assert crawl.fetched() == {server.url(path) for path in ("/", "/~a", "/b", "/c")}


def test_without_steps_each_spelling_is_a_page(crawl: Crawl, serve: Serve) -> None:
    server = serve(by_path(SITE))
    crawl.add([server.url("/")])
    run_whole(crawl, normalise=())
    assert set(asked(server)) == {"/robots.txt", "/", *LINKS, "/b?gclid=1"}


def test_a_session_that_the_server_insists_on_is_kept(crawl: Crawl, serve: Serve) -> None:
    """As sites without cookies do: each page is asked for twice, and there is no end of sessions."""
    replies = {"/": redirect("/;jsessionid=1"), "/;jsessionid=1": page(links=("/a;jsessionid=1",))}
    replies |= {"/a": redirect("/a;jsessionid=2"), "/a;jsessionid=2": redirect("/a;jsessionid=3")}
    server = serve(by_path(replies))
    crawl.add([server.url("/")])
    run_whole(crawl)
    assert crawl.seed(server.url("/")).end_reason is EndReason.COMPLETED
    assert crawl.fetched() == {server.url("/;jsessionid=1")}
    assert "/a;jsessionid=3" not in asked(server)


@pytest.mark.parametrize("www", [True, False])
def test_with_and_without_www_is_one_site_by_choice(crawl: Crawl, serve: Serve, www: bool) -> None:
    sites: dict[str, dict[str, bytes | str]] = {}
    server = serve(by_host(sites))
    mine, other = (f"http://{host}:{server.port}" for host in ("site.example", "www.site.example"))
    links = (other + "/x", "/y", other + "/y", "/moved", "/kept")
    sites["site.example"] = {"/robots.txt": NOT_FOUND, "/": page(links=links), "/x": page("x"), "/y": page("y")}
    sites["site.example"] |= {"/moved": other + "/z", "/z": page("z"), "/kept": other + "/kept"}
    crawl.add([mine + "/"])
    run_whole(crawl, resolve=RESOLVE, normalise=("www",) if www else ())
    assert crawl.fetched() == {mine + path for path in (("/", "/x", "/y", "/z") if www else ("/", "/y"))}
    elsewhere = {other + "/kept"} if www else {other + path for path in ("/x", "/y", "/z", "/kept")}
    assert crawl.candidates() == elsewhere


def test_a_seed_that_redirects_to_its_www_lives_there(crawl: Crawl, serve: Serve) -> None:
    sites: dict[str, dict[str, bytes | str]] = {}
    server = serve(by_host(sites))
    mine, other = (f"http://{host}:{server.port}" for host in ("site.example", "www.site.example"))
    sites["site.example"] = {"/": other + "/"}
    sites["www.site.example"] = {"/": page(links=(mine + "/x",)), "/x": page("x")}
    crawl.add([mine + "/"])
    run_whole(crawl, resolve=RESOLVE, normalise=("www",))
    assert crawl.fetched() == {other + "/", other + "/x"}


def test_a_host_with_a_dot_at_its_end_is_asked_by_that_name_and_is_no_other_site(crawl: Crawl, serve: Serve) -> None:
    sites: dict[str, dict[str, bytes | str]] = {}
    server = serve(by_host(sites))
    plain, dotted = (f"http://{host}:{server.port}" for host in ("site.example", "site.example."))
    sites["site.example."] = {"/": page(links=(plain + "/x", "/y")), "/y": page("y"), "/old": plain + "/new"}
    sites["site.example"] = {"/x": page("x"), "/new": page("new", links=("/z",)), "/z": page("z")}
    crawl.add([dotted + "/", dotted + "/old", plain + "/x"])
    run_whole(crawl, resolve=RESOLVE)
    assert crawl.fetched() == {dotted + "/", dotted + "/y", plain + "/x", plain + "/new", plain + "/z"}
    seeds = [crawl.seed(url) for url in (dotted + "/", dotted + "/old", plain + "/x")]
    assert len({seed.site_id for seed in seeds}) == 1
    assert [seed.end_reason for seed in seeds].count(EndReason.COMPLETED) >= 2
    assert not any(seed.rehomed for seed in seeds)
