"""The text of a page as a reader sees it, line by line; for people, not for the crawl.

What stands in one paragraph, cell or heading is one line, whatever is marked in it; what only programs read (scripts,
styles, templates) is left out, as is the head, and what is hidden (see `shown`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from scrawler.extract.charset import to_utf8
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.shown import shown
from scrawler.extract.trees import tree_of
from scrawler.extract.xml_text import xml_text
from scrawler.mime import media_type

_HTML = ("text/html", "application/xhtml+xml")
_IS_XML = re.compile(r"(?:text|application)/(?:[^/]*\+)?xml\Z")
_IS_TEXT = re.compile(r"text/|application/(?:json|javascript|ecmascript|x-javascript|x-ndjson|[^/]*\+json)\Z")
_UNSEEN = frozenset(("script", "style", "template", "noscript", "head", "title", "datalist", "svg", "math"))
_INLINE = frozenset((
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "input", "ins", "kbd", "label", "mark", "meter", "nobr", "output", "picture", "progress", "q",
    "rp", "rt", "ruby", "s", "samp", "slot", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
    "u", "var", "wbr"
))  # fmt: skip
_AS_WRITTEN = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))
_LINE_BREAK = "br"
_MOST_MARKUP = re.compile(r"<(?:!--.*?(?:-->|\Z)|[^>]*(?:>|\Z))", re.DOTALL)


def visible_text(body: bytes, content_type: str, kind: str) -> str | None:
    """Return the text of a decoded body; None for what is no text.

    `content_type` is what the server said, `kind` the media type that counts.
    """
    kind = kind or media_type(content_type).essence
    if kind in _HTML or not kind:
        page, _ = to_utf8(body, content_type)
        return _of_tags(page) if is_hazardous(page) else "\n".join(_lines(shown(page)))
    if _IS_XML.match(kind):
        return xml_text(body, content_type)[0]
    if _IS_TEXT.match(kind):
        return to_utf8(body, content_type)[0].decode("utf-8", "replace")
    return None


def _of_tags(page: bytes) -> str:
    """Return what stands between tags, of a page that no tree can be built of."""
    text = html.unescape(_MOST_MARKUP.sub("\n", page.decode("utf-8", "replace")))
    return "\n".join(line for one in text.splitlines() if (line := " ".join(one.split())))


def _lines(page: bytes) -> Iterator[str]:
    body = tree_of(page).body
    block, as_written, parts = -1, False, list[str]()
    for node, around in _seen(body) if body is not None else ():
        if node.tag == _LINE_BREAK:
            parts.append("\n")
            continue
        if around.mem_id != block:
            yield from _finished(parts, as_written)
            block, as_written, parts = around.mem_id, around.tag in _AS_WRITTEN, []
        text = node.text_content or ""
        parts.append(text if as_written else " ".join(text.splitlines()))
    yield from _finished(parts, as_written)


def _seen(body: LexborNode) -> Iterator[tuple[LexborNode, LexborNode]]:
    """Yield the texts and line breaks that are shown, in their order, each with the block in which it stands.

    A stack holds what waits, for pages can nest what they like.
    """
    waiting = [(body, body)]
    while waiting:
        node, block = waiting.pop()
        tag = node.tag
        if node.is_text_node or tag == _LINE_BREAK:
            yield node, block
        elif node.is_element_node and tag not in _UNSEEN:
            inside = block if tag in _INLINE else node
            waiting += [(one, inside) for one in reversed(list(node.iter(include_text=True)))]


def _finished(parts: list[str], as_written: bool) -> Iterator[str]:
    """Yield the lines of a block, without empty ones."""
    for line in "".join(parts).split("\n"):
        shown = line.rstrip() if as_written else " ".join(line.split())
        if shown:
            yield shown
