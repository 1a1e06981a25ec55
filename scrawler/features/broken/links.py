"""Broken links: what could not be fetched, and the pages that lead there.

The page that listed a URL first is in its row. All pages that lead to it stand in the metadata records of the archive,
where these were kept (`outlinks`); to find them, all files are read once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from scrawler.archive.reading import metadata_records
from scrawler.errors import RecordsLostError
from scrawler.extract.charset import to_utf8
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.links import PageLinks
from scrawler.extract.trees import tree_of
from scrawler.features.broken.circles import endless_redirects
from scrawler.features.broken.references import PageReferences, References
from scrawler.insight.contents import PageReader
from scrawler.insight.scratch import scratch, telling_of_the_file
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.reading.page_lists import Last, PageFilter, PageLists, PageView
from scrawler.store.reading.pages import Pages
from scrawler.store.reading.traces import Traces
from scrawler.urls.normalise import normalise

# What stands in the way of everybody who follows a link. What the crawl itself refuses (robots.txt, private addresses,
# traps, sizes), or where it is at fault, says nothing of the link.
BROKEN = (
    Result.HTTP_ERROR,
    Result.NO_ADDRESS,
    Result.CONNECT_FAILED,
    Result.TLS_FAILED,
    Result.TIMEOUT,
    Result.CUT,
    Result.BAD_ANSWER,
)
NO_FRAGMENT = "no-fragment"  # the page is there, and has no such place
MOST_PAGES = 1_000  # pages that are told of those that lead to one URL
_OUTLINK = b"outlink: "
_HTML = ("text/html", "application/xhtml+xml")
_ALWAYS_THERE = ("", "top")  # places that each page has (HTML Standard, 7.4.6.4)
_FOR_SCRIPTS = ("!", "/")  # begins of fragments that name no place, but what a script is to show
_LOOKED_UP = 500  # URLs at a time
_DIRECTIVE = ":~:"  # what follows is for the browser alone

Place = tuple[str, str]  # in a page, and the first page that leads there


@dataclass(slots=True)
class BrokenLink:
    """A URL that leads nowhere, and where it stands."""

    url: str
    reason: str  # a result, NO_FRAGMENT, or why its redirects reach no answer (see circles.py)
    status: int
    detail: str
    seed: str
    depth: int
    referrer: str  # the page that listed it first; empty: none did, as it is a seed, or it is not known
    pages: list[str] = field(default_factory=list)  # all that lead to it, as far as it is known

    def values(self) -> Mapping[str, Any]:
        """Return what is listed of it, by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def broken_links(database: Database, seed_id: int | None = None) -> Iterator[BrokenLink]:
    """Yield all URLs that failed, reason by reason, then by status; all rows are gone through twice."""
    failed = tuple(result.value for result in BROKEN)
    for view in PageLists(database).all(
        PageFilter(seed_id, results=failed, sort="status", by_result=True, last=Last.OF_ALL)
    ):
        if not is_guess(view):
            yield _broken(view, view.page.result)
    yield from _endless(database, seed_id)


def _endless(database: Database, seed_id: int | None) -> Iterator[BrokenLink]:
    found = endless_redirects(database)
    views = [view for part in sliced(list(found)) for view in _redirects(database, seed_id, part)]
    for view in sorted(views, key=lambda view: (found[view.page.url_hash], view.page.fetched_at, view.page.url)):
        if not is_guess(view):
            yield _broken(view, found[view.page.url_hash])


def _redirects(database: Database, seed_id: int | None, hashes: Sequence[bytes]) -> Iterator[PageView]:
    wanted = PageFilter(seed_id, results=(Result.REDIRECT.value,), url_hashes=tuple(hashes), last=Last.OF_ALL)
    return PageLists(database).all(wanted)


def is_guess(view: PageView) -> bool:
    """Tell whether the crawl only tried whether there is something, as at /sitemap.xml."""
    return bool(view.page.flags & PageFlag.SITEMAP) and not view.referrer


def mistaken_links(references: References) -> Iterator[BrokenLink]:
    """Yield what stands in links and is no URL: it is told as it is written."""
    for one in references.mistakes():
        yield BrokenLink(one.href, one.reason, 0, one.detail, one.seed, 0, one.page, [one.page])


def _broken(view: PageView, reason: str) -> BrokenLink:
    page = view.page
    pages = [view.referrer] if view.referrer else []
    detail = f"redirects to {page.detail}" if page.result == Result.REDIRECT else page.detail
    return BrokenLink(page.url, reason, page.status, detail, view.seed, page.depth, view.referrer, pages)


def add_pages(database: Database, reader: PageReader, links: Collection[BrokenLink], prefixes: Iterable[str]) -> None:
    """Add to broken links all pages that lead to them, from the files of the archive whose names begin with a prefix.

    At most MOST_PAGES are told for each. A file that is not there, or is damaged, tells what is left of it.
    """
    by_url = {link.url.encode(): dict.fromkeys(link.pages) for link in links}
    rows = Pages(database)
    for name in (name for prefix in prefixes for name in rows.files(prefix)):
        with suppress(OSError):
            for page, fields in metadata_records(reader.path(name)):
                _note(by_url, page, fields)
    for link in links:
        link.pages[:] = by_url[link.url.encode()]


def _note(by_url: Mapping[bytes, dict[str, None]], page: str, fields: bytes) -> None:
    for line in fields.split(b"\r\n"):
        if line.startswith(_OUTLINK):
            pages = by_url.get(line[len(_OUTLINK) :].partition(b" ")[0])
            if pages is not None and len(pages) < MOST_PAGES:
                pages[page] = None


