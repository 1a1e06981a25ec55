"""Broken links, with the pages that lead there: `scrawler broken`, as it stands in somebody's CI."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from scrawler.errors import RecordsLostError
from scrawler.features.broken import links as of_broken
from scrawler.features.broken.cli import broken
from scrawler.store.engines.engine import Waiting, connect
from scrawler.store.reading.page_lists import ALL_PAGES, PageFilter, PageLists, PageView
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, by_path, page, redirect
from tests.integration.fetch.servers import RawServer, answer, path_of

CUT = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\ncut"
SITE: dict[str, Reply] = {
    "/": page("<h1 id=here>home</h1>", links=("/a", "/gone", "/moved", "/private", "#here", "#none", "#top", "#/app")),
    "/a": page("<a name='n&amp;1'>a</a>", links=("/b", "/gone", "/cut", "/#here", "/#lost", "b#%C3%BC", "b#ü", "/#n")),
    "/b": page("<p id=ü>b", links=("/gone?x=<b>", "/gone", "a#n&1", "a#:~:text=a", "/moved#there", "/gone#x")),
    "/moved": redirect("/dead"),
    "/cut": lambda visit: visit.send(CUT),  # and hangs up
    "/robots.txt": answer(b"User-agent: *\nDisallow: /private", "200 OK", "Content-Type: text/plain"),
}
NOWHERE = {"/gone": ("/", "/a", "/b"), "/gone?x=%3Cb%3E": ("/b",), "/dead": ("/moved",), "/cut": ("/a",)}


def crawled(folder: Path, site: dict[str, Reply], **settings: object) -> tuple[Crawl, str]:
    """A crawl, and the URL of its site without the last slash."""
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    server = RawServer(by_path(site))
    crawl.add([server.url()])
    crawl.run(traps=False, threads=1, sitemaps="also", retries=0, **settings)
    server.stop()
    return crawl, server.url()[:-1]


@pytest.fixture(scope="module", params=[False, True], ids=["first page", "all pages"])
def of_site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, str, bool]:
    """A crawl with broken links, and whether it kept its out-links."""
    return *crawled(tmp_path_factory.mktemp("broken"), SITE, outlinks=request.param), request.param


def run(crawl: Crawl, *words: str, pages: Path | None = None) -> Result:
    folder = ("--pages-dir", str(pages or crawl.folder / "pages"))
    return CliRunner().invoke(broken, [*words, "--db", crawl.url, *folder])


def found(of_site: tuple[Crawl, str, bool], *words: str, pages: Path | None = None) -> dict[str, dict[str, Any]]:
    crawl, site, _ = of_site
    done = run(crawl, *words, "--format", "json", pages=pages)
    assert done.exit_code == 1, done.output
    rows = [json.loads(line.replace(site, "")) for line in done.stdout.splitlines()]
    assert len({row["url"] for row in rows}) == len(rows)
    return {row["url"]: row for row in rows}


def test_each_broken_url_is_told_with_the_pages_that_lead_there(of_site: tuple[Crawl, str, bool]) -> None:
    rows = found(of_site)
    kept = of_site[2]
    assert {url: tuple(row["pages"]) for url, row in rows.items()} == {
        url: pages if kept else pages[:1] for url, pages in NOWHERE.items()
    }
    assert {url: row["referrer"] for url, row in rows.items()} == {url: pages[0] for url, pages in NOWHERE.items()}
    assert (rows["/gone"]["reason"], rows["/gone"]["status"]) == ("http-error", 404)
    assert rows["/cut"]["reason"] == "cut"


def test_all_rows_are_gone_through_twice_at_most(
    of_site: tuple[Crawl, str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for what failed, once for redirects, once for what pages refer to, whatever there is to find."""
    asked: list[PageFilter] = []
    of_all = PageLists.all

    def noted(lists: PageLists, wanted: PageFilter = ALL_PAGES) -> Iterator[PageView]:
        asked.append(wanted)
        return of_all(lists, wanted)

    monkeypatch.setattr(PageLists, "all", noted)
    assert found(of_site)
    assert len(asked) == 3


