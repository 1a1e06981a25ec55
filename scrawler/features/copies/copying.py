"""Copies of an archive elsewhere: what is finished of it goes there, file by file, while machines write the next ones.

Only files with an index go, for they do not change any more (or seldom: then they go again). Which ones are there is
told by the place itself, so that a copier that was killed, or another one, goes on where it was. One process copies at
a time on a host, with a lock in the folder.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from scrawler.archive import locks
from scrawler.archive.remote import DIGESTS, Remote, RemoteError, StoppedError
from scrawler.backoff import Backoff
from scrawler.core.progress import Progress, RunSummary
from scrawler.core.records.copies import remote_at
from scrawler.core.records.records import WARC, index_of
from scrawler.errors import ArchiveError, SettingsError, StoreError, UnreadableError
from scrawler.features.copies.note import note_file, write_note
from scrawler.model.copies import Copies
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import Waiting, open_database
from scrawler.threads import start
from scrawler.units import counted, human_bytes

_LOOK_EVERY = 10.0  # seconds between two looks for files that are finished
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0  # seconds between two tries at a place that is away
_LAST_TRIES = 60.0  # seconds for which a place may be away once the crawl has ended
_LAST_WORD = 15.0  # seconds for which the end of a run waits for a copy that is being given up
_READ = 1 << 20
_AGAIN = "`scrawler archive-copy` copies them, and so does the next run"


class CopiedByOthersError(ArchiveError):
    """Another process of this host, or another thread of this one, copies the same files: worth trying again."""


class Copier:
    """Copies the finished WARC files of one crawl in one folder; used by one thread, watched by any."""

    def __init__(
        self, folder: Path, prefix: str, remote: Remote, done: Copies, on_change: Callable[[], None] = lambda: None
    ) -> None:
        """Copy the files whose names begin with `prefix`, that of all machines; `done` is told how it goes."""
        self._folder = folder
        self._prefix = prefix
        self._remote = remote
        self._known: dict[str, tuple[int, int, int]] = {}  # what was copied, as it was then
        self._unreadable: set[str] = set()
        self._on_change = on_change
        self._noted: Copies | None = None
        self.done = done

    def note(self) -> None:
        """Let other commands of this host see how it stands, where that has changed."""
        if self._noted != self.done:
            self._noted = replace(self.done)
            write_note(note_file(self._folder, self._prefix), self._remote.url, self._noted)

    def work(self, stopping: Callable[[], bool], say: Callable[[str], None]) -> None:
        """Copy all that is finished and not there; `say` is told what cannot be read.

        What cannot be read is not tried again, and stays among what waits. Raises StoppedError, RemoteError;
        CopiedByOthersError where others are at it; ArchiveError where the folder cannot be read.
        """
        if not self._waiting():
            return
        lock = locks.take_lock(self._folder, self._prefix.removesuffix("m") + "copies")
        if lock is None:
            raise CopiedByOthersError(f"another process copies the files in {self._folder}")
        try:
            while waiting := self._waiting():  # more may be finished meanwhile
                self.note()
                self._copy(waiting, stopping, say)
        finally:
            self.note()
            lock.release()

    def _copy(self, waiting: dict[Path, int], stopping: Callable[[], bool], say: Callable[[str], None]) -> None:
        there = self._remote.sizes()
        for path, size in waiting.items():
            if stopping():
                raise StoppedError
            try:
                self._see_to(path, there, stopping)
            except UnreadableError as error:
                self._unreadable.add(path.name)
                say(f"{error}; it is not copied")
                continue
            self.done.waiting -= 1
            self.done.waiting_bytes -= size
            self.note()

    def look(self) -> None:
        """Note what is finished and was not copied by this copier. Raises ArchiveError, RemoteError."""
        there = self._remote.sizes()
        for path in self._waiting():
            with suppress(UnreadableError):
                now = _as_now(path)
                if now is not None and there.get(path.name) == now[0] and path.name + DIGESTS in there:
                    self._known[path.name] = now
        self._waiting()
        self.note()

    def _waiting(self) -> dict[Path, int]:
        """Return the size of each file that is finished, not known to be copied, and may be read; by name.

        Those that cannot be read are counted with them.
        """
        try:
            names = set(os.listdir(self._folder))
        except FileNotFoundError:
            names = set()
        except OSError as error:
            raise ArchiveError(f"cannot read {self._folder}: {error.strerror or error}") from error
        found, unreadable = dict[Path, int](), 0
        for name in sorted(names):
            path = self._folder / name
            if not (name.startswith(self._prefix) and name.endswith(WARC) and index_of(path).name in names):
                continue
            if name in self._unreadable:
                unreadable += 1
                continue
            try:
                now = _as_now(path)
            except UnreadableError:  # it is told where the file is to be copied
                now = self._known.get(name, (0, 0, 0))
            if now is not None and self._known.get(name) != now:
                found[path] = now[0]
        self.done.waiting, self.done.waiting_bytes = len(found) + unreadable, sum(found.values())
        return found

    def _see_to(self, path: Path, there: dict[str, int], stopping: Callable[[], bool]) -> None:
        """Copy a file and its index, unless they are there already, and then say that they are."""
        now, index = _as_now(path), index_of(path)
        if now is None:  # it was moved away meanwhile
            return
        known = self._remote.digests(path.name)
        same_file = path.name in known and there.get(path.name) == now[0]
        if not (same_file and known.get(index.name) == _digest_of(index)):
            self._remote.remove_digests(path.name)
            digest = known[path.name] if same_file else self._remote.copy(path, stopping, self._went).sha256
            of_index = self._remote.copy(index, stopping).sha256
            self._remote.write_digests(path.name, {path.name: digest, index.name: of_index})
            self.done.files += 1
        self._known[path.name] = now

    def _went(self, number: int) -> None:
        self.done.bytes += number
        self._on_change()


def _as_now(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with a file or its index; None where one of them is gone. Raises UnreadableError."""
    try:
        index = index_of(path).stat()
        return path.stat().st_size, index.st_size, index.st_mtime_ns
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {error.strerror or error}") from error