@dataclass(slots=True)
class Unread:
    """How many pages could not be looked into, for their records are gone or damaged."""

    records: int = 0


def broken_fragments(
    database: Database, reader: PageReader, wanted: Wanted, seed_id: int | None = None
) -> Iterator[BrokenLink]:
    """Yield links to places that the pages to which they lead do not have; of each place the first page is told.

    `wanted` holds the places, and archived pages are read for them. One whose record is gone is passed by, as is one
    that no tree can be built of. Of pages that a browser has shown, the documents that it made are read.
    """
    for view, body, content_type in html_pages(database, reader, Unread(), seed_id):
        for place, page in missing_places(wanted.of(view.page.url_hash), body, content_type):
            yield no_fragment(view.page, place, view.seed, page)


def missing_places(places: Sequence[Place], body: bytes, content_type: str) -> Iterator[Place]:
    """Yield the places that a page does not have; none where no tree can be built of it."""
    there = _places(body, content_type) if places else None
    if there is not None:
        yield from (one for one in places if one[0] not in there and unquote(one[0]) not in there)


class Wanted:
    """Places in pages to which links lead, each with the first page that leads there."""

    @telling_of_the_file()
    def __init__(self) -> None:
        self._known = scratch(
            "CREATE TABLE place (url_hash BLOB, place TEXT, first TEXT, PRIMARY KEY (url_hash, place)) WITHOUT ROWID",
            "CREATE TABLE target (url_hash BLOB PRIMARY KEY, url TEXT) WITHOUT ROWID",
        )

    @telling_of_the_file()
    def add(self, url_hash: bytes, place: str, page: str, target: str) -> None:
        """Note that a page leads to a place in another, which has this URL and this hash of it."""
        self._known.execute("INSERT OR IGNORE INTO place VALUES (?, ?, ?)", (url_hash, place, page))
        self._known.execute("INSERT OR IGNORE INTO target VALUES (?, ?)", (url_hash, target))

    @telling_of_the_file()
    def elsewhere(self, database: Database) -> list[str]:
        """Return the pages to places of which links lead, and for which the crawl did not ask."""
        traces, last, found = Traces(database), b"", list[str]()
        query = f"SELECT url_hash, url FROM target WHERE url_hash > ? ORDER BY url_hash LIMIT {_LOOKED_UP}"
        while some := dict(self._known.execute(query, (last,)).fetchall()):
            asked = {row.url_hash for row in traces.pages(list(some))}
            found += (url for one, url in some.items() if one not in asked)
            last = max(some)
        return found

    @telling_of_the_file()
    def of(self, url_hash: bytes) -> list[Place]:
        """Return the places in a page, and who leads there first."""
        return self._known.execute("SELECT place, first FROM place WHERE url_hash = ?", (url_hash,)).fetchall()

    def close(self) -> None:
        """Forget all."""
        self._known.close()


def note_references(
    database: Database,
    reader: PageReader,
    read: PageReferences,
    unread: Unread,
    seed_id: int | None,
    wanted: Wanted | None,
) -> None:
    """Read what archived pages refer to, and, with `wanted`, to which places they lead.

    A page whose record is gone is passed by, and counted in `unread`.
    """
    for view, body, content_type in html_pages(database, reader, unread, seed_id):
        links = read.read(view, body, content_type)
        if wanted is not None:
            _note_places(wanted, links, view.page.url)


def _note_places(wanted: Wanted, links: PageLinks, page: str) -> None:
    for href in links.hrefs:
        plain, hash_mark, fragment = href.partition("#")
        place = fragment.partition(_DIRECTIVE)[0]
        if not hash_mark or place.lower() in _ALWAYS_THERE or place.startswith(_FOR_SCRIPTS):
            continue
        target = normalise(plain, links.base).url  # of a place alone as well, which a base leads elsewhere too
        if target:
            wanted.add(url_hash(target), place, page, target)


def no_fragment(row: PageRow, place: str, seed: str, page: str, url: str = "") -> BrokenLink:
    """Tell that a page has no such place; `url` is what the link leads to, if that redirects to the page."""
    detail = f"no id or name {unquote(place)!r}"
    return BrokenLink(f"{url or row.url}#{place}", NO_FRAGMENT, row.status, detail, seed, row.depth, page, [page])


def html_pages(
    database: Database, reader: PageReader, unread: Unread, seed_id: int | None
) -> Iterator[tuple[PageView, bytes, str]]:
    """Yield archived pages of HTML, the document of each, and its Content-Type."""
    fetched = PageFilter(seed_id, results=(Result.FETCHED.value,), types=_HTML, last=Last.STANDING)
    for view in PageLists(database).all(fetched):
        if not view.page.warc_file:
            continue
        try:
            content = reader.read(view.page)
        except RecordsLostError:
            unread.records += 1
            continue
        yield view, *content.document()


def _places(body: bytes, content_type: str) -> set[str] | None:
    """Return the ids of a page's elements, and the names of its anchors; None where no tree can be built."""
    page, _ = to_utf8(body, content_type)
    if is_hazardous(page):
        return None
    found: set[str] = set()
    for node in tree_of(page).css("[id],a[name]"):
        attributes = node.attributes
        found.update(value for name in ("id", "name") if (value := attributes.get(name)))
    return found
