"""A linear scanner for the text of pages that no tree builder should meet.

It knows tags, comments, raw text and attributes, but neither nesting nor implied tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5

from scrawler.extract.links import PageText
from scrawler.extract.markup import ATTRIBUTE, tag_end
from scrawler.extract.text import TextCollector

# Every alternative takes at least one character, so the page is passed over once.
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"  # a comment
    r"|<[!?][^>]*(?:>|\Z)|</(?![a-zA-Z])[^>]*(?:>|\Z)"  # other markup without a name
    r"|<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*)"  # a tag up to the end of its name
    r"|(?P<text>[^<]+|<)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(ATTRIBUTE)
# In attributes a named reference without semicolon stands for itself before "=" and alphanumerics: ?a=1&copy=2.
_REFERENCE = re.compile(r"&(?:(#[xX]?[0-9a-fA-F]+;?)|([a-zA-Z][a-zA-Z0-9]*(?:;|(?![a-zA-Z0-9=]))))")
_RAW_TEXT = frozenset(("script", "style", "xmp", "iframe", "noembed", "noframes"))
_ESCAPABLE_RAW_TEXT = frozenset(("textarea", "title"))
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in (*_RAW_TEXT, *_ESCAPABLE_RAW_TEXT)}

Event = tuple[str, str, str]  # kind ("start", "end" or "text"), name of the tag, its attributes or the text


def scan_text(page: str) -> PageText:
    """Return what a page says."""
    collector = TextCollector()
    for kind, name, rest in _events(page):
        if kind == "text":
            collector.text(rest)
        elif kind == "start":
            collector.start(name, _attributes(rest))
        else:
            collector.end(name)
    return collector.result()


def _events(page: str) -> Iterator[Event]:
    position = 0
    while match := _TOKEN.match(page, position):
        position = match.end()
        name = match["name"]
        if name is None:
            if text := match["text"]:
                yield "text", "", unescape(text)
            continue
        end_of_tag = tag_end(page, position)
        if end_of_tag == len(page):  # the page ends inside a tag, which browsers drop
            return
        name = name.lower()
        yield "end" if match["end"] else "start", name, page[position:end_of_tag]
        position = end_of_tag + 1
        if name == "plaintext":
            return
        if name in _RAW_END and not match["end"]:
            end = _RAW_END[name].search(page, position)
            stop = end.start() if end else len(page)
            text = page[position:stop]
            yield "text", "", unescape(text) if name in _ESCAPABLE_RAW_TEXT else text
            position = stop


def _attributes(source: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for match in _ATTRIBUTE.finditer(source.replace("\0", "\ufffd")):
        value = match["double"] or match["single"] or match["bare"] or ""
        found.setdefault(match["name"].lower(), _REFERENCE.sub(_resolved, value) if "&" in value else value)
    return found


def _resolved(reference: re.Match[str]) -> str:
    number, name = reference.groups()
    return unescape(reference[0]) if number else html5.get(name, reference[0])
