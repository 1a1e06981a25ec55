"""Pages out of the archive, as a browser would get them, also where the archive is damaged: `scrawler cat`."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard
from click.testing import CliRunner, Result

from scrawler.cli.cat import cat
from scrawler.errors import NotCrawledError, RecordsLostError, ScrawlerError, SettingsError, StoreError
from tests.forks import SCRAWLER, python
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, by_path, page, redirect
from tests.integration.fetch.servers import RawServer, answer
from tests.limits import HANGS
from tests.terminals import open_terminal, read_terminal

HTML = "Content-Type: text/html"
TEXT = "Füße".encode("latin-1")
BOMB = zlib.compress(bytes(1 << 24), 9)  # 16 MiB of zeros in 16 KB; the crawl allows for 1 MiB
BODY = b"<p>one <b>and</b> the same</p><script>not seen</script><ul><li>a<li>b</ul><pre>x\n  y</pre>"
LONG = b"".join(b"<p>%d" % number for number in range(999))
SAME = b"<p>twice the same words</p>"
LARGE = b"more than other hosts may send " * 50_000
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
SITE: dict[str, Reply] = {
    "/gzip": page(gzip.compress(BODY), "Content-Encoding: gzip"),
    "/br": page(brotli.compress(BODY), "Content-Encoding: br"),
    "/zstd": page(zstandard.compress(BODY), "Content-Encoding: zstd"),
    "/chunked": CHUNKED,
    "/bare": CHUNKED.replace(b"\r\n", b"\n"),
    "/first": answer(SAME, "200 OK", HTML, "X-Which: first"),
    "/second": answer(SAME, "200 OK", HTML, "X-Which: second"),
    "/moved": redirect("/first"),
    "/bomb": page(BOMB, "Content-Encoding: deflate"),
    "/torn": page(gzip.compress(LONG)[:-20], "Content-Encoding: gzip"),
    "/latin": answer(TEXT, "200 OK", "Content-Type: text/plain; charset=iso-8859-1"),
    "/x.png": answer(b"\x89PNG", "200 OK", "Content-Type: image/png"),
    "/large": answer(LARGE, "200 OK", "Content-Type: application/pdf"),
    "/private": page("not asked for"),
    "/screen": page("a\tb\r\n\x1b]0;owned\x07\x9b2Jü".encode(), "X-Set: \x1b[31m"),
}
ROBOTS = answer(b"User-agent: *\nDisallow: /private", "200 OK", "Content-Type: text/plain")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, str]:
    """A crawl, and the URL of its site without the last slash."""
    folder = tmp_path_factory.mktemp("crawled")
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    site = SITE | {"/": page("home <img src=/x.png>", links=tuple(SITE)), "/robots.txt": ROBOTS}
    server = RawServer(by_path(site))
    crawl.add([server.url()])
    tables = {"127.0.0.1": {"max_body": 1 << 25}}
    crawl.run(assets=True, max_decoded=1 << 20, traps=False, threads=1, max_body=1 << 18, sites=tables)
    server.stop()
    return crawl, server.url()[:-1]


def run(crawl: Crawl, *words: str, pages: Path | None = None) -> Result:
    folder = ("--pages-dir", str(pages or crawl.folder / "pages"))
    return CliRunner().invoke(cat, [*words, "--db", crawl.url, *folder])


def refused(crawl: Crawl, kind: type[ScrawlerError], *words: str, pages: Path | None = None) -> str:
    """Return the line of an error of this kind."""
    found = run(crawl, *words, pages=pages).exception
    assert type(found) is kind or (kind is NotCrawledError and isinstance(found, kind)), found
    return str(found)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *((coding, BODY) for coding in ("gzip", "br", "zstd")),
        ("chunked", b"abc"),
        ("first", SAME),
        ("second", SAME),
        ("moved", b""),
        ("latin", TEXT),
        ("x.png", b"\x89PNG"),
        ("large", LARGE),
    ],
)
def test_a_body_comes_as_a_browser_gets_it(crawled: tuple[Crawl, str], path: str, body: bytes) -> None:
    crawl, site = crawled
    assert run(crawl, f"{site}/{path}").stdout_bytes == body
    assert run(crawl, f"{site.replace('http', 'HTTP')}/./{path}#part").stdout_bytes == body


def test_head_record_and_text_of_a_page_that_came_again(crawled: tuple[Crawl, str]) -> None:
    crawl, site = crawled
    for path in ("first", "second"):
        head = run(crawl, f"{site}/{path}", "--headers").stdout_bytes
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert head.endswith(b"X-Which: %s\r\n\r\n" % path.encode())
    records = [run(crawl, f"{site}/{path}", "--raw").stdout_bytes for path in ("first", "second")]
    assert sorted(record.split(b"\r\n")[1] for record in records) == [b"WARC-Type: response", b"WARC-Type: revisit"]
    assert run(crawl, f"{site}/gzip", "--text").stdout == "one and the same\na\nb\nx\n  y\n"
    assert run(crawl, f"{site}/latin", "--text").stdout == "Füße\n"


def test_a_page_as_markdown(crawled: tuple[Crawl, str]) -> None:
    crawl, site = crawled
    marked = "one **and** the same\n\n- a\n- b\n\n```\nx\n  y\n```\n"
    assert run(crawl, f"{site}/gzip", "--markdown").stdout == marked
    home = run(crawl, f"{site}/", "--markdown").stdout
    assert f"]({site}/gzip)" in home  # links lead where they led
    assert run(crawl, f"{site}/latin", "--markdown").stdout == "Füße\n"
    assert "image/png: no text" in refused(crawl, NotCrawledError, f"{site}/x.png", "--markdown")


def test_what_cannot_be_decoded_whole_is_written_as_far_as_it_goes(crawled: tuple[Crawl, str]) -> None:
    crawl, site = crawled
    assert len(run(crawl, f"{site}/bomb").stdout_bytes) == 1 << 20
    said = refused(crawl, ScrawlerError, f"{site}/bomb")
    assert said.endswith("only 1,048,576 bytes of its body could be decoded (decoded-too-large)")
    torn = run(crawl, f"{site}/torn").stdout_bytes
    assert LONG.startswith(torn)
    assert len(torn) > len(LONG) // 2
    assert "(decode-error)" in refused(crawl, ScrawlerError, f"{site}/torn")


def test_what_the_crawl_has_not_is_told_in_a_line(crawled: tuple[Crawl, str]) -> None:
    crawl, site = crawled
    assert "/none is no page of this crawl; `scrawler why" in refused(crawl, NotCrawledError, f"{site}/none")
    assert "its result is robots-denied" in refused(crawl, NotCrawledError, f"{site}/private")
    assert "/x.png is image/png: no text" in refused(crawl, NotCrawledError, f"{site}/x.png", "--text")
    assert NotCrawledError.exit_code == 9
    refused(crawl, SettingsError, "no url")
    assert "import seeds" in refused(Crawl(crawl.folder, f"sqlite:///{crawl.folder}/none.db"), StoreError, site)


def test_records_that_are_gone_or_damaged_are_told(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl, site = crawled
    (warc,) = (crawl.folder / "pages").glob("*.warc.gz")
    whole, there = warc.read_bytes(), tmp_path / warc.name
    damaged = bytearray(whole)
    for begin in range(0, len(whole), 50):
        damaged[begin] ^= 0x5A
    for data in (bytes(damaged), whole[:100], b"", bytes(len(whole)), gzip.compress(bytes(1 << 26)) * 9):
        there.write_bytes(data)
        said = refused(crawl, RecordsLostError, f"{site}/second", pages=tmp_path)
        assert "its record is gone from" in said
        assert "`scrawler verify` looks for more" in said
    there.unlink()
    there.mkdir()
    assert "its record is gone" in refused(crawl, RecordsLostError, f"{site}/second", pages=tmp_path)


def test_a_record_of_another_page_is_not_shown(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl, site = crawled
    rows = {row.url.removeprefix(site): row for row in crawl.pages()}
    one, other = rows["/gzip"], rows["/br"]
    (warc,) = (crawl.folder / "pages").glob("*.warc.gz")
    whole = bytearray(warc.read_bytes())
    record = whole[other.warc_offset : other.warc_offset + other.warc_length]
    whole[one.warc_offset : one.warc_offset + len(record)] = record
    (tmp_path / warc.name).write_bytes(whole)
    refused(crawl, RecordsLostError, one.url, pages=tmp_path)


def test_a_file_is_found_where_its_machine_wrote_it(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl, site = crawled
    assert run(crawl, f"{site}/gzip", pages=tmp_path / "none").stdout_bytes == BODY


def test_a_head_is_shown_as_its_server_sent_it(crawled: tuple[Crawl, str]) -> None:
    crawl, site = crawled
    head = run(crawl, f"{site}/chunked", "--headers").stdout_bytes
    assert head == CHUNKED.partition(b"3\r\n")[0]
    assert b"X-Archive-Orig-Transfer-Encoding: chunked" in run(crawl, f"{site}/chunked", "--raw").stdout_bytes


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), b"a\tb\r\n\\x1b]0;owned\\x07\\x9b2J\xc3\xbc"),
        (("--text",), b"a b \\x1b]0;owned\\x07"),
        (("--headers",), b"X-Set: \\x1b[31m\r\n"),
    ],
)
def test_a_page_does_not_control_a_terminal(crawled: tuple[Crawl, str], words: tuple[str, ...], shown: bytes) -> None:
    crawl, site = crawled
    command = ["cat", f"{site}/screen", *words, "--db", crawl.url, "--pages-dir", str(crawl.folder / "pages")]
    screen, terminal = open_terminal()
    assert python(SCRAWLER, *command, stdout=terminal).wait(HANGS) == 0
    os.close(terminal)
    seen = read_terminal(screen)
    os.close(screen)
    assert shown in seen
    assert not set(b"\x1b\x07\x9b") & set(seen)
    assert b"\x1b" in run(crawl, f"{site}/screen", *words).stdout_bytes