def test_places_in_pages_are_checked_on_wish(of_site: tuple[Crawl, str, bool]) -> None:
    rows = found(of_site, "--fragments")
    places = {url: row for url, row in rows.items() if row["reason"] == "no-fragment"}
    assert {url: row["pages"] for url, row in places.items()} == {"/#none": ["/"], "/#lost": ["/a"], "/#n": ["/a"]}
    assert set(rows) - set(places) == set(NOWHERE)


def test_places_take_little_memory_however_many_there_are() -> None:
    def peak(places: int) -> int:
        tracemalloc.start()
        wanted = of_broken.Wanted()
        for number in range(places):
            wanted.add(number.to_bytes(16), f"place {number}", "http://a.example/", "http://b.example/")
        assert wanted.of((1).to_bytes(16)) == [("place 1", "http://a.example/")]
        wanted.close()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(20_000) < peak(1_000) + 500_000


def test_all_forms_say_the_same(of_site: tuple[Crawl, str, bool]) -> None:
    crawl, site, kept = of_site
    done = {form: run(crawl, "--format", form) for form in ("text", "csv", "html")}
    assert [one.exit_code for one in done.values()] == [1, 1, 1]
    table = list(csv.DictReader(io.StringIO(done["csv"].stdout)))
    assert {row["url"].removeprefix(site) for row in table} == set(NOWHERE)
    text = done["text"].stdout
    assert text.startswith("http-error 404\n")
    assert text.endswith("\n4 broken URLs\n")
    for url, pages in NOWHERE.items():
        lines = "".join(f"    on {site}{page}\n" for page in (pages if kept else pages[:1]))
        assert f"  {site}{url}\n{lines}" in text or f"  {site}{url} (" in text
    assert "<b>" not in done["html"].stdout.replace("<body>", "")
    assert f"{site}/dead" in done["html"].stdout


def test_nothing_broken_is_exit_code_0(tmp_path: Path) -> None:
    crawl, site = crawled(tmp_path, {"/": page("home", links=("/a#x", "/private")), "/a": page("<p id=x>a"), **{
        name: SITE[name] for name in ("/robots.txt",)
    }})  # fmt: skip
    for words in ((), ("--fragments",), ("--seed", site), ("--format", "json"), ("--format", "html")):
        done = run(crawl, *words)
        assert (done.exit_code, done.exception) == (0, None), words
    assert run(crawl).stdout == "no broken URL\n"


def test_a_seed_that_failed_is_broken_as_well(tmp_path: Path) -> None:
    crawl, site = crawled(tmp_path, {})
    done = run(crawl)
    assert done.exit_code == 1
    assert done.stdout == f"http-error 404\n  {site}/\n    a seed\n1 broken URL\n"


def test_a_page_that_an_earlier_version_did_not_keep_is_not_known(tmp_path: Path) -> None:
    crawl, site = crawled(tmp_path, {"/": page("home", links=("/gone",))})
    with crawl.opened() as opened, opened.database.begin() as connection:
        connection.exec_driver_sql("UPDATE page SET referrer = x''")
    assert run(crawl).stdout == f"http-error 404\n  {site}/gone\n    on a page that is not known\n1 broken URL\n"


