"""A file with an Atom feed of the newest changes, which is always whole: a new one takes its place."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from scrawler.errors import SettingsError
from scrawler.features.revisit.atom import MARK, feed_lines
from scrawler.features.revisit.log import Changes
from scrawler.regular import open_regular
from scrawler.store.claims.crawls import Crawl

_LOOKED_AT = 4_096  # bytes of a file that is there already, by which it is known as ours


class FeedFile:
    """Keeps a feed up to date; used by one thread."""

    def __init__(self, file: Path, crawl: Crawl, changes: Changes, most: int) -> None:
        """Write the newest changes of a crawl to `file`, so many at most."""
        self._file = file
        self._crawl = crawl
        self._changes = changes
        self._most = most
        self._mark: tuple[int, int] | None = None

    def look(self) -> bool:
        """Write the feed if anything was found since the last time; return whether so. Raises OSError, StoreError."""
        mark = self._changes.mark()
        if mark == self._mark:
            return False
        text = "\n".join(feed_lines(self._crawl, self._changes.newest(self._most))) + "\n"
        write_whole(self._file, text.encode("utf-8", "replace"))
        self._mark = mark
        return True


def check_feed_file(file: Path) -> None:
    """Look whether a feed may be written there: nothing but a feed of ours is written over. Raises SettingsError."""
    try:
        with open_regular(file) as there:
            known = MARK.encode() in there.read(_LOOKED_AT)
    except FileNotFoundError:
        known = True
    except OSError as error:
        raise SettingsError(f"cannot write the feed {file}: {error.strerror}") from error
    if not known:
        raise SettingsError(f"{file} is there, and no feed of this program: name another file with --feed")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        why = "its folder may not be written" if file.parent.exists() else "there is no such folder"
        raise SettingsError(f"cannot write the feed {file}: {why}")


def write_whole(file: Path, data: bytes) -> None:
    """Put a new file in the place of another one, so that whoever reads it finds one of both. Raises OSError."""
    new = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        with new.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(new, file)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
