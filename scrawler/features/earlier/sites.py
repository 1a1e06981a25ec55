"""Tells a machine what earlier crawls know of a site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from http import HTTPStatus
from pathlib import Path

from scrawler.archive.reading import RecordReader, UnwholeRecordError, original_of
from scrawler.archive.record import RevisitOf, sent_head
from scrawler.core.party.conditions import kept_validators
from scrawler.errors import StoreError
from scrawler.features.earlier.archives import EarlierArchives
from scrawler.features.earlier.known import EarlierPayloads, EarlierRoom, EarlierSite, EarlierVisit, EarlierVisits
from scrawler.features.earlier.store.site_pages import pages_of_site
from scrawler.fetch.wire import parse_headers
from scrawler.model.results import PageFlag, Result
from scrawler.model.terms import url_hash
from scrawler.model.visits import WHOLE_EVERY
from scrawler.settings import Settings
from scrawler.store.reading.archived import ArchivedCrawl, ArchivedPage

_Place = tuple[str, int]  # the file of a record, and where it begins


class EarlierSites:
    """What earlier crawls know, by site; asked by the thread that takes sites up, which has no turn then."""

    def __init__(
        self,
        crawls: Sequence[ArchivedCrawl],
        settings: Settings,
        stopping: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        """Read from `crawls`, the newest first, which may be opened later.

        `say` is told when one cannot be read: none is asked after that.
        """
        self._crawls = crawls
        self._archives = EarlierArchives(crawls, settings, say)
        self._most = settings.max_body
        self._stopping = stopping
        self._say = say
        self._away = False
        self._told = False  # that files are not as they were
        self._room = EarlierRoom()
        self._room_of_visits = EarlierRoom.of_visits()

    def of_site(self, key: str, pages: bool = True) -> EarlierSite:
        """Return what they know of a site, as much as there is room for; the rest is fetched as if they were not.

        Without `pages`, it is what their archives hold, and no page is asked for by what it was then.
        """
        payloads, visits = EarlierPayloads(self._room), EarlierVisits(self._room_of_visits)
        if not self._away:
            try:
                self._read(key, payloads, visits if pages else None)
            except StoreError as error:  # to wait for it again with each site would hold the crawl up
                self._away = True
                self._say(f"dedup_from cannot be read: what it has is fetched and archived anew in this run: {error}")
        return EarlierSite(payloads, visits, self._archives)

    def _read(self, key: str, payloads: EarlierPayloads, visits: EarlierVisits | None) -> None:
        to_payloads = to_visits = True
        with closing(RecordReader()) as reader:
            for number, crawl in enumerate(self._crawls):
                for listed in pages_of_site(crawl.database, key):
                    if self._stopping() or not (to_payloads or to_visits):
                        return
                    pages = self._archives.present(number, listed)
                    damaged = set[_Place]()
                    if visits is not None and to_visits:
                        to_visits = self._take_visits(visits, reader, number, pages, damaged)
                    whole = [one for one in pages if _place(one) not in damaged]
                    if len(whole) < len(listed):
                        self._tell_of_gone(number, min({*listed} - {*whole}, key=_place))
                    to_payloads = to_payloads and _take_payloads(payloads, whole)

    def _tell_of_gone(self, crawl: int, page: ArchivedPage) -> None:
        if not self._told:
            self._told = True
            path = self._archives.path(crawl, page.warc_file)
            self._say(f"dedup_from: records of {path} are gone: what they held is fetched and archived anew")

    def _take_visits(
        self,
        visits: EarlierVisits,
        reader: RecordReader,
        crawl: int,
        pages: Sequence[ArchivedPage],
        damaged: set[_Place],
    ) -> bool:
        """Remember by what pages can be asked for; returns False where there is no room.

        Where something else than the record of a page is found is added to `damaged`.
        """
        fetched = [one for one in pages if self._is_wanted(one) and not visits.knows(one.url)]
        by_place = {_place(one): one for one in (*fetched, *(one for one in pages if not one.revisit))}
        paths = {name: self._archives.path(crawl, name) for name in {name for name, _ in by_place}}
        found = {
            place: self._visit(reader, paths[one.warc_file], crawl, one, damaged)
            for place, one in sorted(by_place.items())
        }
        taken = set[str]()
        for one in fetched:
            visit = found[_place(one)]
            is_due = one.status == HTTPStatus.NOT_MODIFIED and self._is_to_be_whole(one.url)
            if one.url in taken or (visit is None and not is_due):
                continue
            taken.add(one.url)
            if not visits.remember(one.url, visit):
                return False
        return True

    def _is_wanted(self, one: ArchivedPage) -> bool:
        whole = one.result == Result.FETCHED.value and not one.flags & PageFlag.TRUNCATED.value
        return whole and one.length <= self._most

    def _is_to_be_whole(self, url: str) -> bool:
        """Whether this crawl asks for all of a page of which the one before it was told that nothing had changed.

        One of the crawls in so many does, pages at different times: a server that always says so is found out.
        """
        return (len(self._crawls) + url_hash(url)[0]) % WHOLE_EVERY == 0

    @staticmethod
    def _visit(
        reader: RecordReader, path: Path, crawl: int, page: ArchivedPage, damaged: set[_Place]
    ) -> EarlierVisit | None:
        """Return what is known of a page; None where it cannot be read, or does not say by what it is asked for.

        What came before stands for what the server said to be unchanged: the crawl that fetched it follows.
        """
        if page.status == HTTPStatus.NOT_MODIFIED:
            return None
        try:
            stored = reader.head(path, page.warc_offset, page.warc_length)
        except OSError:
            return None
        except UnwholeRecordError:
            stored = None
        if stored is None or not stored.record.says(page.url, page.digest, page.revisit):
            damaged.add(_place(page))
            return None
        original = original_of(stored) if page.revisit else (page.url, page.fetched_at)
        headers = parse_headers(sent_head(stored.head))
        etag, modified = kept_validators(headers.get("etag", ""), headers.get("last-modified", ""))
        if original is None or not (etag or modified):
            return None
        return EarlierVisit(
            etag=etag,
            last_modified=modified,
            digest=page.digest,
            payload_url=original[0],
            payload_at=original[1],
            crawl=crawl,
            warc_file=page.warc_file,
            warc_offset=page.warc_offset,
            warc_length=page.warc_length,
            length=page.length,
            revisit=page.revisit,
        )


def _place(page: ArchivedPage) -> _Place:
    return page.warc_file, page.warc_offset


def _take_payloads(payloads: EarlierPayloads, pages: Sequence[ArchivedPage]) -> bool:
    """Remember which payloads the archive holds; returns False where there is no room."""
    return all(payloads.remember(one.digest, RevisitOf(one.url, one.fetched_at)) for one in pages if not one.revisit)
