"""Lists of ResourceSync (ANSI/NISO Z39.99-2017): which are asked for, and what of them names further lists.

A source description names capability lists, these name lists of resources and of changes, and each of those may be an
index. Packages of resources (dumps) hold what its URLs bring as well, and are left alone; so are archives of old lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scrawler.core.party.flights import PageFlight
from scrawler.core.party.lists import MAX_LEVEL, SitemapLists
from scrawler.extract.decode import decode_body
from scrawler.extract.link_header import targets_of
from scrawler.extract.sitemaps import Listed, Sitemap
from scrawler.fetch.downloader import Response

WELL_KNOWN = "/.well-known/resourcesync"
DESCRIPTION = "description"
CAPABILITY_LIST = "capabilitylist"
RESOURCE_LIST = "resourcelist"
CHANGE_LIST: Final = "changelist"
RELATION = "resourcesync"
DELETED = "deleted"
LEVELS = 3  # by which lists may stand deeper than sitemaps: below a description, a capability list, and an index

_NAMING = frozenset((DESCRIPTION, CAPABILITY_LIST))
_FOLLOWED = frozenset((CAPABILITY_LIST, RESOURCE_LIST, CHANGE_LIST))
_HEAD_BYTES = 64 << 10  # of a page, in which a link to a capability list is looked for
_MOST_NAMED = 10
_LINK = re.compile(rb"<link\b[^<>]{0,2000}>", re.IGNORECASE)
_REL = re.compile(rb"""\brel\s*=\s*["']?\s*resourcesync["'\s/>]""", re.IGNORECASE)
_HREF = re.compile(rb"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


def names_lists(sitemap: Sitemap) -> bool:
    """Tell whether what a document lists are lists, not pages."""
    return sitemap.is_index or sitemap.capability in _NAMING


def is_followed(sitemap: Sitemap, one: Listed) -> bool:
    """Tell whether a list that a document names is asked for."""
    return sitemap.capability not in _NAMING or one.capability in _FOLLOWED


def holds_pages(sitemap: Sitemap) -> bool:
    """Tell whether what a document lists, or what the lists do that it names, are pages: of dumps they are packages."""
    return sitemap.capability in ("", RESOURCE_LIST, CHANGE_LIST) or sitemap.capability in _NAMING


def named_on(response: Response) -> Iterator[str]:
    """Yield the lists to which a page leads: by its Link header, and by link elements at its beginning."""
    if "link" in response.headers:
        yield from targets_of(response.headers["link"], RELATION)[:_MOST_NAMED]
    if not response.body:
        return
    head = decode_body(response.body, response.headers.get("content-encoding", ""), _HEAD_BYTES).body[:_HEAD_BYTES]
    if RELATION.encode() not in head.lower():
        return
    found = 0
    for element in _LINK.finditer(head):
        href = _HREF.search(element[0]) if _REL.search(element[0]) else None
        if href is not None and found < _MOST_NAMED:
            found += 1
            yield (href[1] or href[2] or href[3] or b"").decode("utf-8", "replace").replace("&amp;", "&")


class UnreadLists(SitemapLists):
    """Lists of ResourceSync where they are not read: one that a sitemap leads to is a sitemap as any other."""

    def names_lists(self, sitemap: Sitemap) -> bool:
        """Tell whether what a document lists are lists, not pages."""
        return names_lists(sitemap)

    def named_in(self, flight: PageFlight, sitemap: Sitemap, some: Sequence[Listed]) -> list[str]:
        """Return those of the lists that a document names which are to be asked for."""
        return [one.url for one in some if is_followed(sitemap, one)]

    def deepest(self, sitemap: Sitemap) -> int:
        """Return the level below which nothing is asked for that a document names."""
        return MAX_LEVEL + LEVELS if sitemap.capability else MAX_LEVEL

    def note(self, flight: PageFlight, sitemap: Sitemap, url: str, one: Listed) -> bool:
        """Note what a document says of an internal URL, which is listed unless it was deleted."""
        super().note(flight, sitemap, url, one)
        return one.change != DELETED  # what is known is asked for once more, what is not need not be
