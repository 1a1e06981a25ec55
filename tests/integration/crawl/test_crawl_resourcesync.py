"""ResourceSync as a source of URLs and of changes: found, read, believed, and what hostile lists can do."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scrawler.model.results import Result
from scrawler.store.engines.engine import open_database
from scrawler.urls.verdict import Verdict
from tests.consistency import check_records
from tests.integration.crawl.hostile import asked, by_path, page, run_whole
from tests.integration.crawl.test_rounds import again
from tests.integration.fetch.servers import RawServer, answer
from tests.integration.serving.publishing import Published, publishing

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

XML = "Content-Type: application/xml"
HEAD = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"'
LINK = '<link rel="resourcesync" href="/resourcesync/capabilitylist.xml">'
CAPABILITIES = "/.well-known/resourcesync"
PAGES = [f"p{number}.html" for number in range(30)]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Published]:
    """A site of 30 pages, of which the home page links to three."""
    with publishing(tmp_path / "site", tmp_path / "state.db") as made:
        links = "".join(f'<a href="{name}">{name}</a>' for name in PAGES[:3])
        made.write("index.html", f"<html><head>{LINK}</head><body>{links}")
        for name in PAGES:
            made.write(name, f"<p>this is {name}")
        made.scan()
        yield made


def results(crawl: Crawl, site: Published, visit: int) -> dict[str, str]:
    """Path -> result of a visit."""
    return {row.url.removeprefix(site.base): row.result for row in crawl.pages() if row.visit == visit}


def run_again(crawl: Crawl) -> None:
    """Make one more round."""
    again(crawl)
    assert crawl.run(resourcesync="told").outcome == "ended"
    check_records(crawl.url, crawl.folder / "pages")


def value(crawl: Crawl, query: str) -> Any:
    with closing(open_database(crawl.url)) as database, database.read() as connection:
        return connection.exec_driver_sql(query).all()


def test_lists_bring_pages_that_no_link_leads_to(crawl_on_both: Crawl, site: Published) -> None:
    crawl = crawl_on_both
    crawl.add([site.base])
    run_whole(crawl, resourcesync="told")
    found = results(crawl, site, 0)
    lists = {f"resourcesync/{name}.xml" for name in ("capabilitylist", "resourcelist", "changelist")}
    assert found.keys() == {"", *PAGES, *lists}, "packages are left alone"
    assert set(found.values()) == {"fetched"}
    assert value(crawl, "SELECT COUNT(*) FROM published_url") == [(31,)]


@pytest.mark.parametrize(("setting", "found"), [("off", False), ("told", False), ("ask", True)])
def test_a_site_that_does_not_name_its_lists_is_asked_only_by_order(
    crawl: Crawl, site: Published, setting: str, found: bool
) -> None:
    site.write("index.html", "<p>nothing leads anywhere")
    crawl.add([site.base])
    run_whole(crawl, resourcesync=setting)
    assert (CAPABILITIES[1:] in results(crawl, site, 0)) is found
    assert ("p29.html" in results(crawl, site, 0)) is found


def test_a_round_asks_only_for_what_has_changed(crawl_on_both: Crawl, site: Published) -> None:
    crawl = crawl_on_both
    crawl.add([site.base])
    run_whole(crawl, resourcesync="told")
    site.write("p3.html", "another text", time.time())
    (site.folder / "p4.html").unlink()
    site.write("new.html", "a new page", time.time())
    assert site.scan() == 2
    run_again(crawl)
    found = results(crawl, site, 1)
    assert (found["p3.html"], found["p4.html"]) == (Result.FETCHED, Result.HTTP_ERROR)
    assert results(crawl, site, 0)["new.html"] == Result.FETCHED
    assert found["resourcesync/changelist.xml"] == Result.FETCHED
    unchanged = {"", *PAGES} - {"p3.html", "p4.html"}
    others = [result for path, result in found.items() if path in unchanged]
    assert set(others) <= {Result.SPARED, Result.NOT_MODIFIED}, "a few are asked for: are the lists true?"
    assert others.count(Result.SPARED) >= 20
    ((hits, misses),) = value(crawl, "SELECT hits, misses FROM publisher")
    assert (hits, misses) == (others.count(Result.NOT_MODIFIED), 0)
    run_again(crawl)
    assert list(results(crawl, site, 2).values()).count(Result.SPARED) >= 20, "the list itself was not modified"
    assert results(crawl, site, 2)["resourcesync/changelist.xml"] == Result.NOT_MODIFIED
    assert value(crawl, "SELECT kind, COUNT(*) FROM url_change GROUP BY kind ORDER BY kind") == [
        ("changed", 2), ("failing", 1), ("gone", 1), ("new", 1)
    ], "of the lists, that of changes is one that changed"  # fmt: skip


def test_lists_that_do_not_tell_of_changes_are_found_out(crawl: Crawl, site: Published) -> None:
    """The owner's server has stopped to scan, and goes on to serve."""
    crawl.add([site.base])
    run_whole(crawl, resourcesync="told")
    for name in PAGES:
        site.write(name, f"another text of {name}", time.time())
    missed = 0
    for visit in range(1, 22):  # each page is tried in one of twenty visits: which one hangs on its URL, port and all
        run_again(crawl)
        missed = list(results(crawl, site, visit).values()).count(Result.SPARED)
        if not missed:
            break
    assert missed == 0, "no visit is spared any more"
    ((hits, misses),) = value(crawl, "SELECT hits, misses FROM publisher")
    assert misses > 0, f"{hits} hits"


