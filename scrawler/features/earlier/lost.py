"""Whether the records of earlier crawls to which a crawl refers for payloads can be read still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

from scrawler.archive.reading import RecordReader
from scrawler.assembly.copies import CopyState
from scrawler.errors import SettingsError, StoreError
from scrawler.features.earlier.archives import EarlierArchives
from scrawler.features.earlier.referred import Referred
from scrawler.features.earlier.store.referred import close_crawls
from scrawler.model.results import PageFlag
from scrawler.model.rows import PageRow
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import Database
from scrawler.store.reading.archived import ArchivedCrawl
from scrawler.store.reading.pages import Pages

_REMEMBERED = 100_000  # payloads that are not looked for once more
_LOST = (CopyState.GONE, CopyState.UNKNOWN)


def lost_references(
    settings: Settings, database: Database, looked_at: Callable[[], None] = lambda: None
) -> Iterator[PageRow]:
    """Yield the pages of a crawl whose payload an earlier crawl should have on this host, and has not any more.

    Each of these records is read, and its digest compared; `looked_at` is told of each page. What the crawl has
    archived itself, here or elsewhere, is not looked at, nor is what was accepted. Raises SettingsError, StoreError
    where no earlier crawl can be opened.
    """
    referred = Referred(settings, database)
    if not referred.crawls:
        return
    if referred.advice and Pages(database).of_earlier():  # what it has is not to be taken for lost
        raise SettingsError(referred.advice)
    own_crawl = Crawls(database).open(settings.name, settings.scope)
    earlier = referred.opened()
    try:
        archives = EarlierArchives((ArchivedCrawl(database, own_crawl), *earlier), settings)
        with closing(RecordReader()) as own, closing(RecordReader()) as reader:
            yield from _lost(database, archives, own, reader, looked_at)
    finally:
        close_crawls(earlier)


def _lost(
    database: Database,
    archives: EarlierArchives,
    own: RecordReader,
    reader: RecordReader,
    looked_at: Callable[[], None],
) -> Iterator[PageRow]:
    known: dict[tuple[str, bytes], bool] = {}
    for page in Pages(database).revisits():
        if page.flags & PageFlag.LET_BE:
            continue
        record = archives.head(own, 0, page)
        looked_at()
        if record is None:
            continue  # it is gone itself
        payload = record.refers_to, page.digest
        if payload not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            known[payload] = _is_lost(archives, reader, *payload)
        if known[payload]:
            yield page


def _is_lost(archives: EarlierArchives, reader: RecordReader, url: str, digest: bytes) -> bool:
    if archives.own_has(url, digest):
        return False
    state = archives.look(reader, url, digest).state
    if archives.away:
        raise StoreError("the database of an earlier crawl cannot be asked any more")
    return state in _LOST
