"""What a page says, gathered from its elements and texts in document order."""

from __future__ import annotations

from scrawler.extract.links import PageText
from scrawler.extract.rules import HTML_SPACE, Attributes

_HIDDEN = frozenset(("iframe", "noembed", "noframes", "noscript", "script", "style", "template"))
# Elements of a line: text goes on through them. All others begin and end a piece of text of their own.
_PHRASING_TAGS = """a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q ruby s samp
small span strike strong sub sup time tt u var wbr"""
_PHRASING = frozenset(_PHRASING_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


class TextCollector:
    """Takes `start`, `text` and `end` of a page; `result` is there at any time. End tags may be missing."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._hidden: dict[str, int] = {}  # hiding elements that are open -> how many
        self._drawings = 0  # open <svg>, whose titles are not the page's
        self._title = ""
        self._in_title = False
        self._meta: dict[str, str] = {}
        self._heading: tuple[int, int] | None = None  # level, first part
        self._headings: list[tuple[int, str]] = []
        self._anchor: tuple[str, int] | None = None  # href, first part
        self._anchors: list[tuple[str, str]] = []

    def start(self, tag: str, attributes: Attributes) -> None:
        """An element begins."""
        if tag not in _PHRASING:
            self._parts.append(" ")
        if tag in _HIDDEN:
            self._hidden[tag] = self._hidden.get(tag, 0) + 1
        if self._hidden:
            return
        if tag == "title" and not self._drawings:
            self._in_title = True
        elif tag == "svg":
            self._drawings += 1
        elif tag == "meta":
            self._describe(attributes)
        elif tag in _HEADINGS:
            self._close_heading()
            self._heading = (_HEADINGS[tag], len(self._parts))
        elif tag == "a" and "href" in attributes:
            self._close_anchor()
            self._anchor = ((attributes["href"] or "").strip(HTML_SPACE), len(self._parts))

    def text(self, text: str) -> None:
        """A piece of text, character references decoded."""
        if self._hidden:
            return
        if self._in_title:
            self._title = self._title or text
        else:
            self._parts.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag not in _PHRASING:
            self._parts.append(" ")
        if tag in self._hidden:
            self._hidden[tag] -= 1
            if not self._hidden[tag]:
                del self._hidden[tag]
        elif tag == "title":
            self._in_title = False
        elif tag == "svg":
            self._drawings = max(self._drawings - 1, 0)
        elif tag in _HEADINGS:
            self._close_heading()
        elif tag == "a":
            self._close_anchor()

    def result(self) -> PageText:
        """Return the page's text so far."""
        self._close_heading()
        self._close_anchor()
        return PageText(_fold([self._title]), self._meta, self._headings, self._anchors, _fold(self._parts))

    def _describe(self, attributes: Attributes) -> None:
        name = (attributes.get("name") or attributes.get("property") or "").strip(HTML_SPACE).lower()
        if name and "content" in attributes:
            self._meta.setdefault(name, _fold([attributes["content"] or ""]))

    def _close_heading(self) -> None:
        if self._heading:
            level, first = self._heading
            self._headings.append((level, _fold(self._parts[first:])))
            self._heading = None

    def _close_anchor(self) -> None:
        if self._anchor:
            href, first = self._anchor
            self._anchors.append((href, _fold(self._parts[first:])))
            self._anchor = None


def _fold(parts: list[str]) -> str:
    return " ".join("".join(parts).split())
