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
from scrawler.core.traps.likeness import Likeness, TextMemory
from scrawler.core.traps.lines import OPEN, Line, needed
from scrawler.core.traps.says import Says
from scrawler.core.traps.sources import Source, Sources, kind_of
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
_ENDLESS: Final = "made-up pages from "  # begins the pattern of what a line without an end began with
_NAMES: Final = "pages that say nothing new, found on such pages"  # the pattern of URLs that have none
_LITTLE_LEFT: Final = 255  # pages of a pattern that may say little each; some 45 more are fetched before a cap
_LITTLE_OF_NAMES: Final = 100  # ... of those whose URLs have no pattern, and that lead to several others
_MORE_LEFT: Final = 50  # so many pages of a party that say something new leave room for one more that says little
_NAMES_FROM: Final = 20  # pages of a party from which those are read whose URLs have no pattern
_READ_A_PAGE: Final = 128  # bytes of each that are read then: of large pages ever fewer are, all of very small ones
_READ_IN_DOUBT: Final = 4_096  # ... while the last ones leave doubt
_DOUBTED: Final = 8  # so many that say something new end the doubt
_FIRST: Final = 2  # ... and so many of the first ones
_BY_CHANCE: Final = 16  # new URLs of a page among which there may be one by chance that was named before
_UNKNOWN: Final = -1  # how many known links a page had that an earlier owner of the party has fetched
_TRIALS: Final = 2  # pages that are fetched of what a page led to, where a space of such pages is endless
_ESTABLISHED: Final = 5  # pages of a pattern, with which its URLs are judged by it alone
_ROWS: Final = 1_000  # capped URLs of a pattern that are listed all the same, so that each has a row


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

    @property
    def group(self) -> str:
        """Its kind: all queries of its path, or its own pattern; empty: nothing in it was folded."""
        return self.patterns.queries or self.patterns.own


_NOT_COMPARED: Final = Likeness(near=False, says=Says.NEW, few=False)
_NO_PAGE: Final = _Page("", (), Patterns("", ""), None)


