"""Regular expressions in time that is bounded, for those with which Python's engine could be kept busy.

Python's engine tries all ways of reading a text, one after the other. Here all are followed at once: a set of places in
the text is a number, a bit for each place, and one character of the pattern moves all of them (R. Baeza-Yates,
G. Gonnet, "A New Approach to Text Searching", CACM 35, 1992; K. Thompson, "Regular Expression Search Algorithm", CACM
11, 1968). Whether there is a match is the same; which of several it is, nobody asks here. A short text, on which
Python's engine needs few steps whatever stands in it, is left to that. Texts are URLs: ASCII, without line breaks.
"""

from __future__ import annotations

import re
import re._compiler as compiler  # type: ignore[import-not-found]
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from typing import Any, NamedTuple

from scrawler.model.ambiguous import FEW, GROUPS, ONE, REPEATS, Item, flat, is_fixed, is_read_in_one_way

_STEPS = 5_000_000  # of Python's engine, in the worst case: some 20 ms
_ROUNDS = 20_000  # of ours, some 20 ms: sets of places that are made for one text
_SHORT = 100  # characters; what cannot be tried on more fits too few URLs to be of use
_LONGEST = 1 << 16  # characters for which steps are reckoned
_STARTS = (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING)
_ENDS = (codes.AT_END, codes.AT_END_STRING)
_ASSERTS = (codes.ASSERT, codes.ASSERT_NOT)
_PLACES = (*_STARTS, *_ENDS, codes.AT_BOUNDARY, codes.AT_NON_BOUNDARY)
_WORD: Item = (codes.IN, [(codes.CATEGORY, codes.CATEGORY_WORD)])


class TooLongError(ValueError):
    """A regular expression, which this names, was not tried on a text, for which it could take too long."""


class _TooManyRoundsError(Exception):
    """Places of a text are followed for too long."""


class Regex:
    """A regular expression that is searched for in URLs, none of which takes long."""

    def __init__(self, pattern: str) -> None:
        """Raises re.error for what is none."""
        self._pattern = pattern
        self._plain = re.compile(pattern)
        self._items = parser.parse(pattern)
        self._can_follow = _can_follow(self._items)
        self.longest = _longest(self._items)  # characters of a text for which Python's engine needs few steps
        self._tables: dict[int, str] = {}  # by the items, which live as long

    @property
    def is_bounded(self) -> bool:
        """Whether it can be tried on URLs of common length."""
        return self._can_follow or self.longest >= _SHORT

    def search(self, url: str) -> bool:
        """Tell whether it fits anywhere in a URL. Raises TooLongError."""
        if len(url) <= self.longest:
            return self._plain.search(url) is not None
        if not self._can_follow or not url.isascii():
            raise TooLongError(self._pattern)
        try:
            return _Following(url, self._items, self._tables).search()
        except _TooManyRoundsError:
            raise TooLongError(self._pattern) from None


def _can_follow(items: Any) -> bool:
    return all(_can_follow_one(item) for item in items)


def _can_follow_one(item: Item) -> bool:
    code, arguments = item
    if code in ONE or code is codes.FAILURE:
        return True
    if code is codes.AT:
        return arguments in _PLACES
    if code is codes.SUBPATTERN:
        return _can_follow(arguments[-1])
    if code is codes.BRANCH:
        return all(_can_follow(branch) for branch in arguments[1])
    if code in REPEATS:
        return _can_follow(arguments[2])
    return code in _ASSERTS and _can_follow(arguments[1])


def _longest(items: Any) -> int:
    """Return how long a text may be for which Python's engine needs few steps."""
    fits, fails = 0, _LONGEST
    if _worst(items, fails) <= _STEPS:
        return fails
    while fails - fits > 1:
        middle = (fits + fails) // 2
        fits, fails = (middle, fails) if _worst(items, middle) <= _STEPS else (fits, middle)
    return fits


def _worst(items: Any, length: int) -> float:
    """Return in how many ways a text can be read at most, from all places in it."""
    begun = bool(len(items)) and items[0][0] is codes.AT and items[0][1] in _STARTS
    return _ways(items, length) * (1 if begun else length + 1)


def _ways(items: Any, length: int) -> float:
    ways = 1.0
    for item in items:
        ways = min(ways * _ways_of_one(item, length), 1e30)
    return ways


