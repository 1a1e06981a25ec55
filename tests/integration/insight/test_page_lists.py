"""Pages as lists for people and programs: `scrawler pages` and `scrawler export`, and what may be asked of them."""

from __future__ import annotations

import csv
import gc
import io
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from click.testing import CliRunner

from scrawler.cli.export import export
from scrawler.cli.pages import pages
from scrawler.dates import iso_date
from scrawler.seeds.exporter import COLUMNS, ExportRow
from scrawler.seeds.files import Format
from scrawler.seeds.table_files import open_table
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, by_path, page, redirect
from tests.integration.fetch.servers import RawServer, answer

SITE: dict[str, Reply] = {
    "/": page("home", links=("/a", "/moved", "/gone", "/busy", "/image.png", "http://elsewhere.example/x")),
    "/a": page("a" * 2000, links=("/", "/b")),
    "/b": page("<link rel=canonical href=/a>b"),
    "/moved": redirect("/a"),
    "/busy": answer(b"", "500 Oops", "Content-Type: text/html"),
    "/image.png": answer(b"\x89PNG", "200 OK", "Content-Type: image/png"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, str]:
    """A crawl, and the URL of its site without the last slash."""
    folder = tmp_path_factory.mktemp("crawled")
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    server = RawServer(by_path(SITE))
    crawl.add([server.url()])
    crawl.run(traps=False, threads=1, robots=False, assets=True)
    server.stop()
    return crawl, server.url()[:-1]


def shown(crawled: tuple[Crawl, str], *words: str) -> list[dict[str, Any]]:
    crawl, site = crawled
    done = CliRunner().invoke(pages, [*words, "--format", "json", "--db", crawl.url])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row | {"path": row["url"].removeprefix(site)} for row in rows]


def paths(crawled: tuple[Crawl, str], *words: str) -> list[str]:
    return [row["path"] for row in shown(crawled, *words)]


def test_all_pages_are_listed_with_what_belongs_to_them(crawled: tuple[Crawl, str]) -> None:
    crawl, site = crawled
    rows = {row["path"]: row for row in shown(crawled)}
    assert set(rows) == {"/", "/a", "/b", "/moved", "/gone", "/busy"}
    assert {path: row["referrer"].removeprefix(site) for path, row in rows.items()} == {
        "/": "",
        "/b": "/a",
        **dict.fromkeys(("/a", "/moved", "/gone", "/busy"), "/"),
    }
    assert rows["/b"]["canonical"] == f"{site}/a"
    assert {row["seed"] for row in rows.values()} == {f"{site}/"}
    kept = {row.url.removeprefix(site): row for row in crawl.pages()}
    assert {path: row["fetched_at"] for path, row in rows.items()} == {
        path: iso_date(row.fetched_at) for path, row in kept.items()
    }
    assert iso_date(0) == "1970-01-01T00:00:00.000Z"


def test_pages_are_chosen_by_result_status_and_type(crawled: tuple[Crawl, str]) -> None:
    site = crawled[1]
    assert set(paths(crawled, "--result", "http-error")) == {"/gone", "/busy"}
    assert set(paths(crawled, "--result", "redirect,http-error", "--status", "3xx,404")) == {"/moved", "/gone"}
    assert paths(crawled, "--status", "500-503") == ["/busy"]
    assert paths(crawled, "--status", "0") == []
    assert set(paths(crawled, "--type", "text/html", "--result", "fetched")) == {"/", "/a", "/b"}
    assert set(paths(crawled, "--type", "text/*", "--type", "image/*")) >= {"/", "/a", "/b", "/gone", "/busy"}
    assert paths(crawled, "--type", "image/png") == []
    assert len(paths(crawled, "--seed", site)) == 6
    of_type = [("--type", kind) for kind in ("html", "*/*", "text*/html", "text/h*")]
    of_status = [("--status", status) for status in ("4x", "abc", "500-400")]
    for words in (*of_type, *of_status, ("--result", "nope"), ("--sort", "x")):
        done = CliRunner().invoke(pages, [*words, "--db", crawled[0].url])
        assert done.exit_code == 2
        assert words[1] in done.stderr


