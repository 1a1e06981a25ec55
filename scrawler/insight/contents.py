"""Pages back out of the archive: the page that a URL names, and what its server answered.

`find_page` takes a URL as a user types it; `PageReader` reads what belongs to a page row, for whoever has one. Both
are for the command line and for programs alike.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol

from scrawler.archive.reading import (
    LargeRecordError,
    RecordReader,
    StoredAnswer,
    UnwholeRecordError,
    check_length,
    metadata_before,
    rendered_before,
    stored_answer,
)
from scrawler.archive.record import sent_head
from scrawler.archive.remote import RemoteRecords
from scrawler.assembly.urls import make_analyzer
from scrawler.core.records.copies import remote_at
from scrawler.core.records.records import is_inside, prefix_of
from scrawler.errors import (
    EndlessPageError,
    NotCrawledError,
    RecordsLostError,
    SettingsError,
    StoreError,
    UnreadableError,
)
from scrawler.extract.beginning import beginning
from scrawler.extract.decode import Decoded, decode_body
from scrawler.extract.sniff import HTML_TYPES
from scrawler.feature import hooked, hooked_for
from scrawler.fetch.wire import parse_headers
from scrawler.insight.asked import Asked, read_asked
from scrawler.insight.bounded import text_within
from scrawler.model.results import AS_EXPECTED, PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.terms import url_hash
from scrawler.settings import Settings, checked_folder, copies_unnamed, is_local, largest_record
from scrawler.store.claims.crawls import Crawl, Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database
from scrawler.store.reading.archived import ArchivedCrawl
from scrawler.store.reading.traces import Traces

RENDERED_TYPE = "text/html; charset=utf-8"  # of what a browser has made of a page
_WINDOWS = (1 << 16, 1 << 20, 16 << 20)  # bytes before a page's record that are looked through for that, one by one
_SHOWN = frozenset({*AS_EXPECTED, Result.REDIRECT, Result.TOO_LARGE})


class MarkdownMaker(Protocol):
    """Makes Markdown of a decoded body; None for what is no text. A feature may be one (`hooked`)."""

    def __call__(self, body: bytes, content_type: str, kind: str, url: str, /) -> str | None:
        """`content_type` is what the server said, `kind` the media type that counts; `url` makes links absolute."""
        ...


class OtherCrawls(Protocol):
    """Other crawls to whose records those of a crawl refer; a feature makes it of settings and a database."""

    @property
    def name(self) -> str:
        """The database of the newest of them; empty where nobody can say."""
        ...

    @property
    def advice(self) -> str:
        """What to do about one that is not asked; empty: all are."""
        ...

    def opened(self) -> Sequence[ArchivedCrawl]:
        """Open them, to be closed by the caller. Raises SettingsError, StoreError where none of them can be."""
        ...


class _Nowhere:
    """The scope of no seed."""

    def contains(self, url: str) -> bool:
        return False


def asked_for(settings: Settings, url: str) -> Asked:
    """Return a URL spelt in any way that the crawl knows it by. Raises SettingsError where it is none."""
    asked = read_asked(url, make_analyzer(settings, _Nowhere()), settings)
    if not asked.forms:
        raise SettingsError(f"URL {asked.shown[:100]!r}: {asked.problem}")
    return asked


def find_page(database: Database, settings: Settings, url: str) -> PageRow:
    """Return the newest row of a URL, spelt in any way that the crawl knows it by, that has a record.

    Raises as `find_shown`.
    """
    return _archived(database, settings, url)[0]


def find_shown(database: Database, settings: Settings, url: str) -> tuple[PageRow, PageRow]:
    """Return the row of the newest visit that has brought a page, and the newest of all, both with a record.

    A page that is gone, or whose server has errors now, is what it was. Of one that never came, both are the same.

    Raises SettingsError where it is no URL, NotCrawledError where it was not asked for, or was not archived.
    """
    archived = _archived(database, settings, url)
    shown = next((row for row in archived if row.result in _SHOWN), archived[0])
    return shown, archived[0]


def _archived(database: Database, settings: Settings, url: str) -> list[PageRow]:
    """Return the rows of a URL that have a record, the newest first; there is one at least."""
    asked = asked_for(settings, url)
    rows = Traces(database).pages(asked.hashes)
    archived = [row for row in rows if row.warc_file]
    if archived:
        return archived
    if rows:
        raise NotCrawledError(
            f"{asked.shown} has no record in the archive: its result is {rows[0].result}; `scrawler why URL` says more"
        )
    raise NotCrawledError(f"{asked.shown} is no page of this crawl; `scrawler why URL` says why")


@dataclass(frozen=True, slots=True)
class PageContent:
    """What a server answered for a page, as it is archived; `original` is the row whose record has the body."""

    page: PageRow
    original: PageRow
    record: bytes  # the page's own WARC record, unpacked: a revisit has no body
    head: bytes  # status line and header fields, raw, with the blank line
    archived: bytes  # the body as transferred, less its transfer coding
    most_decoded: int  # bytes to which a body may grow, as the settings say
    most_ratio: int
    most_seconds: float = 60.0  # of CPU time for its text
    rendered: bytes = b""  # the document that a browser made of it, in UTF-8; empty where it was in none
    newest: PageRow | None = None  # the last visit, where that has brought no page any more

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields by their names in lower case."""
        return parse_headers(self.head)

    def decoded(self) -> Decoded:
        """Undo the content coding; the note says what is wrong where not all could be had."""
        coding = self.headers.get("content-encoding", "")
        return decode_body(self.archived, coding, self.most_decoded, self.most_ratio)

    def text(self) -> str:
        """Return the text that a reader sees; of an endless page, that of its beginning (`is_cut`).

        Raises NoTextError for what is not made of text, EndlessPageError.
        """
        from scrawler.extract.visible import visible_text  # what reads pages is large, and few commands do

        body, content_type = self.document()
        if self._is_html:
            body = beginning(body)
        return self._found(self._within(body, lambda: visible_text(body, content_type, self.page.content_type)))

    def _within(self, body: bytes, read: Callable[[], str | None]) -> str | None:
        """Return what is made of a body. Raises EndlessPageError where that takes too long."""
        try:
            return text_within(self.most_seconds, len(body), read)
        except EndlessPageError as error:
            raise EndlessPageError(f"{self.page.url}: {error}") from error

    @property
    def _is_html(self) -> bool:
        return not self.page.content_type or self.page.content_type in HTML_TYPES

    @property
    def is_cut(self) -> bool:
        """Whether texts are made of the beginning of the page alone: it has more than 16 MiB, or a million tags."""
        body, _ = self.document()
        return self._is_html and len(beginning(body)) < len(body)

    def markdown(self) -> str:
        """Return the page as Markdown, with absolute links.

        Raises NoTextError, and SettingsError where what makes Markdown is not there.
        """
        maker: MarkdownMaker = hooked_for("markdown", "to make Markdown")
        body, content_type = self.document()
        kind, url = self.page.content_type, self.page.url
        return self._found(self._within(body, partial(maker, body, content_type, kind, url)))

    def document(self) -> tuple[bytes, str]:
        """Return what a reader sees, and its Content-Type: what a browser made of the page, else the decoded body."""
        if self.rendered:
            return self.rendered, RENDERED_TYPE
        return self.decoded().body, self.headers.get("content-type", "")

    def shown(self) -> bytes:
        """Return the document that a browser made of the page, in UTF-8. Raises NoTextError where there is none."""
        if self.rendered:
            return self.rendered
        if self.page.flags & PageFlag.SHOWN:
            raise RecordsLostError(f"{self.page.url}: the document that a browser made of it is gone from the archive")
        raise NoTextError(f"{self.page.url} was not shown in a browser: --browser, or browser = true, has it shown")

    def _found(self, text: str | None) -> str:
        if text is None:
            kind = self.page.content_type or "of no known kind"
            raise NoTextError(f"{self.page.url} is {kind}: no text can be read from that")
        return text


