"""What `scrawler broken` did not look at is told, and looked at on wish: files, images, styles, scripts, places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.broken.test_broken import crawled, run
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, by_path, page, redirect
from tests.integration.fetch.servers import RawServer, answer, path_of

FILES = ["setup.zip", "manual.jpg", "song.mp3", "tool.exe", "film.mp4", "data.tar.gz", "logo.svg"]
EMBEDDED = "<img src=/gone.png><link rel=stylesheet href=/gone.css><script src=/gone.js></script>"
LINKS = tuple(f"/files/{name}" for name in FILES)
GONE = {*LINKS, "/gone.png", "/gone.css", "/gone.js"}
UNSEEN = "not looked at: 7 links to files, 1 image, 1 style sheet and 1 script of the site (--check-files)\n"


@pytest.mark.parametrize("outlinks", [False, True])
def test_a_site_whose_files_are_gone_is_not_called_sound(tmp_path: Path, outlinks: bool) -> None:
    home = page(EMBEDDED, links=(*LINKS, "/ok.zip", "/moved.zip"))
    large = answer(b"x" * 3_000_000, "200 OK", "Content-Type: application/zip")
    site: dict[str, Reply] = {"/": home, "/ok.zip": large, "/moved.zip": redirect("/ok.zip")}
    server = RawServer(by_path(site))
    crawl = Crawl(tmp_path, f"sqlite:///{tmp_path / 'crawl.db'}")
    crawl.add([server.url()])
    crawl.run(traps=False, retries=0, outlinks=outlinks)
    done = run(crawl)
    assert (done.exit_code, done.stdout) == (0, "no broken URL\n" + UNSEEN.replace("7 links", "9 links"))
    assert run(crawl, "--strict").exit_code == 1
    assert run(crawl, "--format", "json").stderr.startswith("not looked at: 9 links")
    before = len(server.heads)
    done = run(crawl, "--check-files", "--format", "json")
    asked = [path_of(head) for head in server.heads[before:]]
    server.stop()
    rows = {row["url"].removeprefix(server.url()[:-1]): row for row in map(json.loads, done.stdout.splitlines())}
    assert done.exit_code == 1
    assert set(rows) == GONE
    assert all(
        (row["reason"], row["status"], row["referrer"]) == ("http-error", 404, server.url()) for row in rows.values()
    )
    assert done.stderr == "12 own files: 2 fine, 10 broken\n"
    assert sorted(asked) == sorted((*GONE, "/ok.zip", "/moved.zip", "/robots.txt"))


def test_files_that_are_there_are_no_reason_to_be_strict(tmp_path: Path) -> None:
    crawl, _ = crawled(tmp_path, {"/": page("<img src=/a.png>"), "/a.png": answer(b"x", "200 OK")})
    assert run(crawl, "--strict").exit_code == 1
    assert run(crawl).exit_code == 0


def test_what_is_no_url_is_broken(tmp_path: Path) -> None:
    wrong = {
        "http://[x": "syntax",
        "http://a.xn--0.example/": "syntax",
        "htp://a.example/": "scheme",
        "http//a.example/": "scheme",
        "mialto:a@b.example": "scheme",
        "mailto:": "syntax",
        "mailto:nobody": "syntax",
    }
    right = (
        "mailto:a@b.example",
        "mailto:?subject=x",
        "tel:1",
        "javascript:void(0)",
        "skype:a",
        "data:,x",
        "#",
        "tg://a",
    )
    site = {"/": page(links=(*wrong, *right)), "/http//a.example/": page("any path is answered")}
    crawl, home = crawled(tmp_path, site)
    done = run(crawl, "--format", "json")
    rows = {row["url"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert {url: row["reason"] for url, row in rows.items()} == wrong
    assert {row["referrer"] for row in rows.values()} == {f"{home}/"}
    assert rows["htp://a.example/"]["detail"] == "http: is meant"
    assert done.exit_code == 1


def test_places_in_pages_of_other_sites(tmp_path: Path) -> None:
    replies: dict[str, Reply] = {
        "/guide": page("<h1 id=there>There</h1>"),
        "/moved": redirect("/guide"),
        "/gone": answer(b"", "404 Not Found"),
        "/file.pdf": answer(b"%PDF", "200 OK", "Content-Type: application/pdf"),
    }
    elsewhere = RawServer(by_path(replies))
    links = (
        "/guide#there",
        "/guide#gone",
        "/moved#there",
        "/moved#lost",
        "/gone#x",
        "/file.pdf#page=2",
        "/guide#:~:text=a",
    )
    crawl, _ = crawled(tmp_path, {"/": page("home", links=tuple(map(elsewhere.url, links)))})
    done = run(crawl, "--fragments")
    assert done.exit_code == 0
    assert "4 links of other sites (--external), places in 4 pages of other sites (--external)" in done.stdout
    before = len(elsewhere.heads)
    done = run(crawl, "--fragments", "--external", "--format", "json")
    asked = [path_of(head) for head in elsewhere.heads[before:]]
    elsewhere.stop()
    rows = {row["url"].removeprefix(elsewhere.url()[:-1]): row for row in map(json.loads, done.stdout.splitlines())}
    assert {url: row["reason"] for url, row in rows.items()} == {
        "/guide#gone": "no-fragment",
        "/moved#lost": "no-fragment",
        "/gone": "http-error",
    }
    assert done.stderr == "4 external URLs: 3 fine, 1 broken, 2 places missing\n"
    assert sorted(asked) == sorted((*replies, "/robots.txt"))


def test_images_of_other_sites_are_external(tmp_path: Path) -> None:
    elsewhere = RawServer(by_path({"/there.png": answer(b"x", "200 OK", "Content-Type: image/png")}))
    body = "".join(f"<img src={elsewhere.url(path)}>" for path in ("/there.png", "/gone.png"))
    crawl, _ = crawled(tmp_path, {"/": page(body)})
    done = run(crawl)
    assert (done.exit_code, done.stdout) == (0, "no broken URL\nnot looked at: 2 images of other sites (--external)\n")
    done = run(crawl, "--external", "--format", "json")
    elsewhere.stop()
    assert [json.loads(line)["url"] for line in done.stdout.splitlines()] == [elsewhere.url("/gone.png")]
    assert run(crawl, "--external", "--check-files", "--seed", "x").exit_code == 2
