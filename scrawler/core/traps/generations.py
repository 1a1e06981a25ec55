"""Pages that lead from one to the next: those that say nothing new, and those that lead to new URLs alone.

URLs made of words fold into no pattern, so it is the way from page to page that counts: how many generations of pages
have said nothing new, found on such pages, and how many have led to URLs alone that nobody has named before. A line of
them, fetched ahead of all others, shows whether they have an end (`lines`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from scrawler.core.seen import SeenFilter
from scrawler.core.traps.lines import OPEN, Line, needed
from scrawler.core.traps.patterns import PatternYields
from scrawler.core.traps.says import Says
from scrawler.core.traps.sources import Source, Sources
from scrawler.core.traps.tally import LITTLE_LEFT, Tally
from scrawler.core.traps.yields import Yield
from scrawler.model.terms import url_hash
from scrawler.urls.patterns import patterns_of

NAMES: Final = "pages that say nothing new, found on such pages"  # the pattern of URLs that have none
ENDLESS: Final = "made-up pages from "  # begins the pattern of what a line without an end began with
_KEY_OF_NAMES: Final = url_hash(NAMES)
_LITTLE_OF_NAMES: Final = 100  # pages that may say little, of those that lead to several others
_BY_CHANCE: Final = 16  # new URLs of a page among which there may be one by chance that was named before
_UNKNOWN: Final = -1  # how many known links a page had that an earlier owner of the party has fetched
_TRIALS: Final = 2  # pages that are fetched of what a page led to, where a space of such pages is endless


class Generations:
    """The generations of one party's pages; guarded by the machine's turn."""

    __slots__ = ("_endless", "_sources", "_tally", "_yields", "line", "names")

    def __init__(self, tally: Tally, yields: PatternYields, sources: Sources) -> None:
        self._tally = tally
        self._yields = yields
        self._sources = sources
        self.names = Yield(NAMES, _KEY_OF_NAMES, tally.rules.trap_pages)
        self.line = Line()
        self._endless: dict[bytes, Yield] = {}  # by the page with which a line without an end began

    def restore(self, found: Yield) -> None:
        """Take what an earlier owner of the party has found."""
        if found.pattern == NAMES:
            self.names = found
        else:
            self._endless[found.key] = found

    def every(self) -> Iterator[Yield]:
        """Return all yields."""
        yield from self._endless.values()
        yield self.names

    @property
    def endless(self) -> str:
        """What showed that the pages of the party lead into an endless space; empty: they do not."""
        found = next(iter(self._endless.values()), self.names)
        return found.evidence

    def recall(
        self, listed: list[tuple[str, bytes]], ahead: list[tuple[str, bytes]], redirects: Collection[bytes] = ()
    ) -> None:
        """Find out anew, of URLs and what led to them, where lists and mazes are; those of lines are in `ahead`.

        `redirects` has the hashes of the URLs that redirect.
        """
        named: dict[bytes, list[str]] = {}
        for url, referrer in (*listed, *ahead):
            named.setdefault(referrer, []).append(url)
        # A line begins below what is listed, and more is listed below a line.
        for url, referrer in (*listed, *ahead, *listed) if ahead else listed:
            key = url_hash(url)
            urls = named.get(key, ())
            if key in redirects:
                self._sources.pass_on(key, referrer)
            elif len(urls) >= OPEN:
                self._recall(url, referrer, urls)

    def _recall(self, url: str, referrer: bytes, urls: Iterable[str]) -> None:
        """Take a page that led to several new URLs for one that led to nothing else: a line will show it."""
        of, parent = patterns_of(url), self._sources.get(referrer)
        source = Source(url_hash(url), url, of.own, of.queries or of.own, found=bool(referrer), known=_UNKNOWN)
        source.note_new(list(urls))
        if parent is not None:
            source.open = parent.open + 1
            source.root = parent.root or (parent.key if parent.found else source.key)
        self._sources.add(source)

    def capping(self, own: str, source: Source) -> Yield | None:
        """Return what caps a URL with its pattern that a page led to, by what that page is."""
        if source.open > 1 and source.root in self._endless:
            return self._endless[source.root]
        if self.names.evidence and _leads_nowhere(source) and not self._yields.is_established(own):
            return self.names
        return None

    def may_be_of_line(self, page: Source, source: Source) -> bool:
        """Tell whether a page that `source` led to may be one of a line."""
        if page.url == self.line.next:
            return True
        if not self.line.may_begin(self._tally.pages):
            return False
        if source.open >= (1 if self._endless else OPEN):
            return True
        return page.says is not Says.NEW and self._tally.is_barren(self.names)

    def note_new(self, source: Source, own: str) -> None:
        """Note that a page led to one that says something new."""
        source.bright = True
        if (source.nothing > 0 or source.open > 0) and not self._yields.is_established(own):
            self.names.count(exact=False, near=False)  # its row tells the party's next owner of these as well
            self.names.weigh(is_new=True)

    def pick(self, page: Source, parent: Source | None, urls: Sequence[str], seen: SeenFilter, listed: int) -> str:
        """Return which of a page's links is fetched before all others, as a line goes on with it; empty: none.

        `listed` of its links are known to be listed, and stand in `urls` no more.
        """
        new = [url for url in urls if url not in seen]
        self.note_open(page, parent, len(new), listed + len(urls) - len(new))
        on_line = page.url == self.line.next
        says_little = bool(new) and page.says is not Says.NEW
        if not page.open and not says_little:
            if on_line:
                self.line.end(self._tally.pages, is_endless=False)
            return ""
        begins = page.open > (1 if self._endless else OPEN) or (says_little and self._tally.is_barren(self.names))
        if page.root in self._endless or not (on_line or (begins and self.line.may_begin(self._tally.pages))):
            return ""
        picked = self.line.take(page, new, self._tally.pages)
        return "" if self._ends_line(page) else picked

    def at_deepest(self, page: Source) -> None:
        """Note that the links of a page are left out for a limit of depth."""
        if page.url == self.line.next:
            self.line.stop()
            self._ends_line(page)

    def _ends_line(self, page: Source) -> bool:
        """Cap what a line has shown to be endless; returns whether it has."""
        line = self.line
        if line.is_barren and self._tally.is_barren(self.names) and not self.names.evidence:
            self._tally.cap(self.names)
        elif line.is_endless(needed(self._tally.rules.trap_pages, bool(self._endless))):
            self._cap_root(page)
        else:
            return False
        line.end(self._tally.pages, is_endless=True)
        return True

    def _cap_root(self, page: Source) -> None:
        root = self._sources.get(page.root)
        url = root.url if root is not None else page.url
        capped = Yield(ENDLESS + url, page.root, self._tally.rules.trap_pages)
        pages = self._tally.pages
        capped.cap_as("each leads to others that nobody has named before, and next to no word is new", pages)
        self._endless[page.root] = capped
        self._tally.capping = True

    @staticmethod
    def note_open(page: Source, parent: Source | None, new: int, known: int) -> None:
        """Note whether a page leads to new URLs alone, but for what the page that led to it leads to as well."""
        page.known = known
        if parent is None:
            return
        page.root = parent.root
        page.strays = parent.known not in (known, _UNKNOWN)
        differs = parent.known != _UNKNOWN and abs(known - parent.known) > 1 + new // _BY_CHANCE
        if new < OPEN or differs:
            return
        page.open = parent.open + 1
        if not page.root:
            page.root = parent.key if parent.found else page.key

    def note_nothing(self, page: Source, parent: Source | None, new: int) -> bool:
        """Note how many generations of pages have said nothing new, and led on; returns whether there are any."""
        if page.says is Says.NEW:
            return False
        page.nothing = 1
        if parent is None:
            return True
        page.nothing += parent.nothing
        parent.dull += 1
        if (parent.nothing > 0 or page.open > 1) and not self._yields.is_established(page.own):
            self.names.count(exact=False, near=True)
            # What leads to one page is a chain, which is real more often than what leads to several.
            allowance = _LITTLE_OF_NAMES if new >= OPEN else LITTLE_LEFT
            is_new = self.names.allows(page.says, self._tally.allowance(allowance))
            self.names.weigh(is_new)
        return True


def _leads_nowhere(source: Source) -> bool:
    """Tell whether a page says nothing new, or led to pages alone that say nothing new and lead on."""
    return source.nothing > 0 or (source.dull >= _TRIALS and not source.bright)
