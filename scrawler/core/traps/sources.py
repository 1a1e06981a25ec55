"""Where URLs were found: what is to be known of a page when its links are judged.

A list is finite: all that it names is known at once. So what a sitemap names, or a page among ten or more of their
kind, is held by no trap, whatever the pages say; unless the page is of that kind itself, or was made by pages that say
nothing new. A trap makes its own URLs, generation after generation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scrawler.core.traps.says import Says
from scrawler.urls.patterns import patterns_of

LIST: Final = 10  # URLs of one kind that make a page a list of them
SOME: Final = 3  # ... and that may make it a short list
_SOURCES: Final = 4_096  # pages that a party remembers: 1 MB, of a party that has so many with links of interest


@dataclass(slots=True, eq=False)
class Source:
    """A page, and what it leads to; one is made of each, so it has an `__init__` that mypyc compiles."""

    key: bytes  # hash of its URL
    url: str
    own: str  # its pattern; empty: nothing of its URL was folded
    group: str  # its kind: all queries of its path, or its own pattern
    says: Says
    found: bool  # whether a page led to it; none did to the seed's own
    from_list: bool  # whether a list named it
    on_credit: bool  # whether that list may be made up
    grown: bool  # whether it is of the kind of the page that led to it, or was made by such a page
    nothing: int  # generations of pages that said nothing new, up to this one
    open: int  # generations of pages that led to new URLs alone, up to this one
    known: int  # its links to what was listed before
    strays: bool  # whether these are one more or one fewer than on the page that led to it
    root: bytes  # the page with which these generations began
    names_all: bool  # whether it is a list of the site's owner
    lists: tuple[str, ...]  # kinds of which it names so many that it is a list of them
    some: tuple[str, ...]  # kinds of which it names several, if it has a pattern, as pages of a list have
    waits: bool  # whether what it leads to has still to show what the page is worth
    judged: bool  # whether some of that has shown it to be worth nothing
    dull: int  # pages to which it led that had nothing new to say, and led on
    bright: bool  # whether it led to one that said something new
    differs: bool  # whether it shows known words and numbers that no page before it has shown together
    in_chain: bool  # whether it differs, and is the only new page to which one of its kind led
    new: int  # URLs that it was the first to name
    few: bool  # whether next to none of its words are new, or next to all

    def __init__(
        self,
        key: bytes,
        url: str,
        own: str = "",
        group: str = "",
        says: Says = Says.NEW,
        found: bool = True,
        nothing: int = 0,
        known: int = 0,
        names_all: bool = False,
    ) -> None:
        self.key = key
        self.url = url
        self.own = own
        self.group = group
        self.says = says
        self.found = found
        self.from_list = False
        self.on_credit = False
        self.grown = False
        self.nothing = nothing
        self.open = 0
        self.known = known
        self.strays = False
        self.root = b""
        self.names_all = names_all
        self.lists = ()
        self.some = ()
        self.waits = False
        self.judged = False
        self.dull = 0
        self.bright = False
        self.differs = False
        self.in_chain = False
        self.new = 0
        self.few = False

    @property
    def makes(self) -> bool:
        """Whether what it leads to is made by it, whatever kind that is of."""
        return self.says is Says.NOTHING and (self.grown or self.nothing > 1)

    def names(self, group: str) -> bool:
        """Whether URLs of a kind on this page are finite."""
        if self.names_all:
            return True
        return bool(self.lists) and group in self.lists and (group != self.group or not group) and not self.makes

    def may_list(self, group: str) -> bool:
        """Whether the page may be a list of a kind with a pattern: a short one, or one that is made up."""
        if not (self.lists or self.some):
            return False
        return group not in ("", self.group) and (group in self.lists or group in self.some)

    def note_new(self, urls: Sequence[str]) -> None:
        """Note which URLs it was the first to name."""
        if len(urls) >= (SOME if self.group else LIST):
            counts = Counter(map(kind_of, urls))
            self.lists += tuple(group for group, count in counts.items() if count >= LIST)
            if self.group:
                self.some += tuple(group for group, count in counts.items() if SOME <= count < LIST)


class Sources:
    """The newest pages whose links are of interest, lists apart from the others."""

    __slots__ = ("_lists", "_others")

    def __init__(self) -> None:
        self._lists: dict[bytes, Source] = {}
        self._others: dict[bytes, Source] = {}

    def get(self, key: bytes) -> Source | None:
        """Return what is known of a page."""
        return self._others.get(key) or self._lists.get(key)

    def add(self, source: Source) -> None:
        """Remember a page."""
        is_list = source.names_all or bool(source.lists)
        known = self._lists if is_list else self._others
        if is_list:
            self._others.pop(source.key, None)
        if len(known) >= _SOURCES and source.key not in known:
            del known[next(iter(known))]
        known[source.key] = source

    def pass_on(self, key: bytes, referrer: bytes) -> None:
        """Take what redirects for the page that led to it."""
        source = self.get(referrer)
        if source is not None:
            self._others[key] = source


def kind_of(url: str) -> str:
    """Return the kind of a URL: all queries of its path, or its pattern; empty: it is like no other."""
    of = patterns_of(url)
    return of.queries or of.own
