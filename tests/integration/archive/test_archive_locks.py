"""The lock of a prefix: one holder at a time, gone with its process, kept by one that is frozen."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scrawler.archive.locks import take_lock
from scrawler.errors import ArchiveError
from tests.forks import Fork, python
from tests.integration.archive.conftest import Anything
from tests.rolling import roll

HOLDER = """
import sys
from pathlib import Path
from scrawler.archive.locks import take_lock
lock = take_lock(Path(sys.argv[1]), "m1")
print(lock is not None, flush=True)
sys.stdin.read()
"""


@contextmanager
def hold(folder: Path) -> Iterator[Fork]:
    """Give a process that holds the lock of m1 until it is killed."""
    process = python("-c", HOLDER, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout
        assert process.stdout.readline() == "True\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_process_keeps_its_lock_while_it_is_frozen_and_no_longer_than_it_lives(tmp_path: Path) -> None:
    with hold(tmp_path) as process:
        assert take_lock(tmp_path, "m1") is None
        process.send_signal(signal.SIGSTOP)
        assert take_lock(tmp_path, "m1") is None
        other = take_lock(tmp_path, "m10")
        assert other
        other.release()
    lock = take_lock(tmp_path, "m1")
    assert lock
    assert take_lock(tmp_path, "m1") is None
    lock.release()
    lock.release()
    assert os.listdir(tmp_path) == []


def test_of_many_only_one_has_it_at_a_time(tmp_path: Path) -> None:
    """The file is made and removed all the time; two that had it at once would meet in `inside`."""
    inside, most, taken = 0, 0, 0
    guard, start = threading.Lock(), threading.Barrier(8)

    def work() -> None:
        nonlocal inside, most, taken
        start.wait()
        for _ in range(400):
            lock = take_lock(tmp_path, "m1")
            if lock is None:
                continue
            with guard:
                inside, taken = inside + 1, taken + 1
                most = max(most, inside)
            with guard:
                inside -= 1
            lock.release()

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert most == 1
    assert taken > 8
    assert os.listdir(tmp_path) == []


def test_a_writer_has_its_prefix_until_it_is_closed(tmp_path: Path, new_writer: Anything, exchange: Anything) -> None:
    folder = tmp_path / "pages"
    writer = new_writer(max_file_bytes=1)
    assert not folder.exists()
    for _ in range(3):
        writer.write(exchange("/", b"x" * 500))
        assert take_lock(folder, "m1") is None
    roll(writer)
    assert take_lock(folder, "m1") is None
    second = new_writer()
    with pytest.raises(ArchiveError, match=r"^another program writes m1 files to .*pages: give this crawl another "):
        second.write(exchange("/", b""))
    writer.close()
    assert {path.suffix for path in folder.iterdir()} == {".gz"}
    second.write(exchange("/", b""))
    second.close()


def test_a_folder_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"^cannot write .*none/m1\.lock: No such file or directory$"):
        take_lock(tmp_path / "none", "m1")


def test_a_pipe_under_the_name_of_a_lock_is_told_at_once(tmp_path: Path) -> None:
    """Nobody reads it: whoever opened it to write would wait for ever."""
    os.mkfifo(tmp_path / "m1.lock")
    with pytest.raises(ArchiveError, match=r"^cannot write .*m1\.lock: "):
        take_lock(tmp_path, "m1")