class NoTextError(NotCrawledError):
    """A page is no text, but an image for example, or was not shown in a browser (exit code 9)."""


class PageReader:
    """Reads what page rows refer to; used by one thread, and closed by it. `with PageReader(...) as reader`.

    What is not in its folder is read from the copies that the settings name (`archive_to`). With `archive`, the URL of
    a folder, all is read from there. Raises SettingsError for a URL that is none, or that holds a password.
    """

    def __init__(self, database: Database, settings: Settings, crawl: Crawl, archive: str | None = None) -> None:
        self._database = database
        self._traces = Traces(database)
        self._further: list[PageReader] | None = None  # opened when a revisit refers to none of the crawl's own
        self._closing: list[Callable[[], None]] = []
        self._settings = settings
        self._records = RecordReader()
        self._only_copies = archive is not None
        self._copies_at = _checked(archive) or settings.archive_to
        self._unnamed_copies: str | None = None  # where else there are copies, as only the database says
        if self._copies_at is None:
            self._take_copies(Crawls(database).copied_to())
        self._copies: RemoteRecords | None = None  # made when it is first wanted
        self._written_to = Machines(database).written_to(crawl, socket.gethostname())

    def _take_copies(self, stored: str | None) -> None:
        """Take copies that the database names where they are on this host: elsewhere the user has to name them."""
        if stored is not None and is_local(stored):
            self._copies_at = stored
        else:
            self._unnamed_copies = stored

    def read(self, page: PageRow) -> PageContent:
        """Return what was answered. Raises RecordsLostError where the archive does not hold it (any more)."""
        own = self._stored(page)
        original, answer = self._original(page, own) if page.revisit else (page, own)
        return PageContent(
            page=page,
            original=original,
            record=own.raw,
            head=sent_head(own.head if _says_all(own.head) else answer.head),
            archived=answer.body,
            most_decoded=self._settings.max_decoded,
            most_ratio=self._settings.max_ratio,
            most_seconds=self._settings.page_time,
            rendered=self._rendered(page, own) if page.flags & PageFlag.SHOWN else b"",
        )

    def outlinks(self, url: str, warc_file: str, offset: int) -> bytes:
        """Return the metadata fields of the page whose answer stands at an offset of a file; empty: it has none.

        Raises RecordsLostError where that part of the file is gone or damaged.
        """
        problem: Exception | str = "what stands before it is damaged"
        for window in _WINDOWS:
            begin = max(0, offset - window)
            try:
                fields = metadata_before(
                    self._bytes(warc_file, begin, offset - begin), url, is_longest=window == _WINDOWS[-1]
                )
            except (UnwholeRecordError, OSError) as error:
                problem = error
                break
            if fields is not None:
                return fields
            if not begin:
                break
        raise RecordsLostError(f"{url}: its records are gone from {warc_file}, byte {offset:,}: {problem}")

    def _rendered(self, page: PageRow, answer: StoredAnswer) -> bytes:
        """Return the document that a browser made of a page; empty where it cannot be found (any more)."""
        for window in _WINDOWS:
            begin = max(0, page.warc_offset - window)
            try:
                before = self._bytes(page.warc_file, begin, page.warc_offset - begin)
            except OSError:
                return b""
            found = rendered_before(before, answer)
            if found is not None:
                return found
            if not begin:
                break
        return b""

    def _bytes(self, warc_file: str, offset: int, length: int) -> bytes:
        if not self._only_copies:
            path = self.path(warc_file)
            with suppress(FileNotFoundError) if self._copies_at else nullcontext(), _readable(path):
                return self._records.bytes_at(path, offset, length)
        copies = self.copies
        assert copies is not None
        return copies.read(warc_file, offset, length)

    def referrer(self, page: PageRow) -> str:
        """Return the URL of the page that listed this one first; empty where none did, or it is not there any more."""
        return self._traces.urls([page.referrer]).get(page.referrer, "")

    @property
    def prefixes(self) -> list[str]:
        """What the names of the files begin with that machines of this host wrote."""
        return list(self._written_to)

    @property
    def earlier_crawl(self) -> str:
        """The database of the earlier crawl to whose archive this one refers; empty where nobody says."""
        return next((others.name for others in self._other_crawls() if others.name), "")

    def close(self) -> None:
        """Let go of the file that is open; calling it again does nothing."""
        self._records.close()
        for reader in self._further or ():
            reader.close()
        for close in self._closing:
            close()
        self._further = None
        self._closing = []

    def __enter__(self) -> PageReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _original(self, page: PageRow, revisit: StoredAnswer) -> tuple[PageRow, StoredAnswer]:
        """Find the page whose record has the payload: the revisit names its URL, the digest tells which visit."""
        gone: RecordsLostError | None = None
        for reader in self._all_readers():
            try:
                found = reader._own_original(page, revisit)
            except RecordsLostError as error:
                gone = gone or error
                continue
            if found is not None:
                return found
        if gone is not None:
            raise gone
        where = "in the database, nor in earlier ones" if self._further else "in the database any more"
        lost = f"{page.url}: its body stood in the record of {revisit.refers_to}, which is not {where}"
        advice = [others.advice for others in self._other_crawls() if others.advice]
        raise RecordsLostError("; ".join([lost, *advice]))

    def _own_original(self, page: PageRow, revisit: StoredAnswer) -> tuple[PageRow, StoredAnswer] | None:
        """Return it where it is in this crawl's own archive. Raises RecordsLostError where its records are gone."""
        gone: RecordsLostError | None = None
        for row in self._traces.originals([url_hash(revisit.refers_to)], page.digest):
            try:
                return row, self._stored(row)
            except RecordsLostError as error:
                gone = gone or error
        if gone is not None:
            raise gone
        return None

    def _all_readers(self) -> Iterator[PageReader]:
        """Yield what reads the archive of this crawl, and those of others, which are opened only then."""
        yield self
        if self._further is None:
            self._further = self._opened_further()
        yield from self._further

    def _other_crawls(self) -> list[OtherCrawls]:
        """Return what opens other crawls to whose records those of this one may refer."""
        return [make(self._settings, self._database) for make in hooked("archives")]

    def _opened_further(self) -> list[PageReader]:
        readers = []
        for others in self._other_crawls():
            try:
                found = others.opened()
            except (StoreError, SettingsError) as error:
                raise RecordsLostError(f"what an earlier crawl has archived cannot be read: {error}") from error
            self._closing += [one.close for one in found]
            archive = self._copies_at if self._only_copies else None
            readers += [PageReader(one.database, self._settings, one.crawl, archive) for one in found]
        return readers

    def _stored(self, page: PageRow) -> StoredAnswer:
        place, found = self._found_in(page)
        if not found.record.says(page.url, page.digest, page.revisit):
            raise RecordsLostError(
                f"{page.url}: {place} holds another record at byte {page.warc_offset:,};"
                " `scrawler verify` looks for more"
            )
        return found

    def _found_in(self, page: PageRow) -> tuple[str, StoredAnswer]:
        """Return where the record of a page was found, and what stands there."""
        # The database may claim any length: it is no bound of its own.
        largest = largest_record(self._settings)
        place = str(self.path(page.warc_file))
        try:
            if not self._only_copies:
                with suppress(FileNotFoundError) if self._copies_at else nullcontext(), _readable(Path(place)):
                    offset, length = page.warc_offset, page.warc_length
                    return place, self._records.answer(Path(place), offset, length, largest)
            copies = self.copies
            assert copies is not None
            place = f"{copies.remote.url}/{page.warc_file}"
            check_length(page.warc_length, largest)
            data = copies.read(page.warc_file, page.warc_offset, page.warc_length)
            return place, stored_answer(data, page.warc_offset, largest)
        except (UnwholeRecordError, OSError) as error:
            words = error.strerror or error if isinstance(error, OSError) else error
            gone = f"{page.url}: its record is gone from {place}, byte {page.warc_offset:,}: {words}"
            raise RecordsLostError(f"{gone}; {self._advice(error)}") from error

    def _advice(self, error: Exception) -> str:
        """Return what to do about a record that cannot be had."""
        if isinstance(error, LargeRecordError):
            return "--max-body, SCRAWLER_MAX_BODY or max_body in scrawler.toml says how large a page may be"
        if self._unnamed_copies is not None and isinstance(error, FileNotFoundError):
            return copies_unnamed(self._unnamed_copies)
        return "`scrawler verify` looks for more"

    @property
    def copies(self) -> RemoteRecords | None:
        """What reads the copies elsewhere, None where there are none. Raises SettingsError."""
        if self._copies is None and self._copies_at is not None:
            self._copies = RemoteRecords(remote_at(self._copies_at, self._settings))
        return self._copies

    def path(self, warc_file: str) -> Path:
        """Return where a file is: in the folder in use now, else where its machine wrote it. Raises UnreadableError."""
        if not is_inside(warc_file):
            raise RecordsLostError(f"the database names {warc_file!r}, which is no file of an archive")
        here = self._settings.pages_dir / warc_file
        there = self._written_to.get(prefix_of(warc_file) or "")
        with _readable(here):
            return here if there is None or here.exists() else there / warc_file


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Raise UnreadableError for what may not be read in the block: it is not gone."""
    try:
        yield
    except PermissionError as error:
        raise UnreadableError(f"cannot read {path}: {error.strerror}") from error


def _checked(archive: str | None) -> str | None:
    """Return the URL of a folder of copies. Raises SettingsError, whose text does not hold it."""
    try:
        return checked_folder(archive)
    except ValueError as error:
        raise SettingsError(f"archive: {error}; keys stand in the environment") from None


def _says_all(head: bytes) -> bool:
    """Tell whether a head describes a body: that of 304 Not Modified says nothing of what was there before."""
    return head.split(b" ", 2)[1:2] != [b"304"]
