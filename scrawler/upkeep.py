"""Looks after the archive of a crawl: whose files are whose, what is gone of them, and how that comes back."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from scrawler.crawl.depth import Entry, encode
from scrawler.crawl.losses import LossFinder, OwnFiles
from scrawler.crawl.records import Records, prefix_of
from scrawler.settings import Settings
from scrawler.store.crawls import Crawl
from scrawler.store.engine import Database
from scrawler.store.losses import Losses, LostSum
from scrawler.store.lost_rows import LostRows, TakenBack
from scrawler.store.machines import Machines
from scrawler.store.orphans import Orphans
from scrawler.store.pages import Pages
from scrawler.urls.scope import site_key


def warc_prefix(crawl: Crawl, machine_id: int) -> str:
    """Return what the names of a machine's WARC files begin with.

    Crawls of two databases may share a folder and a name: each mends, cuts and removes its own files only.
    """
    return f"{crawl.name}-{crawl.created_at:x}-m{machine_id}"


class Upkeep:
    """The WARC files of this host's machines, compared with the rows of the crawl."""

    def __init__(self, settings: Settings, database: Database, crawl: Crawl) -> None:
        self._settings, self._database, self._crawl = settings, database, crawl
        self.pages, self.losses, self.orphans = Pages(database), Losses(database), Orphans(database)
        folders = Machines(database).folders(socket.gethostname())
        self._machines = {warc_prefix(crawl, number): number for number in folders}
        self.files = OwnFiles(
            settings.pages_dir, {warc_prefix(crawl, number): folder for number, folder in folders.items()}
        )
        self.finder = LossFinder(self.files, self.pages, self.losses)

    def look_and_tell(self) -> LostSum:
        """Look for what is gone, and return what no run has told of. Raises ArchiveError, StoreError."""
        self.finder.look()
        return self.losses.tell()

    def accept(self) -> LostSum:
        """Look for what is gone, and let it be: return how much that is. Raises ArchiveError, StoreError."""
        self.finder.look()
        return self.losses.accept()

    def list_lost_again(self) -> TakenBack:
        """Take back the rows of records that are gone and not accepted, so that their URLs are fetched again.

        Raises ArchiveError, StoreError; done again, it goes on from where it was.
        """
        self.finder.look()
        known = self.losses.all()
        open_ones = [loss for loss in known.values() if not loss.accepted and self.files.path(loss.warc_file)]
        rows = LostRows(
            self._database,
            packed,
            lambda url: site_key(url, self._crawl.scope),
            lambda name: self._machines.get(prefix_of(name) or ""),
            self.finder.is_there,
        )
        total = TakenBack()
        for loss in open_ones:
            offsets = (row.offset for row in self.finder.lost_rows(loss.warc_file))
            taken = rows.take_back(loss.warc_file, offsets, known)
            left = taken.in_work + taken.unreachable
            total = total.plus(taken)
            if left:
                self.losses.note(loss._replace(records=left, revisits=0))
            else:
                self.losses.clear([loss.warc_file])
                self._records_at(loss.warc_file).mend_again(loss.warc_file)
        for name in self.orphans.files():
            self._records_at(name).index_again([name])
        return total

    def _records_at(self, warc_file: str) -> Records:
        path = self.files.path(warc_file) or self._settings.pages_dir / warc_file
        return Records(path.parent, self.pages, self.orphans)


def packed(entries: Sequence[tuple[str, int, int]]) -> bytes:
    """Make the data of a chunk of (url, depth, position)."""
    return encode([Entry(url, depth, position) for url, depth, position in entries])
