"""Files that a crawl needs, over which no output of a command is written."""

from __future__ import annotations

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import click
import pytest

from scrawler.api.keeping import keep_clear
from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from tests.e2e.conftest import SCRAWLER, Rows, Scrawler, environment, error_line


@pytest.mark.heavy
def test_no_file_that_is_needed_is_written_over(scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    """Neither the seed file, by whatever name, nor the database."""
    seeds = tmp_path / "input_urls" / "seeds.txt"
    seeds.parent.mkdir()
    seeds.write_text("http://a.example/\nno url\n")
    (tmp_path / "hard").hardlink_to(seeds)
    (tmp_path / "soft").symlink_to(seeds)
    for rejects in ("input_urls/seeds.txt", "hard", "soft"):
        said = error_line(scrawler("import", "seeds.txt", "--rejects", rejects, code=2))
        assert said == f"--rejects {rejects} is the seed file itself, and would be overwritten"
    with seeds.open() as given:
        command = [SCRAWLER, "import", "-", "--rejects", "hard"]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), stdin=given, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, "is the seed file itself" in done.stderr) == (2, True)
    assert seeds.read_text() == "http://a.example/\nno url\n"
    scrawler("import", "seeds.txt", "--rejects", "rejects")
    for command in (
        ("import", "seeds.txt", "--rejects", "scrawler.db"),
        ("export", "scrawler.db", "--format", "txt"),
        ("report", "--html", "scrawler.db"),
    ):
        assert "scrawler.db is the crawl's database: write to another file" in error_line(scrawler(*command, code=2))
    (tmp_path / "own.toml").write_text("threads = 2\n")
    (tmp_path / "pages").mkdir()
    for file, words in (
        ("scrawler.db-wal", "is the crawl's database"),
        ("scrawler.db-journal", "is the crawl's database"),
        ("pages/crawl-1-00001.warc.gz", "is a file of an archive by its name"),
        ("pages/crawl-1.lock", "is a file of an archive by its name"),
        ("own.toml", "is the file of the settings"),
    ):
        said = error_line(scrawler("import", "seeds.txt", "--rejects", file, "--config", "own.toml", code=2))
        assert said.startswith(f"{file} {words}")
    assert (tmp_path / "own.toml").read_text() == "threads = 2\n"
    assert [row["url"] for row in rows("seeds")] == ["http://a.example/"]


def test_no_file_of_the_archive_is_written_over_by_another_name(scrawler: Scrawler, tmp_path: Path) -> None:
    """A hard link has a path of its own; and a crawl may have kept pages in another folder than the one in use now."""
    (tmp_path / "seeds.txt").write_text("http://a.example/\nno url\n")
    scrawler("import", "seeds.txt")
    with closing(open_database(f"sqlite:///{tmp_path}/scrawler.db")) as database:
        machine = Machines(database).register("here", 1, 0).id
        Crawls(database).begin_run(machine, {"pages_dir": str(tmp_path / "elsewhere")})
    for number, file in enumerate(
        ("pages/crawl-1.warc.gz", "elsewhere/crawl-1.warc.gz.damaged", "pages/crawl-1.cdxj", "elsewhere/crawl-1.lock")
    ):
        needed, other = tmp_path / file, f"other-{number}"
        needed.parent.mkdir(exist_ok=True)
        needed.write_text(file)
        (tmp_path / other).hardlink_to(needed)
        for command in (
            ("import", "seeds.txt", "--rejects", other),
            ("export", other, "--format", "txt"),
            ("report", "--html", other),
        ):
            said = error_line(scrawler(*command, code=2))
            assert said.startswith(f"{other} is a file of the archive by another name")
        assert needed.read_text() == file


def test_files_of_the_archive_may_come_and_go_meanwhile(tmp_path: Path) -> None:
    """Machines make locks, and remove them, while an output is written over an older one."""
    out, lock = tmp_path / "out.txt", tmp_path / "pages" / "crawl-1.lock"
    out.touch()
    lock.parent.mkdir()
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            lock.touch()
            lock.unlink()

    with (
        closing(open_database(f"sqlite:///{tmp_path}/scrawler.db")) as database,
        click.Context(click.Command("export")),
        ThreadPoolExecutor(1) as machine,
    ):
        Crawls(database).open("crawl", Scope.HOST)
        machine.submit(come_and_go)
        try:
            for _ in range(1_000):
                keep_clear(database, Settings(pages_dir=lock.parent), out)
        finally:
            done.set()
