"""A folder for a crawl that nobody wants to keep: it goes with those who hold it, or with the next one that is made."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from scrawler import flocks

_PREFIX = "scrawler-"
_HELD = "held.lock"  # is locked by whoever made the folder; the name comes once it is
_NEW = "held.new"


class TemporaryFolder:
    """A folder that is removed when nobody holds this any more, or the interpreter ends.

    A process that a signal ends at once can remove nothing. The folders of those that are gone, and were the same
    user's, are removed when the next one is made; not on Windows, nor where files cannot be locked.
    """

    def __init__(self) -> None:
        _remove_left()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        weakref.finalize(self, _remove, self.path, os.getpid(), _hold(self.path))


def _remove(path: Path, process: int, held: io.FileIO | None) -> None:
    if os.getpid() == process:  # a fork of it ends earlier, or does not need it any more
        shutil.rmtree(path, ignore_errors=True)
    if held is not None:
        held.close()


def _hold(folder: Path) -> io.FileIO | None:
    """Let others see that this process needs a folder; None where they cannot: then they leave it alone."""
    file: io.FileIO | None = None
    try:
        file = io.FileIO(folder / _NEW, "x")
        if flocks.try_lock(file.fileno()):
            os.replace(folder / _NEW, folder / _HELD)
            return file
    except OSError:
        pass
    if file is not None:
        file.close()
    return None


def _remove_left() -> None:
    """Remove the folders of processes that are gone."""
    if not flocks.SUPPORTED:
        return
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            with suppress(OSError):
                is_folder = entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False)
                if is_folder and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    _remove_if_left(Path(entry.path))


def _remove_if_left(folder: Path) -> None:
    """Remove a folder whose maker is gone, and its machines, which end a while after it. Raises OSError."""
    with io.FileIO(folder / _HELD, "r") as held:  # raises where there is none: then it is none of these
        if flocks.try_lock(held.fileno()) and not any(map(_is_held, folder.glob("pages/*.lock"))):
            shutil.rmtree(folder, ignore_errors=True)


def _is_held(path: Path) -> bool:
    with io.FileIO(path, "r") as file:
        return not flocks.try_lock(file.fileno())
