"""What the sites of the broad web hold; nothing is random: the same pages come of the same figures each time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, product

HOST_MARK = "@@HOST@@"  # nginx puts the name of the site here, so that no two sites have a page in common
DESIGNS = 10  # sets of page files; the last digit of a site's number says which is its

_MENU = 10  # links that stand on each page, to the first pages
_CHILDREN = 5  # links to pages that nobody else may link to, so that all are reached
_FOOTER = ("https://video.example/channel", "https://social.example/us", "https://maps.example/here")
_EXTERNAL = 6  # links to other sites, the footer among them
_ELSEWHERE = 1_000  # sites that are linked to and never asked
_SYLLABLES = [first + then for first, then in product("bcdfglmnprstv", "aeiou")]
_VOCABULARY = 4_000
_WORDS_OF_PARAGRAPH = 60
_WORDS_IN_URLS = 40
_NAMES = _WORDS_IN_URLS**3
_STEP = 7_919  # has no divisor in common with _NAMES, so that every page gets a name of its own


class Urls(StrEnum):
    """By what the URLs of a site's pages differ."""

    NUMBERED = "numbered"  # /p17.html, as in shops, forums, catalogues
    WORDS = "words"  # /rata-bomi-selu.html


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of one site; all sites have the same figures, each design has words of its own."""

    count: int = 200
    bytes: int = 30_000
    links: int = 60
    urls: Urls = Urls.NUMBERED


def path_of(pages: Pages, page: int) -> str:
    """Return the path of a page; page 0 is the home page."""
    if page == 0:
        return "/"
    if pages.urls is Urls.NUMBERED:
        return f"/p{page}.html"
    number = page * _STEP % _NAMES
    parts = (number // _WORDS_IN_URLS**2, number // _WORDS_IN_URLS % _WORDS_IN_URLS, number % _WORDS_IN_URLS)
    return f"/{'-'.join(_word(_NAMES + part) for part in parts)}.html"


def inner_links(pages: Pages, page: int) -> list[int]:
    """Return the pages to which a page links; every page is reached from the home page by way of them."""
    wanted = max(pages.links - _EXTERNAL, 1)
    menu = list(range(min(_MENU, pages.count)))
    children = [child for child in range(page * _CHILDREN + 1, (page + 1) * _CHILDREN + 1) if child < pages.count]
    others = [(page * 31 + number * 17 + 1) % pages.count for number in range(wanted)]
    return [*children, *menu, *others][: max(wanted, len(children))]


def outer_links(pages: Pages, page: int) -> list[str]:
    """Return the links of a page to other sites; some of them stand on every page."""
    others = range(_EXTERNAL - len(_FOOTER))
    found = [f"http://www.elsewhere{(page * len(others) + number) % _ELSEWHERE}.example/" for number in others]
    return [*_FOOTER, *found][: max(pages.links - 1, 0)]


def page_text(pages: Pages, page: int, design: int) -> str:
    """Return a page of about as many bytes as it shall have; a page with many links may be longer."""
    dice = random.Random(f"{design} {page}")
    words = _words(dice)
    links = [path_of(pages, other) for other in inner_links(pages, page)]
    items = [_item(href, next(words), next(words)) for href in links]
    outer = "".join(f'<li><a href="{url}" rel="noopener">{next(words)}</a></li>\n' for url in outer_links(pages, page))
    title = f"{next(words)} {next(words)} {page} - {HOST_MARK}"
    head = _HEAD.format(title=title, description=" ".join(next(words) for _ in range(12)))
    tail = f'<footer class="site-footer"><ul>\n{outer}</ul></footer>\n</body></html>\n'
    room = pages.bytes - len(head) - len(tail) - sum(map(len, items))
    return head + "".join(_filled(items, words, room)) + tail


_HEAD = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="description" content="{description}"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/style.css"><script>window.page = {{"loaded": Date.now()}};</script>
</head><body class="page">
"""


def _item(href: str, title: str, label: str) -> str:
    return f'<div class="item"><h3 id="{title}">{title}</h3><a class="more" href="{href}">{label} {title}</a></div>\n'


def _filled(items: list[str], words: Iterator[str], room: int) -> Iterator[str]:
    """Put paragraphs after the items, equally many after each, until there is no room."""
    used = 0
    for number, item in enumerate(items, 1):
        yield item
        while used < room * number // len(items):
            paragraph = f"<p>{' '.join(next(words) for _ in range(_WORDS_OF_PARAGRAPH))}</p>\n"
            used += len(paragraph)
            yield paragraph


def _words(dice: random.Random) -> Iterator[str]:
    """Draw words without an end; the n-th of the vocabulary comes 1/n times as often as the first (Zipf)."""
    while True:
        yield from dice.choices(_WORDS, cum_weights=_WEIGHTS, k=500)


def _word(number: int) -> str:
    """Return a word that no other number has: its syllables are the digits of the number."""
    syllables = ""
    while number:
        number, digit = divmod(number, len(_SYLLABLES))
        syllables += _SYLLABLES[digit]
    return syllables


_WORDS = [_word(number + 1) for number in range(_VOCABULARY)]
_WEIGHTS = list(accumulate(1 / (number + 1) for number in range(_VOCABULARY)))
