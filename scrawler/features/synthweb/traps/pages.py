"""Pages of trap sites: texts that are like no others, and templates that say nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from random import Random
from zlib import crc32

from scrawler.features.synthweb.site import mix

_SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "la",
    "me",
    "ni",
    "or",
    "pu",
    "ra",
    "se",
    "ti",
    "ul",
    "va",
    "wen",
    "xi",
    "yo",
)
_MENU = ("Home", "News", "Products", "Services", "Contact", "Imprint", "Privacy", "Help", "Search", "Login", "Cart")

Answer = Callable[[str], str | None]
BEYOND = 300  # pages that an endless site may cost beside its real ones


@dataclass(frozen=True, slots=True)
class TrapSite:
    """A site; `answer` writes the page at a path with query, None where it has none; a path is where it redirects to.

    A site with names has any host below the first of them; `answer` is given `//host/path` then.
    """

    name: str
    does: str
    real: tuple[str, ...]  # paths of pages with content of their own; links lead to all of them
    answer: Answer
    endless: bool = True
    sitemap: tuple[str, ...] = ()  # paths that its sitemap lists; empty: it has none
    names: tuple[str, ...] = ()  # its hosts, which have to be resolved; empty: it is known by its address


def words(*draw: int, count: int = 60) -> str:
    """Return invented words, for each draw others."""
    made = []
    begun, syllables, known = mix(*draw), _SYLLABLES, len(_SYLLABLES)
    for number in range(count):
        bits = mix(number, begun=begun)
        word = syllables[bits % known] + syllables[(bits >> 8) % known]
        further = bits % 3
        if further:
            word += syllables[(bits >> 16) % known]
        if further == 2:
            word += syllables[(bits >> 24) % known]
        made.append(word)
    return " ".join(made)


def names(count: int, seed: int) -> tuple[str, ...]:
    """Return names of two words each, which differ."""
    found: dict[str, None] = {}
    number = 0
    while len(found) < count:
        found[words(seed, number, 41, count=2).replace(" ", "-")] = None
        number += 1
    return tuple(found)


def prose(path: str, *draw: int, count: int = 60) -> str:
    """Return invented words, for each path others."""
    return words(crc32(path.encode()), *draw, count=count)


def chance(path: str) -> Random:
    """Return a source of random numbers that is the same for a path each time."""
    return Random(crc32(path.encode()))


def html(title: str, text: str, links: Iterable[str]) -> str:
    """Write a page with the menu that all sites have."""
    menu = "".join(f"<span>{word}</span> " for word in _MENU)
    anchors = "".join(f'<li><a href="{escape(link)}">more</a></li>' for link in links)
    return (
        f"<!DOCTYPE html><title>{escape(title)}</title><body><div>{menu}</div><h1>{escape(title)}</h1>"
        f"<p>{text}</p><ul>{anchors}</ul></body>\n"
    )


def real_page(number: int, path: str, links: Iterable[str] = ("/",)) -> str:
    """Write a page beside a trap."""
    return html(f"{words(number, 1, count=2)} {number}", words(number, len(path)), links)
