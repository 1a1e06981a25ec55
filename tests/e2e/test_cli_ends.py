"""How a run ends: its exit code, its hints, and what goes to which stream."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from scrawler import Crawl
from tests.e2e.test_cli_crawl_in_one_go import FLAGS
from tests.integration.api.site import HTML, Answer, Site, linking
from tests.limits import HANGS

SCRIPT = b'<title>shop</title><a href="/1">one</a><script>location.href = "/by-script?id=7"</script>'


def scrawl(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    command = [sys.executable, "-m", "scrawler", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def site() -> Site:
    return Site({"/": Answer(SCRIPT), "/1": linking("one", "/"), "/by-script?id=7": Answer(b"x", HTML)})


def test_pages_alone_go_to_standard_output(tmp_path: Path, site: Site) -> None:
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


def test_a_database_is_named_as_a_file_and_a_plan_takes_one_round(tmp_path: Path, site: Site) -> None:
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