def test_a_damaged_archive_tells_what_is_left_of_it(of_site: tuple[Crawl, str, bool], tmp_path: Path) -> None:
    crawl = of_site[0]
    (warc,) = (crawl.folder / "pages").glob("*.warc.gz")
    whole = warc.read_bytes()
    damaged = bytearray(whole)
    for begin in range(len(whole) // 2, len(whole), 200):
        damaged[begin] ^= 0x5A
    for data in (bytes(damaged), whole[: len(whole) // 2], b"", bytes(len(whole)), None):
        (tmp_path / warc.name).unlink(missing_ok=True)
        if data is not None:
            (tmp_path / warc.name).write_bytes(data)
        rows = found(of_site, pages=tmp_path)
        assert {url: row["referrer"] for url, row in rows.items()} == {url: on[0] for url, on in NOWHERE.items()}
        run(crawl, "--fragments", pages=tmp_path)


def test_external_links_are_asked_for_once_each_on_wish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    denied = answer(b"User-agent: *\nDisallow: /denied", "200 OK", "Content-Type: text/plain")
    elsewhere = RawServer(
        by_path({
            "/ok": page("x" * 100_000, links=("/further",)),
            "/moved": redirect("/missing"),
            "/fine": redirect("/ok"),
            "/robots.txt": denied,
        })
    )  # fmt: skip
    dead = RawServer(by_path({}))
    dead.stop()
    paths = ("/ok", "/ok?twice", "/missing", "/moved", "/fine", "/denied")
    links = (*map(elsewhere.url, paths), dead.url("/none"))
    site: dict[str, Reply] = {"/": page("home", links=("/a", *links)), "/a": page("a", links=links)}
    crawl, home = crawled(tmp_path, site, outlinks=True)
    before = len(elsewhere.heads)
    monkeypatch.setenv("SCRAWLER_HEADER", "X-Given: now")
    with crawl.opened() as opened, opened.database.begin() as connection:  # what is not installed here is not needed
        connection.exec_driver_sql("UPDATE run SET settings = json_insert(settings, '$.page_processors[#]', 'nowhere')")
    done = run(crawl, "--external", "--format", "json")
    elsewhere.stop()
    rows = {row["url"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert done.exit_code == 1, done.output
    assert {url: (row["reason"], row["status"], row["pages"]) for url, row in rows.items()} == {
        **{elsewhere.url(path): ("http-error", 404, [f"{home}/", f"{home}/a"]) for path in ("/ok?twice", "/missing")},
        elsewhere.url("/moved"): ("http-error", 404, [f"{home}/", f"{home}/a"]),
        dead.url("/none"): ("connect-failed", 0, [f"{home}/", f"{home}/a"]),
    }
    assert rows[elsewhere.url("/moved")]["detail"] == f"redirects to {elsewhere.url('/missing')}"
    asked = sorted(head.split()[1].decode() for head in elsewhere.heads[before:])
    assert asked == sorted(("/robots.txt", *(path for path in paths if path != "/denied")))
    assert all(b"\r\nX-Given: now\r\n" in head for head in elsewhere.heads[before:])
    assert run(crawl).exit_code == 0


def test_without_external_links_none_is_asked_for(tmp_path: Path) -> None:
    crawl, _ = crawled(tmp_path, {"/": page("home")})
    assert run(crawl, "--external").stdout == "no broken URL\n"


def test_redirects_that_reach_no_answer_are_broken(tmp_path: Path) -> None:
    """Those in a circle, and more of them than browsers follow; one that leads into a circle is told there."""
    chain: dict[str, Reply] = {f"/c{number}": redirect(f"/c{number + 1}") for number in range(22)}
    links = ("/self", "/in", "/fine", "/c0")
    site: dict[str, Reply] = chain | {
        "/": page("home", links=links),
        "/self": redirect("/self"),
        "/in": redirect("/one"),
        "/one": redirect("/two"),
        "/two": redirect("/one"),
        "/fine": redirect("/end"),
        "/end": page("end"),
        "/c22": page("far"),
    }
    crawl, home = crawled(tmp_path, site, max_depth=30)
    done = run(crawl, "--format", "json")
    rows = {row["url"].removeprefix(home): row for row in map(json.loads, done.stdout.splitlines())}
    assert {url: row["reason"] for url, row in rows.items()} == {
        **dict.fromkeys(("/self", "/one", "/two"), "redirect-loop"),
        "/c0": "too-many-redirects",
    }
    assert rows["/one"]["detail"] == "redirects to /two"
    assert done.exit_code == 1


def test_places_are_looked_for_where_the_base_leads(tmp_path: Path) -> None:
    base = "<base href=/><h2 id=own>x</h2><a href='#own'>x</a><a href='#there'>x</a>"
    crawl, home = crawled(tmp_path, {"/": page("<h1 id=there>x</h1>", links=("/doc",)), "/doc": page(base)})
    done = run(crawl, "--fragments", "--format", "json")
    assert [json.loads(line)["url"] for line in done.stdout.splitlines()] == [f"{home}/#own"]


def test_pages_whose_records_are_gone_are_told(of_site: tuple[Crawl, str, bool], tmp_path: Path) -> None:
    (warc,) = (of_site[0].folder / "pages").glob("*.warc.gz")
    (tmp_path / warc.name).touch()
    done = run(of_site[0], "--fragments", "--format", "json", pages=tmp_path)
    assert isinstance(done.exception, RecordsLostError)
    assert "3 pages were left out" in str(done.exception)
    assert run(of_site[0], pages=tmp_path).exit_code == 1


NOT_NOW = answer(b"later", "429 Too Many Requests")


def external(tmp_path: Path, replies: dict[str, Reply], *more: str) -> tuple[Crawl, RawServer]:
    """A crawl whose page links to each path of another host, and to more URLs."""
    elsewhere = RawServer(by_path(replies))
    links = (*map(elsewhere.url, (path for path in replies if path != "/robots.txt")), *more)
    return crawled(tmp_path, {"/": page("home", links=links)}, retry_pause=0.01, max_pushbacks=3)[0], elsewhere


def test_external_urls_that_could_not_be_checked_are_told(tmp_path: Path) -> None:
    """A host that asks for fewer requests, whatever it is asked: each of its URLs is asked for, and none is fine."""
    paths = [f"/{number}" for number in range(5)]
    crawl, elsewhere = external(tmp_path, dict.fromkeys(paths, NOT_NOW))
    done = {form: run(crawl, "--external", "--format", form) for form in ("text", "json", "html")}
    elsewhere.stop()
    assert [one.exit_code for one in done.values()] == [1, 1, 1]
    total = "5 external URLs: 0 fine, 0 broken, 5 could not be checked\n"
    line = "5 external URLs could not be checked (5 pushed-back): that is no sign that they work\n"
    assert done["text"].stdout.endswith(f"no broken URL\n{total}{line}")
    assert done["json"].stderr.endswith(total + line)
    assert total[len("5 external URLs: ") : -1] in done["html"].stdout
    rows = [json.loads(row) for row in done["json"].stdout.splitlines()]
    assert {(row["url"], row["reason"]) for row in rows} == {(elsewhere.url(path), "unchecked") for path in paths}
    assert all(row["detail"].startswith("pushed-back: HTTP status 429") for row in rows)
    assert {path_of(head) for head in elsewhere.heads} == {"/robots.txt", *paths}


def test_what_came_of_all_external_urls_is_told(tmp_path: Path) -> None:
    """Redirects that reach no answer are broken; what robots.txt forbids is counted; a 429 says nothing."""
    chain: dict[str, Reply] = {f"/c{number}": redirect(f"/c{number + 1}") for number in range(30)}
    chain |= {f"/d{number}": redirect(f"/d{number + 1}") for number in range(18)} | {"/d18": page("there")}
    replies: dict[str, Reply] = {
        "/fine": page("x"),
        "/far": page("x"),
        "/gone": answer(b"", "404 Not Found"),
        "/self": redirect("/self"),
        "/app": redirect("app://open"),
        "/denied": page("x"),
        "/robots.txt": answer(b"User-agent: *\nDisallow: /denied", "200 OK", "Content-Type: text/plain"),
    }
    busy = RawServer(by_path({"/later": NOT_NOW}))
    crawl, elsewhere = external(tmp_path, replies, busy.url("/later"))
    elsewhere.script = by_path(replies | {"/fine": redirect("/c0"), "/far": redirect("/d0")} | chain)
    done = run(crawl, "--external", "--format", "json")
    elsewhere.stop()
    busy.stop()
    rows = {row["url"]: row["reason"] for row in map(json.loads, done.stdout.splitlines())}
    assert rows == {
        elsewhere.url("/gone"): "http-error",
        elsewhere.url("/self"): "redirect-loop",
        elsewhere.url("/fine"): "too-many-redirects",
        busy.url("/later"): "unchecked",
    }
    said = "1 fine, 3 broken, 1 could not be checked, 1 not asked: redirects leave http, 1 not asked: robots.txt"
    assert f"7 external URLs: {said}\n" in done.stderr


DENIED = answer(b"User-agent: *\nDisallow: /", "200 OK", "Content-Type: text/plain")


@pytest.mark.parametrize(
    ("site", "settings", "told"),
    [
        ({"/": page("home"), "/robots.txt": DENIED}, {}, "1 robots-denied"),
        ({"/": page("home")}, {"allow_private": False}, "1 private-address"),
    ],
    ids=["robots", "private"],
)
def test_a_site_that_was_not_crawled_is_not_fine(
    tmp_path: Path, site: dict[str, Reply], settings: dict[str, Any], told: str
) -> None:
    crawl, _ = crawled(tmp_path, site, **settings)
    done = run(crawl)
    line = f"1 seed could not be checked ({told}): that is no sign that all works\n"
    assert (done.exit_code, done.stdout) == (1, f"no broken URL\n{line}")
    for form in ("json", "csv", "html"):
        done = run(crawl, "--format", form)
        assert (done.exit_code, done.stderr) == (1, line)
    assert told in done.stdout


def test_private_addresses_are_asked_as_the_last_run_did_where_that_was_made_here(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In a folder that was moved, or came from somebody else, the user says so: the database alone is no proof."""
    elsewhere = RawServer(by_path({"/fine": page("fine")}), "127.0.0.2")
    try:
        crawl, _ = crawled(tmp_path, {"/": page("home", links=(elsewhere.url("/fine"),))})
        moved = tmp_path / "moved"
        shutil.copytree(crawl.folder / "pages", moved)
        assert "1 external URL: 1 fine, 0 broken\n" in run(crawl, "--external").stdout
        assert "1 external URL: 0 fine, 0 broken, 1 not asked: private" in run(crawl, "--external", pages=moved).stdout
        assert "1 fine, 0 broken\n" in run(crawl, "--external", "--allow-private", pages=moved).stdout
        with closing(connect(crawl.url, Waiting(), create=False)) as database, database.begin() as connection:
            connection.exec_driver_sql("UPDATE machine SET process = '0' || substr(process, 2)")  # as of another boot
        claimed = run(crawl, "--external").stdout
        assert "0 fine, 0 broken, 1 not asked: private-address (with --allow-private it is)" in claimed
        assert "allow_private" not in caplog.text, "these are the words of the library"
    finally:
        elsewhere.stop()


def test_seeds_that_nobody_has_crawled_are_not_fine(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, f"sqlite:///{tmp_path / 'crawl.db'}")
    crawl.add([])
    assert run(crawl).exit_code == 1
    crawl.add(["http://a.example/", "http://b.example/"])
    for words in ((), ("--seed", "http://a.example/")):
        done = run(crawl, *words)
        assert done.exit_code == 1
        assert f"({1 if words else 2} not crawled to its end)" in done.stdout


def test_what_lies_beyond_a_limit_is_told(tmp_path: Path) -> None:
    crawl, _ = crawled(tmp_path, {"/": page("home", links=("/a",)), "/a": page("a")}, max_pages=1)
    done = run(crawl)
    limit = "1 seed came to a limit (1 max-pages): what lies beyond is not checked\n"
    assert (done.exit_code, done.stdout) == (0, f"no broken URL\n{limit}")
