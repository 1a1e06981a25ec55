from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from scrawler.core.blame.deaths import EXITED, Deaths, judge, page_at_death
from scrawler.core.blame.slots import MAKING, SUFFIX, Read, Remains, Slots, reading_file, remains_of
from scrawler.faults import Fault
from scrawler.model.suspects import CONDEMNED, SuspectRow
from tests.tables import each

PREFIX = "crawl-m"
URL, OTHER = "http://a.test/x", "http://b.test/y"
READ, STUCK = Read(1, URL, 0xAB, too_long=False), Read(1, URL, 0xAB, too_long=True)
BESIDE = Read(2, OTHER, 0xCD, too_long=False)
FAULT = 'Fatal Python error: Aborted\n\nThread 0x00cd (most recent call first):\n  File "/a/b.py", line 2 in b\n\n'
FAULT += (
    'Current thread 0x{:016x} (most recent call first):\n  File "/a/c.py", line 7 in links\n  File "/d.py", line 9\n'
)


class _Kept:
    def __init__(self) -> None:
        self.rows: list[SuspectRow] = []
        self.said: list[str] = []
        self.told: list[tuple[str, Fault]] = []

    def note(self, rows: Sequence[SuspectRow]) -> None:
        self.rows += rows

    def look(self, folder: Path) -> None:
        Deaths(folder, PREFIX, self, self.said.append, lambda url, fault: self.told.append((url, fault))).look()


@each(
    ("remains", "deaths"),
    [
        (Remains((READ, BESIDE), FAULT.format(0xAB), out_of_memory=False), {URL: CONDEMNED}),
        (Remains((READ, BESIDE), FAULT.format(0xEF), out_of_memory=False), {}),  # in a thread that read nothing
        (Remains((STUCK, BESIDE), "Thread 0x1\n", out_of_memory=False), {URL: CONDEMNED}),
        (Remains((READ,), "Thread 0x1\n", out_of_memory=False), {URL: CONDEMNED}),  # the timer's signal
        (Remains((READ, BESIDE), "Thread 0x1\n", out_of_memory=False), {URL: 1, OTHER: 1}),
        (Remains((READ,), "killed by SIGSEGV\n", out_of_memory=False), {URL: CONDEMNED}),
        (Remains((READ, BESIDE), "killed by SIGSEGV\n", out_of_memory=False), {URL: 1, OTHER: 1}),
        (Remains((READ,), f"{EXITED}3\n", out_of_memory=False), {URL: CONDEMNED}),
        (Remains((READ, BESIDE), f"{EXITED}0\n", out_of_memory=False), {URL: 1, OTHER: 1}),
        (Remains((), f"{EXITED}3\n", out_of_memory=False), {}),
        (Remains((READ, BESIDE), "", out_of_memory=True), {URL: 1, OTHER: 1}),
        (Remains((READ, BESIDE), "", out_of_memory=False), {}),  # kill -9
        (Remains((), FAULT.format(0xAB), out_of_memory=True), {}),
    ],
)
def test_who_is_to_blame(remains: Remains, deaths: dict[str, int]) -> None:
    assert {one.read.url: one.blame for one in judge(remains)} == deaths


def test_it_is_said_of_what_the_process_died_and_where() -> None:
    (one,) = judge(Remains((READ,), FAULT.format(0xAB), out_of_memory=False))
    assert one.words == "Aborted in links (c.py, line 7)"


def test_a_slot_is_seen_by_others_until_it_is_left(tmp_path: Path) -> None:
    path = reading_file(tmp_path, PREFIX, 1)
    slots = Slots(path, 2, 100)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    slot = slots.take()
    slot.belongs_here()
    slot.enter(5, URL)
    assert remains_of(path.read_bytes(), 0).read == (Read(5, URL, threading.get_ident(), too_long=False),)
    slot.leave()
    slot.enter(5, "http://a.test/" + "x" * 100)  # longer than all that are crawled
    assert remains_of(path.read_bytes(), 0).read == ()
    slot.leave()
    slots.close()
    assert not path.exists()


def test_there_is_a_slot_for_every_thread(tmp_path: Path) -> None:
    slots = Slots(tmp_path / f"m1{SUFFIX}", 1, 100)
    first, second = slots.take(), slots.take()
    for slot in (first, second):
        slot.belongs_here()
        slot.enter(1, URL)
    assert len(remains_of((tmp_path / f"m1{SUFFIX}").read_bytes(), 0).read) == 1
    second.close()
    first.close()
    assert slots.take() is first
    slots.close()


def test_where_no_file_can_be_made_there_are_slots_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    slots = Slots(tmp_path / "file" / f"m1{SUFFIX}", 1, 100)
    slot = slots.take()
    slot.belongs_here()
    slot.enter(1, URL)
    slot.leave()
    assert slots.file == -1
    slots.close()


