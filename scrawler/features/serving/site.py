"""What a site answers: pages, files and lists, as values that `app` sends. It blocks, and so runs on threads."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from scrawler.features.serving import dumps
from scrawler.features.serving.bounded import BoundedCache
from scrawler.features.serving.catalogue import Catalogue, PageOfList, Resource
from scrawler.features.serving.folder import Folder, names_of, type_of
from scrawler.features.serving.lists import FOLDER, WELL_KNOWN, Lists
from scrawler.features.serving.ranges import UNSATISFIABLE, Part, http_date, unsent, wanted_part
from scrawler.features.serving.rows import RowError, Rows
from scrawler.features.serving.templates import PageError, Templates

_XML = "application/xml"
_HTML = "text/html; charset=utf-8"
_BLOCK = 1 << 16
_LIST = re.compile(r"(sitemap|resourcelist|changelist)-([1-9]\d{0,8})\.xml")
_DUMP = re.compile(r"dump-([1-9]\d{0,8})\.zip")
_MOST_DUMPS = 2  # that are written at a time
_LONGEST_TERM = 100
_PAGE_COST = 200  # bytes that an entry of a cache needs besides


class Answer(NamedTuple):
    """An answer; `pieces` are its bytes, of which `length` is known unless it is None."""

    status: int
    headers: dict[str, str]
    pieces: Iterable[bytes] = ()
    length: int | None = 0


class Found(NamedTuple):
    """A page that was made of a row, or of a search."""

    body: bytes
    etag: str


class Site:
    """A folder, or the rows of a database, or both, at one URL."""

    def __init__(
        self,
        base: str,
        catalogue: Catalogue,
        folder: Folder | None,
        rows: Rows | None,
        templates: Templates | None,
        cache_bytes: int,
        list_page: int | None = None,
    ) -> None:
        """Serve at `base`, an absolute URL with a slash at its end.

        Pages are cached in `cache_bytes`, what was searched for in an eighth of that.
        """
        self.base = base
        self._path = urlsplit(base).path
        self._catalogue = catalogue
        self._folder = folder
        self._rows = rows
        self._templates = templates or Templates(None)
        self._page = list_page
        self._lists = Lists(catalogue, base) if list_page is None else Lists(catalogue, base, list_page, list_page)
        self.pages: BoundedCache[Found] = BoundedCache(cache_bytes, lambda one: len(one.body) + _PAGE_COST)
        self.terms: BoundedCache[Found] = BoundedCache(cache_bytes // 8, lambda one: len(one.body) + _PAGE_COST)
        self._dumps = threading.BoundedSemaphore(_MOST_DUMPS)

    def answer(self, target: str, query: str, headers: Mapping[str, str], term: str) -> Answer:
        """Answer a GET for a path as it stands there; `term` is what a search is for. Raises CatalogueError."""
        with self._catalogue.mapped():
            return self._answer(target, query, headers, term)

    def _answer(self, target: str, query: str, headers: Mapping[str, str], term: str) -> Answer:
        if target == "/" + WELL_KNOWN and self._path != "/":  # it stands at the root of the host, whatever the base is
            return self._document("description", self._lists.source_description(), headers, "1", 0)
        if not target.startswith(self._path):
            return _error(404)
        path = target[len(self._path) :]
        if path == WELL_KNOWN:
            return self._document("description", self._lists.source_description(), headers, "1", 0)
        if path.startswith(f"{FOLDER}/") or path.startswith("sitemap"):
            found = self._list(path, headers)
            if found is not None:
                return found
        if path == "search" and self._rows is not None:
            return self._search(term, headers)
        return self._resource(path, headers)

    # -- lists ---------------------------------------------------------------------------------------------

    def _list(self, path: str, headers: Mapping[str, str]) -> Answer | None:
        """Answer for a list; None where the path is none."""
        name = path.removeprefix(f"{FOLDER}/")
        state = self._catalogue.state()
        if not state.complete:
            return _error(503, {"Retry-After": "5"}, "the site is being read for the first time")
        if path == f"{FOLDER}/capabilitylist.xml":
            return self._document("capabilities", self._lists.capability_list(), headers, "1", 0)
        if path in (f"{FOLDER}/resourcelist.xml", "sitemap.xml"):
            pages = self._resource_pages()
            is_sitemap = path == "sitemap.xml"
            made = self._lists.sitemap(pages) if is_sitemap else self._lists.resource_list(pages, state.scanned_at)
            return self._document(name, made, headers, f"{_tag_of(pages)}-{state.since}", _newest(pages))
        if path == f"{FOLDER}/changelist.xml":
            pages = self._change_pages()
            made = self._lists.change_list(pages, state.since)
            return self._document(name, made, headers, f"{_tag_of(pages)}-{state.since}", _newest(pages) or state.since)
        if path == f"{FOLDER}/resourcedump.xml":
            pages = self._catalogue.resource_pages(dumps.PAGE)
            made = self._lists.resource_dump(pages, state.scanned_at)
            return self._document(name, made, headers, f"{_tag_of(pages)}-{state.since}", _newest(pages))
        if match := _DUMP.fullmatch(name):
            return self._dump(int(match[1]), headers, state.scanned_at)
        match = _LIST.fullmatch(name)
        if match is None or (match[1] == "sitemap") == path.startswith(FOLDER):
            return None
        return self._list_page(match[1], int(match[2]), headers)

    def _resource_pages(self) -> list[PageOfList]:
        return self._catalogue.resource_pages() if self._page is None else self._catalogue.resource_pages(self._page)

    def _change_pages(self) -> list[PageOfList]:
        return self._catalogue.change_pages() if self._page is None else self._catalogue.change_pages(self._page)

    def _list_page(self, kind: str, number: int, headers: Mapping[str, str]) -> Answer:
        state = self._catalogue.state()
        pages = self._change_pages() if kind == "changelist" else self._resource_pages()
        index = next((index for index, page in enumerate(pages) if page.number == number), None)
        if index is None or len(pages) < 2:
            return _error(404)
        page = pages[index]
        tag = f"{page.tag}-{state.since}"  # a state that was made anew begins to count anew
        if kind == "changelist":
            tag = f"{tag}-{index + 1 < len(pages)}"
            made = self._lists.change_page(pages, index, state.since)
        elif kind == "sitemap":
            made = self._lists.sitemap_page(page)
        else:
            made = self._lists.resource_page(page, state.scanned_at)
        return self._document(kind, made, headers, tag, page.last_at)

    def _document(
        self, kind: str, made: Iterator[str], headers: Mapping[str, str], tag: str, changed_at: int
    ) -> Answer:
        """Answer with a list, packed where that is accepted; of which something may have gone: no date says that."""
        packed = "gzip" in headers.get("accept-encoding", "")
        own = hashlib.sha256(f"{self.base} {kind} {tag}".encode()).hexdigest()[:24]
        etag = f'"{own}-gz"' if packed else f'"{own}"'
        said = {"ETag": etag, "Content-Type": _XML, "Vary": "Accept-Encoding", "Cache-Control": "no-cache"}
        if changed_at:
            said["Last-Modified"] = http_date(changed_at)
        if status := unsent(headers, etag, 0):
            return _without_body(status, said)
        if not packed:
            return Answer(200, said, (piece.encode() for piece in made), None)
        return Answer(200, {**said, "Content-Encoding": "gzip"}, _packed(made), None)

    def _dump(self, number: int, headers: Mapping[str, str], at: int) -> Answer:
        pages = self._catalogue.resource_pages(dumps.PAGE)
        page = next((page for page in pages if page.number == number), None)
        if page is None:
            return _error(404)
        etag = f'"{page.tag}-{at}"'
        said = {"ETag": etag, "Content-Type": "application/zip", "Last-Modified": http_date(page.last_at)}
        if status := unsent(headers, etag, 0):
            return _without_body(status, said)
        if not self._dumps.acquire(blocking=False):
            return _error(503, {"Retry-After": "30"}, "others are fetching packages")
        resources = self._catalogue.resources(number, dumps.PAGE)
        return Answer(200, said, _Releasing(dumps.package(self.base, resources, self._content, at), self._dumps), None)

    def _content(self, one: Resource) -> int | bytes | None:
        """Return what a package holds of a resource."""
        descriptor = self._folder.open(one.path) if self._folder is not None else None
        if descriptor is not None or self._rows is None:
            return descriptor
        try:
            row = self._rows.find(one.path)
            return None if row is None else self._templates.page(row)
        except (RowError, PageError):
            return None

    # -- files and rows ------------------------------------------------------------------------------------

    def _resource(self, path: str, headers: Mapping[str, str]) -> Answer:
        if self._folder is not None and names_of(path) is not None:
            descriptor = self._folder.open(path)
            if descriptor is not None:
                return self._file(path, descriptor, headers)
            if path and not path.endswith("/") and self._folder.is_folder(path):
                return Answer(301, {"Location": f"{self.base}{path}/"})
        if path == "robots.txt":
            return self._robots()
        return self._row(path, headers) if self._rows is not None else _error(404)

    def _file(self, path: str, descriptor: int, headers: Mapping[str, str]) -> Answer:
        found = os.fstat(descriptor)
        size, changed_at = found.st_size, found.st_mtime_ns // 1_000_000
        etag = f'"{found.st_mtime_ns:x}-{size:x}-{found.st_ino:x}"'
        kind, coding = type_of(path)
        said = {
            "ETag": etag,
            "Last-Modified": http_date(changed_at),
            "Content-Type": kind if coding is None else "application/octet-stream",
            "Accept-Ranges": "bytes",
            "X-Content-Type-Options": "nosniff",
        }
        if status := unsent(headers, etag, changed_at):
            os.close(descriptor)
            return _without_body(status, said)
        part = wanted_part(headers, size, etag, changed_at)
        if part is UNSATISFIABLE:
            os.close(descriptor)
            return _error(416, {"Content-Range": f"bytes */{size}"})
        if part is None:
            return Answer(200, said, _FilePieces(descriptor, Part(0, size)), size)
        said["Content-Range"] = f"bytes {part.first}-{part.end - 1}/{size}"
        return Answer(206, said, _FilePieces(descriptor, part), part.end - part.first)

    def _row(self, path: str, headers: Mapping[str, str]) -> Answer:
        assert self._rows is not None
        known = self._catalogue.find(path)
        key = path, known.digest if known else ""
        page = self.pages.get(key) if known else None
        if page is None:
            try:
                row = self._rows.find(path)
                if row is None:
                    return _error(404)
                body = self._templates.page(row)
            except RowError:
                return _error(503, {"Retry-After": "30"}, "the database does not answer")
            except PageError as error:
                return _error(500, {}, str(error))
            page = Found(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            if known:  # a later change makes its digest another one: the page is not found here any more then
                self.pages.put(key, page)
        return _made(page, headers, known.changed_at if known else 0)

    def _search(self, term: str, headers: Mapping[str, str]) -> Answer:
        assert self._rows is not None
        term = " ".join(term.split()).lower()
        if not term or len(term) > _LONGEST_TERM or "\0" in term:
            return _error(400, {}, f"say what to look for, as /search?q=TERM, in {_LONGEST_TERM} characters at most")
        key = term, self._catalogue.state().complete
        page = self.terms.get(key)
        if page is None:
            try:
                rows = self._rows.search(term)
            except RowError:
                return _error(503, {"Retry-After": "30"}, "the database does not answer")
            body = self._templates.found(self.base, term, rows)
            page = Found(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            self.terms.put(key, page)
        return _made(page, headers, 0)

    def _robots(self) -> Answer:
        body = f"User-agent: *\nDisallow:\nSitemap: {self.base}sitemap.xml\n".encode()
        return Answer(200, {"Content-Type": "text/plain; charset=utf-8"}, (body,), len(body))


class _FilePieces:
    """The bytes of a part of a file, which is closed when they are read, or given up."""

    def __init__(self, descriptor: int, part: Part) -> None:
        self._descriptor = descriptor
        self._at = part.first
        self._end = part.end

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        wanted = min(_BLOCK, self._end - self._at)
        piece = os.pread(self._descriptor, wanted, self._at) if wanted else b""
        if not piece:
            self.close()
            raise StopIteration
        self._at += len(piece)
        return piece

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class _Releasing:
    """Pieces whose end, or whose being given up, lets another one write a package."""

    def __init__(self, pieces: Iterator[bytes], seats: threading.BoundedSemaphore) -> None:
        self._pieces = pieces
        self._seats: threading.BoundedSemaphore | None = seats

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._pieces)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the seat back."""
        seats, self._seats = self._seats, None
        if seats is not None:
            seats.release()


