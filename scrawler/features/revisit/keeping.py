"""What begins rounds on a machine: the store's part, with the rules of hosts and the archive on this host."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from scrawler.archive.reading import RecordReader, UnwholeRecordError, original_of
from scrawler.core.records.records import place_of
from scrawler.core.rules import HostRules
from scrawler.extract.charset import to_utf8
from scrawler.extract.decode import decode_body
from scrawler.extract.simhash import fingerprint_of
from scrawler.extract.sniff import HTML_TYPES
from scrawler.features.revisit.policies.due import Wishes
from scrawler.features.revisit.prints import print_of
from scrawler.features.revisit.settings import RevisitSettings
from scrawler.features.revisit.shares import Weight, all_alike
from scrawler.features.revisit.store.first_states import Archived
from scrawler.features.revisit.store.rounds import Revisits
from scrawler.features.revisit.wishes import wishes_of
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.fetch.wire import parse_headers
from scrawler.model.lanes import REVISIT
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.scope import Scope
from scrawler.settings import Settings, largest_record
from scrawler.store.engines.engine import Database
from scrawler.upkeep import packed
from scrawler.urls.scope import is_reachable, site_key


def make_revisits(
    settings: Settings,
    database: Database,
    scope: Scope,
    written_to: Callable[[], Mapping[str, Path]],
    stopping: Callable[[], bool],
    weight: Weight = all_alike,
) -> Revisits:
    """Return what begins rounds: `written_to` tells where this host's machines wrote, `weight` a URL's weight."""
    hosts = HostRules(settings, EnvironmentProxies.of(os.environ))

    def wishes(key: str) -> Wishes:
        return wishes_of((hosts.of_site(key) or hosts.shared).settings)

    def compares_text(url: str) -> bool:
        rules = hosts.of_site(site_key(url, scope)) or hosts.shared
        return RevisitSettings.of(rules.settings).revisit_change == "text"

    archive = ArchivedHeaders(settings, written_to, compares_text)
    return Revisits(
        database, packed, REVISIT.number, partial(is_reachable, scope=scope), wishes, archive.of_pages, stopping,
        RevisitSettings.of(settings).revisit_budget, weight,
    )  # fmt: skip


class ArchivedHeaders:
    """Reads of records on this host by what a server can be asked whether they are still as they were."""

    def __init__(
        self,
        settings: Settings,
        written_to: Callable[[], Mapping[str, Path]],
        compares_text: Callable[[str], bool] = lambda url: False,
    ) -> None:
        """`written_to` has the folder of each machine by the prefix of its files; it is asked once.

        `compares_text` tells of a URL whether its visits are compared by the text of its page.
        """
        self._settings = settings
        self._compares_text = compares_text
        self._written_to = written_to
        self._folders: Mapping[str, Path] | None = None

    def of_pages(self, pages: Sequence[PageRow]) -> Iterator[Archived]:
        """Yield what the archive has of each page.

        What cannot be read says nothing: such a page is asked for as a whole. Of a page whose record refers to another
        one for its payload, that of the other one counts, where it is among these.
        """
        found: dict[int, Archived] = {}
        bodies: dict[bytes, Archived] = {}
        by_place = sorted(range(len(pages)), key=lambda at: (pages[at].warc_file, pages[at].warc_offset))
        with closing(RecordReader()) as reader:
            for at in by_place:
                if pages[at].warc_file and pages[at].result == Result.FETCHED.value:
                    with suppress(UnwholeRecordError, OSError):
                        found[at] = self._of_page(reader, pages[at])
                        if not pages[at].revisit:
                            bodies[pages[at].digest] = found[at]
        for at, page in enumerate(pages):
            one = found.get(at, Archived())
            if page.revisit and (same := bodies.get(page.digest)) is not None:
                one = one._replace(simhash=same.simhash, text_print=same.text_print)
            yield one

    def _of_page(self, reader: RecordReader, page: PageRow) -> Archived:
        largest = largest_record(self._settings)
        answer = reader.answer(self._path(page.warc_file), page.warc_offset, page.warc_length, largest)
        if not answer.record.says(page.url, page.digest, page.revisit):
            return Archived()
        headers = parse_headers(answer.head)
        simhash = self._simhash(page, answer.body, headers) if answer.body else 0
        known_by = self._print(page, answer.body, headers) if answer.body else b""
        etag, last_modified = (headers.get(name, "") for name in ("etag", "last-modified"))
        return Archived(etag, last_modified, original_of(answer), simhash, known_by)

    def _print(self, page: PageRow, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Return by what a page is compared, as later visits have it."""
        limits, flags = self._settings, PageFlag.SITEMAP | PageFlag.SHOWN
        of_text = not page.flags & flags and self._compares_text(page.url)
        return print_of(body, headers, page.content_type, limits.max_decoded, limits.max_ratio, of_text)

    def _simhash(self, page: PageRow, body: bytes, headers: Mapping[str, str]) -> int:
        """Return the simhash of a page's text, as later visits compute it."""
        if page.content_type not in HTML_TYPES or page.flags & PageFlag.TRUNCATED:
            return 0
        decoded = decode_body(
            body, headers.get("content-encoding", ""), self._settings.max_decoded, self._settings.max_ratio
        ).body
        utf8, _ = to_utf8(decoded, headers.get("content-type", ""))
        return fingerprint_of(utf8).simhash

    def _path(self, warc_file: str) -> Path:
        if self._folders is None:
            self._folders = self._written_to()
        return place_of(warc_file, self._settings.pages_dir, self._folders)
