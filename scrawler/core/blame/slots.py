"""Which URL each collector reads at this moment, in a small file that outlives the process.

A page can kill the process that reads it: by a fault in a part in C, by its memory, by a loop without an end. The next
process finds its URL in the file, and does not ask for it again (see `deaths`). The file is mapped: a slot is written
without a call to the kernel, in 0.3 us, and stays however the process ends. What Python's faulthandler tells of a fault
is appended behind the slots. A lock on the file says that its process lives; a clean end removes it.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from scrawler.flocks import SUPPORTED, try_lock

SUFFIX = ".reading"
MAKING = ".reading-new"  # of a file that is not locked yet
_TRIES = 10

_MAGIC = b"SCrawler reads 1"
_HEADER = struct.Struct("<16sIIq")  # magic, slots, bytes of each, how many processes the kernel had killed for memory
_SLOT = struct.Struct("<IIqQ")  # length of the URL (0: nothing is read), 1 if it was read for too long, site, thread
_READ = struct.Struct("<IIq")  # what is read of a slot: all but the thread
_write_read: Final = _READ.pack_into
_LENGTH: Final = struct.Struct("<I")
_NOTHING: Final = _LENGTH.pack(0)
_OOM = "oom_kill "  # a line of /proc/vmstat


class Read(NamedTuple):
    """What stood in a slot."""

    site_id: int
    url: str
    thread: int  # what threading.get_ident gives for it
    too_long: bool


class Remains(NamedTuple):
    """What a process has left: its slots, what was told of its fault, and whether the kernel killed one for memory."""

    read: tuple[Read, ...]
    told: str
    out_of_memory: bool


class _Opened(NamedTuple):
    """The file of the slots: as it is mapped, and its descriptor."""

    mapped: mmap.mmap
    file: int


class Slot:
    """Where one thread says what it reads; `count` is odd meanwhile, and another one for each reading."""

    __slots__ = ("_at", "_clock", "_free", "_map", "_room", "_text_at", "count")

    def __init__(self, mapped: mmap.mmap | bytearray, at: int, size: int, free: Callable[[Slot], None]) -> None:
        self._map = mapped
        self._at = at
        self._room = size - _SLOT.size
        self._text_at = at + _SLOT.size
        self._free = free
        self._clock: int | None = None
        self.count = 0

    def belongs_here(self) -> None:
        """Note that from now on the calling thread uses it."""
        ident = threading.get_ident()
        _SLOT.pack_into(self._map, self._at, 0, 0, 0, ident)
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(ident)

    def close(self) -> None:
        """Let another thread have it."""
        self._clock = None
        self._free(self)

    def enter(self, site_id: int, url: str) -> None:
        """Say that a URL is read; nothing is kept of one that is longer than all that are crawled."""
        mapped, start = self._map, self._text_at
        data = url.encode("utf-8", "surrogatepass")
        size = len(data)
        self.count += 1
        if size <= self._room:
            mapped[start : start + size] = data
            _write_read(mapped, self._at, size, 0, site_id)  # last of all: from here on it counts

    def leave(self) -> None:
        """Say that nothing is read any more."""
        self._map[self._at : self._at + 4] = _NOTHING
        self.count += 1

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of its thread so far; None where the system does not tell, or the thread is gone."""
        if self._clock is None:
            return None
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return None

    def mark_too_long(self, count: int) -> str | None:
        """Note that the reading `count` is to blame for the end of the process; returns its URL, None if it is over.

        From then on its thread writes elsewhere: what it reads next shall not stand there instead.
        """
        elsewhere = bytearray(len(self._map))
        mapped, self._map = self._map, elsewhere
        if self.count != count:
            self._map = mapped
            return None
        _LENGTH.pack_into(mapped, self._at + _LENGTH.size, 1)
        found = _read_slot(mapped, self._at, self._room + _SLOT.size)
        return found.url if found else ""


