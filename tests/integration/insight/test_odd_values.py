"""Odd values in a database, as somebody else may write them: each command says so in a line, and ends with a code."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from scrawler.cli.main import scrawler
from scrawler.errors import ScrawlerError
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import by_path, page
from tests.integration.fetch.servers import RawServer

LAST = 2**63 - 1
DIGITS = "9" * 100_000
DEEP = "[" * 100_000
CONTROLS = "\x1b]0;owned\x07\u202e\x9b"
CHANGES = {
    "verdicts that are no JSON": "UPDATE seed SET verdicts = 'no JSON'",
    "verdicts of another kind": "UPDATE seed SET verdicts = '[1]'",
    "verdicts that are no numbers": """UPDATE seed SET verdicts = '{"external": "many"}'""",
    "a number of 100,000 digits": f"UPDATE seed SET verdicts = '{{\"external\": {DIGITS}}}'",
    "JSON nested without an end": f"UPDATE seed SET verdicts = '{DEEP}'",
    "settings that are no JSON": "UPDATE run SET settings = 'x'",
    "settings of another kind": "UPDATE run SET settings = '[]'",
    "settings nested without an end": f"UPDATE run SET settings = '{DEEP}'",
    "orders of another kind": "UPDATE crawl SET settings = '[1]'",
    "orders that are none": """UPDATE crawl SET settings = '{"threads": "many", "sites": 3, "db": "x"}'""",
    "times after all": f"UPDATE page SET fetched_at = {LAST}",
    "times before all": f"UPDATE page SET fetched_at = -{LAST}",
    "times of machines": f"UPDATE machine SET started_at = {LAST}, heartbeat_at = {LAST}",
    "a NUL in the name of a file": "UPDATE page SET warc_file = 'a' || char(0) || 'b'",
    "a file elsewhere": "UPDATE page SET warc_file = '../../../../etc/passwd'",
    "an absolute file": "UPDATE page SET warc_file = '/dev/zero'",
    "a length without bounds": f"UPDATE page SET warc_length = {LAST}, length = {LAST}",
    "a negative length": "UPDATE page SET warc_length = -1, length = -1",
    "an offset without bounds": f"UPDATE page SET warc_offset = {LAST}",
    "a result that is none": "UPDATE page SET result = 'made-up'",
    "a state that is none": "UPDATE seed SET state = 'made-up'",
    "an end that is none": "UPDATE seed SET end_reason = 'made-up'",
    "a machine's state that is none": "UPDATE machine SET state = 'made-up'",
    "an order that is none": "UPDATE machine SET wanted = 'made-up'",
    "a process that is none": "UPDATE machine SET process = 'made-up'",
    "a seed that is not there": "UPDATE page SET seed_id = 999, lane_seed = 999",
    "a scope that is none": "UPDATE crawl SET scope = 'made-up'",
    "a NUL in the name of the crawl": "UPDATE crawl SET name = 'a' || char(0) || 'b'",
    "controls in names": f"UPDATE crawl SET name = '{CONTROLS}'",
    "controls in machines": f"UPDATE machine SET host = '{CONTROLS}', name = '{CONTROLS}'",
    "controls in URLs": f"UPDATE page SET url = 'http://x.org/{CONTROLS}'",
    "text that is none": "UPDATE page SET url = CAST(x'ff8080' AS TEXT)",
    "half of a pair": "UPDATE seed SET url = CAST(x'eda080' AS TEXT)",
}
COMMANDS = (
    *("status", "status --json", "seeds", "seeds --json", "machines --all", "pages", "pages --csv", "report", "broken"),
    *("cat URL", "cat --text URL", "why URL", "diff URL", "verify", "changes", "export - --pages", "corpus -"),
    "wacz out.wacz",
)
# Some commands have no words of their own for these: they say what Python said, and where.
SAID_IN_GENERAL = {
    *("verdicts of another kind", "verdicts that are no numbers", "settings of another kind", "orders that are none"),
}
SHOWN = ("\x1b]", "\x9b", "\u202e")  # what would control a terminal, or show a text in another order


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("crawled")
    crawl = Crawl(folder, f"sqlite:///{folder / 'crawl.db'}")
    site = RawServer(by_path({"/": page("home", links=("/one",)), "/one": page("words")}))
    home = site.url()
    crawl.add([home])
    crawl.run(traps=False)
    site.stop()
    with closing(sqlite3.connect(folder / "crawl.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return folder, home


@pytest.mark.parametrize("kind", CHANGES)
def test_each_command_says_so_and_ends(
    crawled: tuple[Path, str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, home = crawled
    shutil.copytree(folder / "pages", tmp_path / "pages")
    shutil.copy(folder / "crawl.db", tmp_path / "crawl.db")
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(CHANGES[kind])
    monkeypatch.chdir(tmp_path)
    for words in COMMANDS:
        arguments = [home if word == "URL" else word for word in words.split()]
        done = CliRunner().invoke(scrawler, [*arguments, "--db", "crawl.db"], standalone_mode=False)
        assert done.exception is None or isinstance(done.exception, SystemExit | ScrawlerError), (words, done.exc_info)
        assert kind in SAID_IN_GENERAL or "a value is not what it should be" not in str(done.exception), words
        assert words.startswith("cat") or not any(mark in done.output for mark in SHOWN), words


@pytest.mark.parametrize("name", ["../evil", "{folder}/evil", "a/b", ".hidden", ""])
def test_no_file_is_named_as_a_database_wants(
    crawled: tuple[Path, str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are named after the crawl: one that is called as a path would be written anywhere."""
    inside, precious = tmp_path / "inside", tmp_path / "evil.txt"
    inside.mkdir()
    precious.write_text("precious")
    shutil.copy(crawled[0] / "crawl.db", inside / "crawl.db")
    with closing(sqlite3.connect(inside / "crawl.db")) as connection, connection:
        connection.execute("UPDATE crawl SET name = ?", [name.format(folder=tmp_path)])
    monkeypatch.chdir(inside)
    for words in (["export"], ["run", "--again", "--no-export"], ["status"]):
        done = CliRunner().invoke(scrawler, [*words, "--db", "crawl.db"], standalone_mode=False)
        assert isinstance(done.exception, ScrawlerError), (words, done.exc_info)
        assert "which no crawl is called" in str(done.exception)
    assert precious.read_text() == "precious"
    assert not [file for file in inside.rglob("*.txt") if "evil" in file.name]
