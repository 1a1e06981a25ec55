"""What the command line says of itself: help, version, the schema."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from scrawler import __version__
from scrawler.compiled import compiled_modules
from scrawler.errors import StoreError
from scrawler.settings import GROUPS
from tests.e2e.conftest import TIMEOUT, Scrawler


def test_without_a_command_there_is_help(scrawler: Scrawler) -> None:
    for group, commands in (((), ("import", "run")), (("db",), ("init", "upgrade"))):
        done = scrawler(*group, code=2)
        lines = done.stderr.splitlines()
        assert lines[0].startswith("Usage: scrawler")
        assert "error" not in lines[0]
        assert {line.split()[0] for line in lines if line.startswith("  ")}.issuperset(commands)


def test_help_names_the_exit_codes_and_every_setting_has_a_flag(scrawler: Scrawler) -> None:
    assert "130  stopped by the user" in scrawler("--help").stdout
    lines = scrawler("run", "--help").stdout.splitlines()
    sections = [line.strip(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert sections == ["Options", *(f"[{group}]" for group in GROUPS)]
    text = " ".join(" ".join(lines).split())
    for words in (
        "--threads N",
        "--delay TIME",
        "--max-bytes SIZE",
        "--scope host|domain|prefix",
        "[1 to 1000; default: 20]",
        "--nofollow REL,... Links that are not followed, by what their rel says. [relations among nofollow, ugc,",
    ):
        assert words in text


def test_the_schema_can_be_loaded_by_hand(scrawler: Scrawler, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "scrawler.db")
    connection.executescript(scrawler("db", "schema").stdout)
    connection.close()
    assert "up to date" in scrawler("db", "upgrade").stdout
    assert (
        "holds the crawl 'mine' with scope domain"
        in scrawler("db", "init", "--name", "mine", "--scope", "domain").stdout
    )
    assert "ENGINE=InnoDB" in scrawler("db", "schema", "--dialect", "mysql").stdout


def test_the_package_can_be_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scrawler"]
    done = subprocess.run([*command, "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0
    assert done.stdout.startswith(f"scrawler {__version__} (links by ")
    form = f"{len(compiled_modules())} modules compiled by mypyc" if compiled_modules() else "the hot path in Python"
    assert done.stdout.splitlines()[0].endswith(f"; {form})")
    done = subprocess.run([*command, "status"], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == StoreError.exit_code
    assert done.stderr.startswith("scrawler: error: there is no database")