def test_pages_are_sorted_either_way(crawled: tuple[Crawl, str]) -> None:
    by_size = [row["length"] for row in shown(crawled, "--sort", "-size")]
    assert by_size == sorted(by_size, reverse=True)
    assert paths(crawled, "--sort", "-size")[0] == "/a"
    assert paths(crawled, "--sort", "url") == sorted(paths(crawled))
    assert paths(crawled, "--sort", "url", "--result", "http-error") == ["/busy", "/gone"]


def test_forms_have_the_same_words_everywhere(crawled: tuple[Crawl, str]) -> None:
    url = crawled[0].url
    run = CliRunner().invoke
    assert run(pages, ["--format", "csv", "--db", url]).stdout == run(pages, ["--csv", "--db", url]).stdout
    assert run(pages, ["--format", "text", "--db", url]).stdout == run(pages, ["--db", url]).stdout
    assert run(pages, ["--format", "csv", "--json", "--db", url]).exit_code == 2
    (times,) = {row["fetched_at"][-1] for row in csv.DictReader(io.StringIO(run(pages, ["--csv", "--db", url]).stdout))}
    assert times == "Z"


def test_exports_of_pages_say_where_each_record_is(crawled: tuple[Crawl, str], tmp_path: Path) -> None:
    crawl, site = crawled
    found = {}
    for ending in ("csv", "jsonl.gz", "parquet"):
        name = tmp_path / f"out.{ending}"
        done = CliRunner().invoke(export, ["--pages", str(name), "--db", crawl.url])
        assert done.exit_code == 0, done.output
        assert "exported 1 seed, 1 candidate seed, 6 pages to" in done.stderr
        found[ending] = name
    table = pyarrow.parquet.read_table(found["parquet"]).to_pylist()
    rows = list(csv.DictReader(found["csv"].open()))
    assert [row["url"] for row in rows] == [row["url"] for row in table]
    assert [row["kind"] for row in table] == ["seed", "candidate", *["page"] * 6]
    assert table[1]["referrer"] == f"{site}/"
    kept = {row.url: row for row in crawl.pages()}
    for row in table[2:]:
        one = kept[row["url"]]
        assert (row["warc_file"], row["warc_offset"], row["warc_length"]) == one[14:17]
        assert (row["digest"], row["length"], row["content_type"]) == (one.digest.hex(), one.length, one.content_type)
        assert row["fetched_at"].isoformat(timespec="milliseconds") == iso_date(one.fetched_at).replace("Z", "+00:00")
    assert {row["fetched_at"] for row in rows[2:]} == {iso_date(row.fetched_at) for row in kept.values()}


def test_one_kind_alone_is_exported(crawled: tuple[Crawl, str]) -> None:
    crawl, site = crawled
    for kind, urls in (("seed", {f"{site}/"}), ("candidate", {"http://elsewhere.example/x"}), ("page", None)):
        done = CliRunner().invoke(export, ["-", "--only", kind, "--db", crawl.url])
        assert set(done.stdout.splitlines()) == (urls or {row.url for row in crawl.pages()})


@pytest.mark.parametrize("written", [Format.CSV, Format.JSONL, Format.PARQUET])
def test_a_table_that_is_broken_off_leaves_nothing(
    written: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    def broken_off() -> None:
        with open_table(str(tmp_path / "table"), written, COLUMNS) as out:
            out.write([ExportRow("http://a.example/", "page")])
            raise LookupError

    with pytest.raises(LookupError):
        broken_off()
    gc.collect()
    assert told == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", [Format.CSV, Format.JSONL, Format.PARQUET])
def test_a_table_of_any_length_takes_little_memory(written: Format, tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        tracemalloc.start()
        with open_table(str(tmp_path / "table"), written, COLUMNS) as out:
            for number in range(rows):
                out.write([ExportRow(f"http://a.example/{number}", "page", fetched_at=number)])
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few = 22_000 if written is Format.PARQUET else 3_000
    peak(10)
    assert peak(2 * few) < 1.2 * peak(few) + 1_000_000
