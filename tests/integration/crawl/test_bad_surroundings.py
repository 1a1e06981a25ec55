"""What a crawl does when its folder, its disk or its database will not have it, or when it is killed."""

from __future__ import annotations

import random
import re
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pymysql
import pytest
from sqlalchemy import Connection, make_url

from scrawler import app
from scrawler.app import retry_lost
from scrawler.core.progress import Progress
from scrawler.errors import ArchiveError, StoreBusyError
from scrawler.model.deltas import SiteDelta
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.engines.engine import Database, open_database
from tests.consistency import check_records
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import LONGEST_RUN, asked, by_path, check_whole, page, run_whole
from tests.integration.crawl.rig import run_command, running
from tests.integration.fetch.servers import RawServer, Script, Visit, answer, path_of
from tests.torture.crawl import freeze

Serve = Callable[..., RawServer]

NOISE = random.Random(7).randbytes(20_000)  # does not compress, so that files fill up
PAGES = 40


def large(name: str) -> Script:
    """A site of PAGES pages of 20 KB, all linked from the first."""
    links = tuple(f"/{n}" for n in range(1, PAGES))
    pages = {"/": page("", links=links)} | {path: page(path.encode() + name.encode() + NOISE) for path in links}
    return by_path(pages)


def everything(servers: list[RawServer]) -> set[str]:
    return {server.url(path) for server in servers for path in ("/", *(f"/{n}" for n in range(1, PAGES)))}


@pytest.fixture
def sites(crawl: Crawl, serve: Serve) -> list[RawServer]:
    """Three sites, their home pages the seeds of the crawl."""
    servers = [serve(large(f"site {n}")) for n in range(3)]
    crawl.add(server.url() for server in servers)
    return servers


