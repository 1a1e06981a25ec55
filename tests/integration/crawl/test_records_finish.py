"""Files of machines that are gone are finished, whatever was committed of them and wherever the mender was killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from scrawler.archive.record import Exchange, RecordRef, RevisitOf, digest
from scrawler.archive.warc import WarcWriter
from scrawler.crawl.records import Mended, Records
from scrawler.errors import ArchiveError
from scrawler.model import ClaimedSite, PageRow
from scrawler.store.engine import Database, open_database
from scrawler.store.machines import Machines
from scrawler.store.orphans import Orphans
from scrawler.store.pages import Pages
from tests.consistency import check_records, orphans_of
from tests.integration.store.crawling import Worker, add, page, seed_delta, site_delta

HOSTS = ("a.org", "b.org")


def records_of(database: Database, folder: Path) -> Records:
    return Records(folder, Pages(database), Orphans(database))


def place(row: PageRow) -> tuple[str, int, int]:
    return row.warc_file, row.warc_offset, row.warc_length


@dataclass
class Fetching:
    """A machine that archives pages of two sites into files of some 10 KB, and commits what a test wants."""

    database: Database
    folder: Path
    sites: dict[str, ClaimedSite] = field(init=False)
    pending: dict[str, list[PageRow]] = field(default_factory=lambda: {host: [] for host in HOSTS})

    def __post_init__(self) -> None:
        self.worker = Worker.of(self.database)
        self.sites = {site.key: site for site in self.worker.claim()}
        self.prefix = f"crawl-m{self.worker.id}"
        self.writer = WarcWriter(self.folder, self.prefix, info={}, max_file_bytes=10_000)
        self.random = random.Random(self.worker.id)
        self.number = 0

    def fetch(self, *hosts: str, revisit_of: PageRow | None = None) -> PageRow:
        """Archive a page of each host; return the row of the last."""
        for host in hosts:
            self.number += 1
            url = f"http://{host}/{self.number}"
            body = self.random.randbytes(self.random.choice((300, 900, 2_000)))
            earlier = RevisitOf(revisit_of.url, revisit_of.fetched_at) if revisit_of else None
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
            date = 1_790_000_000_000 + self.number
            asked = f"GET /{self.number} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
            ref = self.writer.write(Exchange(url, "", date, asked, head, body, digest(body), "", earlier))
            self.pending[host].append(self._row(host, url, date, ref))
        return self.pending[hosts[-1]][-1]

    def _row(self, host: str, url: str, date: int, ref: RecordRef) -> PageRow:
        return page(
            self.sites[host].seeds[0].id, url, position=self.number, fetched_at=date, digest=ref.digest,
            warc_file=ref.file, warc_offset=ref.offset, warc_length=ref.length, revisit=int(ref.revisit),
        )  # fmt: skip

    def commit(self, *hosts: str) -> None:
        """Commit what waits of these hosts, in one transaction."""
        deltas = []
        for host in hosts:
            site, rows = self.sites[host], tuple(self.pending[host])
            self.pending[host] = []
            deltas.append(site_delta(site, seed_delta(site.seeds[0].id, pages=rows)))
        assert not self.worker.commit(*deltas)

    def vanish(self) -> None:
        """End as a killed process does: the kernel closes its files."""
        assert self.writer._file
        self.writer._file.close()
        assert self.writer._own
        assert self.writer._own._file
        self.writer._own._file.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pages"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = open_database(database_url)
    add(database, *(f"http://{host}/" for host in HOSTS))
    yield database
    database.close()


@pytest.fixture
def fetching(database: Database, folder: Path) -> Fetching:
    return Fetching(database, folder)


def names(folder: Path, ending: str = ".warc.gz") -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(ending))


Places = set[tuple[str, int, int]]


def fetch_in_turn(fetching: Fetching) -> tuple[Places, int]:
    """Fill several files with pages of both hosts, of which those of b.org are committed at the end.

    Returns the places of uncommitted records with committed ones behind them, and how many have none.
    """
    fetching.fetch(*["a.org"] * 3, *["b.org"] * 2)
    fetching.commit("a.org", "b.org")
    waiting = []
    for _ in range(25):
        waiting.append(place(fetching.fetch("a.org")))
        seen = fetching.fetch("b.org")
    fetching.fetch("b.org", revisit_of=seen)
    last = {row.warc_file: row.warc_offset for row in fetching.pending["b.org"]}
    fetching.commit("b.org")
    orphans = {one for one in waiting if one[1] < last[one[0]]}
    assert len(names(fetching.folder)) > 3
    assert 10 < len(orphans) < len(waiting)
    return orphans, len(waiting) - len(orphans)


def test_what_waited_for_its_commit_becomes_an_orphan_or_goes(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    orphans, behind = fetch_in_turn(fetching)
    tail = [fetching.fetch("a.org", "b.org") for _ in range(2)]
    torn = folder / tail[-1].warc_file
    with torn.open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00half a gzip member")
    fetching.vanish()
    files = len(names(folder))
    done = records_of(fetching.database, folder).finish_gone(["crawl-m77", fetching.prefix])
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans
    assert done == Mended(files=files, cut=behind + 4, orphans=len(orphans))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert records_of(fetching.database, folder).finish_gone([fetching.prefix]) == Mended()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_files_of_which_nothing_was_committed_go(fetching: Fetching, folder: Path, database_url: str) -> None:
    fetching.fetch("b.org")
    fetching.commit("b.org")
    count = 0
    while len(names(folder)) < 4:
        fetching.fetch("a.org")
        count += 1
    fetching.vanish()
    first = names(folder)[0]
    done = records_of(fetching.database, folder).finish_gone([fetching.prefix])
    assert done == Mended(files=4, cut=count)
    assert names(folder) == [first]
    check_records(database_url, folder)


def test_a_machine_that_ends_in_order_reads_its_files_only_if_something_was_refused(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    """The first file is whole, but damaged where nothing needs to be read; of the later ones, records were refused."""
    first = fetching.fetch("a.org")
    fetching.fetch("b.org")
    fetching.commit("a.org", "b.org")
    fetching.writer.roll()
    path = folder / first.warc_file
    data = path.read_bytes()
    path.write_bytes(b"\0" * first.warc_offset + data[first.warc_offset :])
    orphans, behind = fetch_in_turn(fetching)
    fetching.writer.close()
    done = records_of(fetching.database, folder).finish_own(fetching.prefix, fetching.writer.closed_files())
    assert done == Mended(files=len(names(folder)), cut=behind, orphans=len(orphans))
    path.write_bytes(data)
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans


def test_a_full_file_is_indexed_once_all_of_it_is_committed(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    fetching.fetch("a.org", "b.org")
    fetching.writer.roll()
    fetching.fetch("b.org")
    (full,) = fetching.writer.closed_files()
    records = records_of(fetching.database, folder)
    fetching.commit("b.org")
    assert not records.index_whole(full)
    assert not names(folder, ".cdxj")
    fetching.commit("a.org")
    assert records.index_whole(full)
    assert len(names(folder, ".cdxj")) == 1
    fetching.writer.close()
    assert records.finish_own(fetching.prefix, fetching.writer.closed_files()) == Mended(files=1)
    check_records(database_url, folder)


def test_a_file_that_ends_torn_is_mended_by_its_own_machine(
    fetching: Fetching, folder: Path, database_url: str
) -> None:
    """As after a full disk, when what was written in part could not be taken back either."""
    last = fetching.fetch("a.org", "b.org")
    fetching.commit("a.org", "b.org")
    fetching.writer.close()
    with (folder / last.warc_file).open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00")
    records_of(fetching.database, folder).finish_own(fetching.prefix, fetching.writer.closed_files())
    check_records(database_url, folder)


def test_what_a_power_cut_took_is_told_and_not_listed(fetching: Fetching, folder: Path, database_url: str) -> None:
    fetching.writer = WarcWriter(folder, fetching.prefix, info={})
    rows = [fetching.fetch("a.org") for _ in range(4)]
    waiting = place(fetching.fetch("b.org"))
    rows += [fetching.fetch("a.org") for _ in range(3)]
    fetching.commit("a.org")
    fetching.vanish()
    path = folder / rows[0].warc_file
    os.truncate(path, rows[5].warc_offset + 50)
    done = records_of(fetching.database, folder).finish_gone([fetching.prefix])
    assert done == Mended(files=1, orphans=1, lost=2)
    assert path.stat().st_size == rows[4].warc_offset + rows[4].warc_length
    (index,) = names(folder, ".cdxj")
    assert len((folder / index).read_bytes().splitlines()) == 5
    assert orphans_of(database_url) == {waiting}


def test_files_of_a_process_that_lives_are_left_to_it(fetching: Fetching, folder: Path, database_url: str) -> None:
    """Among them one that is full, about which rows may still come."""
    fetch_in_turn(fetching)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    records = records_of(fetching.database, folder)
    assert records.finish_gone([fetching.prefix]) == Mended(in_use=(fetching.prefix,))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    fetching.fetch("a.org")
    fetching.commit("a.org")
    fetching.writer.close()
    assert records.finish_own(fetching.prefix, fetching.writer.closed_files()) == Mended(files=len(names(folder)))
    check_records(database_url, folder)
    assert not orphans_of(database_url)


def test_a_last_commit_still_on_its_way_is_waited_for(mariadb_url: str, folder: Path) -> None:
    """A killed machine is not told of as gone before the server has worked off the commit that it sent."""
    database = open_database(mariadb_url)
    worker = Worker.of(database)
    machines = Machines(database)
    machines.stop(worker.id)
    assert machines.gone() == [worker.id]
    with database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE machine SET pages = pages + 1 WHERE id = {worker.id}")
        assert machines.gone() == []
    assert machines.gone() == [worker.id]
    database.close()


def test_menders_at_the_same_time_do_it_once(fetching: Fetching, folder: Path, database_url: str) -> None:
    orphans, behind = fetch_in_turn(fetching)
    fetching.fetch("a.org")
    fetching.vanish()
    files = len(names(folder))
    results: list[Mended] = []
    start = threading.Barrier(6)

    def mend() -> None:
        start.wait()
        results.append(records_of(fetching.database, folder).finish_gone([fetching.prefix]))

    menders = [threading.Thread(target=mend) for _ in range(6)]
    for mender in menders:
        mender.start()
    for mender in menders:
        mender.join()
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans
    assert sum(one.files for one in results) == files
    assert sum(one.cut for one in results) == behind + 1
    assert {name for one in results for name in one.in_use} <= {fetching.prefix}


KILLED_AT = """
import os, signal, sys
from pathlib import Path
from scrawler.crawl.records import Records
from scrawler.store.engine import open_database
from scrawler.store.orphans import Orphans
from scrawler.store.pages import Pages

