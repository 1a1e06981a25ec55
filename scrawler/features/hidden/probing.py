"""Which term is asked for next, and when there is enough (after Ntoulas, Zerfos, Cho, JCDL 2005).

A term of the site's own pages finds pages. What it is expected to find that is new follows from how many of the pages
known so far have it (n), from how many more a term has found than were known to have it (f, learned), and from how many
results an answer shows at most (limit):

    expected = f n     new = min(expected, limit) x (1 - n / expected)

So the terms that stand on most pages are best until their answers would be cut off at the limit, where all show the
same pages first; then come those that are just rare enough.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

_WORD = re.compile(r"[^\W\d_]{3,30}")
_MOST_TEXT = 1 << 20  # characters of a page that are read
_MOST_WORDS = 2_000  # distinct words of a page that count
MOST_TERMS = 50_000  # that are kept; of more, those that stand on the fewest pages are forgotten
_FIRST_FACTOR = 4.0  # so many more pages than are known to have a term does one find, until that is learned
_LEARNED = 0.2  # share that the last answer has in the factor
_LOOKED_BACK = 10  # answers by which it is judged whether they repeat each other


class Stop(StrEnum):
    """Why no more is asked."""

    BUDGET = "all queries that are allowed have been asked"
    REPEATS = "the last answers brought next to nothing new"
    NO_TERMS = "no term is left"


class Next(NamedTuple):
    """The next term, or why there is none."""

    term: str
    expected: float  # new pages
    stop: Stop | None = None


def words_of(text: str) -> frozenset[str]:
    """Return the words of a page of the site, or of a result, that can be asked for."""
    return frozenset(islice(dict.fromkeys(_WORD.findall(text[:_MOST_TEXT].casefold())), _MOST_WORDS))


class Probing:
    """What is known of a site's search: terms, answers, and how much they brought. Memory is bounded."""

    def __init__(
        self, queries: int, least_new: float = 0.02, most_terms: int = MOST_TERMS, most_common: float = 1.0
    ) -> None:
        """Allow so many queries; end when of the results of ten answers less than `least_new` are new.

        So many terms are kept. Those that stand on more than the share `most_common` of the known pages are not asked
        for: they are of the frame around what a page says, or words for which no search looks.
        """
        self._left = queries
        self._least_new = least_new
        self._most_terms = most_terms
        self._most_common = most_common
        self._pages: Counter[str] = Counter()  # known pages that have a term
        self._asked: set[str] = set()
        self._factor = _FIRST_FACTOR
        self._limit = 0  # most results that an answer had
        self._lately: deque[tuple[int, int]] = deque(maxlen=_LOOKED_BACK)
        self.known = 0  # pages read
        self.asked = 0  # queries

    def read(self, text: str) -> None:
        """Learn the words of a page of the site, or of a result."""
        self.learn(words_of(text))

    def learn(self, words: frozenset[str]) -> None:
        """Learn the words of a page, which `words_of` has found."""
        self._pages.update(words - self._asked)
        self.known += 1
        if len(self._pages) > 2 * self._most_terms:
            self._pages = Counter(dict(self._pages.most_common(self._most_terms)))

    def next(self) -> Next:
        """Return the term from which most new pages are expected; it counts as asked."""
        if self._left <= 0:
            return Next("", 0.0, Stop.BUDGET)
        if self._repeats():
            return Next("", 0.0, Stop.REPEATS)
        best = self._best()
        if not best:
            return Next("", 0.0, Stop.NO_TERMS)
        # Of equals the last one in the alphabet: it is the same always, and frequent and rare words take turns.
        term = max(term for term, number in self._pages.items() if number in best)
        self._left -= 1
        self.asked += 1
        self._asked.add(term)
        return Next(term, self.expected_new(self._pages[term]))

    def _best(self) -> set[int]:
        """Return on how many known pages those terms stand from which most new pages are expected; none: none left."""
        most = self.known
        if self._most_common < 1 and self.known > 1:
            most = max(1, int(self._most_common * self.known))
        worth = {number: self.expected_new(number) for number in set(self._pages.values()) if number <= most}
        highest = max(worth.values(), default=0.0)
        return {number for number, expected in worth.items() if expected == highest}

    def pass_by(self, term: str) -> None:
        """Note that a term which `next` returned is not asked for; the last one of the alphabet is next of its like."""
        self._pages.pop(term, None)
        self._left += 1
        self.asked -= 1

    def answered(self, term: str, results: int, new: int, cut_off: bool) -> None:
        """Learn how many results a term had, how many were new, and whether there were more than were shown."""
        pages = self._pages.pop(term, 0)
        self._lately.append((results, new))
        if cut_off:
            self._limit = max(self._limit, results)
        elif pages:
            self._factor += _LEARNED * (max(results / pages, 1.0) - self._factor)

    def expected_new(self, pages: int) -> float:
        """Return how many new pages a term is expected to find that stands on so many of the known ones."""
        expected = max(self._factor * pages, 1.0)
        shown = min(expected, self._limit) if self._limit else expected
        return shown * max(0.0, 1 - pages / expected)

    def forget_answers(self) -> None:
        """Begin to judge anew whether answers repeat each other: another search is asked now."""
        self._lately.clear()
        self._limit = 0
        self._factor = _FIRST_FACTOR

    def dump(self) -> dict[str, Any]:
        """Return all that was learned, as JSON has it; what was asked for is known elsewhere."""
        by_pages: dict[int, list[str]] = {}
        for term, number in self._pages.items():
            by_pages.setdefault(number, []).append(term)
        terms = {str(number): " ".join(some) for number, some in by_pages.items()}
        return {
            "terms": terms,
            "factor": self._factor,
            "limit": self._limit,
            "lately": list(self._lately),
            "known": self.known,
        }

    def restore(self, stored: Mapping[str, Any], asked: Iterable[str], unanswered: str) -> None:
        """Take over what `dump` has returned, and which terms were asked for; one of them waits for its answer."""
        self._asked = set(asked)
        self.asked = len(self._asked)
        self._left -= self.asked
        self._factor = float(stored["factor"])
        self._limit = int(stored["limit"])
        self._lately.extend((int(results), int(new)) for results, new in stored["lately"])
        self.known = int(stored["known"])
        for number, terms in stored["terms"].items():
            self._pages.update(
                {term: int(number) for term in terms.split(" ") if term not in self._asked or term == unanswered}
            )

    def _repeats(self) -> bool:
        if len(self._lately) < _LOOKED_BACK:
            return False
        results = sum(one for one, _ in self._lately)
        return sum(new for _, new in self._lately) <= self._least_new * results