def _digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while data := file.read(_READ):
                digest.update(data)
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {error.strerror or error}") from error
    return digest.hexdigest()


class _Background(threading.Thread):
    """Copies until `stopping` is set, however often the place is away.

    It is a daemon: nothing can wake a request that waits for an answer, and what it had not finished does not count.
    """

    def __init__(
        self, settings: Settings, remote: Remote, copies: Copies, stopping: threading.Event, say: Callable[[str], None]
    ) -> None:
        super().__init__(name="copier", daemon=True)
        self._settings = settings
        self._remote = remote
        self._copies = copies
        self._stopping = stopping
        self._say = say
        self._copier: Copier | None = None

    def run(self) -> None:
        backoff, pause = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE), _LOOK_EVERY
        while not self._stopping.wait(pause):
            try:
                self._work()
            except StoppedError:
                return
            except (ArchiveError, StoreError) as error:
                if not self._copies.problem:
                    self._say(f"{error}; copies wait, and are tried again")
                self._failed(str(error))
                pause = max(_FIRST_PAUSE, backoff.pause())
                continue
            if self._copies.problem:
                self._say(f"copies go to {self._remote.url} again")
            self._copies.problem = ""
            if self._copier is not None:
                self._copier.note()
            backoff, pause = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE), _LOOK_EVERY

    def _failed(self, problem: str) -> None:
        self._copies.met(problem)
        if self._copier is not None:
            self._copier.note()

    def _work(self) -> None:
        if self._copier is None and not _has_finished(self._settings.pages_dir):
            return  # the crawl may not even be in the database yet
        if self._copier is None:
            self._copier = _copier(self._settings, self._remote, self._copies)
        self._copier.work(self._stopping.is_set, self._say)


def _has_finished(folder: Path) -> bool:
    try:
        return any(name.endswith(".cdxj") for name in os.listdir(folder))
    except OSError:
        return False


def _copier(settings: Settings, remote: Remote, copies: Copies, on_change: Callable[[], None] = lambda: None) -> Copier:
    """Make the copier of the crawl of a database. Raises StoreError."""
    waiting = Waiting(give_up_after=settings.database_patience)
    with closing(open_database(settings.db, create=False, waiting=waiting)) as database:
        crawl = Crawls(database).open(settings.name, settings.scope)
    return Copier(settings.pages_dir, crawl.files_prefix, remote, copies, on_change)


def remote_of(settings: Settings) -> Remote:
    """Return the place to which the settings say that copies go. Raises SettingsError where they name none."""
    if settings.archive_to is None:
        raise SettingsError("where to? --archive-to s3://BUCKET/FOLDER, or archive_to in scrawler.toml, says it")
    remote = remote_at(settings.archive_to, settings)
    if settings.archive_to.startswith("file://"):
        folder = settings.archive_to.removeprefix("file://")
        if os.path.realpath(folder) == os.path.realpath(settings.pages_dir):
            raise SettingsError(f"{settings.archive_to} is the folder of the WARC files itself: name another one")
    return remote


