"""What archived pages refer to beyond what their crawl asked for, and what stands in them that is no URL.

A crawl of pages follows no link to a file whose name says that it is no page, and loads no image, style or script
unless it is told to. So it cannot say whether they are there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scrawler.assembly.urls import make_analyzer
from scrawler.extract.links import LinkPolicy, PageLinks
from scrawler.extract.scanner import fastest_extractor
from scrawler.insight.scratch import scratch, telling_of_the_file
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.settings import Settings
from scrawler.store.engines.engine import Database
from scrawler.store.reading.page_lists import PageView
from scrawler.store.reading.traces import Traces
from scrawler.units import counted
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.filetype import is_refused_type, refused_types
from scrawler.urls.mistyped import what_is_wrong
from scrawler.urls.scope import scope_of

_LOOKED_UP = 500  # URLs at a time
_SAID = ("link", "file", "image", "style sheet", "script", "film or sound")  # the kinds, in the order of their telling
_LINK, _FILE, _IMAGE, _STYLE, _SCRIPT, _MEDIA = _SAID
_PLURALS = {"file": ("link to a file", "links to files"), "film or sound": ("film or sound", "films or sounds")}
_BY_ELEMENT = {
    **dict.fromkeys(("img", "image", "input", "use", "div"), _IMAGE),
    "script": _SCRIPT,
    **dict.fromkeys(("video", "audio", "source", "track"), _MEDIA),
}
_POSTER = "video/@poster"
_IMAGE_NAME = re.compile(r"\.(?:avif|gif|ico|jpe?g|png|svg|webp)(?:\?|\Z)", re.IGNORECASE)
_SCRIPT_NAME = re.compile(r"\.m?js(?:\?|\Z)", re.IGNORECASE)


class Reference(NamedTuple):
    """A URL that the crawl did not ask for, and the first page on which it stands."""

    url: str
    kind: str
    inside: bool  # in the scope of the page's seed
    seed: str
    page: str


class Mistake(NamedTuple):
    """What stands where a URL should, as it is written, and the first page on which it does."""

    href: str
    reason: str
    detail: str
    seed: str
    page: str


class References:
    """All references of a crawl's pages, in a temporary file."""

    @telling_of_the_file()
    def __init__(self) -> None:
        self._known = scratch(
            "CREATE TABLE reference ("
            "url_hash BLOB PRIMARY KEY, url TEXT, kind TEXT, inside INTEGER, seed TEXT, page TEXT) WITHOUT ROWID",
            "CREATE TABLE mistake (href TEXT PRIMARY KEY, reason TEXT, detail TEXT, seed TEXT, page TEXT)",
        )

    @telling_of_the_file()
    def add(self, references: Iterable[Reference], mistakes: Iterable[Mistake]) -> None:
        """Note what stands on a page; of what is noted already the first page stays."""
        rows = ((url_hash(one.url), *one) for one in references)
        self._known.executemany("INSERT OR IGNORE INTO reference VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._known.executemany("INSERT OR IGNORE INTO mistake VALUES (?, ?, ?, ?, ?)", mistakes)

    @telling_of_the_file()
    def drop_asked(self, database: Database) -> None:
        """Forget what the crawl has asked for."""
        traces, last = Traces(database), b""
        query = f"SELECT url_hash FROM reference WHERE url_hash > ? ORDER BY url_hash LIMIT {_LOOKED_UP}"
        while hashes := [row[0] for row in self._known.execute(query, (last,))]:
            self.drop(row.url_hash for row in traces.pages(hashes))
            last = hashes[-1]

    @telling_of_the_file()
    def drop(self, hashes: Iterable[bytes]) -> None:
        """Forget URLs."""
        self._known.executemany("DELETE FROM reference WHERE url_hash = ?", ((one,) for one in hashes))

    @telling_of_the_file()
    def numbers(self, inside: bool) -> Counter[str]:
        """Return how many references there are within the site, or to others, by kind."""
        query = "SELECT kind, count(*) FROM reference WHERE inside = ? GROUP BY kind"
        return Counter(dict(self._known.execute(query, (inside,)).fetchall()))

    def all(self, inside: bool) -> Iterator[Reference]:
        """Yield the references within the site, or those to others."""
        query = "SELECT url, kind, seed, page FROM reference WHERE inside = ? ORDER BY url_hash"
        with telling_of_the_file():
            for url, kind, seed, page in self._known.execute(query, (inside,)):
                yield Reference(url, kind, inside, seed, page)

    @telling_of_the_file()
    def mistakes(self) -> list[Mistake]:
        """Return what is no URL, by reason."""
        return [Mistake(*row) for row in self._known.execute("SELECT * FROM mistake ORDER BY reason, href")]

    def close(self) -> None:
        """Forget all."""
        self._known.close()


class PageReferences:
    """Reads the references of pages."""

    def __init__(self, settings: Settings, scope: Scope, found: References) -> None:
        """Read as a crawl with these settings does, into `found`."""
        self._settings = settings
        self._scope = scope
        self._found = found
        self._extractor = fastest_extractor(LinkPolicy(assets=True, outlinks=True))
        self._refused = refused_types(settings.accept)
        self._analyzers: dict[str, UrlAnalyzer] = {}

    def read(self, view: PageView, body: bytes, content_type: str) -> PageLinks:
        """Note what a page refers to, and return its links."""
        links = self._extractor.links(body, view.page.url, content_type)
        analyzer = self._analyzers.get(view.seed)
        if analyzer is None:
            self._analyzers.clear()  # pages of one seed mostly come together
            analyzer = make_analyzer(self._settings, scope_of(view.seed, self._scope))
            self._analyzers[view.seed] = analyzer
        contains = scope_of(view.seed, self._scope).contains
        references: dict[str, Reference] = {}
        mistakes: list[Mistake] = []
        written = list(_written(links))
        urls = analyzer.resolve_all([href for href, _ in written], links.base, links.charset)
        for url, (href, source) in zip(urls, written, strict=True):
            wrong = what_is_wrong(href, links.base, resolved=bool(url))
            if wrong is not None:
                mistakes.append(Mistake(href, *wrong, view.seed, view.page.url))
            if not url:
                continue
            inside = contains(url)
            kind = self._kind_of(url, source, inside)
            if kind:
                references.setdefault(url, Reference(url, kind, inside, view.seed, view.page.url))
        self._found.add(references.values(), mistakes)
        return links

    def _kind_of(self, url: str, source: str, inside: bool) -> str:
        """Return what a URL is by where it stands; empty for what the crawl follows, or leaves out by its rules."""
        if source.startswith("E ") and not source.startswith(("E iframe", "E frame")):
            return _kind_of_asset(url, source[2:])
        if is_refused_type(url, self._refused):
            return _FILE
        return "" if inside else _LINK


def _kind_of_asset(url: str, place: str) -> str:
    element = place.partition("/")[0]
    if place == _POSTER or place.endswith("srcset") or _IMAGE_NAME.search(url):
        return _IMAGE
    if element == "link":
        return _SCRIPT if _SCRIPT_NAME.search(url) else _STYLE
    return _BY_ELEMENT.get(element, _IMAGE)


def _written(links: PageLinks) -> Iterator[tuple[str, str]]:
    sources = links.sources
    assert sources is not None  # they are asked for
    found = dict.fromkeys((*zip(links.hrefs, sources.of_hrefs, strict=True), *sources.others))
    return iter(one for one in found if not one[0].startswith("#"))


def in_words(numbers: Counter[str]) -> str:
    """Write numbers of references by kind."""
    said = [counted(numbers[kind], *_PLURALS.get(kind, (kind,))) for kind in _SAID if numbers[kind]]
    *most, last = said
    return f"{', '.join(most)} and {last}" if most else last
