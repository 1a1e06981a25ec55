"""What killed a process: reads what dead machines have left (see `slots`), and notes the URLs that are to blame.

A URL is blamed at once where it is certain: it stood in the slot of the thread that met the fault, or was read for
longer than the watchdog waits, or it was the only one that was read. Where one of several was it, and where the kernel
has killed some process because memory was short, it is a suspect: it is asked for once more, and ended when a second
process dies so. Whoever is killed by kill -9, by a reboot or a power cut leaves no word of a fault, and nobody is
blamed. A dead machine is looked into by whoever comes first: the next one that starts on its host, before it takes
anything up, or one beside it that takes over a site of a dead machine. Machines on other hosts, which cannot read its
file, may meet the page too before that; each of them does so once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from scrawler.crawl.slots import SUFFIX, Read, Remains, killed_for_memory, remains_of
from scrawler.faults import Fault
from scrawler.model import CONDEMNED, SuspectRow, url_hash

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LONGEST = 1 << 24  # bytes of a file that are read; it may have been written by anybody
_FAULT = re.compile(r"^Fatal Python error: (.*)$", re.MULTILINE)
_CURRENT = re.compile(r"^Current thread 0x([0-9a-f]+)", re.MULTILINE)
_FRAME = re.compile(r'^ *File "([^"]*)", line (\d+) in (.*)$', re.MULTILINE)
_KILLED = "killed by "  # how a supervisor tells of a signal
_TOO_LONG = "reading it took more CPU time than any page may"
_MEMORY = "the system killed a process for want of memory while it was read"


class Suspects(Protocol):
    """The part of the store that keeps URLs which have killed processes, or may have."""

    def add(self, rows: Sequence[SuspectRow]) -> None:
        """Add to what is known of these URLs."""


def judge(remains: Remains) -> list[SuspectRow]:
    """Say which URLs are to blame for the end of a process, and how certainly: CONDEMNED is certain."""
    stuck = [one for one in remains.read if one.too_long]
    if stuck:
        return [_suspect(one, CONDEMNED, _TOO_LONG) for one in stuck]
    fault = _FAULT.search(remains.told)
    if fault is not None:
        current = _CURRENT.search(remains.told)
        ident = int(current[1], 16) if current else 0
        words = f"{fault[1]}{_place(remains.told[current.end() :] if current else '')}"
        return [_suspect(one, CONDEMNED, words) for one in remains.read if one.thread == ident]
    if remains.told:
        words = remains.told.strip().partition("\n")[0] if remains.told.startswith(_KILLED) else _TOO_LONG
        return [_suspect(one, CONDEMNED if len(remains.read) == 1 else 1, words) for one in remains.read]
    return [_suspect(one, 1, _MEMORY) for one in remains.read] if remains.out_of_memory else []


def _place(trace: str) -> str:
    """Say where the innermost frame of a traceback of faulthandler is."""
    frame = _FRAME.search(trace)
    return f" in {frame[3]} ({os.path.basename(frame[1])}, line {frame[2]})" if frame else ""


def _suspect(read: Read, deaths: int, words: str) -> SuspectRow:
    return SuspectRow(read.site_id, url_hash(read.url), read.url, deaths, f"the process that read it has died: {words}")


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
        self._folder, self._prefix, self._suspects = folder, prefix, suspects
        self._say, self._tell = say, tell

    def look(self) -> None:
        """Note who is to blame, and remove the files. Raises StoreError."""
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            for name in sorted(os.listdir(self._folder)):
                if name.startswith(self._prefix) and name.endswith(SUFFIX):
                    self._look_into(self._folder / name)

    def _look_into(self, path: Path) -> None:
        with _of_the_dead(path) as file:
            if file is None:
                return
            remains = remains_of(os.pread(file, _LONGEST, 0), killed_for_memory())
            blamed = judge(remains)
            self._suspects.add(blamed)
            for row in blamed:
                self._tell(row.url, Fault(row.detail, remains.told))
                self._say(f"{row.url}: {row.detail}; {_what_follows(row)}")
            path.unlink(missing_ok=True)


def _what_follows(row: SuspectRow) -> str:
    return "it is not asked for again" if row.deaths >= CONDEMNED else "should that happen again, it is ended"


def page_at_death(folder: Path, pid: int, fault: str) -> str:
    """Return the URL that is to blame for the end of a process, or suspected; "" without one.

    To be called by whoever has waited for its end. `fault` is the signal by which it met a fault: it is noted for those
    who look later, where it could not tell itself.
    """
    for path in folder.glob(f"*-{pid}{SUFFIX}"):
        with suppress(OSError), path.open("ab+") as file:  # no lock: others that look shall not take it for alive
            file.seek(0)
            remains = remains_of(file.read(_LONGEST), 0)
            if fault and not remains.told:
                remains = remains._replace(told=f"{_KILLED}{fault}\n")
                file.write(remains.told.encode())
            blamed = judge(remains)
            if blamed:
                return blamed[0].url
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
        yield file if _locked(file) and os.fstat(file).st_nlink else None
    finally:
        os.close(file)


def _locked(file: int) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
