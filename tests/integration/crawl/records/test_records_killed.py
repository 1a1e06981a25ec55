"""Menders that work at the same time, or are killed with SIGKILL anywhere on their way."""

from __future__ import annotations

import shutil
import signal
import threading
from pathlib import Path

import pytest

from scrawler.core.records.records import Mended
from scrawler.store.engines.engine import open_database
from tests.consistency import check_records, orphans_of
from tests.forks import run_python
from tests.integration.crawl.records.fetching import Fetching, add_hosts, fetch_in_turn, names, records_of


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
from scrawler.core.records.records import Records
from scrawler.store.engines.engine import open_database
from scrawler.store.lists.orphans import Orphans
from scrawler.store.reading.pages import Pages

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


@pytest.mark.heavy
def test_a_mender_may_be_killed_at_any_point(tmp_path: Path, sqlite_url: str, folder: Path) -> None:
    """Killed with SIGKILL at lines all over its way, each time before a fresh copy of what the machine left."""
    database = open_database(sqlite_url)
    add_hosts(database)
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
        process = run_python("-c", KILLED_AT, sqlite_url, folder, fetching.prefix, str(point))
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
