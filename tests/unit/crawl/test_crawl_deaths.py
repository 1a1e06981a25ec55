from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from scrawler.crawl.deaths import Deaths, judge, page_at_death
from scrawler.crawl.slots import SUFFIX, Read, Remains, Slots, remains_of
from scrawler.faults import Fault
from scrawler.model import CONDEMNED, SuspectRow

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

    def add(self, rows: Sequence[SuspectRow]) -> None:
        self.rows += rows

    def look(self, folder: Path) -> None:
        Deaths(folder, "crawl-m", self, self.said.append, lambda url, fault: self.told.append((url, fault))).look()


@pytest.mark.parametrize(
    ("remains", "deaths"),
    [
        (Remains((READ, BESIDE), FAULT.format(0xAB), out_of_memory=False), {URL: CONDEMNED}),
        (Remains((READ, BESIDE), FAULT.format(0xEF), out_of_memory=False), {}),  # in a thread that read nothing
        (Remains((STUCK, BESIDE), "Thread 0x1\n", out_of_memory=False), {URL: CONDEMNED}),
        (Remains((READ,), "Thread 0x1\n", out_of_memory=False), {URL: CONDEMNED}),  # the timer's signal
        (Remains((READ, BESIDE), "Thread 0x1\n", out_of_memory=False), {URL: 1, OTHER: 1}),
        (Remains((READ,), "killed by SIGSEGV\n", out_of_memory=False), {URL: CONDEMNED}),
        (Remains((READ, BESIDE), "killed by SIGSEGV\n", out_of_memory=False), {URL: 1, OTHER: 1}),
        (Remains((READ, BESIDE), "", out_of_memory=True), {URL: 1, OTHER: 1}),
        (Remains((READ, BESIDE), "", out_of_memory=False), {}),  # kill -9
        (Remains((), FAULT.format(0xAB), out_of_memory=True), {}),
    ],
)
def test_who_is_to_blame(remains: Remains, deaths: dict[str, int]) -> None:
    assert {row.url: row.deaths for row in judge(remains)} == deaths


def test_the_detail_says_of_what_the_process_died_and_where() -> None:
    (row,) = judge(Remains((READ,), FAULT.format(0xAB), out_of_memory=False))
    assert row.detail == "the process that read it has died: Aborted in links (c.py, line 7)"


def test_a_slot_is_seen_by_others_until_it_is_left(tmp_path: Path) -> None:
    path = tmp_path / f"crawl-m1-7{SUFFIX}"
    slots = Slots(path, 2, 100)
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
    slots = Slots(tmp_path / f"m1-7{SUFFIX}", 1, 100)
    first, second = slots.take(), slots.take()
    for slot in (first, second):
        slot.belongs_here()
        slot.enter(1, URL)
    assert len(remains_of((tmp_path / f"m1-7{SUFFIX}").read_bytes(), 0).read) == 1
    second.close()
    first.close()
    assert slots.take() is first
    slots.close()


def test_where_no_file_can_be_made_there_are_slots_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    slots = Slots(tmp_path / "file" / f"m1-7{SUFFIX}", 1, 100)
    slot = slots.take()
    slot.belongs_here()
    slot.enter(1, URL)
    slot.leave()
    assert slots.file == -1
    slots.close()


def test_a_file_for_which_there_is_no_room_is_left_out(tmp_path: Path) -> None:
    code = (
        "import resource, signal\nfrom pathlib import Path\nfrom scrawler.crawl.slots import Slots\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        f"print(Slots(Path({str(tmp_path)!r}) / 'm1-7{SUFFIX}', 64, 2048).file)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "-1\n", done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", [b"", b"x" * 10, b"x" * 5000, b"SCrawler reads 1" + b"\xff" * 100])
def test_a_file_that_is_damaged_blames_nobody(damage: bytes) -> None:
    assert remains_of(damage, 0) == Remains((), "", out_of_memory=False)


def _die(folder: Path, how: str) -> int:
    """Let a process read a URL and die; returns its process id."""
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom scrawler.crawl.slots import Slots\n"
        f"slots = Slots(Path({str(folder)!r}) / f'crawl-m1-{{os.getpid()}}{SUFFIX}', 4, 100)\n"
        f"slot = slots.take()\nslot.belongs_here()\nslot.enter(1, {URL!r})\n{how}\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        process.wait()
    return process.pid


def test_a_supervisor_tells_of_a_fault_that_could_not_tell_of_itself(tmp_path: Path) -> None:
    pid = _die(tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)")
    assert page_at_death(tmp_path, pid, "SIGSEGV") == URL
    assert page_at_death(tmp_path, pid, "SIGSEGV") == URL
    kept = _Kept()
    kept.look(tmp_path)
    assert [(row.url, row.deaths) for row in kept.rows] == [(URL, CONDEMNED)]
    assert [(url, fault.trace) for url, fault in kept.told] == [(URL, "killed by SIGSEGV\n")]
    assert kept.said[0].endswith("killed by SIGSEGV; it is not asked for again")
    assert not list(tmp_path.iterdir())


def test_who_is_killed_blames_nobody_and_its_file_goes(tmp_path: Path) -> None:
    pid = _die(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert page_at_death(tmp_path, pid, "") == ""
    kept = _Kept()
    kept.look(tmp_path)
    assert not kept.rows
    assert not list(tmp_path.iterdir())


def test_a_file_whose_process_lives_is_left_alone(tmp_path: Path) -> None:
    slots = Slots(tmp_path / f"crawl-m1-{os.getpid()}{SUFFIX}", 1, 100)
    slots.take().enter(1, URL)
    kept = _Kept()
    kept.look(tmp_path)
    assert not kept.rows
    assert len(list(tmp_path.iterdir())) == 1
    slots.close()
