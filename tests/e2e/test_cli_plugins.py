"""Packages of a user's own, installed by pip, whose parts a crawl uses."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.conftest import CRAWL, Rows, Scrawler, environment, python_path
from tests.plugged import install

FILTER, ARCHIVE = (Path(__file__).with_name(name) for name in ("example_filter", "example_archive"))
CHOSEN = ("--url-filters", "no-translations", "--archive", "nowhere")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The PYTHONPATH of those who have installed the examples; without a network."""
    source = tmp_path_factory.mktemp("source")
    sources = [str(shutil.copytree(example, source / example.name)) for example in (FILTER, ARCHIVE)]
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--target", str(target), *sources],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return python_path(target)


def test_the_documentation_shows_a_whole_package_of_ten_lines() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/write-a-filter.md").read_text(encoding="utf-8")
    files = sorted(file for file in FILTER.iterdir() if file.is_file())
    assert [file.name for file in files] == ["no_translations.py", "pyproject.toml"]
    shown = [file.read_text() for file in files]
    assert all(text in page for text in shown)
    assert sum(text.count("\n") for text in shown) == 10


def test_its_parts_are_listed(rows: Rows, path: str) -> None:
    theirs = [row for row in rows("plugins", PYTHONPATH=path) if row["package"] != "scrawler"]
    assert [(row["setting"], row["name"], row["package"], row["interface"]) for row in theirs] == [
        ("url_filters", "no-translations", "no-translations 1.0", "scrawler.urls.filters:UrlFilter"),
        ("archive", "nowhere", "scrawler-nowhere 1.0", "scrawler.archive.archive:Archive"),
    ]


def test_a_crawl_uses_them_and_tells_why(scrawler: Scrawler, path: str, seed_file: Path, tmp_path: Path) -> None:
    scrawler("import", str(seed_file))
    scrawler(*CRAWL, *CHOSEN, PYTHONPATH=path)
    with closing(sqlite3.connect(tmp_path / "scrawler.db")) as database:
        pages = database.execute("SELECT url, warc_file FROM page WHERE result = 'fetched'").fetchall()
        ((left_out,), *_) = database.execute("SELECT url FROM rejection WHERE reason = 'url-filter'")
        (counted,) = database.execute("SELECT SUM(verdicts ->> 'url-filter') FROM seed").fetchone()
    seeds = seed_file.read_text().split()
    assert len(pages) > len(seeds)
    assert {file for _, file in pages} == {""}
    assert not (tmp_path / "pages").exists()
    exported = (tmp_path / "output_urls" / "crawl.txt").read_text().split()
    assert not [url for url in (*dict(pages), *exported) if "lang=" in url]
    assert counted > len(seeds)
    answer = scrawler("why", left_out).stdout
    assert answer.startswith(f"{left_out}: refused\n")
    assert "as url-filter: no-translations: a translation; linked from http" in answer


def test_it_is_asked_what_it_would_say_of_a_url_that_nobody_found(
    scrawler: Scrawler, path: str, seed_file: Path
) -> None:
    scrawler("import", str(seed_file))
    scrawler(*CRAWL, "--no-export", "--max-pages", "1", *CHOSEN, PYTHONPATH=path)
    url = seed_file.read_text().split()[0] + "nowhere?lang=en"
    named = {"SCRAWLER_URL_FILTERS": "no-translations"}
    asked = json.loads(scrawler("why", url, "--json", PYTHONPATH=path, **named).stdout)
    assert asked["outcome"] == "refused"
    assert asked["facts"][0]["text"] == [
        "a link to it is refused, as url-filter: no-translations: a translation",
    ]
    without = scrawler("why", url).stdout
    assert "not-seen\n" in without
    assert "URL filters have refused links of this site; what they say of this one is known where you name" in without


def test_without_the_package_the_setting_is_wrong(scrawler: Scrawler) -> None:
    done = scrawler(*CRAWL, *CHOSEN, code=2)
    assert done.stderr.count("\n") == 1
    assert "--url-filters no-translations is not allowed ('no-translations'), only what another" in done.stderr
    assert "; --archive nowhere is not allowed, only warc (scrawler), or what another package brings" in done.stderr


@pytest.mark.parametrize("machines", ["1", "2"])
def test_a_plug_in_that_fails_is_told_in_a_line(
    scrawler: Scrawler, seed_file: Path, tmp_path: Path, machines: str
) -> None:
    code = "def make(settings): return lambda url, page, depth: 1 / 0"
    install(tmp_path, "moody", code, {"scrawler.url_filters:moody": "make"})
    scrawler("import", str(seed_file))
    done = scrawler(*CRAWL, "--url-filters", "moody", "--machines", machines, code=2, PYTHONPATH=python_path(tmp_path))
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    assert len(errors) == 1
    assert "URL filter moody failed on http" in errors[0]
    assert errors[0].endswith("ZeroDivisionError: division by zero")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("setting", ["archive", "extractor"])
def test_a_machine_whose_part_cannot_be_made_has_ended(
    scrawler: Scrawler, rows: Rows, seed_file: Path, tmp_path: Path, setting: str
) -> None:
    install(tmp_path, "broken", "def make(*_, **__): raise OSError('no')", {f"scrawler.{setting}s:broken": "make"})
    scrawler("import", str(seed_file))
    done = scrawler(*CRAWL, f"--{setting}", "broken", code=2, PYTHONPATH=python_path(tmp_path))
    assert done.stderr.splitlines()[-1].endswith("(broken:make) cannot be made: OSError: no")
    assert [row["state"] for row in rows("machines", "--all")] == ["stopped"]
    with closing(sqlite3.connect(tmp_path / "scrawler.db")) as database:
        assert database.execute("SELECT outcome, ended_at >= started_at FROM run").fetchall() == [("failed", 1)]
