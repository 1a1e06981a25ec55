"""What a page leads to, for the metadata record beside its answer, in the words of Heritrix.

Each line names a URL, as this crawl spells it, the kind of the link and where it stands: `outlink: URL L a/@href`.
Kinds are L (a link), E (embedded: a frame, an image, a script, a style) and R (what is shown instead: a redirect, a
refresh). They are those of the page, whether they are followed or not; what is no URL of http, or leads to a place in
the same page, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from scrawler.assembly.building import Building
from scrawler.core.answers.page_read import PageRead
from scrawler.core.answers.steps import Want
from scrawler.core.party.decisions import location_of
from scrawler.core.party.flights import PageFlight
from scrawler.extract.links import PageLinks
from scrawler.fetch.downloader import Response
from scrawler.model.results import Result
from scrawler.urls.analyzer import UrlAnalyzer

MOST_OUTLINKS = 6_000  # of a page, as many as Heritrix takes by default
MOST_BYTES = 1 << 20  # of their lines: a <base> makes 2 KB of each short link
_LOCATION_HEADER = "R Location:"
_ANY_LINK, _ANY_ASSET = "L =NAVLINK_MISC", "E =EMBED_MISC"  # of an extractor that does not tell where links stand

Outlink = tuple[str, str]  # a URL as written, and its source: kind and context


class Outlinks:
    """The step: what each page leads to becomes the metadata of its record."""

    at: int
    wants = frozenset((Want.SOURCES,))

    def read(self, flight: PageFlight, response: Response, page: PageRead) -> None:
        """Note what a page leads to."""
        page.metadata = outlink_fields(flight.party.analyzer, response, page.links)


def build(building: Building) -> None:
    """Let a machine keep what pages lead to."""
    building.steps.append(Outlinks())


def outlink_fields(analyzer: UrlAnalyzer, response: Response, links: PageLinks | None) -> bytes:
    """Return the fields of a metadata record (application/warc-fields); empty where an answer leads nowhere."""
    lines = _bounded(_lines(analyzer, response, links))
    if not lines:
        return b""
    charset = f"charsetForLinkExtraction: {links.charset}\r\n" if links is not None and links.charset else ""
    return b"".join((f"fetchTimeMs: {response.elapsed_ms}\r\n{charset}".encode(), *lines))


def _bounded(lines: Iterator[bytes]) -> dict[bytes, None]:
    """Return the first of these lines, each once, as many as a record may have."""
    kept: dict[bytes, None] = {}
    size = 0
    for line in lines:
        if line in kept:
            continue
        size += len(line)
        if size > MOST_BYTES:
            break
        kept[line] = None
        if len(kept) >= MOST_OUTLINKS:
            break
    return kept


def _lines(analyzer: UrlAnalyzer, response: Response, links: PageLinks | None) -> Iterator[bytes]:
    page = response.request.url
    if response.result is Result.REDIRECT and (url := analyzer.resolve(location_of(response), page)):
        yield f"outlink: {url} {_LOCATION_HEADER}\r\n".encode()
    if links is None:
        return
    written = [one for one in dict.fromkeys(_written(links)) if not one[0].startswith("#")]
    urls = analyzer.resolve_all([href for href, _ in written], links.base, links.charset)
    for url, (_, source) in zip(urls, written, strict=True):
        if url:
            yield f"outlink: {url} {source}\r\n".encode()


def _written(links: PageLinks) -> Iterator[Outlink]:
    """Yield the URLs of a page as they are written, in document order as far as they can be followed."""
    sources = links.sources
    if sources is not None:
        yield from zip(links.hrefs, sources.of_hrefs, strict=True)
        yield from sources.others
        return
    yield from zip(links.hrefs, repeat(_ANY_LINK))
    yield from zip(links.unfollowed, repeat(_ANY_LINK))
    yield from zip(links.assets, repeat(_ANY_ASSET))
