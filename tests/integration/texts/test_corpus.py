"""A text corpus of a crawl: main texts, languages, groups of near copies; `scrawler corpus`."""

from __future__ import annotations

import json
import random
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from scrawler.dates import iso_date
from scrawler.errors import RecordsLostError, SettingsError
from scrawler.features.texts import corpus as of_corpus
from scrawler.features.texts.cli_corpus import corpus
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, by_path, page
from tests.integration.fetch.servers import RawServer, answer

WORDS = ("river", "stone", "harvest", "winter", "market", "bridge", "lantern", "garden", "letter", "window", "village")
GERMAN = "Der Bäcker am Ende der Straße backt jeden Morgen Brot und kleine Kuchen für die Leute aus dem Dorf. " * 3
AROUND = (
    "<!DOCTYPE html><html lang={language}><head><title> A  {title} </title></head><body><nav><ul>{links}</ul></nav>"
    "<main><h1>{title}</h1>{text}</main><footer>Imprint Privacy Contact</footer></body></html>"
)


def story(seed: int, words: int = 120) -> str:
    chosen = random.Random(seed)
    return " ".join(chosen.choice(WORDS) + str(chosen.randrange(40)) for _ in range(words))


def around(title: str, text: str, language: str = "en", links: tuple[str, ...] = ()) -> bytes:
    items = "".join(f"<li><a href={link}>Go to {link}</a></li>" for link in links)
    paragraphs = f"<p>{text}</p>"
    html = AROUND.format(language=language, title=title, links=items, text=paragraphs)
    return answer(html.encode(), "200 OK", "Content-Type: text/html; charset=utf-8")


PATHS = ("/one", "/copy", "/near", "/two", "/german", "/short", "/plain", "/nested", "/gone", "/image.png")
SITE: dict[str, Reply] = {
    "/": around("Home", story(0), links=PATHS),
    "/one": around("First story", story(1)),
    "/copy": around("First story", story(1)),
    "/near": around("First story", story(1) + " at 12:30"),
    "/two": around("Second story", story(2)),
    "/german": around("Bäcker", GERMAN),
    "/short": around("", "few"),
    "/plain": answer(b"just a text <b> of no markup", "200 OK", "Content-Type: text/plain"),
    "/nested": page("<div>" * 40_000 + "deep"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, str]:
    """A crawl, and the URL of its site without the last slash."""
    folder = tmp_path_factory.mktemp("crawled")
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    server = RawServer(by_path(SITE))
    crawl.add([server.url()])
    crawl.run(traps=False, threads=1, robots=False)
    server.stop()
    return crawl, server.url()[:-1]


def run(crawl: Crawl, *words: str, pages: Path | None = None) -> Result:
    folder = ("--pages-dir", str(pages or crawl.folder / "pages"))
    return CliRunner().invoke(corpus, [*words, "--db", crawl.url, *folder])


def rows(crawled: tuple[Crawl, str], *words: str) -> dict[str, dict[str, Any]]:
    crawl, site = crawled
    done = run(crawl, "-", *words)
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["url"].removeprefix(site): row for row in found}


def test_each_page_is_a_row_with_its_main_text(crawled: tuple[Crawl, str]) -> None:
    crawl, site = crawled
    found = rows(crawled)
    assert set(found) == {"/", "/one", "/copy", "/near", "/two", "/german", "/short", "/plain"}
    one = found["/one"]
    assert story(1) in one["text"]
    assert not any(word in found["/"]["text"] for word in ("Imprint", "Go to"))
    assert (one["title"], one["seed"]) == ("A First story", f"{site}/")
    (row,) = (row for row in crawl.pages() if row.url == f"{site}/one")
    assert (one["digest"], one["date"]) == (row.digest.hex(), iso_date(row.fetched_at))
    assert found["/german"]["language"] == "de"
    assert found["/plain"]["text"] == "just a text <b> of no markup"


