"""Whether the links of a page are probably made by its scripts, by what it looks like without them.

It takes a tree, and is asked of single pages, for people who wonder why no links were found.
"""

from __future__ import annotations

from typing import NamedTuple

from selectolax.lexbor import LexborNode

from scrawler.extract.beginning import beginning
from scrawler.extract.charset import to_utf8
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.trees import tree_of
from scrawler.units import counted

_FEW_LINKS = 3  # with more, a page leads on without its scripts
_LITTLE_TEXT = 200  # characters that a reader sees
_DATA = ("json", "template", "speculationrules", "importmap")  # in the type of a <script> that is none
# Elements that the usual frameworks fill: React, Vue, Next, Nuxt, Angular, Gatsby, Svelte, Quasar.
_FILLED = "#root,#app,#__next,#__nuxt,app-root,#___gatsby,#svelte,#q-app"


class Scripted(NamedTuple):
    """What speaks for links that are made by scripts."""

    links: int
    scripts: int
    filled: str  # an empty element that scripts usually fill, as it is written; empty: there is none
    asks: bool  # whether it asks readers without JavaScript to turn that on
    characters: int  # of text that a reader sees

    @property
    def is_likely(self) -> bool:
        """Whether the links are probably made by scripts."""
        if not self.scripts or self.links > _FEW_LINKS:
            return False
        return bool(self.filled) or self.asks or self.characters < _LITTLE_TEXT

    def __str__(self) -> str:
        """Say in words what was found."""
        found = [counted(self.links, "link") if self.links else "no link", counted(self.scripts, "script")]
        found.append(f"{counted(self.characters, 'character')} of text")
        if self.filled:
            found.append(f"an empty element that scripts fill ({self.filled})")
        if self.asks:
            found.append("a request to turn JavaScript on")
        return ", ".join(found[:-1]) + f" and {found[-1]}"


def scripted(body: bytes, content_type: str) -> Scripted | None:
    """Look at a decoded body of HTML; None where a tree of it would cost too much. `content_type` is the header."""
    page = beginning(to_utf8(body, content_type)[0])
    if is_hazardous(page):
        return None
    tree = tree_of(page)
    links = sum(_leads_on(link) for link in tree.css("a[href],area[href]"))
    asks = any("javascript" in _text(one).lower() for one in tree.css("noscript"))
    filled = next((_written(one) for one in tree.css(_FILLED) if not one.css_first("a[href]")), "")
    scripts = sum(_is_script(one) for one in tree.css("script"))
    for one in tree.css("script,style,noscript,template"):
        one.decompose()
    text = "" if tree.body is None else " ".join(_text(tree.body).split())
    return Scripted(links, scripts, filled, asks, len(text))


def _leads_on(link: LexborNode) -> bool:
    href = (link.attributes.get("href") or "").strip().lower()
    return href != "" and not href.startswith(("#", "javascript:", "mailto:"))


def _is_script(script: LexborNode) -> bool:
    kind = (script.attributes.get("type") or "").lower()
    return not any(name in kind for name in _DATA)


def _written(element: LexborNode) -> str:
    name = element.attributes.get("id")
    return f'<{element.tag} id="{name}">' if name else f"<{element.tag}>"


def _text(element: LexborNode) -> str:
    return element.text(deep=True, separator=" ") or ""
