"""A crawl as one WACZ file, for replayweb.page and other players: its WARC files, their index and its pages.

What is in finished WARC files is packed, so it can be done while machines write others. The pages of seeds are one
list, which a player shows; all other HTML pages are a second one, in which it looks words up.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from scrawler import __version__
from scrawler.archive.members import open_file
from scrawler.archive.remote import Remote
from scrawler.core.records.records import index_of, is_finished
from scrawler.errors import EndlessPageError, RecordsLostError, ScrawlerError, UnreadableError
from scrawler.extract.beginning import beginning
from scrawler.extract.charset import to_utf8
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.sniff import HTML_TYPES
from scrawler.extract.title import title_of
from scrawler.extract.trees import tree_of
from scrawler.features.texts.wacz import Described, PageList, WaczWriter, merged_lines
from scrawler.insight.contents import NoTextError, PageContent, PageReader
from scrawler.model.results import Result
from scrawler.store.claims.crawls import Crawl
from scrawler.store.engines.engine import Database
from scrawler.store.reading.page_lists import PageFilter, PageLists
from scrawler.store.reading.pages import Pages

_READ = 1 << 20


@dataclass(slots=True)
class Packed:
    """How far the packing has come."""

    files: int = 0  # WARC files
    bytes: int = 0  # of these
    pages: int = 0  # listed, with their titles
    lost: int = 0  # pages that are not listed, for their records are gone
    unfinished: int = 0  # WARC files left out, because machines write them or ended by a kill
    missing: int = 0  # WARC files that are not here
    earlier: int = 0  # records of pages whose bodies stand in the archive of an earlier crawl, and are not packed
    earlier_crawl: str = ""  # the database of that; empty: nobody says


def pack(
    database: Database,
    crawl: Crawl,
    reader: PageReader,
    raw: BinaryIO,
    folder: Path,
    *,
    texts: bool = False,
    on_progress: Callable[[Packed], None] = lambda packed: None,
) -> Packed:
    """Write a crawl as WACZ to an open file; what is gathered on the way is in temporary files of `folder`.

    With `texts` each page is listed with its text, for full-text search. Raises ScrawlerError where no WARC file is
    finished, UnreadableError where one cannot be read, OSError.
    """
    done = Packed()
    files = _finished(Pages(database), crawl, reader, folder, done)
    if not files:
        raise ScrawlerError(_nothing(done))
    with WaczWriter(raw) as out:
        for name, file in files.items():
            out.add(f"archive/{name}", _told(file.chunks(), done, on_progress), file.size)
            done.files += 1
        lines = merged_lines([file.index for file in files.values()], folder)
        out.add_index(lines, sum(file.index_size for file in files.values()))
        described = Described(crawl.name, f"SCrawler {__version__}", time.time_ns() // 1_000_000)
        with ExitStack() as lists:
            seeds = lists.enter_context(PageList("pages", "Pages of the seeds", folder))
            others = lists.enter_context(PageList("extra", "Other pages", folder))
            for url, at, depth, title, text in _listed(database, reader, files, texts, done):
                if not described.main_url and not depth:
                    described = described._replace(main_url=url, main_date=at)
                (others if depth else seeds).add(url, at, title, text)
                on_progress(done)
            if not seeds.number:  # all seeds were redirected
                seeds.append(others)
            elif others.number:
                out.add("pages/extraPages.jsonl", others.chunks(), others.size, packed=True)
            out.add("pages/pages.jsonl", seeds.chunks(), seeds.size, packed=True)
        out.close(described)
    done.earlier = Pages(database).of_earlier()
    done.earlier_crawl = reader.earlier_crawl if done.earlier else ""
    return done


def _nothing(done: Packed) -> str:
    if done.missing:
        return "none of the crawl's WARC files is here; --pages-dir says where they are"
    if done.unfinished:
        return "no WARC file is finished yet: files are once they are full, and when `scrawler run` has ended"
    return "the crawl has archived nothing yet"


class _Local:
    """A WARC file of this host."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = path.stat().st_size
        self.index_size = index_of(path).stat().st_size

    def chunks(self) -> Iterator[bytes]:
        """Yield what is in it. Raises UnreadableError."""
        try:
            with open_file(self._path) as file:
                while data := file.read(_READ):
                    yield data
        except OSError as error:
            raise UnreadableError(f"cannot read {self._path}: {error.strerror or error}") from error

    def index(self) -> IO[bytes]:
        """Open its index."""
        return index_of(self._path).open("rb")


class _Copy:
    """A WARC file elsewhere; its index is read through a temporary file of `folder`."""

    def __init__(self, remote: Remote, name: str, folder: Path) -> None:
        self._remote = remote
        self._name = name
        self._folder = folder
        self.size = remote.size(name) or 0
        self.index_size = remote.size(index_of(Path(name)).name) or 0

    def chunks(self) -> Iterator[bytes]:
        """Yield what is in it. Raises RemoteError."""
        return self._remote.chunks(self._name)

    def index(self) -> IO[bytes]:
        """Open its index. Raises RemoteError."""
        file: IO[bytes] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        file.writelines(self._remote.chunks(index_of(Path(self._name)).name))
        file.seek(0)
        return file


def _finished(pages: Pages, crawl: Crawl, reader: PageReader, folder: Path, done: Packed) -> dict[str, _Local | _Copy]:
    """Return by name the WARC files whose records are all accounted for, and count the others."""
    found: dict[str, _Local | _Copy] = {}
    for name in pages.files_of_all(crawl.files_prefix):
        path = reader.path(name)
        if not path.exists():
            copies = reader.copies
            if copies is not None and copies.remote.digests(name):
                found[name] = _Copy(copies.remote, name, folder)
            else:
                done.missing += 1
        elif not is_finished(path):
            done.unfinished += 1
        else:
            found[name] = _Local(path)
    return found


def _told(chunks: Iterator[bytes], done: Packed, on_progress: Callable[[Packed], None]) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk
        done.bytes += len(chunk)
        on_progress(done)


def _listed(
    database: Database, reader: PageReader, names: Container[str], texts: bool, done: Packed
) -> Iterator[tuple[str, int, int, str, str]]:
    """Yield URL, time, depth, title and text of each HTML page in these files."""
    fetched = PageFilter(results=(Result.FETCHED.value,), types=tuple(HTML_TYPES))
    for view in PageLists(database).all(fetched):
        page = view.page
        if page.warc_file not in names:
            continue
        try:
            content = reader.read(page)
        except RecordsLostError:
            done.lost += 1
            continue
        done.pages += 1
        title, text = _title_and_text(content, texts)
        yield page.url, page.fetched_at, page.depth, title, text


def _text(content: PageContent) -> str:
    """Return the text of a page; none where it has none, or that takes too long."""
    try:
        return content.text()
    except (NoTextError, EndlessPageError):
        return ""


def _title_and_text(content: PageContent, texts: bool) -> tuple[str, str]:
    document, kind = content.document()
    body = beginning(document)
    page, _ = to_utf8(body, kind)
    text = _text(content) if texts else ""
    if is_hazardous(page):
        return "", text
    return title_of(tree_of(page)), text
