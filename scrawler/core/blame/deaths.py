"""What killed a process: reads what dead machines have left (see `slots`), and notes the URLs that are to blame.

A URL is blamed at once where it is certain: it stood in the slot of the thread that met the fault, or was read for
longer than the watchdog waits, or it was the only one that was read. Where one of several was it, and where the kernel
has killed some process because memory was short, it is a suspect: it is asked for once more, and ended when a second
process dies so. A part that calls exit() or _exit() leaves no word either, but its exit code tells a supervisor that
nobody has killed it; to those who look later, where there was none, it is like kill -9. Whoever is killed by kill -9,
by a reboot or a power cut leaves no word of a fault, and nobody is blamed. A dead machine is looked into by whoever
comes first: the next one that starts on its host, before it takes anything up, or one beside it that takes over sites
of a dead machine. Machines on other hosts, which cannot read its file, may meet the page too before that; each of them
does so once. A death is noted with the number of its machine, which is in the name of its file: whoever is cut short
before the file is removed, or hears no answer of the database, may note it again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from scrawler.core.blame.slots import MAKING, Read, Remains, killed_for_memory, machine_of, reading_file, remains_of
from scrawler.faults import Fault
from scrawler.flocks import lock_if_possible
from scrawler.model.suspects import CONDEMNED, SUSPECTED, SuspectRow
from scrawler.model.terms import url_hash

_LONGEST = 1 << 24  # bytes of a file that are read; it may have been written by anybody
_FAULT = re.compile(r"^Fatal Python error: (.*)$", re.MULTILINE)
_CURRENT = re.compile(r"^Current thread 0x([0-9a-f]+)", re.MULTILINE)
_FRAME = re.compile(r'^ *File "([^"]*)", line (\d+) in (.*)$', re.MULTILINE)
KILLED = "killed by "  # a supervisor tells of a signal by these words
EXITED = "it ended the process itself, with exit code "  # it tells so of an exit in the midst of a page
_TOO_LONG = "reading it took more CPU time than any page may"
_MEMORY = "the system killed a process for want of memory while it was read"


class Suspects(Protocol):
    """The part of the store that keeps URLs which have killed processes, or may have."""

    def note(self, rows: Sequence[SuspectRow]) -> None:
        """Note who is to blame for a machine's death; noted again, it is still one death."""


class Blamed(NamedTuple):
    """What was read when a process died, how certainly it is to blame (CONDEMNED is certain), and for what."""

    read: Read
    blame: int
    words: str


def judge(remains: Remains) -> list[Blamed]:
    """Say who is to blame for the end of a process."""
    stuck = [one for one in remains.read if one.too_long]
    if stuck:
        return [Blamed(one, CONDEMNED, _TOO_LONG) for one in stuck]
    if (fault := _FAULT.search(remains.told)) is not None:
        return _blamed_for_fault(remains, fault[1])
    if remains.told:
        return _blamed_by_words(remains)
    return [Blamed(one, SUSPECTED, _MEMORY) for one in remains.read] if remains.out_of_memory else []


def _blamed_for_fault(remains: Remains, fault: str) -> list[Blamed]:
    """Blame what the thread was reading in which Python has met a fatal fault."""
    current = _CURRENT.search(remains.told)
    if current is None:
        return [Blamed(one, CONDEMNED, fault) for one in remains.read if one.thread == 0]
    words = f"{fault}{_place(remains.told[current.end() :])}"
    return [Blamed(one, CONDEMNED, words) for one in remains.read if one.thread == int(current[1], 16)]


def _blamed_by_words(remains: Remains) -> list[Blamed]:
    """Blame what was read when a process was ended: alone it is to blame for sure."""
    by_supervisor = remains.told.startswith((KILLED, EXITED))
    words = remains.told.strip().partition("\n")[0] if by_supervisor else _TOO_LONG
    blame = CONDEMNED if len(remains.read) == 1 else SUSPECTED
    return [Blamed(one, blame, words) for one in remains.read]


def _place(trace: str) -> str:
    """Say where the innermost frame of a traceback of faulthandler is."""
    frame = _FRAME.search(trace)
    return f" in {frame[3]} ({os.path.basename(frame[1])}, line {frame[2]})" if frame else ""


def _suspect(machine_id: int, blamed: Blamed) -> SuspectRow:
    site_id, url = blamed.read.site_id, blamed.read.url
    detail = f"the process that read it has died: {blamed.words}"
    return SuspectRow(site_id, url_hash(url), machine_id, url, blamed.blame, detail)


class Deaths:
    """Looks into the files of a crawl's dead machines, whose names begin with `prefix`; any thread may."""

    def __init__(
        self,
        folder: Path,
        prefix: str,
        suspects: Suspects,
        say: Callable[[str], None],
        tell: Callable[[str, Fault], None],
    ) -> None:
        """Tell `say` in a line of each URL that is to blame, or suspected, and `tell` what was told of the fault."""
        self._folder = folder
        self._prefix = prefix
        self._suspects = suspects
        self._say = say
        self._tell = tell

    def look(self) -> None:
        """Note who is to blame, and remove the files. Raises StoreError."""
        with suppress(OSError):  # of a folder that is none, or keeps us out, the archive will tell
            for name in sorted(os.listdir(self._folder)):
                machine_id = machine_of(name, self._prefix)
                if machine_id is not None:
                    self._look_into(self._folder / name, machine_id)
                elif name.startswith(self._prefix) and name.endswith(MAKING):
                    self._remove_half_made(self._folder / name)

    @staticmethod
    def _remove_half_made(path: Path) -> None:
        with _of_the_dead(path) as file:
            if file is not None:
                path.unlink(missing_ok=True)

    def _look_into(self, path: Path, machine_id: int) -> None:
        with _of_the_dead(path) as file:
            if file is None:
                return
            remains = remains_of(os.pread(file, _LONGEST, 0), killed_for_memory())
            rows = [_suspect(machine_id, one) for one in judge(remains)]
            self._suspects.note(rows)
            for row in rows:
                self._tell(row.url, Fault(row.detail, remains.told))
                self._say(f"{row.url}: {row.detail}; {_what_follows(row)}")
            path.unlink(missing_ok=True)


def _what_follows(row: SuspectRow) -> str:
    return "it is not asked for again" if row.blame >= CONDEMNED else "should that happen again, it is ended"


def page_at_death(folder: Path, prefix: str, machine_id: int, fault: str) -> str:
    """Return the URL that is to blame for the end of a machine, or suspected; "" without one.

    To be called by whoever has waited for the end of its process. `fault` says how that was ended, if a page may have
    done it (see KILLED and EXITED): it is noted for those who look later, where the process could not tell itself.
    """
    with suppress(OSError), _of_the_dead(reading_file(folder, prefix, machine_id)) as file:
        if file is None:
            return ""
        remains = remains_of(os.pread(file, _LONGEST, 0), 0)
        if fault and not remains.told:
            remains = remains._replace(told=f"{fault}\n")
            os.write(file, remains.told.encode())
        blamed = judge(remains)
        return blamed[0].read.url if blamed else ""
    return ""


@contextmanager
def _of_the_dead(path: Path) -> Iterator[int | None]:
    """Open a file whose process is gone; None where it lives, or somebody else looks into it now."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield file if lock_if_possible(file) and os.fstat(file).st_nlink else None
    finally:
        os.close(file)
