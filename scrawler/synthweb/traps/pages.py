"""Pages of trap sites: texts that are like no others, and templates that say nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from scrawler.synthweb.site import mix
from scrawler.tuples.classes import dataclass

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


@dataclass(frozen=True, slots=True)
class TrapSite:
    """A site with a trap; `answer` writes the page at a path with query, None where it has none."""

    name: str
    does: str
    real: tuple[str, ...]  # paths of the pages beside the trap; links lead to all of them
    answer: Answer


def words(*draw: int, count: int = 60) -> str:
    """Return invented words, for each draw others."""
    made = []
    for number in range(count):
        bits = mix(*draw, number)
        syllables = (_SYLLABLES[(bits >> 8 * place) % len(_SYLLABLES)] for place in range(2 + bits % 3))
        made.append("".join(syllables))
    return " ".join(made)


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
