"""Pages with the same links, as written: one answer for every path, or a site that holds itself again in a folder.

Such a site lives on relative links: pages with the same links lead to pages with these very links, for ever. They are
capped when too few of the last pages that led to their like were new. Copies that are only many, as translations that
are not done yet, lead to other pages, and are never capped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from scrawler.core.traps.fetched import NO_PAGE, FetchedPage
from scrawler.core.traps.hashes import PackedHashes
from scrawler.core.traps.says import Says
from scrawler.core.traps.tally import LITTLE_LEFT, Tally
from scrawler.core.traps.yields import Yield

LINKS_AS: Final = "links as on "  # begins the pattern of pages with the same links
_CLASSES: Final = 512  # sets of links that a party remembers
_LED_TO: Final = 4_096  # URLs for which it remembers on which kind of page they were found


@dataclass(slots=True, eq=False)
class LinkClass:
    """Pages that have the same links, as written."""

    url: str  # of one of them
    pages: int = 1
    own: Yield | None = None  # what those pages have yielded to which others of them led; from the second page on

    @property
    def capped(self) -> Yield | None:
        """The yield, if the links are capped."""
        return self.own if self.own is not None and self.own.evidence else None


class LinkClasses:
    """The pages of one party by their links; guarded by the machine's turn, except `get`."""

    __slots__ = ("_asked", "_classes", "_led_to", "_met_once", "_restored", "_tally")

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._classes: dict[int, LinkClass] = {}  # by a hash of the links
        self._met_once = PackedHashes()  # of links that one page has had
        self._led_to: dict[int, LinkClass] = {}  # hashes of listed URLs -> on which kind of page they stand
        self._restored: dict[bytes, Yield] | None = None  # those of links, until pages with these links are met again
        self._asked: tuple[FetchedPage, LinkClass | None] = NO_PAGE, None  # each page is asked for twice

    def __len__(self) -> int:
        return len(self._classes)

    def restore(self, found: Yield) -> None:
        """Take what an earlier owner of the party has counted."""
        self._restored = self._restored or {}
        self._restored[found.key] = found

    def every(self) -> Iterator[Yield]:
        """Return the yields of all that are remembered."""
        return (found.own for found in self._classes.values() if found.own is not None)

    def get(self, links: int | None) -> LinkClass | None:
        """Return the pages that have the links with a hash, if there are several."""
        if links is None or not self._classes:
            return None
        return self._classes.get(links)

    def known(self, page: FetchedPage) -> LinkClass | None:
        """Return the pages that have the links of a page; an object is made of them with the second one."""
        if page.links is None:
            return None
        asked = self._asked
        if asked[0] is page:
            return asked[1]
        known = self._classes.get(page.links)
        if known is None and self._met_once.remove(page.links):
            known = self._new(page, page.links)
        self._asked = page, known
        return known

    def count(self, page: FetchedPage, exact: bool, says: Says) -> LinkClass | None:
        """Count a fetched page; return the pages that have its links, if it is not the first of them."""
        same_links = self._meet(page)
        parent = self._led_to.pop(hash(page.url), None) if self._led_to else None
        if parent is not None and parent is same_links and parent.own is not None:
            parent.own.count(exact, says is Says.NOTHING)
            parent.own.weigh(parent.own.allows(says, self._tally.allowance(LITTLE_LEFT)))
            self._tally.cap_low(parent.own, self._tally.rules.trap_pages)
        self._asked = NO_PAGE, None
        return same_links

    def capped(self, url: str) -> Yield | None:
        """Return what caps the links among which a listed URL was found."""
        parent = self._led_to.get(hash(url)) if self._led_to else None
        return parent.capped if parent is not None else None

    def forget(self, url: str) -> None:
        """Let go of where a URL was found, as it is not fetched."""
        self._led_to.pop(hash(url), None)

    def note_led(self, urls: Sequence[str], source: LinkClass) -> None:
        """Note which URLs were found on pages with the same links."""
        for url in urls:
            if len(self._led_to) >= _LED_TO:
                del self._led_to[next(iter(self._led_to))]
            self._led_to[hash(url)] = source

    def _meet(self, page: FetchedPage) -> LinkClass | None:
        if page.links is None:
            return None
        found = self.known(page)
        if found is None:
            if len(self._met_once) >= _CLASSES:
                self._met_once.keep_first(_CLASSES // 2)
            self._met_once.append(page.links)
            return None
        found.pages += 1
        if found.own is None:
            durable = blake2b("\n".join(page.hrefs).encode("utf-8", "surrogatepass"), digest_size=16).digest()
            restored = None if self._restored is None else self._restored.pop(durable, None)
            found.own = restored or Yield(LINKS_AS + found.url, durable, self._tally.rules.trap_pages)
        return found

    def _new(self, page: FetchedPage, links: int) -> LinkClass:
        if len(self._classes) >= _CLASSES:
            kept = sorted(self._classes.items(), key=lambda item: -item[1].pages)[: _CLASSES // 2]
            self._classes = dict(kept)
        found = self._classes[links] = LinkClass(page.url)
        return found
