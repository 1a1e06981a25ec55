"""Looks after the archive of a crawl: whose files are whose, what is gone of them, and how that comes back."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from scrawler.archive.proof import WarcFile, open_warc
from scrawler.archive.remote import DIGESTS, Remote, RemoteError, RemoteFile
from scrawler.core.party.entries import encode, stored_entry
from scrawler.core.records.copies import remote_at
from scrawler.core.records.holding import last_known
from scrawler.core.records.losses import LossFinder, OwnFiles, never, unsaid
from scrawler.core.records.records import WARC, Records, index_of, is_finished, prefix_of
from scrawler.core.records.verifying import LOST, Accepted, FileVerifier, Finding, Problem
from scrawler.errors import SettingsError, UnreadableError
from scrawler.feature import hooked
from scrawler.model.records import UNCOUNTED, Loss, LossKind
from scrawler.model.rows import PageRow
from scrawler.settings import Settings, copies_unnamed, is_local
from scrawler.store.claims.crawls import Crawl, Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database
from scrawler.store.lists.losses import Found, Losses, LostSum
from scrawler.store.lists.lost_rows import LostRows, TakenBack
from scrawler.store.lists.orphans import Orphans
from scrawler.store.lists.replacing import retried_until
from scrawler.store.reading.pages import Pages
from scrawler.urls.scope import is_reachable

_CLOCKS_MS = 60_000  # by which the clocks of the database and of this host may differ


@dataclass(slots=True)
class Verified:
    """How far a verification has come, in files and bytes, and what it has found."""

    files: int
    elsewhere: int  # machines of other hosts, of whose files nothing can be told from here
    bytes: int
    verified: int = 0
    read: int = 0
    whole: int = 0  # records of answers that are as the database says
    gone: int = 0  # rows without their record
    accepted: int = 0  # rows without their record in files whose losses were accepted
    unknown: int = 0  # records without row, and bytes that are no record
    unreadable: int = 0  # files that cannot be read
    vain: int = 0  # revisits that refer to records of earlier crawls which are gone or damaged
    uncopied: int = 0  # files of which there is no whole copy yet, where copies are verified
    lossy: dict[str, int] = field(default_factory=dict)  # file -> records gone and not accepted


def nowhere() -> None:
    """Say that no run has copied anything."""


class LostPayloads(Protocol):
    """Yields pages of a crawl whose payloads should be in other archives on this host, and are not any more."""

    def __call__(
        self, settings: Settings, database: Database, looked_at: Callable[[], None] = ..., /
    ) -> Iterable[PageRow]:
        """`looked_at` is told of each page. Raises SettingsError, StoreError where these cannot be looked at."""
        ...


def lost_payloads(
    settings: Settings, database: Database, looked_at: Callable[[], None] = lambda: None
) -> Iterator[PageRow]:
    """Yield what features know of payloads that are lost elsewhere. Raises SettingsError, StoreError."""
    for lost in hooked("lost"):
        yield from lost(settings, database, looked_at)


class KnownCopies:
    """The copies of an archive elsewhere, as they were when they were first asked for; none without a URL.

    Where `url` is None, `last` tells where an earlier run copied to, if any did: what is there is not lost. Such a
    place is asked where it is on this host alone, for somebody else may have written the database.
    """

    def __init__(self, settings: Settings, url: str | None, last: Callable[[], str | None] = nowhere) -> None:
        self._settings = settings
        self._url = url
        self._last = last
        self._is_given = url is not None
        self._remote: Remote | None = None
        self._sizes: dict[str, int] | None = None

    def has(self, name: str) -> bool:
        """Tell whether there is a whole copy of a file. Raises UnreadableError, SettingsError."""
        return name in self._there() and name + DIGESTS in self._there()

    def names(self) -> Iterator[str]:
        """Yield the WARC files of which there are whole copies. Raises as `has` does."""
        return (name for name in self._there() if name.endswith(WARC) and self.has(name))

    def size(self, name: str) -> int:
        """Return the size of a copy, 0 where there is none. Raises as `has` does."""
        return self._there().get(name, 0)

    def open(self, name: str) -> WarcFile | None:
        """Return a copy to be read, None where there is no whole one. Raises as `has` does."""
        if not self.has(name):
            return None
        assert self._remote is not None
        return WarcFile(RemoteFile(self._remote, name, self.size(name)))

    def _there(self) -> dict[str, int]:
        if self._sizes is None:
            self._url = self._url or _of_this_host(self._last())
            self._sizes = {} if self._url is None else self._listed(self._url)
        return self._sizes

    def _listed(self, url: str) -> dict[str, int]:
        try:
            self._remote = remote_at(url, self._settings)
            return self._remote.sizes()
        except SettingsError as error:
            if self._is_given:
                raise
            raise UnreadableError(str(error)) from error
        except RemoteError as error:
            raise UnreadableError(str(error)) from error


def _of_this_host(stored: str | None) -> str | None:
    """Return where copies are that only the database names. Raises UnreadableError for a place elsewhere.

    What is gone from here may be there, so it is not taken for lost: the user has to say whose that place is.
    """
    if stored is not None and not is_local(stored):
        raise UnreadableError(copies_unnamed(stored))
    return stored


class Upkeep:
    """The WARC files of this host's machines, compared with the rows of the crawl.

    `say` is told, in a line each, what cannot be read, and what files held that nobody can account for, and where it is
    kept.
    """

    def __init__(
        self, settings: Settings, database: Database, crawl: Crawl, say: Callable[[str], None] = unsaid
    ) -> None:
        self._settings = settings
        self._database = database
        self._crawl = crawl
        self._say = say
        self.pages = Pages(database)
        self.losses = Losses(database)
        self.orphans = Orphans(database)
        machines = Machines(database)
        folders = machines.folders(socket.gethostname())
        self._elsewhere = machines.number() - len(folders)
        self._ended_in_order = machines.ended_in_order
        self._machines = {crawl.warc_prefix(number): number for number in folders}
        self.files = OwnFiles(settings.pages_dir, {crawl.warc_prefix(number): one for number, one in folders.items()})
        self._copies = KnownCopies(settings, settings.archive_to, Crawls(database).copied_to)
        self.finder = LossFinder(self.files, self.pages, self.losses, self._mend, self._copies.has)

    def look(self, stopping: Callable[[], bool]) -> None:
        """Look for what is gone, until `stopping`. Raises ArchiveError, StoreError."""
        self._look(stopping, self._say)

    def untold(self, stopping: Callable[[], bool]) -> Found:
        """Look as at the begin of a run, which has said what cannot be read; return what no run has told of."""
        self._index_retried()
        self._look(stopping, unsaid)
        return self.losses.untold()

    def _look(self, stopping: Callable[[], bool], say: Callable[[str], None]) -> None:
        self.finder.look(stopping, say)
        self.finder.count_revisits(stopping)

    def accept(self) -> LostSum:
        """Look for what is gone, and let it be: return how much that is. Raises ArchiveError, StoreError."""
        self.finder.look(say=self._say)
        return self.losses.accept()

    def verify(self, on_progress: Callable[[Verified], None]) -> Iterator[Finding]:
        """Read all files of this host; yield what is not as the database says, and note what is gone as a loss.

        A file that cannot be read is one of the findings; what was accepted as gone is passed by. `on_progress` is told
        all the time, and once at the end. Raises ArchiveError, StoreError.
        """
        known = self.losses.all()
        names = {name for name, _ in self.finder.committed_files()}
        names.update(self.files.names())
        paths = {name: path for name in sorted(names) if (path := self.files.path(name)) is not None}
        paths.update((name, path) for name in self.orphans.files() if (path := self.files.path(name)) and path.exists())
        done = Verified(len(paths), self._elsewhere, sum(self._size(name, path) for name, path in paths.items()))
        for name, path in paths.items():
            accepted = Accepted(known[name].records if name in known and known[name].accepted else 0)
            done.verified += 1
            try:
                for found in self._verify_file(name, path, done, on_progress):
                    for finding in accepted.told(found):
                        done.unknown += finding.problem not in LOST
                        yield finding
            except UnreadableError:
                done.unreadable += 1
                yield Finding(name, 0, self._size(name, path), Problem.UNREADABLE, "")
                continue  # of a file that cannot be read nothing more is known
            self._note(name, path, accepted.lost)
            if accepted.suffices:
                done.accepted += accepted.lost
            else:
                done.gone += accepted.lost
                done.lossy[name] = accepted.lost
        self.finder.count_revisits()
        on_progress(done)

    def verify_copies(self, url: str, on_progress: Callable[[Verified], None]) -> Iterator[Finding]:
        """Read the copies of all hosts' files in a folder elsewhere, as `verify` does; nothing is noted.

        Files that are not there, and here or at another host, are counted as not copied. Raises ArchiveError,
        StoreError, SettingsError.
        """
        copies, prefix = KnownCopies(self._settings, url), self._crawl.files_prefix
        names = {name for name in copies.names() if name.startswith(prefix)}
        done = Verified(0, 0, 0)
        for name in self.pages.files_of_all(prefix):
            path = self.files.path(name)
            if name not in names and (path is None or path.exists()):
                done.uncopied += 1
            else:
                names.add(name)
        done.files, done.bytes = len(names), sum(copies.size(name) for name in names)
        for name in sorted(names):
            before, lost = done.read, 0

            def read(at: int, before: int = before) -> None:
                done.read = before + at
                on_progress(done)

            file = copies.open(name)
            verifier = FileVerifier(name, file, self._end(name), self.pages, self.orphans, read)
            for finding in verifier.findings(copies.size(name)):
                lost += finding.problem in LOST
                done.unknown += finding.problem not in LOST
                yield finding
            done.verified += 1
            done.whole += verifier.whole
            done.gone += lost
            read(copies.size(name))
        on_progress(done)

    def note_damage(self, names: Iterable[str]) -> None:
        """Read files all through in which damage was met, and note what is gone as a loss. Raises StoreError."""
        for name in names:
            path = self.files.path(name)
            if path is None:
                continue
            with suppress(UnreadableError):  # a file may have become unreadable by now
                found = self._verify_file(name, path, Verified(1, 0, 0), _unseen)
                self._note(name, path, sum(one.problem in LOST for one in found))

    def _verify_file(
        self, name: str, path: Path, done: Verified, on_progress: Callable[[Verified], None]
    ) -> Iterator[Finding]:
        before = done.read

        def read(at: int) -> None:
            done.read = before + at
            on_progress(done)

        finished, end = is_finished(path), self._end(name)  # asked before the size: the file may grow meanwhile
        with open_warc(path) as here:
            file = self._copies.open(name) if here is None else here
            size = 0 if file is None else file.size
            verifier = FileVerifier(name, file, end, self.pages, self.orphans, read)
            may_grow = here is not None and not finished and self._may_hold_uncommitted(name, here)
            yield from verifier.findings(min(size, end) if may_grow else size)
        done.whole += verifier.whole
        read(size)

    def _size(self, name: str, path: Path) -> int:
        return _size(path) if path.exists() else self._copies.size(name)

    def _may_hold_uncommitted(self, name: str, file: WarcFile) -> bool:
        """Tell whether what is not known of an unfinished file may be what its machine has not committed."""
        if self._machines.get(prefix_of(name) or "") in self._ended_in_order():
            return False
        return last_known(name, self.pages, self.orphans) is not None or file.was_begun_as(name)

    def _end(self, name: str) -> int:
        """Return where the last committed record of a file ends."""
        ends = self.pages.ends(name)
        return sum(ends[1]) if ends else 0

    def _note(self, name: str, path: Path, lost: int) -> None:
        """Note what a file was found to have lost, or that it is whole."""
        if not lost:
            self.losses.clear([name])
            return
        kind = LossKind.DAMAGED if path.exists() else LossKind.MISSING
        if path.exists() and path.stat().st_size < self._end(name):
            kind = LossKind.CUT
        self.losses.note(Loss(name, kind, lost, UNCOUNTED))

    def list_lost_again(self, vain: Iterable[PageRow] = (), stopping: Callable[[], bool] = never) -> TakenBack:
        """List the URLs of records that are gone and not accepted, so that they are fetched again, until `stopping`.

        So are those of `vain`, pages whose records refer to what is gone of earlier crawls. Their rows stay until they
        are. Raises ArchiveError, StoreError; done again, it goes on from where it was.
        """
        self.finder.look(stopping, self._say)
        known = self.losses.all()
        open_ones = [loss for loss in known.values() if not loss.accepted and self.files.path(loss.warc_file)]
        rows = LostRows(self._database, packed, partial(is_reachable, scope=self._crawl.scope))
        total = TakenBack()
        for loss in open_ones:
            if stopping():
                return total
            offsets = (row.offset for row in self.finder.lost_rows(loss.warc_file))
            try:
                taken = rows.take_back(loss.warc_file, offsets)
            except UnreadableError:
                continue  # the look has told of it already
            left = taken.rows + taken.waiting + taken.in_work + taken.unreachable
            total = total.plus(taken)
            if left:
                self.losses.note(loss._replace(records=left, revisits=0))
            else:
                self._mend(loss.warc_file)
                self.losses.clear([loss.warc_file])
        for name, pages in groupby(vain, key=attrgetter("warc_file")):
            total = total.plus(rows.take_back(name, (one.warc_offset for one in pages)))
        for name in self.orphans.files():
            self._records_at(name).index_again([name])
        return total

    def _index_retried(self) -> None:
        """Write the indexes anew of files in which records may have become orphans since, for URLs were retried."""
        here = [(name, path) for name in self.orphans.files() if (path := self.files.path(name)) is not None]
        if not here:
            return  # as nearly always: all lists of all seeds would be looked at
        until = retried_until(self._database)
        if until is None:
            return
        for name, path in here:
            if _written_at(index_of(path)) < until + _CLOCKS_MS:
                self._records_at(name).index_again([name])

    def _mend(self, warc_file: str) -> None:
        for line in self._records_at(warc_file).mend_again(warc_file).told():
            self._say(line)

    def _records_at(self, warc_file: str) -> Records:
        path = self.files.path(warc_file) or self._settings.pages_dir / warc_file
        return Records(path.parent, self.pages, self.orphans)


def _unseen(done: Verified) -> None:
    """Let progress be seen by nobody."""


def _written_at(path: Path) -> float:
    """Return when a file was written last, in milliseconds; one that is not there is never written anew."""
    try:
        return path.stat().st_mtime * 1000
    except OSError:
        return inf


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def packed(entries: Sequence[tuple[str, int, int, bytes]]) -> bytes:
    """Make the data of a chunk of (url, depth, position, referrer), as these are stored."""
    return encode([stored_entry(url, depth, position, 0, referrer) for url, depth, position, referrer in entries])