url, folder, prefix = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
database = open_database(url)
records = Records(folder, Pages(database), Orphans(database))


def count(left):
    def line(frame, event, argument):
        nonlocal left
        left -= event == "line"
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame, event, argument):
        ours = ("records.py", "repair.py", "cdxj.py", "orphans.py", "locks.py", "pages.py")
        return line if frame.f_code.co_filename.endswith(ours) else None

    return call


sys.settrace(count(int(sys.argv[4])))
records.finish_gone([prefix])
"""


def test_a_mender_may_be_killed_at_any_point(tmp_path: Path, sqlite_url: str, folder: Path) -> None:
    """Killed with SIGKILL at lines all over its way, each time before a fresh copy of what the machine left."""
    database = open_database(sqlite_url)
    add(database, *(f"http://{host}/" for host in HOSTS))
    fetching = Fetching(database, folder)
    orphans, _ = fetch_in_turn(fetching)
    fetching.fetch("a.org")
    fetching.vanish()
    database.close()
    left = tmp_path / "left"
    left.mkdir()
    shutil.copytree(folder, left / "pages")
    shutil.copy(tmp_path / "crawl.db", left / "crawl.db")
    results = set()
    kills = 0
    point = 20
    while True:
        shutil.rmtree(folder)
        shutil.copytree(left / "pages", folder)
        for path in tmp_path.glob("crawl.db*"):
            path.unlink()
        shutil.copy(left / "crawl.db", tmp_path / "crawl.db")
        process = subprocess.run(
            [sys.executable, "-c", KILLED_AT, sqlite_url, folder, fetching.prefix, str(point)],
            capture_output=True, text=True,
        )  # fmt: skip
        kills += process.returncode == -signal.SIGKILL
        database = open_database(sqlite_url)
        records_of(database, folder).finish_gone([fetching.prefix])
        database.close()
        check_records(sqlite_url, folder)
        assert orphans_of(sqlite_url) == orphans
        results.add(tuple((path.name, path.read_bytes()) for path in sorted(folder.iterdir())))
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, process.stderr
        point = int(point * 1.4)
    assert len(results) == 1
    assert kills > 10


Mount = Callable[[str], None]


@pytest.fixture
def mount(folder: Path) -> Iterator[Mount]:
    """Mounts (or remounts) a small file system in memory as the folder of the archive; only root may."""
    mounted = False

    def do(options: str) -> None:
        nonlocal mounted
        folder.mkdir(exist_ok=True)
        given = f"remount,{options}" if mounted else options
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", given, "none", folder], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"cannot mount: {done.stderr.strip()}")
        mounted = True

    yield do
    if mounted:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("own", [False, True])
def test_a_full_disk_at_the_end_is_one_message_and_done_later(
    own: bool, mount: Mount, fetching: Fetching, folder: Path, database_url: str
) -> None:
    mount("size=2m")
    orphans, _ = fetch_in_turn(fetching)
    records = records_of(fetching.database, folder)
    fetching.writer.close()
    ballast = folder / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(b"x" * 3_000_000)
    own_end = partial(records.finish_own, fetching.prefix, fetching.writer.closed_files())
    finish = own_end if own else partial(records.finish_gone, [fetching.prefix])
    with pytest.raises(ArchiveError, match=r"^cannot write .*\.cdxj: No space left on device$"):
        finish()
    assert not names(folder, ".cdxj")
    ballast.unlink()
    records.finish_gone([fetching.prefix])
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans


def test_a_read_only_folder_at_the_start_is_one_message_and_done_later(
    mount: Mount, fetching: Fetching, folder: Path, database_url: str
) -> None:
    mount("size=2m")
    orphans, _ = fetch_in_turn(fetching)
    fetching.vanish()
    mount("ro")
    records = records_of(fetching.database, folder)
    with pytest.raises(ArchiveError, match=r"^cannot write .*: Read-only file system$"):
        records.finish_gone([fetching.prefix])
    mount("rw")
    records.finish_gone([fetching.prefix])
    mount("ro")
    assert records.finish_gone([fetching.prefix]) == Mended()
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans


def test_a_folder_that_vanished_is_one_message_and_done_later(
    fetching: Fetching, folder: Path, tmp_path: Path, database_url: str
) -> None:
    orphans, _ = fetch_in_turn(fetching)
    fetching.writer.close()
    folder.rename(tmp_path / "elsewhere")
    records = records_of(fetching.database, folder)
    with pytest.raises(ArchiveError, match=r"^cannot write .*pages/crawl-m1.*: No such file or directory$"):
        records.finish_own(fetching.prefix, fetching.writer.closed_files())
    assert records.finish_gone([fetching.prefix]) == Mended()
    (tmp_path / "elsewhere").rename(folder)
    records.finish_gone([fetching.prefix])
    check_records(database_url, folder)
    assert orphans_of(database_url) == orphans
