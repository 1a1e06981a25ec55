"""What servers answered, from the WARC files, for the rows of pages."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from scrawler.insight.contents import PageContent, PageReader
from scrawler.model.rows import PageRow
from scrawler.settings import Settings, of_archive
from scrawler.store.claims.crawls import Crawl
from scrawler.store.engines.engine import Database, Waiting, open_database


class Answers:
    """Reads answers back by the places in the rows of pages; any thread may use it, one at a time reads.

    `keeps` is held for as long as this is: what must not go away before, as a folder that is temporary. Without a
    database it opens that of the settings when it is first asked; so it does in another process, once unpickled.
    """

    def __init__(self, database: Database | None, settings: Settings, crawl: Crawl, keeps: object = None) -> None:
        self._keeps = keeps
        self._settings = settings
        self._crawl = crawl
        self._turn = threading.Lock()
        self._reader = None if database is None else self._reader_of(database)

    def __reduce__(self) -> tuple[Callable[..., Answers], tuple[dict[str, object], Crawl]]:
        """Be pickled as what says where the answers are: of passwords only that of the database is among that."""
        return _elsewhere, ({key: getattr(self._settings, key) for key in _NEEDED}, self._crawl)

    def _reader_of(self, database: Database) -> PageReader:
        reader = PageReader(database, self._settings, self._crawl)
        weakref.finalize(self, reader.close)
        return reader

    def _opened(self) -> PageReader:
        waiting = Waiting(give_up_after=self._settings.database_patience)
        database = open_database(self._settings.db, create=False, waiting=waiting)
        weakref.finalize(self, database.close)
        return self._reader_of(database)

    def referrer(self, row: PageRow) -> str:
        """Return the URL of the page that listed a page first; empty where none did. Raises StoreError."""
        if not row.referrer:
            return ""
        with self._turn:
            return self._open_reader().referrer(row)

    def of(self, row: PageRow) -> PageContent | None:
        """Return what was answered for a page, None where nothing was archived.

        Raises RecordsLostError where the archive does not hold it (any more).
        """
        if not row.warc_file:
            return None
        with self._turn:
            return self._open_reader().read(row)

    def _open_reader(self) -> PageReader:
        if self._reader is None:
            self._reader = self._opened()
        return self._reader


_NEEDED = ("db", *of_archive(), "database_patience", "max_body", "max_decoded", "max_ratio")
_unpickled: weakref.WeakValueDictionary[tuple[object, ...], Answers] = weakref.WeakValueDictionary()


def _elsewhere(values: dict[str, object], crawl: Crawl) -> Answers:
    """Return what reads the answers of a crawl for all pages of it that were unpickled: one database is opened."""
    key = (*values.values(), crawl)
    found = _unpickled.get(key)
    if found is None:
        found = _unpickled.setdefault(key, Answers(None, Settings.model_validate(values), crawl))
    return found