def test_a_change_list_that_fails_spares_nothing(crawl: Crawl, serve: Serve) -> None:
    state = {"lists": True}
    pages = {f"/{number}": page(f"text {number}") for number in range(10)}

    def change_list(me: str) -> bytes:
        text = f'<urlset {HEAD}><rs:md capability="changelist" from="2020-01-01T00:00:00Z"/></urlset>'
        return answer(text.encode(), "200 OK" if state["lists"] else "500 Broken", XML)

    replies: dict[str, Any] = {}
    server = serve(by_path(replies))
    me = server.url("")
    entries = "".join(f"<url><loc>{me}{path}</loc><lastmod>2020-01-01</lastmod></url>" for path in pages)
    replies |= pages | {
        "/": page("home", 'Link: </c.xml>; rel="resourcesync"'),
        "/c.xml": answer(
            f'<urlset {HEAD}><rs:md capability="capabilitylist"/>'
            f'<url><loc>{me}/r.xml</loc><rs:md capability="resourcelist"/></url>'
            f'<url><loc>{me}/changes.xml</loc><rs:md capability="changelist"/></url></urlset>'.encode(), "200 OK", XML
        ),
        "/r.xml": answer(
            f'<urlset {HEAD}><rs:md capability="resourcelist"/>{entries}</urlset>'.encode(), "200 OK", XML
        ),
        "/changes.xml": change_list(me),
    }  # fmt: skip
    crawl.add([server.url()])
    run_whole(crawl, resourcesync="told")
    state["lists"] = False
    replies["/changes.xml"] = change_list(me)
    run_again(crawl)
    assert Result.SPARED not in {row.result for row in crawl.pages()}
    state["lists"] = True
    replies["/changes.xml"] = change_list(me)
    run_again(crawl)
    assert sum(row.result == Result.SPARED for row in crawl.pages()) >= 5


def test_hostile_lists(crawl: Crawl, serve: Serve) -> None:
    """Lists that lead to each other, to others, too deep, and that are bombs: what is good in them is listed."""
    replies: dict[str, Any] = {}
    server = serve(by_path(replies))
    me = server.url("")

    def listing(capability: str, *urls: str, kind: str = "") -> bytes:
        md = f'<rs:md capability="{kind}"/>' if kind else ""
        entries = "".join(f"<url><loc>{url}</loc>{md}</url>" for url in urls)
        text = f'<urlset {HEAD}><rs:md capability="{capability}" from="2020-01-01T00:00:00Z"/>{entries}</urlset>'
        return answer(text.encode(), "200 OK", XML)

    bomb = gzip.compress(f'<urlset {HEAD}><rs:md capability="resourcelist"/>'.encode() + b" " * (70 << 20))
    deep = {
        f"/deep{n}": listing("capabilitylist", f"{me}/deep{n + 1}", f"{me}/p{n}", kind="capabilitylist")
        for n in range(20)
    }
    replies |= deep | {
        "/": page("home", 'Link: </c.xml>; rel="resourcesync", <http://o.example/c.xml>; rel="resourcesync"'),
        "/c.xml": listing(
            "capabilitylist", f"{me}/c.xml", f"{me}/bomb", "http://o.example/r.xml", f"{me}/r.xml", f"{me}/deep0",
            "file:///etc/passwd", f"{me}/changes.xml", kind="resourcelist",
        ),
        "/bomb": answer(bomb, "200 OK", XML, "Content-Encoding: gzip"),
        "/r.xml": listing("resourcelist", f"{me}/good", "http://o.example/x", "javascript:alert(1)"),
        "/changes.xml": listing("changelist", f"{me}/good", f"{me}/gone", kind="x"),
        "/good": page("good"),
    }  # fmt: skip
    crawl.add([server.url()])
    run_whole(crawl, resourcesync="ask")
    paths = asked(server)
    assert (paths["/good"], paths["/c.xml"]) == (1, 1)
    assert paths["/deep3"]
    assert not paths["/deep19"]
    seed = crawl.seed(server.url())
    assert seed.verdicts[Verdict.SITEMAP_ELSEWHERE] >= 2
    assert seed.verdicts[Verdict.SITEMAP_LIMIT] >= 1


def test_lists_of_changes_that_are_over_are_read_once(crawl: Crawl, tmp_path: Path) -> None:
    with publishing(tmp_path / "site", tmp_path / "state.db", list_page=10) as site:
        site.write("index.html", f"<html><head>{LINK}</head>")
        for name in PAGES:
            site.write(name, f"<p>this is {name}")
        site.scan()
        crawl.add([site.base])
        run_whole(crawl, resourcesync="told")
        assert results(crawl, site, 0).keys() >= {*PAGES, "resourcesync/resourcelist-4.xml"}
        for turn in range(3):
            for name in PAGES[turn * 8 : turn * 8 + 8]:
                site.write(name, f"<p>another {name}", time.time())
            site.scan()
            run_again(crawl)
    fetched = [row.url.removeprefix(site.base) for row in crawl.pages() if row.result == Result.FETCHED]
    changed = PAGES[:24]
    assert {name: fetched.count(name) for name in changed} == dict.fromkeys(changed, 2), "each change was found"
    parts = [row.url.removeprefix(site.base) for row in crawl.pages() if "changelist-" in row.url]
    assert set(parts) == {f"resourcesync/changelist-{number}.xml" for number in (1, 2, 3)}
    assert parts.count("resourcesync/changelist-1.xml") == 1, "it was over when it was read"
    assert Result.SPARED in {row.result for row in crawl.pages()}