def test_a_file_for_which_there_is_no_room_is_left_out(tmp_path: Path) -> None:
    code = (
        "import resource, signal\nfrom pathlib import Path\nfrom scrawler.core.blame.slots import Slots\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        f"print(Slots(Path({str(tmp_path)!r}) / 'm1{SUFFIX}', 64, 2048).file)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "-1\n", done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", [b"", b"x" * 10, b"x" * 5000, b"SCrawler reads 1" + b"\xff" * 100])
def test_a_file_that_is_damaged_blames_nobody(damage: bytes) -> None:
    assert remains_of(damage, 0) == Remains((), "", out_of_memory=False)


def _die(folder: Path, signal_name: str, prefix: str = PREFIX) -> None:
    """Let a process read a URL as machine 7, and die."""
    code = (
        "import os, signal\nfrom pathlib import Path\nfrom scrawler.core.blame.slots import Slots, reading_file\n"
        f"slots = Slots(reading_file(Path({str(folder)!r}), {prefix!r}, 7), 4, 100)\n"
        f"slot = slots.take()\nslot.belongs_here()\nslot.enter(1, {URL!r})\n"
        f"os.kill(os.getpid(), signal.{signal_name})\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.Signals[signal_name]


def test_a_supervisor_tells_of_a_fault_that_could_not_tell_of_itself(tmp_path: Path) -> None:
    _die(tmp_path, "SIGSEGV")
    assert page_at_death(tmp_path, PREFIX, 7, "killed by SIGSEGV") == URL
    assert page_at_death(tmp_path, PREFIX, 7, "killed by SIGSEGV") == URL
    kept = _Kept()
    kept.look(tmp_path)
    assert [(row.url, row.machine_id, row.blame) for row in kept.rows] == [(URL, 7, CONDEMNED)]
    assert kept.rows[0].detail == "the process that read it has died: killed by SIGSEGV"
    assert [(url, fault.trace) for url, fault in kept.told] == [(URL, "killed by SIGSEGV\n")]
    assert kept.said[0].endswith("killed by SIGSEGV; it is not asked for again")
    assert not list(tmp_path.iterdir())


def test_who_is_killed_blames_nobody_and_its_file_goes(tmp_path: Path) -> None:
    _die(tmp_path, "SIGKILL")
    assert page_at_death(tmp_path, PREFIX, 7, "") == ""
    kept = _Kept()
    kept.look(tmp_path)
    assert not kept.rows
    assert not list(tmp_path.iterdir())


def test_a_file_whose_process_lives_is_left_alone(tmp_path: Path) -> None:
    path = reading_file(tmp_path, PREFIX, 7)
    slots = Slots(path, 1, 100)
    slots.take().enter(1, URL)
    before = path.read_bytes()
    kept = _Kept()
    kept.look(tmp_path)
    assert not kept.rows
    mistaken = page_at_death(tmp_path, PREFIX, 7, "killed by SIGSEGV")
    assert mistaken == "", "not even where its number is mistaken for another's"
    assert path.read_bytes() == before
    slots.close()


def test_files_of_other_crawls_and_machines_are_left_alone(tmp_path: Path) -> None:
    """Those of containers, which share a folder, have machines with the same small process ids."""
    for prefix in ("crawl-1-m", "crawl-11-m"):
        _die(tmp_path, "SIGSEGV", prefix)
    names = sorted(path.name for path in tmp_path.iterdir())
    contents = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert page_at_death(tmp_path, "crawl-m", 7, "killed by SIGSEGV") == ""
    assert page_at_death(tmp_path, "crawl-1-m", 1, "killed by SIGSEGV") == ""
    kept = _Kept()
    kept.look(tmp_path)
    assert not kept.rows
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == contents


def test_who_looks_for_the_dead_takes_no_file_from_one_that_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, left, kept = fcntl.flock, [3], _Kept()

    def looked_at_before(file: int, how: int) -> None:
        if left[0]:
            left[0] -= 1
            if left[0] != 1:  # once it is looked at elsewhere meanwhile, not here
                with monkeypatch.context() as patched:
                    patched.setattr(fcntl, "flock", flock)
                    kept.look(tmp_path)
            else:
                raise BlockingIOError
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", looked_at_before)
    path = reading_file(tmp_path, PREFIX, 7)
    slots = Slots(path, 1, 100)
    assert left == [0]
    assert slots.file >= 0
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    kept.look(tmp_path)
    assert path.exists(), "it is locked"
    slots.close()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_one_had_begun_to_make_goes(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}7-0{MAKING}").write_bytes(b"SCra")
    (tmp_path / f"other-m7-0{MAKING}").write_bytes(b"SCra")
    _Kept().look(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"other-m7-0{MAKING}"]


def test_what_is_read_next_is_not_blamed_for_what_took_too_long(tmp_path: Path) -> None:
    path = reading_file(tmp_path, PREFIX, 7)
    slots = Slots(path, 1, 100)
    slot = slots.take()
    slot.belongs_here()
    slot.enter(1, URL)
    seen = slot.count
    slot.leave()
    slot.enter(2, OTHER)
    assert slot.mark_too_long(seen) is None, "that is over"
    assert remains_of(path.read_bytes(), 0).read == (Read(2, OTHER, threading.get_ident(), too_long=False),)
    assert slot.mark_too_long(slot.count) == OTHER
    slot.leave()  # before the process is gone
    slot.enter(1, URL)
    assert remains_of(path.read_bytes(), 0).read == (Read(2, OTHER, threading.get_ident(), too_long=True),)
    slot.leave()
    slots.close()
