"""`scrawler crawl`: seeds in, pages or items out, in one command, and again."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import Scrawl, started
from tests.integration.api.site import Site, chain
from tests.limits import HANGS
from tests.plugged import install

FLAGS = ("--allow-private", "--delay", "0", "--patience", "0", "--user-agent", "T/1(+http://x/)")
PLUGIN = "def make(settings):\n    return lambda page: {'url': page.url, 'label': page.seed_columns.get('label')}\n"


def lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_pages_come_out_and_the_same_command_goes_on(scrawl: Scrawl, tmp_path: Path) -> None:
    with Site(chain(6), frozenset({"/5"})) as site:
        words = ("crawl", f"{site.root}/0", "-o", "pages.jsonl", *FLAGS)
        with started(tmp_path, *words) as running:
            assert site.held.wait(HANGS)
            running.send_signal(signal.SIGINT)
            site.opened.set()
            told = running.communicate(timeout=HANGS)[1]
        assert running.returncode == 0, told
        assert f"to go on: scrawler crawl {site.root}/0 -o pages.jsonl --allow-private" in told
        assert len(lines(tmp_path / "pages.jsonl")) >= 5
        told = scrawl(tmp_path, *words).stderr
        assert "0 new, 1 duplicate" in told
        assert sum(site.asked[f"/{number}"] for number in range(6)) == 6
    folder = tmp_path / site.root.removeprefix("http://").replace(":", "_")
    assert sorted(one["url"] for one in lines(tmp_path / "pages.jsonl")) == [f"{site.root}/{n}" for n in range(6)]
    assert {"scrawler.db", "pages"} <= {path.name for path in folder.iterdir()}
    assert "exported 6 pages to -" not in scrawl(folder, "export", "--only", "page", "all.csv").stderr


def test_items_come_out_where_processors_make_them(scrawl: Scrawl, tmp_path: Path) -> None:
    install(tmp_path, "their-items", PLUGIN, {"scrawler.page_processors:theirs": "make"})
    with Site(chain(2)) as site:
        (tmp_path / "seeds.csv").write_text(f"url,label\n{site.root}/0,mine\n")
        refused = ("crawl", "seeds.csv", "-o", "items.doc", "--page-processors", "theirs")
        assert (
            "items are written as .jsonl"
            in scrawl(tmp_path, *refused, code=2, PYTHONPATH=str(tmp_path)).stderr.splitlines()[-1]
        )
        assert not (tmp_path / "seeds").exists()
        scrawl(
            tmp_path,
            "crawl",
            "seeds.csv",
            "-o",
            "items.jsonl",
            "--page-processors",
            "theirs",
            *FLAGS,
            PYTHONPATH=str(tmp_path),
        )
    found = [(item["url"], item["label"]) for item in lines(tmp_path / "items.jsonl")]
    assert found == [(f"{site.root}/0", "mine"), (f"{site.root}/1", "mine")]
    assert (tmp_path / "seeds" / "scrawler.db").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("run", "https://a.example/"), 2, "type: scrawler crawl https://a.example/"),
        (("crawl", "nope.txt"), 3, "nope.txt: no such file"),
        (("crawl", "http://a b/"), 3, "no URL"),
        (("crawl", "a.example", "-o", "x.doc"), 2, "only .txt, .csv"),
        (("crawl", "a.example", "-o", "nowhere/x.csv"), 2, "there is no such folder"),
        (("crawl", "a.example", "--folder", "."), 2, "holds no crawl"),
    ],
)
def test_what_cannot_be_is_said_in_a_line_and_nothing_is_made(
    scrawl: Scrawl, tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "mine").touch()
    assert said in scrawl(tmp_path, *words, code=code).stderr.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