class PartyTraps:
    """The yields of one party's patterns; guarded by the machine's turn, except `read_text`."""

    __slots__ = (
        "_classes",
        "_doubted",
        "_endless",
        "_has_early",
        "_last",
        "_led_to",
        "_line",
        "_memories",
        "_met",
        "_met_once",
        "_names",
        "_names_memory",
        "_new",
        "_page",
        "_pages",
        "_parent",
        "_read_last",
        "_restored",
        "_seed_id",
        "_sources",
        "_texts",
        "_unsettled",
        "_yields",
        "capping",
        "picking",
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
        self._met: tuple[_Page, LinkClass | None] = _NO_PAGE, None  # the page that was asked last, and its class
        self._sources = Sources()
        self._has_early = False  # whether some of its pages had links listed before they were counted
        self._page: Source | None = None  # the page whose links come next
        self._parent: Source | None = None  # the page that led to it
        self._unsettled = False  # whether that has still to count against its pattern
        self._pages = 0  # fetched here
        self._read_last = 0  # after how many of them the last one was read whose URL has no pattern
        self._doubted = _FIRST  # how many of those have to say something new before most are not read
        self._new = 0  # pages with a new word, as far as is known
        self._names = Yield(_NAMES, url_hash(_NAMES), rules.trap_pages)
        self._names_memory: TextMemory | None = None
        self._line = Line()
        self._endless: dict[bytes, Yield] = {}  # by the page with which a line without an end began
        self.capping = False  # whether anything is capped
        self.picking = False  # whether the page whose links come next may be one of a line
        for row in rows:
            restored = Yield(row.pattern, row.pattern_hash, rules.trap_pages, row)
            if row.pattern == _NAMES:
                self._names = restored
                self._doubted = _DOUBTED
            elif row.pattern.startswith(_ENDLESS):
                self._endless[restored.key] = restored
            elif row.pattern.startswith(_LINKS_AS):
                self._restored = self._restored or {}
                self._restored[restored.key] = restored
            else:
                self._yields[row.pattern] = restored
            self.capping = self.capping or bool(row.evidence)

    def recall(self, listed: list[tuple[str, bytes]], ahead: list[tuple[str, bytes]], sitemaps: Iterable[str]) -> None:
        """Find out anew, of URLs and what led to them, where lists and mazes are; those of lines are in `ahead`."""
        for sitemap in sitemaps:
            self.owners_list(url_hash(sitemap))
        named: dict[bytes, list[str]] = {}
        for url, referrer in (*listed, *ahead):
            named.setdefault(referrer, []).append(url)
        # A line begins below what is listed, and more is listed below a line.
        for url, referrer in (*listed, *ahead, *listed) if ahead else listed:
            urls = named.get(url_hash(url), ())
            if len(urls) >= OPEN:
                self._recall(url, referrer, urls)

    def _recall(self, url: str, referrer: bytes, urls: Sequence[str]) -> None:
        """Take a page that led to several new URLs for one that led to nothing else: a line will show it."""
        of, parent = patterns_of(url), self._sources.get(referrer)
        source = Source(url_hash(url), url, of.own, of.queries or of.own, found=bool(referrer), known=_UNKNOWN)
        source.note_new(urls)
        if parent is not None:
            source.open = parent.open + 1
            source.root = parent.root or (parent.key if parent.found else source.key)
        self._sources.add(source)

    @property
    def endless(self) -> str:
        """What showed that the pages of the party lead into an endless space; empty: they do not."""
        found = next(iter(self._endless.values()), self._names)
        return found.evidence

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
        if group is _NAMES:
            return fingerprint_of(links.page, links.is_xml) if self._reads(url, links) else None
        memory = self._memories.get(group) or TextMemory()
        skeleton = None if memory.in_doubt else skeleton_of(links.page)
        if memory.wants_words(skeleton, self._can_be_capped(group)) or url == self._line.next:
            return fingerprint_of(links.page, links.is_xml, skeleton)
        return None if skeleton is None else Fingerprint(skeleton)

    def _reads(self, url: str, links: PageLinks) -> bool:
        """Tell whether the words of a page are read whose URL has no pattern of use."""
        if url == self._line.next:
            return True
        if not links.hrefs:
            return False
        unread = self._pages - self._read_last
        if self._doubted:
            return len(links.page) <= _READ_IN_DOUBT * unread or self._barren(self._names)
        return len(links.page) <= _READ_A_PAGE * unread or self._names_memory is None

    def note(
        self,
        url: str,
        exact: bool,
        hrefs: Sequence[str] = (),
        text: Fingerprint | None = None,
        page: bytes = b"",
        key: bytes = b"",
        referrer: bytes = b"",
    ) -> Noted:
        """Count a fetched page; `exact` says that its payload is in the archive already.

        `key` is the hash of its URL, `referrer` that of the page that led to it.
        """
        if self._unsettled:
            self._settle()
        of = self._of(url, hrefs)
        like = self._compare(url, of, text, exact, page)
        says = Says.NOTHING if exact else like.says
        self._pages += 1
        self._new += says is Says.NEW
        if self._line.next:
            self._line.look(self._pages)
        source = self._parent = self._sources.get(referrer) if referrer else None
        self._page = self._source_of(of, key, source, says, bool(referrer))
        self._page.few, self._page.differs = like.few, like.differs
        self._note_kind(self._page, source, of.patterns, exact)
        same_links = self._class_of(of, hrefs) if hrefs else None
        parent = self._led_to.pop(hash(url), None) if self._led_to else None
        if parent is not None and parent is same_links and parent.own is not None:
            parent.own.count(exact, says is Says.NOTHING)
            parent.own.weigh(parent.own.allows(says, self._allowance(_LITTLE_LEFT)))
            self._cap_low(parent.own, self.rules.trap_pages)
        self._last = _NO_PAGE  # its links are let go of
        self._met = _NO_PAGE, None
        return Noted(like.near, same_links)

    def _source_of(self, of: _Page, key: bytes, source: Source | None, says: Says, found: bool) -> Source:
        """Return what is known of a page before its links are judged."""
        group = of.group
        made = Source(key, of.url, of.patterns.own, group, says, found)
        before = self._sources.get(key) if self._has_early else None
        if before is not None and before.key == key:  # some of its links were listed before it was counted
            made.lists, made.some = before.lists, before.some
        self.picking = False
        if source is None:
            return made
        made.from_list = source.names_all or (bool(source.lists or source.some) and self._holds(source, group))
        if not made.from_list:
            made.grown = (group != "" and group == source.group) or source.makes
        if found and (source.open or self._line.next or says is not Says.NEW):
            self.picking = of.url == self._line.next or self._may_begin(source, says)
        return made

    def _may_begin(self, source: Source, says: Says) -> bool:
        """Tell whether a line may begin with a page that `source` led to."""
        if not self._line.may_begin(self._pages):
            return False
        if source.open >= (1 if self._endless else OPEN):
            return True
        return says is not Says.NEW and self._barren(self._names)

    def _note_kind(self, page: Source, source: Source | None, of: Patterns, exact: bool) -> None:
        """Count a page for its pattern, and for what led to it."""
        if of.own:
            self._yield(of.own).count(exact, page.says is Says.NOTHING)
            if of.queries:
                self._yield(of.queries).count(exact, page.says is Says.NOTHING)
        if source is not None:
            if source.waits and source.group != page.group:
                self._judge(source, page.says)
            if page.says is Says.NEW:
                source.bright = True
                if (source.nothing > 0 or source.open > 0) and not self._established(of.own):
                    self._names.weigh(is_new=True)
        if page.from_list and source is not None and not source.names(page.group):
            self._yield(page.group).lend(page.says, exact)
        if not of.own or page.from_list:
            return
        if source is not None and page.differs and source.group == page.group and source.new == 1:
            page.in_chain = True
            self._weigh(page, max(page.says, Says.LITTLE))
            return
        if page.says is Says.NOTHING and page.key:
            self._unsettled = True  # what it leads to may be more
        else:
            self._weigh(page, page.says)

    def _holds(self, source: Source, group: str) -> bool:
        """Tell whether a page is a list of a kind to its end, as far as it goes if it is made up itself."""
        return source.names(group) or (source.may_list(group) and self._lends(group))

    def _lends(self, group: str) -> bool:
        found = self._yields.get(group)
        return found is None or found.lends

    def _judge(self, source: Source, says: Says) -> None:
        """Let a page count by the first of what it leads to, and once more if another of it is new."""
        if says is not Says.NOTHING:
            source.waits = False
            self._weigh(source, says)
        elif not source.judged:
            source.judged = True
            self._weigh(source, says)

    def _settle(self) -> None:
        """Let the last page count against its pattern, if nothing that it leads to may speak for it."""
        if self._unsettled and self._page is not None:
            self._weigh(self._page, Says.NOTHING)
        self._unsettled = False

    def _weigh(self, page: Source, says: Says) -> None:
        """Let a page count for or against a cap of its pattern."""
        own, least = self._yield(page.own), self.rules.trap_pages
        group = own if page.group == page.own else self._yield(page.group)
        if says is Says.NEW:
            own.weigh(is_new=True)
            if group is not own:
                group.weigh(is_new=True)
            return
        is_new = group.allows(says, self._allowance(_LITTLE_LEFT), page.in_chain)
        own.weigh(is_new)
        if group is not own:
            group.weigh(is_new)
            if self._barren(group):
                least = min(_PROBATION, least)
        if not is_new:
            self._cap_low(own, least)

    def _allowance(self, pages: int) -> int:
        """Return how many pages may say little, which grows with those that have more to say."""
        return pages + self._new // _MORE_LEFT

    def _compare(self, url: str, of: _Page, text: Fingerprint | None, exact: bool, page: bytes) -> Likeness:
        """Return whether a page is a near copy, and what it says."""
        if self.rules.near_duplicates == "off" or (text is None and not self._is_counted(of)):
            return _NOT_COMPARED
        group = self._group(of)
        like = _NOT_COMPARED
        memory = self._memory_of(group)
        compared = text is not None and text.simhash != 0 and not exact
        if text is not None and compared:
            if memory is not None:
                like = memory.compare(url, text, page, of.hrefs)
                if group is _NAMES:
                    self._read_last = self._pages
                    self._doubted = max(0, self._doubted - 1) if like.says is Says.NEW else _DOUBTED
            if self.rules.near_duplicates == "all" and self._met_anywhere(text.digest):
                like = Likeness(near=True, says=Says.NOTHING, few=like.few)
        if memory is not None and group is not _NAMES:  # which of those are read goes by their number
            skeleton = text.skeleton if text is not None else None
            memory.count(skeleton, compared, exact or like.says is not Says.NEW)
        return like

    def _is_counted(self, of: _Page) -> bool:
        """Tell whether a page may have a group that counts what is not read as well."""
        return bool(of.patterns.own) or of.links in self._classes

    def _group(self, of: _Page) -> str | LinkClass | None:
        """Return the group of pages among which a page's text is compared; None: there are too few of them."""
        if of.patterns.own:
            group = of.patterns.queries or of.patterns.own
            whole = self._yields.get(group)
            if whole is not None and whole.fetched >= _DOUBT:
                return group
        same_links = self._classes.get(of.links) if of.links is not None else None
        if same_links is not None and same_links.pages >= _DOUBT:
            return same_links
        return _NAMES if self._pages >= _NAMES_FROM or of.url == self._line.next else None

    def _can_be_capped(self, group: str | LinkClass) -> bool:
        """Tell whether a group has as many pages as are needed for a cap."""
        own = group.own if isinstance(group, LinkClass) else self._yields.get(group)
        return own is not None and own.fetched >= self.rules.trap_pages

    def _memory_of(self, group: str | LinkClass | None) -> TextMemory | None:
        if group is None:
            return None
        if group is _NAMES:
            self._names_memory = self._names_memory or TextMemory()
            return self._names_memory
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
        if of.links is None:
            return None
        met = self._met  # asked twice of each page
        if met[0] is of:
            return met[1]
        known = self._classes.get(of.links)
        if known is None and self._met_once.remove(of.links):
            known = self._new_class(of, of.links)
        self._met = of, known
        return known

    def _new_class(self, of: _Page, links: int) -> LinkClass:
        if len(self._classes) >= _CLASSES:
            kept = sorted(self._classes.items(), key=lambda item: -item[1].pages)[: _CLASSES // 2]
            self._classes = dict(kept)
        found = self._classes[links] = LinkClass(of.url)
        return found

    # -- caps ----------------------------------------------------------------------------------------------

    def refusal(self, url: str, referrer: bytes = b"") -> str:
        """Return why a listed URL is not to be asked for; empty: it may be. `referrer` is the page that led to it."""
        self._settle()
        source = self._sources.get(referrer)
        if source is not None and source.names_all:
            return ""
        parent = self._led_to.get(hash(url))
        capped = (parent.capped if parent is not None else None) or self._capping(url, source)
        if capped is None:
            return ""
        self._led_to.pop(hash(url), None)
        capped.refuse()
        if source is not None and source.waits:
            self._judge(source, Says.NOTHING)
        return capped.evidence

    def _capping(self, url: str, source: Source | None) -> Yield | None:
        """Return what caps a URL that a page led to."""
        of = patterns_of(url)
        if source is not None:
            if source.open > 1 and source.root in self._endless:
                return self._endless[source.root]
            if self._names.evidence and self._leads_nowhere(source) and not self._established(of.own):
                return self._names
        found = self._yields.get(of.own) if of.own else None
        if found is None or not found.evidence:
            return None
        return None if source is not None and self._holds(source, of.queries or of.own) else found

    @staticmethod
    def _leads_nowhere(source: Source) -> bool:
        """Tell whether a page says nothing new, or led to pages alone that say nothing new and lead on."""
        return source.nothing > 0 or (source.dull >= _TRIALS and not source.bright)

    def _established(self, own: str) -> bool:
        """Tell whether a pattern has pages enough for its URLs to be judged by it alone."""
        found = self._yields.get(own) if own else None
        return found is not None and found.fetched >= _ESTABLISHED

    def to_list(self, urls: list[str], seen: SeenFilter, source: LinkClass | None, key: bytes = b"") -> list[str]:
        """Return the links of a page without those that are capped; what is listed already is not judged.

        The first ones that are capped are listed all the same, and refused when their turn comes: so they have rows.
        """
        links = source.capped if source is not None else None
        page = self._page if self._page is not None and self._page.key == key else self._sources.get(key)
        if page is not None and page.names_all:
            return urls
        held: dict[str, Yield] = {}
        for url in urls:
            capped = None if url in seen else links or self._capped_pattern(url)
            if capped is not None and capped.refused >= _ROWS:
                held[url] = capped
        if held and page is not None:
            page.note_new([url for url in urls if url not in seen])
            held = {url: capped for url, capped in held.items() if links or not self._holds(page, kind_of(url))}
        for capped in held.values():
            capped.refuse()
        return [url for url in urls if url not in held] if held else urls

    def _capped_pattern(self, url: str) -> Yield | None:
        own = patterns_of(url).own
        found = self._yields.get(own) if own else None
        return found if found is not None and found.evidence else None

    # -- what pages lead to --------------------------------------------------------------------------------

    def pick(self, urls: list[str], seen: SeenFilter, key: bytes, listed: int) -> str:
        """Return which of a page's links is fetched before all others, as a line goes on with it; empty: none.

        `listed` of its links are known to be listed, and stand in `urls` no more.
        """
        page = self._page
        self.picking = False
        if page is None or page.key != key:
            return ""
        new = [url for url in urls if url not in seen]
        self._note_open(page, len(new), listed + len(urls) - len(new))
        on_line = page.url == self._line.next
        says_little = bool(new) and page.says is not Says.NEW
        if not page.open and not says_little:
            if on_line:
                self._line.end(self._pages, is_endless=False)
            return ""
        begins = page.open > (1 if self._endless else OPEN) or (says_little and self._barren(self._names))
        if page.root in self._endless or not (on_line or (begins and self._line.may_begin(self._pages))):
            return ""
        picked = self._line.take(page, new, self._pages)
        return "" if self._ends_line(page) else picked

    def _ends_line(self, page: Source) -> bool:
        """Cap what a line has shown to be endless; returns whether it has."""
        line = self._line
        if line.is_barren and self._barren(self._names) and not self._names.evidence:
            self._names.cap()
            self.capping = True
        elif line.is_endless(needed(self.rules.trap_pages, bool(self._endless))):
            self._cap_root(page)
        else:
            return False
        line.end(self._pages, is_endless=True)
        return True

    def at_deepest(self, key: bytes) -> None:
        """Note that the links of a page are left out for a limit of depth."""
        page = self._page
        if page is None or page.key != key or page.url != self._line.next:
            return
        self._line.stop()
        self._ends_line(page)

    def _cap_root(self, page: Source) -> None:
        root = self._sources.get(page.root)
        url = root.url if root is not None else page.url
        pattern = _ENDLESS + url
        capped = Yield(pattern, page.root, self.rules.trap_pages)
        capped.cap_as("each leads to others that nobody has named before, and next to no word is new", self._pages)
        self._endless[page.root] = capped
        self.capping = True

    def listed(
        self, new: Sequence[str], known: int = 0, source: LinkClass | None = None, key: bytes = b"", url: str = ""
    ) -> None:
        """Note which URLs a page was the first to lead to, and how many links it has to what was listed before."""
        if source is not None:
            for one in new:
                if len(self._led_to) >= _LED_TO:
                    del self._led_to[next(iter(self._led_to))]
                self._led_to[hash(one)] = source
        page = self._page
        if page is None or page.key != key:
            if new and key:
                self._note_early(new, key, url)
            return
        if not new:
            return
        page.new += len(new)
        page.note_new(new)
        if self._unsettled and any(self._holds(page, group) for group in (*page.lists, *page.some)):
            self._weigh(page, Says.LITTLE)
            self._unsettled = False
        if not page.open:
            self._note_open(page, len(new), known)
        parent_nothing = self._note_nothing(page, len(new))
        if self._unsettled and any(kind_of(one) != page.group for one in new):
            page.waits = True
            self._unsettled = False
        if page.own or page.lists or page.open or parent_nothing or len(new) >= OPEN:
            self._sources.add(page)

    def _note_early(self, new: Sequence[str], key: bytes, url: str) -> None:
        """Note what a page leads to that is not counted yet, or is none."""
        known = self._sources.get(key)
        if known is None or known.key != key:
            of = patterns_of(url)
            known = Source(key, url, of.own, of.queries or of.own)
        known.note_new(new)
        self._sources.add(known)
        self._has_early = True

    def owners_list(self, key: bytes) -> None:
        """Note that what a document names is a list of the site's owner."""
        known = self._sources.get(key)
        if known is None or not known.names_all:
            self._sources.add(Source(key, "", names_all=True))

    def pass_on(self, key: bytes, referrer: bytes) -> None:
        """Note a redirect: what it leads to was found where it was."""
        self._sources.pass_on(key, referrer)

    def _note_open(self, page: Source, new: int, known: int) -> None:
        """Note whether a page leads to new URLs alone, but for what the page that led to it leads to as well."""
        page.known = known
        parent = self._parent
        if parent is None:
            return
        page.root = parent.root
        differs = parent.known != _UNKNOWN and abs(known - parent.known) > 1 + new // _BY_CHANCE
        if new < OPEN or differs:
            return
        page.open = parent.open + 1
        if not page.root:
            page.root = parent.key if parent.found else page.key

    def _note_nothing(self, page: Source, new: int) -> bool:
        """Note how many generations of pages have said nothing new, and led on; returns whether there are any."""
        parent = self._parent
        if page.says is Says.NEW:
            return False
        page.nothing = 1
        if parent is None:
            return True
        page.nothing += parent.nothing
        parent.dull += 1
        if (parent.nothing > 0 or page.open > 1) and not self._established(page.own):
            self._names.count(exact=False, near=True)
            # What leads to one page is a chain, which is real more often than what leads to several.
            allowance = _LITTLE_OF_NAMES if new >= OPEN else _LITTLE_LEFT
            is_new = self._names.allows(page.says, self._allowance(allowance))
            self._names.weigh(is_new)
        return True

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
        self._settle()
        return tuple(row for found in self._all() if found.changed and (row := found.row(self._seed_id)) is not None)

    def _all(self) -> Iterator[Yield]:
        yield from self._yields.values()
        yield from self._endless.values()
        yield self._names
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
