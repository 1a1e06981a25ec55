"""Of which of a party's pages the text is read, and with which others it is compared.

Pages of a pattern are compared with each other, and pages with the same links. Of all others, whose URLs are made of
words, few bytes of each are read from the twentieth page on, while they say something new; all in a line.
"""

from __future__ import annotations

from typing import Final

from scrawler.core.traps.alike import LinkClass, LinkClasses
from scrawler.core.traps.fetched import FetchedPage
from scrawler.core.traps.generations import NAMES, Generations
from scrawler.core.traps.likeness import Likeness, TextMemory
from scrawler.core.traps.patterns import PatternYields
from scrawler.core.traps.says import Says
from scrawler.core.traps.tally import Tally
from scrawler.extract.links import PageLinks
from scrawler.extract.simhash import Fingerprint, fingerprint_of, skeleton_of

_DOUBT: Final = 5  # fetched pages of a pattern, or with the same links, after which their texts are looked at
_MEMORIES: Final = 32  # groups of pages whose texts a party remembers
_TEXTS: Final = 4_096  # of its pages whose words it remembers, in mode "all"
_NAMES_FROM: Final = 20  # pages of a party from which those are read whose URLs have no pattern
_READ_A_PAGE: Final = 128  # bytes of each that are read then: of large pages ever fewer are, all of very small ones
_READ_FIRST: Final = 65_536  # ... and of the first ones together
_READ_IN_DOUBT: Final = 4_096  # ... while the last ones leave doubt
_DOUBTED: Final = 8  # so many that say something new end the doubt
_NOT_COMPARED: Final = Likeness(near=False, says=Says.NEW, few=False)


class Texts:
    """The texts of one party's pages; guarded by the machine's turn, except `read`."""

    __slots__ = (
        "_bytes_read",
        "_classes",
        "_doubted",
        "_generations",
        "_memories",
        "_met",
        "_of_names",
        "_read_last",
        "_tally",
        "_yields",
    )

    def __init__(self, tally: Tally, yields: PatternYields, classes: LinkClasses, generations: Generations) -> None:
        self._tally = tally
        self._yields = yields
        self._classes = classes
        self._generations = generations
        self._memories: dict[object, TextMemory] = {}  # the one that was asked last stands last
        self._of_names: TextMemory | None = None  # pages whose URLs have no pattern
        self._read_last = 0  # after how many pages the last one of those was read
        self._bytes_read = 0  # bytes of those that were read without doubt
        self._doubted = 0  # how many of those have to say something new before most are not read
        self._met: dict[int, None] | None = None  # digests of texts, in mode "all" alone

    def __len__(self) -> int:
        return len(self._memories)

    def doubt(self) -> None:
        """Read the next pages whose URLs have no pattern, as an earlier owner of the party has doubted them."""
        self._doubted = _DOUBTED

    def read(self, of: FetchedPage, links: PageLinks) -> Fingerprint | None:
        """Read of a page's text what is to be compared, None: nothing; changes nothing, so needs no turn."""
        mode = self._tally.rules.near_duplicates
        if mode != "doubt":
            return fingerprint_of(links.page, links.is_xml) if mode == "all" else None
        group = self._group(of)
        if group is None:
            return None
        if group is NAMES:
            return fingerprint_of(links.page, links.is_xml) if self._reads(of.url, links) else None
        memory = self._memories.get(group) or TextMemory()
        skeleton = None if memory.in_doubt else skeleton_of(links.page)
        if memory.wants_words(skeleton, self._can_be_capped(group)) or of.url == self._generations.line.next:
            return fingerprint_of(links.page, links.is_xml, skeleton)
        return None if skeleton is None else Fingerprint(skeleton)

    def _reads(self, url: str, links: PageLinks) -> bool:
        """Tell whether the words of a page are read whose URL has no pattern of use."""
        if url == self._generations.line.next:
            return True
        if not links.hrefs:
            return False
        if self._doubted:
            unread = self._tally.pages - self._read_last
            return len(links.page) <= _READ_IN_DOUBT * unread or self._tally.is_barren(self._generations.names)
        allowed = _READ_FIRST + _READ_A_PAGE * self._tally.pages
        return self._bytes_read + len(links.page) <= allowed or self._of_names is None

    def compare(self, of: FetchedPage, text: Fingerprint | None, exact: bool, page: bytes) -> Likeness:
        """Return whether a page is a near copy, and what it says."""
        if text is None and not of.group and self._classes.get(of.links) is None:
            return _NOT_COMPARED
        if self._tally.rules.near_duplicates == "off":
            return _NOT_COMPARED
        group = self._group(of)
        like = _NOT_COMPARED
        memory = self._memory_of(group)
        compared = text is not None and text.simhash != 0 and not exact
        if text is not None and compared:
            if memory is not None:
                like = memory.compare(of.url, text, page, of.hrefs)
            if group is NAMES:
                self._note_name(like, page)
            if self._tally.rules.near_duplicates == "all" and self._met_anywhere(text.digest):
                like = Likeness(near=True, says=Says.NOTHING, few=like.few)
        if memory is not None and group is not NAMES:  # which of those are read goes by their bytes
            skeleton = text.skeleton if text is not None else None
            memory.count(skeleton, compared, exact or like.says is not Says.NEW)
        return like

    def _note_name(self, like: Likeness, page: bytes) -> None:
        """Note that a page was read which may be made up by name, and what came of that."""
        if not self._doubted:
            self._bytes_read += len(page)
        self._read_last = self._tally.pages
        self._doubted = max(0, self._doubted - 1) if like.says is Says.NEW else _DOUBTED

    def _group(self, of: FetchedPage) -> str | LinkClass | None:
        """Return the group of pages among which a page's text is compared; None: there are too few of them."""
        if of.group:
            whole = self._yields.get(of.group)
            if whole is not None and whole.fetched >= _DOUBT:
                return of.group
        same_links = self._classes.get(of.links)
        if same_links is not None and same_links.pages >= _DOUBT:
            return same_links
        return NAMES if self._tally.pages >= _NAMES_FROM or of.url == self._generations.line.next else None

    def _can_be_capped(self, group: str | LinkClass) -> bool:
        """Tell whether a group has as many pages as are needed for a cap."""
        own = group.own if isinstance(group, LinkClass) else self._yields.get(group)
        return own is not None and own.fetched >= self._tally.rules.trap_pages

    def _memory_of(self, group: str | LinkClass | None) -> TextMemory | None:
        if group is None:
            return None
        if group is NAMES:
            self._of_names = self._of_names or TextMemory()
            return self._of_names
        memories = self._memories
        memory = memories.pop(group, None)
        if memory is None:
            memory = TextMemory()
        memories[group] = memory
        if len(memories) > _MEMORIES:
            del memories[next(iter(memories))]
        return memory

    def _met_anywhere(self, digest: int) -> bool:
        """Tell whether a page with just these words was met anywhere in the party; remember it."""
        met = self._met = {} if self._met is None else self._met
        if digest in met:
            return True
        met[digest] = None
        if len(met) > _TEXTS:
            del met[next(iter(met))]
        return False
