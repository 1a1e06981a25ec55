"""An Atom feed of changes (RFC 4287)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from uuid import NAMESPACE_URL, UUID, uuid5
from xml.sax.saxutils import escape

from scrawler.dates import iso_date
from scrawler.features.revisit.log import ChangeView
from scrawler.model.terms import Millis
from scrawler.store.claims.crawls import Crawl

MARK = "<generator>SCrawler</generator>"  # by it a file is known to be ours
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_IN_IRI = re.compile(r"[^!#$%&'()*+,./0-9:;=?@A-Z\[\]_a-z~\u00a0-\ud7ff\ue000-\ufffd-]")


def feed_id(crawl: Crawl) -> UUID:
    """Return what a feed of a crawl is known by, wherever it is read; crawls of one name differ by their age."""
    return uuid5(NAMESPACE_URL, f"urn:scrawler:{crawl.files_prefix}")


def feed_lines(crawl: Crawl, changes: Sequence[ChangeView]) -> Iterator[str]:
    """Yield the lines of a feed; an entry has the same id in each feed of the crawl."""
    feed = feed_id(crawl)
    updated: Millis = max((one.at for one in changes), default=crawl.created_at)
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<feed xmlns="http://www.w3.org/2005/Atom">'
    yield MARK
    yield f"<id>urn:uuid:{feed}</id>"
    yield f"<title>Changes of crawl {_xml(crawl.name)}</title>"
    yield f"<updated>{iso_date(updated)}</updated>"
    yield "<author><name>SCrawler</name></author>"
    for one in changes:
        yield from _entry(feed, one)
    yield "</feed>"


def in_words(change: ChangeView) -> str:
    """Say what has changed."""
    if change.detail:
        return f"{change.kind} to {change.detail}"
    return f"{change.kind}, {change.distance} of 64 bits of its text" if change.distance >= 0 else change.kind


def _entry(feed: UUID, one: ChangeView) -> Iterator[str]:
    known_by = uuid5(feed, f"{one.kind} {one.visit} {one.url}")
    at, url = iso_date(one.at), _xml(one.url)
    yield "<entry>"
    yield f"<id>urn:uuid:{known_by}</id>"
    yield f"<title>{_xml(one.kind)}: {url}</title>"
    yield f"<updated>{at}</updated>"
    yield f'<link rel="alternate" href="{_iri(one.url)}"/>'
    yield f'<category term="{_xml(one.kind)}"/>'
    yield f"<content>{_xml(in_words(one))}</content>"
    yield "</entry>"


def _xml(text: str) -> str:
    return escape(_NOT_IN_XML.sub("\ufffd", text), {'"': "&quot;"})


def _iri(url: str) -> str:
    """Return a URL as RFC 3987 has it: browsers let characters stand that it does not know."""
    return _xml(_NOT_IN_IRI.sub(_percent, url))


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))
