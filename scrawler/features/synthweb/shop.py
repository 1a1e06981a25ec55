"""A shop whose rows are behind a search: no link leads to most of them, and each answer shows a part of what it found.

Rows and their words follow from the seed number alone. A row is of a category, whose words it has mostly, beside those
of all (Zipf's law). `/` has the search form and links to a few rows, `/search?q=TERM&page=N` shows results, best first:
an order of the shop's own, the same for all terms; the same answer stands sorted otherwise at further URLs. `/item/N`
is a row. The home page has other forms as well, which a crawler must not send: they log in, and unsubscribe.
"""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import accumulate
from urllib.parse import parse_qs, urlsplit

from scrawler.features.synthweb.pages import Answer
from scrawler.features.synthweb.site import mix

ON_PAGE = 20  # results of a page
SHOWN = 100  # results at most that a term shows
_LINKED = 10  # rows to which the home page leads
_CATEGORIES = 40
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "or", "pu", "ra", "se", "ti", "ul", "va", "wen", "xi")
_HTML = "text/html; charset=utf-8"
_FORM = '<form action="/search" role="search"><input type="search" name="q"><input type="hidden" name="in" value="all">'
_OTHERS = (
    '<form action="/unsubscribe"><input name="q" placeholder="search your address"><button>Unsubscribe</button></form>'
    '<form action="/login" method="post"><input name="who"><input type="password" name="word"></form>'
)


class Shop:
    """A few thousand rows, and what the shop answers."""

    def __init__(self, seed: int = 1, rows: int = 5_000) -> None:
        """Make the rows: some 20 words each."""
        rng = random.Random(seed)
        common = _words(rng, 1_500)
        weights = list(accumulate(1 / (rank + 2) for rank in range(len(common))))
        special = [_words(rng, 60) for _ in range(_CATEGORIES)]
        self.rows: list[list[str]] = []
        for _ in range(rows):
            own = special[int(_CATEGORIES * rng.random() * rng.random())]
            text = rng.choices(common, cum_weights=weights, k=rng.randint(8, 14)) + rng.choices(own, k=8)
            self.rows.append(list(dict.fromkeys(text)))
        self._found: dict[str, list[int]] = defaultdict(list)
        for row in sorted(range(rows), key=lambda row: mix(seed, row, 12)):
            for word in self.rows[row]:
                self._found[word].append(row)

    def answer(self, path: str) -> Answer:
        """Answer a request for a path with query."""
        split = urlsplit(path)
        if split.path == "/":
            links = "".join(_link(row) for row in range(0, len(self.rows), max(1, len(self.rows) // _LINKED)))
            return _page("Shop", f"{_FORM}<button>Go</button></form>{_OTHERS}<ul>{links}</ul>")
        number = split.path.removeprefix("/item/")
        if split.path.startswith("/item/") and number.isdecimal() and len(number) < 10 and int(number) < len(self.rows):
            return _page(f"Item {number}", f"<p>{' '.join(self.rows[int(number)])}</p>")
        if split.path == "/search":
            return self._results(parse_qs(split.query))
        return Answer(404, _HTML, b"<!DOCTYPE html><title>404</title>\n")

    def _results(self, query: dict[str, list[str]]) -> Answer:
        term, page = query.get("q", [""])[0].casefold(), query.get("page", ["1"])[0]
        found = self._found.get(term, [])
        start = ON_PAGE * (int(page) - 1 if page.isdecimal() and len(page) < 6 else 0)
        shown = found[:SHOWN][max(start, 0) : start + ON_PAGE]
        more = start + ON_PAGE < min(len(found), SHOWN)
        following = f'<a rel="next" href="/search?q={term}&amp;page={start // ON_PAGE + 2}">Next</a>' if more else ""
        links = "".join(map(_link, shown))
        links += "".join(f'<a href="/search?q={term}&amp;in=all&amp;sort={by}">{by}</a>' for by in ("price", "newest"))
        return _page("Search", f"<p>{len(found)} results</p><ul>{links}</ul>{following}")


def _words(rng: random.Random, number: int) -> list[str]:
    words = sorted({"".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(number)})
    rng.shuffle(words)
    return words


def _link(row: int) -> str:
    return f'<li><a href="/item/{row}">Item {row}</a></li>'


def _page(title: str, body: str) -> Answer:
    text = f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>\n"
    return Answer(200, _HTML, text.encode())