def _ways_of_one(item: Item, length: int) -> float:
    code, arguments = item
    if code in ONE or code in (codes.AT, codes.GROUPREF, codes.FAILURE):
        return 1.0
    if code in GROUPS:
        return _ways(arguments[-1] if code is codes.SUBPATTERN else arguments, length)
    if code is codes.BRANCH:
        return sum(_ways(branch, length) for branch in arguments[1])
    if code in _ASSERTS:
        return _ways(arguments[1], length)
    if code is codes.GROUPREF_EXISTS:
        return sum(_ways(part, length) for part in arguments[1:] if part)
    least, most, body = arguments  # a repetition
    ways = _ways(body, length)
    rounds = float(min(int(most), length)) + 1
    if is_fixed(list(flat(body))):
        return float(min(int(most) - int(least), length)) + 1
    if most <= FEW:
        return float(min(ways + 1, 1e3) ** int(most)) if ways < 1e3 else 1e30
    return rounds * ways if is_read_in_one_way(list(flat(body))) else 1e30


class _Case(NamedTuple):
    """The flags that hold at a place of a pattern."""

    add: int = 0
    without: int = 0


class _Following:
    """One regular expression and one text, of which places are followed."""

    def __init__(self, text: str, items: Any, tables: dict[int, str]) -> None:
        self._text = text
        self._items = items
        self._tables = tables
        self._all = (2 << len(text)) - 1  # each place, that behind the last character among them
        self._masks: dict[int, int] = {}
        self._left = _ROUNDS

    def search(self) -> bool:
        return bool(self._after(self._items, self._all, _Case()))

    def _after(self, items: Any, places: int, case: _Case) -> int:
        """Return where items can end that begin at one of some places."""
        for item in items:
            if not places:
                return 0
            places = self._after_one(item, places, case)
        return places

    def _after_one(self, item: Item, places: int, case: _Case) -> int:
        self._left -= 1
        if self._left < 0:
            raise _TooManyRoundsError
        code, arguments = item
        if code in ONE:
            return (places & self._mask(item, case)) << 1
        if code is codes.FAILURE:  # a look ahead for anything but nothing: (?!)
            return 0
        if code is codes.AT:
            return places & self._at(arguments)
        if code is codes.SUBPATTERN:
            _, add, without, body = arguments
            return self._after(body, places, _Case(case.add & ~without | add, case.without & ~add | without))
        if code is codes.BRANCH:
            found = 0
            for branch in arguments[1]:
                found |= self._after(branch, places, case)
            return found
        if code in _ASSERTS:
            return self._asserted(item, places, case)
        return self._repeated(item, places, case)

    def _repeated(self, item: Item, places: int, case: _Case) -> int:
        least, most, body = item[1]
        for _ in range(least):
            before, places = places, self._after(body, places, case)
            if places in (0, before):
                break
        if not places:
            return 0
        if most >= len(self._text) and len(body) == 1 and body[0][0] in ONE:
            return self._run(places, self._mask(body[0], case))
        found = new = places
        for _ in range(most - least):
            new = self._after(body, new, case) & ~found
            if not new:
                break
            found |= new
        return found

    def _run(self, places: int, mask: int) -> int:
        """Return the places, and all behind them as far as each character is one of a mask.

        The carry of a sum runs through the bits that are set, up to where none is (G. Myers, "A Fast Bit-Vector
        Algorithm for Approximate String Matching", JACM 46, 1999).
        """
        return places | (((places & mask) + mask) ^ mask)

    def _asserted(self, item: Item, places: int, case: _Case) -> int:
        """Return those of some places at which a look ahead, or behind, finds what it wants."""
        wanted, (direction, body) = item[0] is codes.ASSERT, item[1]
        width = 0 if direction > 0 else body.getwidth()[0]
        found = 0
        while places:
            place = places & -places
            places ^= place
            after = self._after(body, place >> width, case)
            if bool(after if direction > 0 else after & place) is wanted:
                found |= place
        return found

    def _at(self, where: Any) -> int:
        if where in _STARTS:
            return 1
        if where in _ENDS:
            return 1 << len(self._text)
        words = self._mask(_WORD, _Case())
        between = (words ^ (words << 1)) & self._all
        return between if where is codes.AT_BOUNDARY else self._all ^ between

    def _mask(self, item: Item, case: _Case) -> int:
        """Return where there is a character that an item of one character fits."""
        key = id(item)
        if key not in self._masks:
            if key not in self._tables:
                self._tables[key] = _table(item, case, self._items.state)
            self._masks[key] = int(self._text.translate(self._tables[key])[::-1] or "0", 2)
        return self._masks[key]


def _table(item: Item, case: _Case, state: Any) -> str:
    """Return a 1 for each ASCII character that an item fits, a 0 for each other, by Python's engine itself."""
    inner = parser.SubPattern(state, [item])
    outer = parser.SubPattern(state, [(codes.SUBPATTERN, (None, case.add, case.without, inner))])
    one = compiler.compile(outer)
    return "".join("01"[one.fullmatch(chr(code)) is not None] for code in range(128))
