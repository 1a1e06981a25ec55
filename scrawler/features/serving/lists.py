"""The documents that crawlers read, as pieces of XML: ResourceSync (ANSI/NISO Z39.99-2017), and sitemaps.

Resources are listed 50,000 a document, changes 500; where there are more, an index names the documents. All have the
form of a sitemap, so that a reader of sitemaps which knows nothing of ResourceSync finds the resources in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from xml.sax.saxutils import escape, quoteattr

from scrawler.features.serving.catalogue import CHANGES, PAGE, Catalogue, Change, PageOfList, Resource

FOLDER = "resourcesync"  # below the site
WELL_KNOWN = ".well-known/resourcesync"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SPACES = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"'
_PIECES = 200  # entries that are written at once


def w3c_date(millis: int) -> str:
    """Write UTC milliseconds as W3C date and time."""
    moment = datetime.fromtimestamp(millis / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{millis % 1000:03d}Z"


class Lists:
    """Writes the documents of a site; `base` is its URL, with a slash at the end."""

    def __init__(self, catalogue: Catalogue, base: str, page: int = PAGE, changes: int = CHANGES) -> None:
        self._catalogue = catalogue
        self._base = base
        self._page = page
        self._changes_page = changes

    def url_of(self, path: str) -> str:
        """Return the URL of what is published at a path."""
        return self._base + path

    def source_description(self) -> Iterator[str]:
        """Say where the capability list is."""
        entry = self._entry(f"{FOLDER}/capabilitylist.xml", _md(capability="capabilitylist"))
        return self._urlset(_md(capability="description"), iter((entry,)))

    def capability_list(self) -> Iterator[str]:
        """Say which lists there are."""
        names = ("resourcelist", "changelist", "resourcedump")
        entries = (self._entry(f"{FOLDER}/{name}.xml", _md(capability=name)) for name in names)
        return self._urlset(_ln("up", self.url_of(WELL_KNOWN)) + _md(capability="capabilitylist"), entries)

    # -- resources -----------------------------------------------------------------------------------------

    def resource_list(self, pages: list[PageOfList], at: int) -> Iterator[str]:
        """List all resources, or, where they stand on several pages, these."""
        head = self._up() + _md(capability="resourcelist", at=w3c_date(at))
        return self._listed(pages, head, "resourcelist", self._resources, _md(capability="resourcelist"))

    def resource_page(self, page: PageOfList, at: int) -> Iterator[str]:
        """List the resources of one page."""
        head = self._up() + self._in_index("resourcelist") + _md(capability="resourcelist", at=w3c_date(at))
        return self._urlset(head, self._resources(page))

    def sitemap(self, pages: list[PageOfList]) -> Iterator[str]:
        """List all resources as a sitemap, or name the sitemaps."""
        return self._listed(pages, "", "sitemap", self._plain, "", folder="")

    def sitemap_page(self, page: PageOfList) -> Iterator[str]:
        """List the resources of one page as a sitemap."""
        return self._urlset("", self._plain(page))

    def _listed(
        self, pages: list[PageOfList], head: str, name: str, entries: object, md: str, folder: str = f"{FOLDER}/"
    ) -> Iterator[str]:
        assert callable(entries)
        if len(pages) > 1:
            named = (self._child(f"{folder}{name}-{page.number}.xml", page, md) for page in pages)
            return self._index(head, named)
        return self._urlset(head, entries(pages[0]) if pages else iter(()))

    def _resources(self, page: PageOfList) -> Iterator[str]:
        for one in self._catalogue.resources(page.number, self._page):
            yield self._entry(one.path, _md(**_described(one)), one.changed_at)

    def _plain(self, page: PageOfList) -> Iterator[str]:
        for one in self._catalogue.resources(page.number, self._page):
            yield self._entry(one.path, "", one.changed_at)

    # -- changes -------------------------------------------------------------------------------------------

    def change_list(self, pages: list[PageOfList], since: int) -> Iterator[str]:
        """List all changes since then, or name the lists."""
        head = self._up() + _md(capability="changelist", **{"from": w3c_date(since)})
        if len(pages) <= 1:
            return self._urlset(head, self._changes(pages[0]) if pages else iter(()))
        named = (
            self._child(f"{FOLDER}/changelist-{page.number}.xml", page, self._span(pages, index, since))
            for index, page in enumerate(pages)
        )
        return self._index(head, named)

    def change_page(self, pages: list[PageOfList], index: int, since: int) -> Iterator[str]:
        """List the changes of one page."""
        head = self._up() + self._in_index("changelist") + self._span(pages, index, since)
        return self._urlset(head, self._changes(pages[index]))

    @staticmethod
    def _span(pages: list[PageOfList], index: int, since: int) -> str:
        """Say of which time a page tells; the last one is not over."""
        times = {"from": w3c_date(pages[index - 1].last_at if index else since)}
        if index + 1 < len(pages):
            times["until"] = w3c_date(pages[index].last_at)
        return _md(capability="changelist", **times)

    def _changes(self, page: PageOfList) -> Iterator[str]:
        for one in self._catalogue.changes(page.number, self._changes_page):
            said = {"change": one.kind, "datetime": w3c_date(one.at), **_described(one)}
            yield self._entry(one.path, _md(**said), one.at)

    # -- dumps ---------------------------------------------------------------------------------------------

    def resource_dump(self, pages: list[PageOfList], at: int) -> Iterator[str]:
        """Name the packages that hold the resources."""
        head = self._up() + _md(capability="resourcedump", at=w3c_date(at))
        entries = (
            self._entry(f"{FOLDER}/dump-{page.number}.zip", _md(type="application/zip"), page.last_at) for page in pages
        )
        return self._urlset(head, entries)

    # -- parts ---------------------------------------------------------------------------------------------

    def _up(self) -> str:
        return _ln("up", self.url_of(f"{FOLDER}/capabilitylist.xml"))

    def _in_index(self, name: str) -> str:
        return _ln("index", self.url_of(f"{FOLDER}/{name}.xml"))

    def _entry(self, path: str, more: str, lastmod: int = 0) -> str:
        date = f"<lastmod>{w3c_date(lastmod)}</lastmod>" if lastmod else ""
        return f"<url><loc>{escape(self.url_of(path))}</loc>{date}{more}</url>\n"

    def _child(self, path: str, page: PageOfList, more: str) -> str:
        date = f"<lastmod>{w3c_date(page.last_at)}</lastmod>" if page.last_at else ""
        return f"<sitemap><loc>{escape(self.url_of(path))}</loc>{date}{more}</sitemap>\n"

    def _urlset(self, head: str, entries: Iterator[str]) -> Iterator[str]:
        yield f"{_HEAD}<urlset {_SPACES}>\n{head}"
        yield from _in_pieces(entries)
        yield "</urlset>\n"

    def _index(self, head: str, entries: Iterator[str]) -> Iterator[str]:
        yield f"{_HEAD}<sitemapindex {_SPACES}>\n{head}"
        yield from _in_pieces(entries)
        yield "</sitemapindex>\n"


def manifest(base: str, entries: list[tuple[Resource, str, str, int]], at: int) -> str:
    """Write the manifest of a package: of each resource its place in it, its digest and its length."""
    head = _md(capability="resourcedump-manifest", at=w3c_date(at))
    lines = [
        f"<url><loc>{escape(base + one.path)}</loc><lastmod>{w3c_date(one.changed_at)}</lastmod>"
        + _md(hash=f"sha-256:{digest}", length=str(length), type=one.media_type, path=f"/{name}")
        + "</url>\n"
        for one, name, digest, length in entries
    ]
    return f"{_HEAD}<urlset {_SPACES}>\n{head}{''.join(lines)}</urlset>\n"


def _described(one: Resource | Change) -> dict[str, str]:
    """Return what is said of a resource; the digest of a page that is made of a row is not that of its bytes."""
    if not one.digest or not one.size:
        return {"type": one.media_type} if one.media_type else {}
    return {"hash": f"sha-256:{one.digest}", "length": str(one.size), "type": one.media_type}


def _md(**attributes: str) -> str:
    return f"<rs:md {' '.join(f'{name}={quoteattr(value)}' for name, value in attributes.items())}/>\n"


def _ln(rel: str, href: str) -> str:
    return f"<rs:ln rel={quoteattr(rel)} href={quoteattr(href)}/>\n"


def _in_pieces(entries: Iterator[str]) -> Iterator[str]:
    piece: list[str] = []
    for entry in entries:
        piece.append(entry)
        if len(piece) == _PIECES:
            yield "".join(piece)
            piece = []
    yield "".join(piece)
