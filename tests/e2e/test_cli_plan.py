"""`scrawler plan` from the command line: from a file, from an earlier crawl, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrawler.store.engines.engine import open_database
from scrawler.store.reading.sizes import Sizes
from tests.e2e.conftest import CRAWL, Scrawler


def ask(scrawler: Scrawler, *arguments: str) -> dict[str, Any]:
    return dict(json.loads(scrawler("plan", *arguments, "--json").stdout))


@pytest.fixture
def file(tmp_path: Path) -> str:
    urls = [*(f"http://s{n}.example/" for n in range(300)), "http://s1.example/", "http://s2.example/b", "nonsense"]
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in urls))
    return "seeds.txt"


def test_a_file_alone_is_planned_by_assumptions_that_are_told(scrawler: Scrawler, file: str) -> None:
    done = scrawler("plan", file)
    assert "seeds.txt: 1 line is invalid, and left out" in done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.startswith("301 seeds of 300 sites: ")
    assert "with half or twice the assumed sizes" in head
    told = {line[2:15].strip(): line[17:] for line in lines}
    assert told["assumed"].startswith("40 pages a site on the average")
    assert "politeness" in told["bound by"]
    assert "twice the threads: " in told["with"]


def test_settings_hold_as_for_a_run(scrawler: Scrawler, file: str, tmp_path: Path) -> None:
    flags = (file, "--pages-per-site", "10", "--response-time", "200ms")
    one = ask(scrawler, *flags, "--no-robots", "--threads", "50", "--cpu-per-page", "0")
    assert one["seconds"] == pytest.approx(9 * 1.2 + 0.2, rel=0.05)
    (tmp_path / "scrawler.toml").write_text("robots = false\nthreads = 50\ndelay = 3\n")
    assert ask(scrawler, *flags)["seconds"] == pytest.approx(9 * 3.2 + 0.2, rel=0.05)
    assert ask(scrawler, *flags, "--max-pages", "2", "--delay", "1")["seconds"] == pytest.approx(3 * 1.2 + 0.2, rel=0.1)
    assert ask(scrawler, *flags, "--delay", "0", "--cpu-per-page", "1")["bound"] == "processor"


@pytest.mark.heavy
def test_an_earlier_crawl_tells_the_sizes(scrawler: Scrawler, seed_file: Path, tmp_path: Path) -> None:
    scrawler("import", "seeds.txt")
    scrawler(*CRAWL, "--no-export")
    url = f"sqlite:///{tmp_path / 'scrawler.db'}"
    before = (tmp_path / "scrawler.db").read_bytes()
    made = ask(scrawler, "--from", url, "--delay", "1")
    assert made["assumed"] == []
    database = open_database(url)
    known = list(Sizes(database).sites())
    database.close()
    assert made["pages"] == sum(site.pages for site in known)
    assert made["requests"] == sum(sum(site.requests) + 1 for site in known)
    longest = max(sum(site.requests) for site in known)
    assert made["seconds"] == pytest.approx(longest * 1.0, rel=0.1)
    same = ask(scrawler, "seeds.txt", "--from", url, "--delay", "1", "--threads", "2", "--seeds-per-thread", "2")
    ours = ask(scrawler, "--from", url, "--delay", "1", "--threads", "2", "--seeds-per-thread", "2")
    assert same["seconds"] == ours["seconds"]  # the sites of a file come in the order in which they are claimed
    (tmp_path / "more.txt").write_text(seed_file.read_text() + "http://unknown.example/\n")
    more = ask(scrawler, "more.txt", "--from", url, "--pages-per-site", "5000")
    assert more["largest"][0]["site"] == "unknown.example"
    assert more["low"] < more["seconds"] < more["high"]
    assert (tmp_path / "scrawler.db").read_bytes() == before  # a plan writes nothing


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "give a file of seeds, or --from DATABASE, or both"),
        (("seeds.txt", "--pages-per-site", "many"), 2, "--pages-per-site 'many' is not allowed, only a whole number"),
        (("seeds.txt", "--response-time", "soon"), 2, "'soon' is not a time such as 0.5, 600ms or 2s"),
        (("seeds.txt", "--response-time", "0"), 2, "'0' is not a time above 0"),
        (("seeds.txt", "--cores", "0"), 2, "0 is not in the range"),
        (("seeds.txt", "--delay", "never"), 2, "--delay never is not allowed, only a time"),
        (("nowhere.txt",), 3, "nowhere.txt: no such file"),
        (("empty.txt",), 3, "empty.txt: no seeds in it"),
        (("--from", "sqlite:///nowhere.db"), 4, "there is no database nowhere.db"),
        (("--from", "oracle://x"), 4, "no such kind of database: oracle"),
    ],
    ids=("nothing", "sizes", "response", "no-response", "cores", "setting", "file", "empty", "database", "kind"),
)
def test_errors_are_one_clear_line(
    scrawler: Scrawler, file: str, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "empty.txt").touch()
    done = scrawler("plan", *arguments, code=code)
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
