"""Seen filters: has a party of this site listed this URL before? One interface, four parts.

A URL is listed before it is added: one that was added alone, because something came in between, would never be fetched.

The usual filter (`SeenUrls` in `urls/_lookup.c`) keeps 48 bits of each URL's hash: 7 to 11 bytes a URL, be there a
hundred or ten million of them, one look into memory each time, and an error rate of 4e-8 where there are ten million.
The look-up of a page's links asks it without a string being made.

The classic ones are layered Bloom filters with an error rate of 1e-6 over all layers: a new layer, four times as
large and half as faulty, is added when the last one is full. A machine has one memory budget for all of them.
Python's own string hash is keyed anew in each process, so that nobody outside can choose URLs that collide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log
from typing import Protocol

from rbloom import Bloom

from scrawler.compiled import compiled_part, mypyc_attr
from scrawler.errors import ScrawlerError

ERROR_RATE = 1e-6
FIRST_LAYER = 512  # URLs: many sites have fewer pages, and each KB counts once for each site in work
GROWTH = 4
_AT_HAND = 76  # URLs of a filter, such as a menu's, in a set that is asked at a tenth of what a layer costs; it takes
# 9 KB, which one more would make 15


class SeenFullError(ScrawlerError):
    """The machine's ceiling for seen filters is reached; the seed ends with reason seen-memory."""


@mypyc_attr(allow_interpreted_subclasses=True)  # what counts for somebody else may build on it
class MemoryBudget:
    """The bytes that all seen filters of a machine may use together."""

    def __init__(self, ceiling: int) -> None:
        self._left = ceiling

    def take(self, size: int) -> None:
        """Reserve bytes; raises SeenFullError when there are not as many left."""
        if size > self._left:
            raise SeenFullError
        self._left -= size

    def give_back(self, size: int) -> None:
        """Return reserved bytes."""
        self._left += size


class SeenFilter(Protocol):
    """Remembers URLs; may take a new one for seen (one in a million), never a seen one for new.

    It is made for each site in work, with the machine's MemoryBudget.
    """

    def unseen(self, urls: Iterable[str]) -> list[str]:
        """Return those that are not in, each once, in order, and make room for them. Raises SeenFullError."""

    def add(self, urls: list[str]) -> None:
        """Add what `unseen` has returned."""

    def __contains__(self, url: str) -> bool:
        """Tell whether a URL was (probably) added."""

    def close(self) -> None:
        """Give the memory back to the budget."""


_part = compiled_part("scrawler.urls._lookup")
SEEN_URLS: Callable[[MemoryBudget], SeenFilter] | None = None if _part is None else _part.SeenUrls


class _Layer(Protocol):
    def __contains__(self, url: str, /) -> bool: ...

    def add(self, url: str, /) -> object: ...


@mypyc_attr(allow_interpreted_subclasses=True)  # parts of other packages may build on it
class LayeredSeen:
    """Bloom filters that grow by layers; `make_layer(capacity, error_rate)` says of what kind.

    `error_rate` is that of all layers together, however many there will be. Most URLs of a page stand on the page
    before as well: some that are in are kept at hand.
    """

    def __init__(
        self, budget: MemoryBudget, make_layer: Callable[[int, float], _Layer], error_rate: float = ERROR_RATE
    ) -> None:
        self._budget = budget
        self._make_layer = make_layer
        self._layers: list[_Layer] = []
        self._at_hand: set[str] = set()
        self._capacity = 0
        self._room = 0
        self._reserved = 0
        self._error_rate = error_rate

    def unseen(self, urls: Iterable[str]) -> list[str]:
        """Return those that are not in, each once, in order, and make room for them."""
        at_hand = self._at_hand
        asked = [url for url in urls if url not in at_hand]
        if not asked:
            return asked
        new = asked
        for layer in reversed(self._layers):  # whole lists at a time: most URLs of a page are old
            new = [url for url in new if url not in layer]
        if not new:
            self._keep_at_hand(asked)
            return new
        new = list(dict.fromkeys(new))
        if len(new) > self._room:
            self._grow(len(new))
        return new

    def add(self, urls: list[str]) -> None:
        """Add what `unseen` has returned."""
        if not urls:
            return
        self._room -= len(urls)
        add = self._layers[-1].add
        for url in urls:
            add(url)
        self._keep_at_hand(urls)

    def _keep_at_hand(self, urls: list[str]) -> None:
        try:
            if len(self._at_hand) + len(urls) > _AT_HAND:
                self._at_hand.clear()
            self._at_hand.update(urls[:_AT_HAND])
        except MemoryError:
            self._at_hand.clear()  # what is at hand saves time alone

    def _grow(self, at_least: int) -> None:
        capacity = max(self._capacity * GROWTH or FIRST_LAYER, at_least)
        error_rate = self._error_rate / 2
        size = int(-capacity * log(error_rate) / log(2) ** 2 / 8) + 1
        self._budget.take(size)
        self._reserved += size
        self._layers.append(self._make_layer(capacity, error_rate))
        self._capacity = self._room = capacity
        self._error_rate = error_rate

    def __contains__(self, url: str) -> bool:
        return any(url in layer for layer in reversed(self._layers))

    def close(self) -> None:
        """Give the memory back to the budget."""
        self._budget.give_back(self._reserved)
        self._layers, self._room, self._capacity, self._reserved = [], 0, 0, 0
        self._at_hand = set()


@mypyc_attr(allow_interpreted_subclasses=True)  # parts of other packages may build on it
class ExactSeen:
    """A plain set: never wrong, some 150 bytes a URL."""

    _BYTES_PER_URL = 150

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._urls: set[str] = set()
        self._room = 0  # URLs for which memory is reserved

    def unseen(self, urls: Iterable[str]) -> list[str]:
        """Return those that are not in, each once, in order, and make room for them."""
        new = [url for url in dict.fromkeys(urls) if url not in self._urls]
        more = len(self._urls) + len(new) - self._room
        if more > 0:
            self._budget.take(self._BYTES_PER_URL * more)
            self._room += more
        return new

    def add(self, urls: list[str]) -> None:
        """Add what `unseen` has returned."""
        self._urls.update(urls)

    def __contains__(self, url: str) -> bool:
        return url in self._urls

    def close(self) -> None:
        """Give the memory back to the budget."""
        self._budget.give_back(self._BYTES_PER_URL * self._room)
        self._room = 0
        self._urls = set()


def compact_seen(budget: MemoryBudget) -> SeenFilter:
    """Make the default filter; it is compiled with this program, and where it is not, it is rbloom's."""
    return rbloom_seen(budget) if SEEN_URLS is None else SEEN_URLS(budget)


def rbloom_seen(budget: MemoryBudget) -> SeenFilter:
    """Make Bloom filters by rbloom, which comes compiled."""
    return LayeredSeen(budget, Bloom)