Mount = Callable[..., Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mounts small file systems in memory; only root may."""
    mounted: list[Path] = []

    def make(options: str) -> Path:
        folder = tmp_path / f"mount-{len(mounted)}"
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"cannot mount: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "-l", folder], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def check_finished(crawl: Crawl, servers: list[RawServer], pages_dir: Path) -> None:
    crawl.check()
    check_records(crawl.url, pages_dir)
    assert crawl.fetched() == everything(servers)
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.COMPLETED}


def test_a_read_only_folder_is_one_message(crawl: Crawl, sites: list[RawServer], mount: Mount) -> None:
    folder = mount("size=20m,ro")
    with pytest.raises(ArchiveError, match=r"cannot write .*: Read-only file system$"):
        crawl.run(pages_dir=folder)
    assert crawl.pages() == []
    assert all(seed.state is not SeedState.DONE for seed in crawl.seeds())
    remount(folder, "rw")
    run = crawl.run(pages_dir=folder)
    assert run.outcome == "ended"
    check_finished(crawl, sites, folder)


def test_a_file_where_the_folder_should_be_is_one_message(crawl: Crawl, sites: list[RawServer]) -> None:
    folder = crawl.folder / "pages"
    folder.write_text("not a folder")
    with pytest.raises(ArchiveError, match="cannot write"):
        crawl.run()
    folder.unlink()
    run_whole(crawl)
    check_finished(crawl, sites, folder)


def test_a_full_disk_ends_the_run_and_loses_nothing(crawl: Crawl, sites: list[RawServer], mount: Mount) -> None:
    folder = mount("size=1m")
    with pytest.raises(ArchiveError, match=r"cannot write .*: No space left on device$"):
        crawl.run(pages_dir=folder)
    crawl.check()
    committed = crawl.fetched()
    assert committed < everything(sites)
    with pytest.raises(ArchiveError, match="No space left"):
        crawl.run(pages_dir=folder)
    assert crawl.fetched() >= committed
    remount(folder, "size=30m")
    assert crawl.run(pages_dir=folder).outcome == "ended"
    check_finished(crawl, sites, folder)


def test_a_file_that_may_not_grow_ends_the_command_with_code_5(crawl: Crawl, sites: list[RawServer]) -> None:
    process = run_command(crawl, "--checkpoint-interval", "0.2", limit=1_000_000)
    _, said = process.communicate(timeout=LONGEST_RUN)
    assert process.returncode == 5, said
    assert "cannot write" in said
    assert "File too large" in said
    assert "Traceback" not in said
    crawl.check()
    run_whole(crawl)
    check_finished(crawl, sites, crawl.folder / "pages")


@pytest.mark.parametrize("whole", [False, True])
def test_a_file_or_folder_removed_meanwhile_ends_the_command_with_code_5(
    whole: bool, crawl: Crawl, sites: list[RawServer]
) -> None:
    """It would go on to write to what has no name any more."""
    process = run_command(crawl, "--checkpoint-interval", "0.1", "--delay", "0.1")
    _wait_until(sites, 30)
    folder = crawl.folder / "pages"
    if whole:
        folder.rename(crawl.folder / "elsewhere")
    else:
        for path in folder.glob("*.warc.gz"):
            path.unlink()
    _, said = process.communicate(timeout=LONGEST_RUN)
    assert process.returncode == 5, said
    assert re.search(r"scrawler: error: cannot write .*\.warc\.gz: No such file or directory\n", said), said
    assert "Traceback" not in said
    crawl.check()
    assert crawl.fetched() < everything(sites)
    retry_lost(crawl.settings(), threading.Event())
    run_whole(crawl)
    check_finished(crawl, sites, crawl.folder / "pages")


@pytest.mark.on_each_engine
def test_a_killed_crawl_goes_on_and_is_whole(crawl_on_both: Crawl, serve: Serve) -> None:
    """Killed after some pages are committed and more are written: none is lost, none is there twice."""
    crawl = crawl_on_both
    servers = [serve(large(f"site {n}")) for n in range(3)]
    crawl.add(server.url() for server in servers)
    for _ in range(2):
        before = sum(asked(server).total() for server in servers)
        process = run_command(crawl, "--checkpoint-interval", "0.1", "--delay", "0.03")
        _wait_until(servers, before + 50)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        crawl.check()
        assert crawl.fetched() < everything(servers)
    run_whole(crawl)
    check_finished(crawl, servers, crawl.folder / "pages")


class SlowSite:
    """Pages in a row, each answered after a while, whether or not the client is still there; robots.txt is slower."""

    def __init__(self, before: int) -> None:
        """Set `reached` when so many requests have come."""
        self.asked: list[float] = []
        self.answered: list[float] = []
        self.reached = threading.Event()
        self._before = before

    def __call__(self, visit: Visit) -> None:
        """Answer the requests of a connection."""
        while head := visit.request():
            self.asked.append(time.monotonic())
            if len(self.asked) == self._before:
                self.reached.set()
            path = path_of(head)
            visit.hang(1.5 if path == "/robots.txt" else 0.7)
            self.answered.append(time.monotonic())
            number = int(path[1:] or 0) if path != "/robots.txt" else 0
            visit.send(answer(f'<a href="/{min(number + 1, 4)}">on</a>'.encode(), "200 OK", "Content-Type: text/html"))


def test_a_host_is_not_asked_while_it_may_still_answer_a_killed_machine(crawl: Crawl, serve: Serve) -> None:
    site = SlowSite(before=4)
    crawl.add([serve(site).url()])
    with running(crawl, "--checkpoint-interval", "0.1") as process:
        assert site.reached.wait(LONGEST_RUN)
        process.kill()
        process.communicate()
    asked = len(site.asked)
    run_whole(crawl)
    assert len(site.asked) > asked >= 4
    assert site.asked[asked] >= site.answered[asked - 1]


@pytest.mark.heavy
def test_files_of_a_frozen_machine_are_its_own(crawl_on_both: Crawl, serve: Serve) -> None:
    """Frozen past its lease, its sites crawled by another meanwhile; then it wakes up and goes on writing."""
    crawl = crawl_on_both
    servers = [serve(large(f"site {n}")) for n in range(3)]
    crawl.add(server.url() for server in servers)
    pages = crawl.folder / "pages"
    with running(crawl, "--checkpoint-interval", "0.3", "--delay", "0.03") as process:
        _wait_until(servers, 40)
        _freeze(process, crawl.url)
        frozen = {path: path.read_bytes() for path in pages.iterdir()}
        assert {path.suffix for path in frozen} == {".gz", ".lock", ".reading"}
        assert crawl.run().outcome == "ended"
        assert {path: path.read_bytes() for path in frozen} == frozen
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=LONGEST_RUN)
    assert "Traceback" not in said
    crawl.run()
    check_finished(crawl, servers, pages)


def _freeze(process: subprocess.Popen[str], database_url: str) -> None:
    """Freeze a machine outside of its transactions, whose locks others would wait for, and take its lease away."""
    database = open_database(database_url, patience=1)
    pause = threading.Event()
    for _ in range(20):
        freeze(process.pid)
        try:
            with database.begin() as connection:
                connection.exec_driver_sql("UPDATE site SET token = token")
                connection.exec_driver_sql("UPDATE machine SET heartbeat_at = 0")
            break
        except StoreBusyError:
            process.send_signal(signal.SIGCONT)
            pause.wait(0.05)
    else:
        pytest.fail("the machine is never between two transactions")
    database.close()


def _wait_until(servers: list[RawServer], requests: int) -> None:
    """Return when the servers have been asked so often."""
    enough = threading.Event()
    for _ in range(int(LONGEST_RUN / 0.02)):
        if sum(len(server.heads) for server in servers) >= requests:
            return
        enough.wait(0.02)
    pytest.fail("the crawler asks for nothing")


class Refused:
    """How often the database refused a checkpoint because others had locked it: each of its tries counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        self._committing = threading.local()
        begin, commit = Database.begin, Checkpoints.commit

        @contextmanager
        def counted(database: Database) -> Iterator[Connection]:
            try:
                with begin(database) as connection:
                    yield connection
            except StoreBusyError:
                self.times += getattr(self._committing, "now", False)
                raise

        def marked(checkpoints: Checkpoints, deltas: Sequence[SiteDelta]) -> frozenset[int]:
            self._committing.now = True
            try:
                return commit(checkpoints, deltas)
            finally:
                self._committing.now = False

        monkeypatch.setattr(Database, "begin", counted)
        monkeypatch.setattr(Checkpoints, "commit", marked)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Refused:
    return Refused(monkeypatch)


def test_a_locked_sqlite_file_is_waited_for(
    crawl: Crawl, sites: list[RawServer], sqlite_url: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locked until a checkpoint was refused many times, while pages come in."""
    monkeypatch.setattr(app, "open_database", partial(open_database, patience=0.02))
    other = sqlite3.connect(make_url(sqlite_url).database or "", isolation_level=None, check_same_thread=False)
    locked = False

    def lock(progress: Progress) -> None:
        nonlocal locked
        if progress.pages and not locked:
            other.execute("BEGIN IMMEDIATE")
            locked = True
        elif other.in_transaction and (refused.times >= 5 or progress.elapsed_s > LONGEST_RUN):
            other.execute("COMMIT")

    assert crawl.run(lock, delay=0.05, checkpoint_interval=0.1).outcome == "ended"
    assert refused.times >= 5
    other.close()
    check_whole(crawl)
    check_finished(crawl, sites, crawl.folder / "pages")


def test_locked_rows_of_mariadb_are_waited_for(
    tmp_path: Path, mariadb_url: str, serve: Serve, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "open_database", partial(open_database, patience=1))
    crawl = Crawl(tmp_path, mariadb_url)
    servers = [serve(large(f"site {n}")) for n in range(3)]
    crawl.add(server.url() for server in servers)
    url = make_url(mariadb_url)
    other = pymysql.connect(
        host=url.host, port=url.port or 0, user=url.username, password=url.password or "", database=url.database
    )
    locked = False

    def lock(progress: Progress) -> None:
        nonlocal locked
        if progress.pages and not locked:
            other.cursor().execute("SELECT * FROM site JOIN seed ON seed.site_id = site.id FOR UPDATE")
            locked = True
        elif other.open and (refused.times >= 2 or progress.elapsed_s > LONGEST_RUN):
            other.close()

    assert crawl.run(lock, delay=0.02, checkpoint_interval=0.1).outcome == "ended"
    assert refused.times >= 2
    check_whole(crawl)
    check_finished(crawl, servers, crawl.folder / "pages")