def _made(page: Found, headers: Mapping[str, str], changed_at: int) -> Answer:
    said = {"ETag": page.etag, "Content-Type": _HTML, "X-Content-Type-Options": "nosniff"}
    if changed_at:
        said["Last-Modified"] = http_date(changed_at)
    if status := unsent(headers, page.etag, changed_at):
        return _without_body(status, said)
    return Answer(200, said, (page.body,), len(page.body))


def _without_body(status: int, said: dict[str, str]) -> Answer:
    """Answer that what was fetched before is as it was, or that it is not any more."""
    return Answer(status, said) if status == 304 else _error(status, {"ETag": said["ETag"]})


def _error(status: int, headers: dict[str, str] | None = None, words: str = "") -> Answer:
    body = f"{words or status}\n".encode()
    return Answer(status, {"Content-Type": "text/plain; charset=utf-8", **(headers or {})}, (body,), len(body))


def _packed(pieces: Iterator[str]) -> Iterator[bytes]:
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    for piece in pieces:
        if packed := packer.compress(piece.encode()):
            yield packed
    yield packer.flush()


def _tag_of(pages: list[PageOfList]) -> str:
    return " ".join(page.tag for page in pages)


def _newest(pages: list[PageOfList]) -> int:
    return max((page.last_at for page in pages), default=0)