class Slots:
    """The slots of one machine's threads, in a file; without one, or where it cannot be made, they outlive nothing."""

    def __init__(self, path: Path | None, number: int, longest_url: int) -> None:
        self._path = path
        self._size = _SLOT.size + longest_url
        self._folder_made = False
        self._lock = threading.Lock()
        self._file = -1
        self._map: mmap.mmap | bytearray = bytearray(_HEADER.size + number * self._size)
        if path is not None:
            with contextlib.suppress(OSError):  # what cannot be written there, the archive will tell
                opened = self._open(path, number)
                self._map = opened.mapped
                self._file = opened.file
        offsets = range(_HEADER.size, _HEADER.size + number * self._size, self._size)
        self._free = [self._slot(at) for at in reversed(offsets)]
        self._taken: list[Slot] = []

    def _slot(self, at: int) -> Slot:
        return Slot(self._map, at, self._size, self._give_back)

    def _open(self, path: Path, number: int) -> _Opened:
        if not SUPPORTED:
            raise OSError(errno.ENOSYS, "no locks by which others could tell that this process lives")
        if not path.parent.exists():
            path.parent.mkdir(parents=True)
            self._folder_made = True
        # Whoever looks for files of the dead may come before it is locked, and remove it: then it is made anew.
        for attempt in range(_TRIES):
            with contextlib.suppress(BlockingIOError, FileNotFoundError):
                return self._make(path, path.with_name(f"{path.stem}-{attempt}{MAKING}"), number)
        raise BlockingIOError

    def _make(self, path: Path, made: Path, number: int) -> _Opened:
        """Make the file, locked before it has its name."""
        file = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            if not try_lock(file):
                raise BlockingIOError
            _HEADER.pack_into(self._map, 0, _MAGIC, number, self._size, killed_for_memory())
            # All of it: a hole in a full disk would be a fault when it is written to.
            if os.write(file, self._map) < len(self._map):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            mapped = mmap.mmap(file, len(self._map))
            made.rename(path)
        except OSError:
            os.close(file)
            made.unlink(missing_ok=True)
            raise
        return _Opened(mapped, file)

    @property
    def file(self) -> int:
        """Descriptor of the file, for what is to be told behind the slots; -1 without a file."""
        return self._file

    def take(self) -> Slot:
        """Return a slot for a thread; when all are taken, one that nobody will find."""
        with self._lock:
            slot = self._free.pop() if self._free else Slot(bytearray(self._size), 0, self._size, self._give_back)
            self._taken.append(slot)
            return slot

    def _give_back(self, slot: Slot) -> None:
        with self._lock:
            self._taken.remove(slot)
            self._free.append(slot)

    def taken(self) -> list[Slot]:
        """Return the slots that threads have."""
        with self._lock:
            return list(self._taken)

    def close(self) -> None:
        """Remove the file: the process has outlived all pages. Nobody uses the slots any more."""
        if self._file < 0 or self._path is None:
            return
        with contextlib.suppress(OSError):
            self._path.unlink()
        if self._folder_made:
            with contextlib.suppress(OSError):  # there are pages in it
                self._path.parent.rmdir()
        if isinstance(self._map, mmap.mmap):
            self._map.close()  # it has a descriptor of its own
        os.close(self._file)
        self._file = -1


def reading_file(folder: Path, prefix: str, machine_id: int) -> Path:
    """Return the file of a machine; the names of those of its crawl begin with `prefix`."""
    return folder / f"{prefix}{machine_id}{SUFFIX}"


def machine_of(name: str, prefix: str) -> int | None:
    """Return the machine of which a file with this name is; None if it is none of the crawl's."""
    number = name[len(prefix) : -len(SUFFIX)]
    ours = name.startswith(prefix) and name.endswith(SUFFIX) and number.isascii() and number.isdecimal()
    return int(number) if ours else None


def killed_for_memory() -> int:
    """Return how many processes the kernel has killed so far because memory was short; 0 where it does not tell."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line[len(_OOM) :]) for line in lines if line.startswith(_OOM)), 0)


def remains_of(data: bytes, killed_now: int) -> Remains:
    """Read what a file holds; one that is damaged holds nothing."""
    if len(data) < _HEADER.size:
        return Remains((), "", False)
    magic, number, size, killed_before = _HEADER.unpack_from(data)
    end = _HEADER.size + number * size
    if magic != _MAGIC or size < _SLOT.size or end > len(data):
        return Remains((), "", False)
    read = (_read_slot(data, at, size) for at in range(_HEADER.size, end, size))
    return Remains(
        tuple(one for one in read if one is not None), data[end:].decode("utf-8", "replace"), killed_now > killed_before
    )


def _read_slot(data: bytes | bytearray | mmap.mmap, at: int, size: int) -> Read | None:
    length, too_long, site_id, thread = _SLOT.unpack_from(data, at)
    if not 0 < length <= size - _SLOT.size:
        return None
    start = at + _SLOT.size
    url = bytes(data[start : start + length]).decode("utf-8", "replace")
    return Read(site_id, url, thread, bool(too_long))
