"""Traps: which patterns of a party's URLs have brought nothing new for so long that no more of them is fetched.

A fetched page was new, an exact duplicate (its payload is in the site's archive), or says nothing new (`likeness`).
That is counted for the URL's own pattern, where something in it was folded, and the pattern is capped when too few of
its last pages were new. Where all queries of a path together have lately brought nothing, each set of parameters has
fewer pages to show that it does.

URLs made of words fold into nothing. But a site that has the same answer for every path, or holds itself again in a
folder, lives on relative links: pages with the same links, as written, lead to pages with these very links, for ever.
Such links are capped when too few of the last pages that led to their like were new. Copies that are only many, as
translations that are not done yet, lead to other pages, and are never capped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final

from scrawler.core.rules import CrawlRules
from scrawler.core.seen import SeenFilter
from scrawler.core.traps.hashes import PackedHashes
from scrawler.core.traps.likeness import TextMemory
from scrawler.core.traps.yields import Yield
from scrawler.extract.links import PageLinks
from scrawler.extract.simhash import Fingerprint, fingerprint_of, skeleton_of
from scrawler.model.rows import PatternRow
from scrawler.model.terms import url_hash
from scrawler.tuples.classes import NamedTuple, dataclass
from scrawler.tuples.quick import quick
from scrawler.urls.hrefs import in_bytes
from scrawler.urls.patterns import Patterns, patterns_of

_DOUBT = 5  # fetched pages of a pattern, or with the same links, after which their texts are looked at
_PROBATION = 10  # pages in which a set of parameters has to show something new where others have not

_PATTERNS = 1_000  # so many patterns a party remembers
_MEMORIES = 32  # groups of pages whose texts it remembers
_CLASSES: Final = 512  # sets of links that it remembers
_LED_TO = 4_096  # URLs for which it remembers on which kind of page they were found
_TEXTS = 4_096  # of its pages whose words it remembers, in mode "all"
_LINKS_AS: Final = "links as on "  # begins the pattern of pages with the same links


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


@quick
class Noted(NamedTuple):
    """What is to be done about a page."""

    near: bool  # whether the page is a near copy of an earlier one
    source: LinkClass | None  # the kind of page from which its links come; None for a page unlike others


@quick
class _Page(NamedTuple):
    """What is known of a fetched page by its URL and its links."""

    url: str
    hrefs: Sequence[str]
    patterns: Patterns
    links: int | None  # a hash of them as written; None: it has none


_NO_PAGE: Final = _Page("", (), Patterns("", ""), None)


class PartyTraps:
    """The yields of one party's patterns; guarded by the machine's turn, except `read_text`."""

    __slots__ = (
        "_classes",
        "_last",
        "_led_to",
        "_memories",
        "_met_once",
        "_restored",
        "_seed_id",
        "_texts",
        "_yields",
        "capping",
        "rules",
    )

    def __init__(self, seed_id: int, rules: CrawlRules, rows: Iterable[PatternRow] = ()) -> None:
        """Begin, or go on where `rows` say that an earlier owner of the party was."""
        self._seed_id = seed_id
        self.rules = rules
        self._yields: dict[str, Yield] = {}
        self._memories: dict[object, TextMemory] = {}  # the one that was asked last stands last
        self._classes: dict[int, LinkClass] = {}  # by a hash of the links
        self._met_once = PackedHashes()  # of links that one page has had
        self._led_to: dict[int, LinkClass] = {}  # hashes of listed URLs -> on which kind of page they stand
        self._restored: dict[bytes, Yield] | None = None  # those of links, until pages with these links are met again
        self._texts: dict[int, None] | None = None  # in mode "all" alone
        self._last = _NO_PAGE
        self.capping = False  # whether anything is capped
        for row in rows:
            restored = Yield(row.pattern, row.pattern_hash, rules.trap_pages, row)
            if row.pattern.startswith(_LINKS_AS):
                self._restored = self._restored or {}
                self._restored[restored.key] = restored
            else:
                self._yields[row.pattern] = restored
            self.capping = self.capping or bool(row.evidence)

    # -- pages ---------------------------------------------------------------------------------------------

    def read_text(self, url: str, links: PageLinks) -> Fingerprint | None:
        """Read of a page's text what is to be compared, None: nothing; changes nothing, so needs no turn."""
        mode = self.rules.near_duplicates
        if not links.page:
            return None
        if mode != "doubt":
            return fingerprint_of(links.page, links.is_xml) if mode == "all" else None
        group = self._group(self._of(url, links.hrefs))
        if group is None:
            return None
        memory = self._memories.get(group) or TextMemory()
        skeleton = None if memory.in_doubt else skeleton_of(links.page)
        if memory.wants_words(skeleton, self._can_be_capped(group)):
            return fingerprint_of(links.page, links.is_xml, skeleton)
        return None if skeleton is None else Fingerprint(skeleton)

    def note(self, url: str, exact: bool, hrefs: Sequence[str] = (), text: Fingerprint | None = None) -> Noted:
        """Count a fetched page; `exact` says that its payload is in the archive already."""
        of = self._of(url, hrefs)
        near, nothing_new = self._compare(url, of, text, exact)
        if of.patterns.own:
            self._note_pattern(of.patterns, exact, nothing_new)
        source = self._class_of(of, hrefs) if hrefs else None
        parent = self._led_to.pop(hash(url), None) if self._led_to else None
        if parent is not None and parent is source and parent.own is not None:
            parent.own.note(exact, nothing_new)
            self._cap_low(parent.own, self.rules.trap_pages)
        self._last = _NO_PAGE  # its links are let go of
        return Noted(near, source)

    def _note_pattern(self, of: Patterns, exact: bool, nothing_new: bool) -> None:
        own, needed = self._yield(of.own), self.rules.trap_pages
        own.note(exact, nothing_new)
        if of.queries:
            queries = self._yield(of.queries)
            queries.note(exact, nothing_new)
            if self._barren(queries):
                needed = min(_PROBATION, needed)
        if exact or nothing_new:
            self._cap_low(own, needed)

    def _compare(self, url: str, of: _Page, text: Fingerprint | None, exact: bool) -> tuple[bool, bool]:
        """Return whether a page is a near copy, and whether it says nothing new."""
        if self.rules.near_duplicates == "off":
            return False, False
        group = self._group(of)
        near = nothing_new = False
        memory = self._memory(group) if group is not None else None
        compared = text is not None and text.simhash != 0 and not exact
        if text is not None and compared:
            if memory is not None:
                near, nothing_new = memory.compare(url, text)
            if self.rules.near_duplicates == "all" and self._met(text.digest):
                near = nothing_new = True
        if memory is not None:
            memory.count(text.skeleton if text is not None else None, compared, exact or nothing_new)
        return near, nothing_new

    def _group(self, of: _Page) -> str | LinkClass | None:
        """Return the group of pages among which a page's text is compared; None: there are too few of them."""
        if of.patterns.own:
            group = of.patterns.queries or of.patterns.own
            whole = self._yields.get(group)
            if whole is not None and whole.fetched >= _DOUBT:
                return group
        same_links = self._classes.get(of.links) if of.links is not None else None
        return same_links if same_links is not None and same_links.pages >= _DOUBT else None

    def _can_be_capped(self, group: str | LinkClass) -> bool:
        """Tell whether a group has as many pages as are needed for a cap."""
        own = group.own if isinstance(group, LinkClass) else self._yields.get(group)
        return own is not None and own.fetched >= self.rules.trap_pages

    def _memory(self, group: object) -> TextMemory:
        memories = self._memories
        memory = memories.pop(group) if group in memories else TextMemory()
        memories[group] = memory
        if len(memories) > _MEMORIES:
            del memories[next(iter(memories))]
        return memory

    def _met(self, digest: int) -> bool:
        """Tell whether a page with just these words was met anywhere in the party; remember it."""
        texts = self._texts = {} if self._texts is None else self._texts
        if digest in texts:
            return True
        texts[digest] = None
        if len(texts) > _TEXTS:
            del texts[next(iter(texts))]
        return False

    def known_source(self, url: str, hrefs: Sequence[str]) -> LinkClass | None:
        """Return the pages that have the links of a page which is not counted yet, if there are any."""
        return self._known_class(self._of(url, hrefs))

    def _class_of(self, of: _Page, hrefs: Sequence[str]) -> LinkClass | None:
        """Return the pages that have these links, if this is not the first of them."""
        assert of.links is not None
        found = self._known_class(of)
        if found is None:
            if len(self._met_once) >= _CLASSES:
                self._met_once.keep_first(_CLASSES // 2)
            self._met_once.append(of.links)
            return None
        found.pages += 1
        if found.own is None:
            durable = blake2b("\n".join(hrefs).encode("utf-8", "surrogatepass"), digest_size=16).digest()
            restored = None if self._restored is None else self._restored.pop(durable, None)
            found.own = restored or Yield(_LINKS_AS + found.url, durable, self.rules.trap_pages)
        return found

    def _known_class(self, of: _Page) -> LinkClass | None:
        """Return the pages that have the links of a page; an object is made of them with the second one."""
        if of.links is None or not self._met_once.remove(of.links):
            return self._classes.get(of.links) if of.links is not None else None
        if len(self._classes) >= _CLASSES:
            kept = sorted(self._classes.items(), key=lambda item: -item[1].pages)[: _CLASSES // 2]
            self._classes = dict(kept)
        found = self._classes[of.links] = LinkClass(of.url)
        return found

    # -- caps ----------------------------------------------------------------------------------------------

    def refusal(self, url: str) -> str:
        """Return why a listed URL is not to be asked for; empty: it may be."""
        parent = self._led_to.get(hash(url))
        capped = (parent.capped if parent is not None else None) or self._capping(url)
        if capped is None:
            return ""
        self._led_to.pop(hash(url), None)
        capped.refuse()
        return capped.evidence

    def to_list(self, urls: list[str], seen: SeenFilter, source: LinkClass | None) -> list[str]:
        """Return the links of a page without those that are capped; what is listed already is not judged."""
        links = source.capped if source is not None else None
        kept = []
        for url in urls:
            capped = None if url in seen else links or self._capping(url)
            if capped is None:
                kept.append(url)
            else:
                capped.refuse()
        return kept

    def listed(self, urls: Iterable[str], source: LinkClass) -> None:
        """Remember on which kind of page URLs stand."""
        for url in urls:
            if len(self._led_to) >= _LED_TO:
                del self._led_to[next(iter(self._led_to))]
            self._led_to[hash(url)] = source

    def _capping(self, url: str) -> Yield | None:
        own = patterns_of(url).own
        found = self._yields.get(own) if own else None
        return found if found is not None and found.evidence else None

    def _cap_low(self, found: Yield, needed: int) -> None:
        if found.recent >= needed and found.share < self.rules.trap_yield and not found.evidence:
            found.cap()
            self.capping = True

    def _barren(self, found: Yield) -> bool:
        """Whether a pattern has lately brought next to nothing new."""
        return found.recent >= self.rules.trap_pages and found.share < self.rules.trap_yield

    # -- bookkeeping ---------------------------------------------------------------------------------------

    def take_rows(self) -> tuple[PatternRow, ...]:
        """Return the rows of what has changed since the last time."""
        return tuple(row for found in self._all() if found.changed and (row := found.row(self._seed_id)) is not None)

    def _all(self) -> Iterator[Yield]:
        yield from self._yields.values()
        yield from (found.own for found in self._classes.values() if found.own is not None)

    def _of(self, url: str, hrefs: Sequence[str]) -> _Page:
        last = self._last
        if last.url != url or last.hrefs is not hrefs:
            last = self._last = _Page(url, hrefs, patterns_of(url), _hash_of(hrefs) if hrefs else None)
        return last

    def _yield(self, pattern: str) -> Yield:
        found = self._yields.get(pattern)
        if found is None:
            if len(self._yields) >= _PATTERNS:
                self._forget_small()
            found = self._yields[pattern] = Yield(pattern, url_hash(pattern), self.rules.trap_pages)
        return found

    def _forget_small(self) -> None:
        """Forget half of the patterns, those with the fewest pages; what is capped stays."""
        kept = sorted(self._yields.values(), key=lambda one: (not one.evidence, -one.fetched))[: _PATTERNS // 2]
        self._yields = {one.pattern: one for one in kept}


def _hash_of(hrefs: Sequence[str]) -> int:
    joined = in_bytes(hrefs)
    return hash(tuple(hrefs)) if joined is None else hash(joined)


def pattern_of(url: str, rows: Iterable[PatternRow]) -> PatternRow | None:
    """Return what a seed's stored patterns say about a URL: its own pattern, else that of all queries of its path."""
    of = patterns_of(url)
    known = {row.pattern: row for row in rows}
    return known.get(of.own) or known.get(of.queries)