class Copying:
    """The copies of one run: they go while its machines work, and what is left goes when the crawl has ended.

    `say` is told, in a line each, of a place that is away, and of files that cannot be read. Nothing is done where the
    settings name no place. Raises SettingsError.
    """

    def __init__(self, settings: Settings, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._say = say
        self._remote = None if settings.archive_to is None else remote_of(settings)
        self.copies = Copies()

    @contextmanager
    def at_work(self, stop: threading.Event) -> Iterator[None]:
        """Copy what is finished during a block; `stop` ends it early.

        Raises RemoteError where the place refuses, or is away now: nothing has begun then.
        """
        if self._remote is None:
            yield
            return
        self._remote.check()
        stopping = _Either(stop)
        thread = _Background(self._settings, self._remote, self.copies, stopping, self._say)
        start(thread)
        try:
            yield
        finally:
            stopping.set()
            thread.join(_LAST_WORD)

    def shown(self, progress: Progress) -> Progress:
        """Return how a run goes, with its copies."""
        if self._remote is None:
            return progress
        waiting = self.copies.waiting
        told = f"{progress.told}; {counted(waiting, 'WARC file')} to be copied" if waiting else progress.told
        return replace(progress, copied=self.copies.files, uncopied=waiting, copies=replace(self.copies), told=told)

    def finished(self, summary: RunSummary, stop: threading.Event) -> RunSummary:
        """Copy what is left where the crawl has ended, until `stop`; return what a run did, with its copies."""
        if self._remote is None:
            return summary
        why = ""
        try:
            if summary.outcome == "ended":
                copy_rest(self._settings, self.copies, stop, self._say)
            else:
                _copier(self._settings, self._remote, self.copies).look()
        except (ArchiveError, StoreError) as error:
            why = str(error)
        return self._told_in(replace(summary, copied=self.copies.files, uncopied=self.copies.waiting, uncopied_why=why))

    def _told_in(self, summary: RunSummary) -> RunSummary:
        """Return the summary with what is to be said of copies."""
        number, to, left = counted(summary.copied, "WARC file"), self._settings.archive_to, summary.uncopied
        waiting = f"; {left:,} not yet: `scrawler archive-copy`, or the next run" if left else ""
        undone = f"{counted(left, 'WARC file')} not copied to {to}" if left and summary.outcome == "ended" else ""
        return replace(
            summary,
            told={**summary.told, "copied": f"{number} to {to}{waiting}"},
            warnings=(*summary.warnings, summary.uncopied_why) if summary.uncopied_why else summary.warnings,
            undone=summary.undone or undone,
        )


class _Either(threading.Event):
    """Set by its owner; to those who ask, also once the user wants the end."""

    def __init__(self, asked: threading.Event) -> None:
        super().__init__()
        self._asked = asked

    def is_set(self) -> bool:
        return super().is_set() or self._asked.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(timeout) or self._asked.is_set()


def copy_rest(
    settings: Settings,
    copies: Copies,
    stop: threading.Event | None = None,
    say: Callable[[str], None] = lambda line: None,
    on_change: Callable[[], None] = lambda: None,
) -> None:
    """Copy all that is finished, once the machines are over; a place that is away is tried again for a minute.

    As long as others copy, it waits for them, and copies what they leave. `stop` ends it, also while it waits.

    Raises ArchiveError where not all could be copied, which says what to do; StoreError, SettingsError.
    """
    stop = stop or threading.Event()
    copier = _copier(settings, remote_of(settings), copies, on_change)
    backoff, until = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE), time.monotonic() + _LAST_TRIES
    before = -1
    while True:
        try:
            copier.work(stop.is_set, say)
            copies.problem = ""
            copier.note()
            break
        except StoppedError:
            raise ArchiveError(f"stopped with {_waiting(copies)}; {_AGAIN}") from None
        except ArchiveError as error:
            others = isinstance(error, CopiedByOthersError)
            if others and copies.problem != str(error):
                say(f"{error}: what it leaves is copied then")
            if others or copies.files > before:
                before, until = copies.files, time.monotonic() + _LAST_TRIES
            pause = _FIRST_PAUSE if others else backoff.pause()
            if others:
                copies.problem = str(error)  # which is no error: they copy the same
            else:
                copies.met(str(error))
                copier.note()
            in_vain = time.monotonic() + pause > until or not (others or isinstance(error, RemoteError))
            if in_vain or stop.wait(pause):
                raise ArchiveError(f"{error}; {_waiting(copies)}: {_AGAIN}") from error
    if copies.waiting:
        raise ArchiveError(f"{_waiting(copies)}, which cannot be read: {_AGAIN}")


def _waiting(copies: Copies) -> str:
    return f"{counted(copies.waiting, 'WARC file')} of {human_bytes(copies.waiting_bytes)} not copied yet"


def copies_text(copies: Copies) -> str:
    """Say how the copying goes."""
    text = f"{counted(copies.files, 'WARC file')} copied, {human_bytes(copies.bytes)}"
    if copies.waiting:
        text += f"; {_waiting(copies)}"
    return f"{text} ({copies.problem})" if copies.problem else text
