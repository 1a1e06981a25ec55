"""`scrawler why` and `scrawler report` from the command line: text, JSON, an HTML page, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import html5lib
import pytest

from scrawler.model.seeds import SeedCounts
from tests.e2e.conftest import CRAWL, Rows, Scrawler


@pytest.fixture
def crawled(scrawler: Scrawler, seed_file: Path) -> list[str]:
    """The seeds of a crawl that has ended; depth is a flag of the run alone."""
    scrawler("import", "seeds.txt")
    scrawler(*CRAWL, "--max-depth", "1", "--no-export")
    return seed_file.read_text().split()


def ask(scrawler: Scrawler, *arguments: str) -> dict[str, Any]:
    return dict(json.loads(scrawler(*arguments, "--json").stdout))


def test_why_answers_for_any_url(scrawler: Scrawler, rows: Rows, crawled: list[str]) -> None:
    seed = crawled[0]
    pages = {row["url"]: row for row in rows("pages", "--seed", seed)}
    for url, row in list(pages.items())[:2]:
        answer = ask(scrawler, "why", url)
        assert (answer["url"], answer["outcome"]) == (url, row["result"])
        (fact,) = (fact for fact in answer["facts"] if fact["kind"] == "page")
        assert {name: fact[name] for name in ("status", "depth", "warc_file", "fetched_at", "digest")} == {
            name: row[name] for name in ("status", "depth", "warc_file", "fetched_at", "digest")
        }
    text = scrawler("why", seed).stdout.splitlines()
    assert text[0] == f"{seed}: fetched"
    assert "a seed, given by the user; it ended as max-depth" in text[1]
    nowhere = scrawler("why", f"{seed}nowhere").stdout
    assert "not-seen" in nowhere
    assert "left out below depth 1" in nowhere
    assert "refused" in scrawler("why", f"{seed}x.png").stdout.splitlines()[0]
    assert "example.org/: not-seen" in scrawler("why", "example.org").stdout


@pytest.mark.heavy
def test_reports_agree_in_all_forms(scrawler: Scrawler, rows: Rows, crawled: list[str], tmp_path: Path) -> None:
    (status,) = rows("status")
    made = ask(scrawler, "report")
    assert made["totals"]["pages"] == status["pages"] == status["counts"]["pages"]
    assert set(SeedCounts.__dataclass_fields__) <= set(status["counts"])
    found = {row["url"]: row["pages"] for row in rows("seeds")}
    assert sum(found.values()) == status["pages"]
    assert ask(scrawler, "report", crawled[0])["totals"]["pages"] == found[crawled[0]]

    text = scrawler("report").stdout
    assert f"  pages         {status['pages']:,}\n" in text
    assert "Results: URLs by final result" in text
    said = scrawler("report", crawled[0], "--html", "report.html")
    assert "wrote the report on seed" in said.stderr
    page = html5lib.HTMLParser(strict=True).parse((tmp_path / "report.html").read_text())
    titles = [element.text for element in page.iter() if str(element.tag).endswith("}h1")]
    assert titles == [f"Report on seed {crawled[0]}"]
    assert [element for element in page.iter() if str(element.tag).endswith("}rect")]


@pytest.mark.heavy
def test_errors_are_one_line_and_a_code(scrawler: Scrawler, seed_file: Path) -> None:
    scrawler("import", "seeds.txt")
    for arguments, code, words in (
        (("why", "no url"), 2, "URL 'no url': "),
        (("why", "\x1b[31m"), 2, r"URL '\x1b[31m': control character U+001B"),
        (("report", "http://nobody.example/"), 3, "http://nobody.example/ is no seed of this crawl"),
        (("report", "no url"), 3, "SEED 'no url': "),
        (("report", "--html", "seeds.txt/report.html"), 1, "seeds.txt/report.html: cannot be written"),
    ):
        (line,) = scrawler(*arguments, code=code).stderr.splitlines()
        assert line.startswith(f"scrawler: error: {words}")
    usage, line = scrawler("report", "", code=2).stderr.splitlines()
    assert usage.startswith("Usage: scrawler report")
    assert line.startswith("scrawler: error: Invalid value for '[SEED]': it is empty")


def test_without_a_database_or_a_run_there_is_an_answer_or_an_error(scrawler: Scrawler, seed_file: Path) -> None:
    assert "there is no database" in scrawler("why", "example.org", code=4).stderr
    scrawler("import", "seeds.txt")
    seed = seed_file.read_text().split()[0]
    assert ask(scrawler, "why", seed)["outcome"] == "waiting"
    assert ask(scrawler, "why", f"{seed}x")["outcome"] == "not-seen"
    assert ask(scrawler, "report")["totals"]["pages"] == 0
    scrawler("report", "--html", "empty.html")
