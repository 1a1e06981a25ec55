"""How a run ends: its exit code, its hints, and what goes to which stream."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest

from scrawler import Crawl
from scrawler.features.synthweb.process import WebProcess
from scrawler.features.synthweb.traps.server import TrapWeb
from tests.e2e.conftest import Scrawl
from tests.e2e.test_cli_crawl_in_one_go import FLAGS
from tests.integration.api.site import HTML, Answer, Site, linking

SCRIPT = b'<title>shop</title><a href="/1">one</a><script>location.href = "/by-script?id=7"</script>'


@pytest.fixture
def site() -> Site:
    return Site({"/": Answer(SCRIPT), "/1": linking("one", "/"), "/by-script?id=7": Answer(b"x", HTML)})


def test_pages_alone_go_to_standard_output(scrawl: Scrawl, tmp_path: Path, site: Site) -> None:
    with site:
        done = scrawl(tmp_path, "crawl", site.root, "-o", "-", "--folder", "out", "--fail-if", "no-page", *FLAGS)
        assert sorted(done.stdout.splitlines()) == [f"{site.root}/", f"{site.root}/1"]
        assert "seeds completed  1" in done.stderr
        idle = scrawl(tmp_path / "out", "run", "--fail-if", "no-page", *FLAGS, code=10)
        assert "the only seed is done, " in idle.stderr
        assert "`scrawler run --again` visits all pages again" in idle.stderr
        assert "no seed brought a page in this run" in idle.stderr
        why = scrawl(tmp_path / "out", "why", f"{site.root}/by-script?id=7").stdout
        assert f"{site.root}/ names it where no link stands, as in a script" in why
        assert "names it" not in scrawl(tmp_path / "out", "why", f"{site.root}/by-script").stdout


def test_what_was_left_out_is_told_with_what_fetches_it(scrawl: Scrawl, tmp_path: Path) -> None:
    with WebProcess("--traps", "--port=0") as process:
        web = TrapWeb(process.port)
        homes = [web.home(name) for name in ("soft-404", "chain")]
        done = scrawl(tmp_path, "crawl", *homes, "--folder", "out", "--max-depth", "15", *FLAGS)
        pattern = f"links as on {homes[0]}[^ ]+"
        match = re.search(rf"left out as traps +\d+ URLs of 1 seed, most .* {pattern}; `scrawler (.*)` f", done.stdout)
        assert match is not None, done.stdout
        deep = "links of 1 seed that lie too deep; `--retry max-depth --max-depth N` follows them"
        assert re.search(f"left out for depth +{deep}", done.stdout), done.stdout
        for words in (["status"], ["status", "--json"]):
            said = scrawl(tmp_path / "out", *words).stdout
            assert f"links as on {homes[0]}" in said
        counts = json.loads(said)["left_out_as_traps"]
        again = scrawl(tmp_path / "out", *match[1].split(), *FLAGS)
        assert f"URLs to be asked for again (trap): {counts['urls']:,}" in again.stderr
        idle = scrawl(tmp_path / "out", "run", "--retry", "urls", "--result", "timeout", *FLAGS)
    assert "URLs to be asked for again (timeout): 0" in idle.stderr


def test_an_error_that_a_retry_has_made_good_is_told_no_more(scrawl: Scrawl, tmp_path: Path) -> None:
    answers = {"/": linking("home", "/1"), "/1": Answer(b"sick", HTML, 500)}

    def told() -> tuple[int, int]:
        status = json.loads(scrawl(tmp_path / "out", "status", "--json").stdout)
        return status["pages"], status["errors"]

    with Site(answers) as site:
        scrawl(tmp_path, "crawl", site.root, "--folder", "out", "--retry-pause", "0.05", *FLAGS)
        assert told() == (1, 1)
        answers["/1"] = linking("one", "/")
        scrawl(tmp_path / "out", "run", "--retry", "urls", "--result", "http-error", *FLAGS)
        assert told() == (2, 0)
    assert re.search(r"errors +0\n", scrawl(tmp_path / "out", "status").stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--retry", "urls", "--result", "traps"], "--result traps is not allowed, only bad-answer, "),
        (["--retry", "urls", "--result", "timeuot"], "; did you mean timeout?"),
        (["--retry", "deda"], "; did you mean dead?"),
        (["--retry", "urls"], "--retry urls wants --result, one or several of bad-answer, "),
        (["--result", "trap"], "--result says which URLs are asked for again: use it with --retry urls"),
        (["--retry", "urls", "--result", "fetched"], "--result fetched is not allowed"),
    ],
)
def test_a_retry_that_names_what_is_not_there_is_refused(
    scrawl: Scrawl, tmp_path: Path, words: list[str], said: str
) -> None:
    done = scrawl(tmp_path, "run", *words, code=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_database_is_named_as_a_file_and_a_plan_takes_one_round(scrawl: Scrawl, tmp_path: Path, site: Site) -> None:
    with site:
        (tmp_path / "seeds.txt").write_text(site.root)
        scrawl(tmp_path, "import", "seeds.txt", "--db", "my.db")
        for again in ((), ("--again",), ("--again",)):
            scrawl(tmp_path, "run", *again, "--db", "my.db", "--no-export", *FLAGS)
        once = json.loads(scrawl(tmp_path, "plan", "--from", "my.db", "--json").stdout)
    assert (tmp_path / "my.db").exists()
    assert once["pages"] == 2


def test_python_is_told_how_private_addresses_are_crawled(
    tmp_path: Path, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    with site, Crawl(tmp_path / "crawl.db", pages_dir=tmp_path, user_agent="T/1 (+http://x/)") as crawl:
        crawl.add([site.root])
        with caplog.at_level(logging.WARNING, "scrawler"):
            crawl.run()
    assert 'Crawl(allow_private=True), and run(retry="private-address")' in caplog.text
