"""What pages lead to, kept beside their answers: read back with warcio from whole crawls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warcio.archiveiterator import ArchiveIterator

from scrawler.features.outlinks.step import MOST_OUTLINKS
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from tests.consistency import check_records
from tests.integration.crawl.hostile import Reply, by_path, page, redirect, run_whole
from tests.integration.crawl.rig import watch
from tests.integration.fetch.servers import RawServer, answer

if TYPE_CHECKING:
    from scrawler.core.machine.machine import Machine
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

SITE: dict[str, Reply] = {
    "/": page(
        "<base href='/in/'><a href=page#top>x</a><a href=page>x</a><a href=#here>x</a><a href=mailto:me@a.example>x</a>"
        "<a href='http://b.example/?q=ä'>x</a><a rel=ugc href=told>x</a><iframe src=frame></iframe>"
        "<area href=area><img src=i.png><link rel=stylesheet href=/s.css><a href=/moved>x</a><a href=/refreshed>x</a>"
    ),
    "/in/page": page("<p>no links"),
    "/in/frame": page("<meta name=robots content=nofollow><a href=left>x</a>"),
    "/moved": redirect("/in/page?moved"),
    "/in/page?moved": page("<p>no links here either"),
    "/refreshed": page("<a href=/>x</a>", "Refresh: 0; url=/in/area"),
    "/in/area": page("".join(f"<a href=/n/{n}.gif>x</a>" for n in range(MOST_OUTLINKS + 10))),
}
OF_HOME = [
    "/in/page L a/@href",
    "http://b.example/?q=%C3%A4 L a/@href",
    "/in/frame E iframe/@src",
    "/in/area L area/@href",
    "/moved L a/@href",
    "/refreshed L a/@href",
    "/in/told L a/@href",
    "/in/i.png E img/@src",
    "/s.css E link/@href",
]


def outlinks(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield URL, out-links and other fields of each metadata record of a crawl."""
    for path in folder.glob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                content = record.raw_stream.read()
                if record.rec_type == "metadata":
                    assert record.rec_headers.get_header("Content-Type") == "application/warc-fields"
                    fields = [line.split(": ", 1) for line in content.decode().splitlines()]
                    kept = [value for name, value in fields if name == "outlink"]
                    others = [name for name, _ in fields if name != "outlink"]
                    yield record.rec_headers.get_header("WARC-Target-URI"), kept, others


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_out_links_are_kept_on_wish(crawl: Crawl, serve: Serve, profile: str) -> None:
    server = serve(by_path(SITE))
    crawl.add([server.url()])
    run_whole(crawl, profile=profile, outlinks=True, nofollow=("ugc",))  # which compares rows and records
    origin = server.url("")
    kept = list(outlinks(crawl.folder / "pages"))
    found = {url.removeprefix(origin): [one.removeprefix(origin) for one in lines] for url, lines, _ in kept}
    assert found.keys() == {"/", "/in/frame", "/moved", "/refreshed", "/in/area"}
    assert sorted(found["/"]) == sorted(OF_HOME)
    assert found["/in/frame"] == ["/in/left L a/@href"]  # it stands there, whether it is followed or not
    assert found["/moved"] == ["/in/page?moved R Location:"]
    assert found["/refreshed"] == ["/in/area R Refresh:", "/ L a/@href"]
    assert len(found["/in/area"]) == MOST_OUTLINKS
    assert {tuple(others) for url, _, others in kept if url != origin + "/moved"} == {
        ("fetchTimeMs", "charsetForLinkExtraction")
    }


def test_what_is_crawled_does_not_depend_on_it(crawl: Crawl, serve: Serve, tmp_path: Path, sqlite_url: str) -> None:
    server = serve(by_path(SITE | {"/s.css": answer(b"p {}", "200 OK", "Content-Type: text/css")}))
    seen = []
    for folder, keeps in ((tmp_path / "without", False), (tmp_path / "with", True)):
        one = type(crawl)(folder, f"sqlite:///{folder}.db")
        one.add([server.url()])
        run_whole(one, outlinks=keeps)
        seen.append({(row.url, row.depth, row.result, row.flags, row.length) for row in one.pages()})
        assert bool(list(outlinks(folder / "pages"))) is keeps
    assert seen[0] == seen[1]


def test_a_kill_leaves_no_out_links_without_their_page(crawl: Crawl) -> None:
    """Of what was not committed nothing stays; what goes on from there has all its out-links, once."""
    with SynthServer(WebSpec(seed=7, sites=4, equal=True, mean_pages=60, page_bytes=800)) as server:
        crawl.add(server.web.seeds())
        stop = threading.Event()

        def look(machine: Machine) -> None:
            if machine.crew.totals().pages > 40:
                stop.set()

        watch(crawl.settings(delay=0.005, outlinks=True), look, stop)  # writes no index
        (file,) = (crawl.folder / "pages").glob("*.warc.gz")
        whole = file.read_bytes()
        file.write_bytes(whole + whole[-700:])  # the tail of a killed machine: records that were never committed
        run_whole(crawl, outlinks=True)
        pages = {row.url for row in crawl.pages() if row.content_type == "text/html" and row.warc_file}
    check_records(crawl.url, crawl.folder / "pages")
    kept = [url for url, _, _ in outlinks(crawl.folder / "pages")]
    assert len(kept) == len(set(kept))
    assert set(kept) <= pages
    assert len(kept) > 200