def test_near_copies_are_one_group(crawled: tuple[Crawl, str]) -> None:
    found = rows(crawled)
    groups = {path: row["group"] for path, row in found.items()}
    assert groups["/one"] == groups["/copy"] == groups["/near"]
    assert len(set(groups.values())) == len(groups) - 2
    assert [number for number, row in enumerate(found.values()) if row["group"] == number]
    one_of_each = rows(crawled, "--one-of-each")
    assert len({row["group"] for row in one_of_each.values()}) == len(one_of_each) == len(found) - 2
    assert len(one_of_each.keys() & {"/one", "/copy", "/near"}) == 1


def test_lines_of_json_have_letters_as_they_are(crawled: tuple[Crawl, str]) -> None:
    lines = run(crawled[0], "-").stdout.splitlines()
    assert ["Bäcker" in line for line in lines if "/german" in line] == [True]


def test_short_texts_are_left_out_on_wish_and_all_is_counted(crawled: tuple[Crawl, str]) -> None:
    assert set(rows(crawled, "--min-length", "100")) == set(rows(crawled)) - {"/short", "/plain"}
    said = run(crawled[0], "-", "--min-length", "100", "--one-of-each").stderr
    assert said == "wrote 4 pages to standard output; left out: 2 too short, 2 near copies, 1 without a text\n"


def test_parquet_and_packed_json_hold_the_same(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl = crawled[0]
    for name in ("corpus.parquet", "corpus.jsonl.zst"):
        assert run(crawl, str(tmp_path / name)).exit_code == 0
    table = pyarrow.parquet.read_table(tmp_path / "corpus.parquet").to_pylist()
    assert [row["text"] for row in table] == [row["text"] for row in rows(crawled).values()]
    assert [row["group"] for row in table] == [row["group"] for row in rows(crawled).values()]
    done = run(crawl, str(tmp_path / "corpus.csv"))
    assert isinstance(done.exception, SettingsError)
    assert "a corpus is written as .jsonl" in str(done.exception)


def test_what_is_gone_of_the_archive_is_counted(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl = crawled[0]
    (warc,) = (crawl.folder / "pages").glob("*.warc.gz")
    whole = warc.read_bytes()
    (tmp_path / warc.name).write_bytes(whole[: len(whole) // 2])
    done = run(crawl, "-", pages=tmp_path)
    assert isinstance(done.exception, RecordsLostError)
    assert 0 < len(done.stdout.splitlines()) < 8
    assert "pages were left out" in str(done.exception)


def test_groups_take_little_memory_however_many_there_are() -> None:
    def peak(texts: int) -> int:
        tracemalloc.start()
        groups = of_corpus._Groups()
        for number in range(texts):
            groups.of(story(number, 20), number)
        groups.close()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(1_000) < peak(100) + 500_000


def test_pages_whose_records_are_gone_are_told_apart(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    (warc,) = (crawled[0].folder / "pages").glob("*.warc.gz")
    (tmp_path / warc.name).touch()
    done = run(crawled[0], "-", pages=tmp_path)
    assert isinstance(done.exception, RecordsLostError)
    assert "9 pages were left out" in str(done.exception)
    assert "without a text" not in done.stderr


def test_pdfs_are_not_read_and_told(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, f"sqlite:///{tmp_path / 'crawl.db'}")
    pdf = answer(b"%PDF-1.4", "200 OK", "Content-Type: application/pdf")
    server = RawServer(by_path({"/": page(story(1), links=("/a.pdf", "/b.pdf")), "/a.pdf": pdf, "/b.pdf": pdf}))
    crawl.add([server.url()])
    crawl.run(traps=False)
    server.stop()
    assert run(crawl, "-").stderr == "wrote 1 page to standard output; left out: 2 PDFs, which are not read\n"


def test_trafilatura_finds_the_main_texts_on_wish(crawled: tuple[Crawl, str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trafilatura")
    by_default, found = rows(crawled), rows(crawled, "--main-text", "trafilatura")
    assert found["/german"]["language"] == "de"
    assert "Bäcker" in found["/german"]["text"]
    assert {url: row["title"] for url, row in found.items()} == {url: by_default[url]["title"] for url in found}
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    assert "seed-scrawler[trafilatura]" in str(run(crawled[0], "-", "--main-text", "trafilatura").exception)
