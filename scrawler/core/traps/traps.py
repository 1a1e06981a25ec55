"""Traps: which URLs of a party have brought nothing new for so long that no more of their kind is fetched.

A fetched page was new, an exact duplicate (its payload is in the archive of its site), or says nothing new (`texts`).
That is counted for its pattern (`patterns`), for pages with the same links (`alike`), and for the generations of pages
that lead from one to the next (`generations`). What a list names is held by none of them (`sources`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from scrawler.core.rules import CrawlRules
from scrawler.core.seen import SeenFilter
from scrawler.core.traps.alike import LINKS_AS, LinkClass, LinkClasses
from scrawler.core.traps.fetched import NO_PAGE, FetchedPage, fetched_page
from scrawler.core.traps.generations import ENDLESS, NAMES, Generations
from scrawler.core.traps.lines import OPEN
from scrawler.core.traps.patterns import PatternYields
from scrawler.core.traps.says import Says
from scrawler.core.traps.sources import Source, Sources, kind_of
from scrawler.core.traps.tally import Tally
from scrawler.core.traps.texts import Texts
from scrawler.core.traps.yields import Yield
from scrawler.extract.links import PageLinks
from scrawler.extract.simhash import Fingerprint
from scrawler.model.rows import PatternRow
from scrawler.model.terms import url_hash
from scrawler.urls.patterns import patterns_of

_ROWS: Final = 1_000  # capped URLs of a pattern that are listed all the same, so that each has a row


class Noted(NamedTuple):
    """What is to be done about a page."""

    near: bool  # whether the page is a near copy of an earlier one
    source: LinkClass | None  # the kind of page from which its links come; None for a page unlike others


class PartyTraps:
    """The traps of one party; guarded by the machine's turn, except `read_text`."""

    __slots__ = (
        "_classes",
        "_generations",
        "_has_early",
        "_last",
        "_page",
        "_parent",
        "_passing",
        "_seed_id",
        "_sources",
        "_tally",
        "_texts",
        "_unsettled",
        "_yields",
        "picking",
    )

    def __init__(self, seed_id: int, rules: CrawlRules, rows: Iterable[PatternRow] = ()) -> None:
        """Begin, or go on where `rows` say that an earlier owner of the party was."""
        self._seed_id = seed_id
        self._tally = Tally(rules)
        self._sources = Sources()
        self._yields = PatternYields(self._tally)
        self._classes = LinkClasses(self._tally)
        self._generations = Generations(self._tally, self._yields, self._sources)
        self._texts = Texts(self._tally, self._yields, self._classes, self._generations)
        self._last = NO_PAGE
        self._has_early = False  # whether some of its pages had links listed before they were counted
        self._page: Source | None = None  # the page whose links come next
        self._parent: Source | None = None  # the page that led to it
        self._passing = b""  # the page of a line that redirects, until its target is listed
        self._unsettled = False  # whether that page has still to count against its pattern
        self.picking = False  # whether the page whose links come next may be one of a line
        for row in rows:
            self._restore(Yield(row.pattern, row.pattern_hash, rules.trap_pages, row))

    def _restore(self, found: Yield) -> None:
        if found.pattern == NAMES:
            self._generations.restore(found)
            self._texts.doubt()
        elif found.pattern.startswith(ENDLESS):
            self._generations.restore(found)
        elif found.pattern.startswith(LINKS_AS):
            self._classes.restore(found)
        else:
            self._yields.restore(found)
        self._tally.capping = self._tally.capping or bool(found.evidence)

    def recall(
        self,
        listed: list[tuple[str, bytes]],
        ahead: list[tuple[str, bytes]],
        sitemaps: Iterable[str],
        redirects: Collection[bytes] = (),
    ) -> None:
        """Find out anew, of URLs and what led to them, where lists and mazes are; those of lines are in `ahead`.

        `redirects` has the hashes of the URLs that redirect.
        """
        for sitemap in sitemaps:
            self.owners_list(url_hash(sitemap))
        self._generations.recall(listed, ahead, redirects)

    @property
    def rules(self) -> CrawlRules:
        """The rules of the site, which may change."""
        return self._tally.rules

    @rules.setter
    def rules(self, rules: CrawlRules) -> None:
        self._tally.rules = rules

    @property
    def capping(self) -> bool:
        """Whether anything is capped."""
        return self._tally.capping

    @property
    def endless(self) -> str:
        """What showed that the pages of the party lead into an endless space; empty: they do not."""
        return self._generations.endless

    # -- pages ---------------------------------------------------------------------------------------------

    def read_text(self, url: str, links: PageLinks) -> Fingerprint | None:
        """Read of a page's text what is to be compared, None: nothing; changes nothing, so needs no turn."""
        return self._texts.read(self._of(url, links.hrefs), links) if links.page else None

    def known_source(self, url: str, hrefs: Sequence[str]) -> LinkClass | None:
        """Return the pages that have the links of a page which is not counted yet, if there are any."""
        return self._classes.known(self._of(url, hrefs))

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
        tally = self._tally
        like = self._texts.compare(of, text, exact, page)
        says = Says.NOTHING if exact else like.says
        tally.pages += 1
        tally.new += says is Says.NEW
        if self._generations.line.next:
            self._generations.line.look(tally.pages)
        source = self._parent = self._sources.get(referrer) if referrer else None
        made = self._page = self._source_of(of, key, source, says, bool(referrer))
        made.few = like.few
        made.differs = like.differs
        self.picking = False
        if source is not None and (source.open or says is not Says.NEW or self._generations.line.next):
            self.picking = made.found and self._generations.may_be_of_line(made, source)
        self._note_kind(made, source, of, exact)
        same_links = self._classes.count(of, exact, says)
        self._last = NO_PAGE  # its links are let go of
        return Noted(like.near, same_links)

    def _source_of(self, of: FetchedPage, key: bytes, source: Source | None, says: Says, found: bool) -> Source:
        """Return what is known of a page before its links are judged."""
        group = of.group
        made = Source(key, of.url, of.patterns.own, group, says, found)
        before = self._sources.get(key) if self._has_early else None
        if before is not None and before.key == key:  # some of its links were listed before it was counted
            made.lists = before.lists
            made.some = before.some
        if source is not None:
            made.from_list = source.names(group)
            if not made.from_list:
                made.on_credit = made.from_list = self._yields.holds(source, group)
            if not made.from_list:
                made.grown = (group != "" and group == source.group) or source.makes
        return made

    def _note_kind(self, page: Source, source: Source | None, of: FetchedPage, exact: bool) -> None:
        """Count a page for its pattern, and for what led to it."""
        if page.own:
            self._yields.count(of.patterns, exact, page.says is Says.NOTHING)
        if source is not None:
            if source.waits and source.group != page.group:
                self._yields.judge(source, page.says)
            if page.says is Says.NEW:
                self._generations.note_new(source, page.own)
            if page.on_credit:
                self._yields.lend(page, exact)
        if not page.own or page.from_list:
            return
        if source is not None and page.differs and source.group == page.group and source.new == 1:
            page.in_chain = True
            self._yields.weigh(page, max(page.says, Says.LITTLE))
        elif page.says is Says.NOTHING and page.key:
            self._unsettled = True  # what it leads to may be more
        else:
            self._yields.weigh(page, page.says)

    def _settle(self) -> None:
        """Let the last page count against its pattern, if nothing that it leads to may speak for it."""
        if self._unsettled and self._page is not None:
            self._yields.weigh(self._page, Says.NOTHING)
        self._unsettled = False

    # -- caps ----------------------------------------------------------------------------------------------

    def refusal(self, url: str, referrer: bytes = b"") -> str:
        """Return why a listed URL is not to be asked for; empty: it may be. `referrer` is the page that led to it."""
        self._settle()
        source = self._sources.get(referrer)
        if source is not None and source.names_all:
            return ""
        capped = self._classes.capped(url) or self._capping(url, source)
        if capped is None:
            return ""
        self._classes.forget(url)
        capped.refuse()
        if source is not None and source.waits:
            self._yields.judge(source, Says.NOTHING)
        return capped.evidence

    def _capping(self, url: str, source: Source | None) -> Yield | None:
        """Return what caps a URL that a page led to."""
        of = patterns_of(url)
        if source is not None and (capped := self._generations.capping(of.own, source)) is not None:
            return capped
        found = self._yields.capped(of.own)
        if found is not None and source is not None and self._yields.holds(source, of.queries or of.own):
            return None
        return found

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
            capped = None if url in seen else links or self._yields.capped(patterns_of(url).own)
            if capped is not None and capped.refused >= _ROWS:
                held[url] = capped
        if held and page is not None:
            page.note_new([url for url in urls if url not in seen])
            held = {url: capped for url, capped in held.items() if links or not self._yields.holds(page, kind_of(url))}
        for capped in held.values():
            capped.refuse()
        return [url for url in urls if url not in held] if held else urls

    # -- what pages lead to --------------------------------------------------------------------------------

    def pick(self, urls: list[str], seen: SeenFilter, key: bytes, listed: int) -> str:
        """Return which of a page's links is fetched before all others, as a line goes on with it; empty: none.

        `listed` of its links are known to be listed, and stand in `urls` no more.
        """
        page = self._page
        self.picking = False
        if key == self._passing:
            return self._generations.line.pass_on([url for url in urls if url not in seen], self._tally.pages)
        if page is None or page.key != key:
            return ""
        return self._generations.pick(page, self._parent, urls, seen, listed)

    def at_deepest(self, key: bytes) -> None:
        """Note that the links of a page are left out for a limit of depth."""
        if self._page is not None and self._page.key == key:
            self._generations.at_deepest(self._page)

    def listed(
        self, new: Sequence[str], known: int = 0, source: LinkClass | None = None, key: bytes = b"", url: str = ""
    ) -> None:
        """Note which URLs a page was the first to lead to, and how many links it has to what was listed before."""
        if source is not None:
            self._classes.note_led(new, source)
        page = self._page
        if not new:
            return
        if page is None or page.key != key:
            if key:
                self._note_early(new, key, url)
            return
        page.new += len(new)
        page.note_new(new)
        if not page.open:
            self._generations.note_open(page, self._parent, len(new), known)
        says_little = self._generations.note_nothing(page, self._parent, len(new))
        if self._unsettled:
            self._speak_for(page, new)
        if page.own or page.lists or page.open or says_little or len(new) >= OPEN:
            self._sources.add(page)

    def _speak_for(self, page: Source, new: Sequence[str]) -> None:
        """Let what a page leads to speak for it: it is a list that may be made up, or names URLs of another kind."""
        if any(self._yields.holds(page, group) for group in (*page.lists, *page.some)):
            self._yields.weigh(page, Says.LITTLE)
            self._unsettled = False
        elif any(kind_of(one) != page.group for one in new):
            page.waits = True
            self._unsettled = False

    def _note_early(self, new: Sequence[str], key: bytes, url: str) -> None:
        """Note what a page leads to that is not counted yet, or is none."""
        known = self._sources.get(key)
        if known is not None and known.key != key:  # a redirect, which stands for what led to it
            return
        if known is None:
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

    def pass_on(self, key: bytes, referrer: bytes, url: str) -> None:
        """Note that a URL redirects: what it leads to was found where it was."""
        self._sources.pass_on(key, referrer)
        self.picking = url == self._generations.line.next
        self._passing = key if self.picking else b""

    # -- bookkeeping ---------------------------------------------------------------------------------------

    def take_rows(self) -> tuple[PatternRow, ...]:
        """Return the rows of what has changed since the last time."""
        self._settle()
        return tuple(row for found in self._all() if found.changed and (row := found.row(self._seed_id)) is not None)

    def _all(self) -> Iterator[Yield]:
        yield from self._yields.every()
        yield from self._generations.every()
        yield from self._classes.every()

    def _of(self, url: str, hrefs: Sequence[str]) -> FetchedPage:
        last = self._last
        if last.url != url or last.hrefs is not hrefs:
            last = self._last = fetched_page(url, hrefs)
        return last
