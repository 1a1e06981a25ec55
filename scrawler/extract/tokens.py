"""The tokenizer of HTML (HTML Standard, 13.2.5), in linear time, for pages that no tree builder should meet.

It knows tags, attributes, comments and raw text, but neither nesting nor implied tags: in SVG too it reads HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.entities import html5
from typing import Literal

# White space is that of HTML: "\s" would be more. Each token takes at least one character, and there is one way only to
# read it, so that a page is passed over once.
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"  # a comment
    r"|<[!?][^>]*(?:>|\Z)|</(?![a-zA-Z])[^>]*(?:>|\Z)"  # other markup without a name
    r"|<(?P<end>/?)(?P<name>[a-zA-Z][^ \t\n\f\r/>]*)"  # a tag up to the end of its name
    r"|(?P<text>[^<]+|<)",
    re.DOTALL,
)
# What stands between attributes, the end of the tag, or one attribute. A value whose quote is not closed is cut.
_ATTRIBUTE = re.compile(
    r"[ \t\n\f\r/]+|(?P<end>>)|(?P<name>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*)[ \t\n\f\r]*"
    r"""(?:=[ \t\n\f\r]*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?=>)"""
    r"""|(?P<bare>[^"' \t\n\f\r>][^ \t\n\f\r>]*)|(?P<cut>.?)))?""",
    re.DOTALL,
)
_REFERENCE = re.compile(r"&(?:#(?:[xX](?P<hex>[0-9a-fA-F]+)|(?P<decimal>[0-9]+));?|(?P<name>[a-zA-Z][a-zA-Z0-9]*;?))")
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}  # letters beyond ASCII keep their case in names
_LARGEST = 0x10FFFF
_MOST_DIGITS = 8  # digits of a number that can be a character, without leading zeros

_ESCAPABLE_RAW_TEXT = ("textarea", "title")
_RAW_END = {
    name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE | re.ASCII)
    for name in ("style", "xmp", "iframe", "noembed", "noframes", *_ESCAPABLE_RAW_TEXT)
}
# In scripts a comment can hide "</script>" (13.2.5.15 to 31).
_SCRIPT_PLAIN = re.compile(r"<!(?=--)|(?P<end></script(?=[ \t\n\f\r/>]))", re.IGNORECASE | re.ASCII)
_SCRIPT_ESCAPED = re.compile(
    r"(?P<plain>-->)|(?P<end></script(?=[ \t\n\f\r/>]))|<script[ \t\n\f\r/>]", re.IGNORECASE | re.ASCII
)
_SCRIPT_DOUBLE = re.compile(r"(?P<plain>-->)|</script[ \t\n\f\r/>]", re.IGNORECASE | re.ASCII)

Token = tuple[Literal["start", "end", "text"], str, str]  # its kind, the tag's name, its attributes or the text


def tokens(page: str) -> Iterator[Token]:
    """Yield the tags and texts of a page in order."""
    if "\r" in page:
        page = page.replace("\r\n", "\n").replace("\r", "\n")
    position = 0
    while match := _TOKEN.match(page, position):
        position = match.end()
        if match["name"] is None:
            if text := match["text"]:
                yield "text", "", _text(text)
            continue
        end = _tag_end(page, position)
        if end < 0:  # the page ends inside the tag, which browsers drop
            return
        name = _lower(match["name"])
        yield "end" if match["end"] else "start", name, page[position:end]
        position = end + 1
        if match["end"]:
            continue
        if name == "plaintext":
            return
        if name == "script" or name in _RAW_END:
            stop = _script_end(page, position) if name == "script" else _raw_end(page, position, name)
            text = page[position:stop]
            yield "text", "", _text(text) if name in _ESCAPABLE_RAW_TEXT else text
            position = stop


def attributes_of(source: str) -> dict[str, str | None]:
    """Return the attributes of a tag by their lower-case names; of equal ones the first counts."""
    found: dict[str, str | None] = {}
    for match in _ATTRIBUTE.finditer(source.replace("\0", "\ufffd")):
        if name := match["name"]:
            value = match["double"] or match["single"] or match["bare"] or ""
            found.setdefault(_lower(name), _REFERENCE.sub(_in_value, value) if "&" in value else value)
    return found


def _tag_end(page: str, position: int) -> int:
    """Return the position of the ">" that ends a tag, or -1; `position` is behind the tag's name."""
    if page.startswith(">", position):
        return position
    while match := _ATTRIBUTE.match(page, position):
        position = match.end()
        if match.lastgroup == "end":
            return position - 1
        if match.lastgroup == "cut":
            break
    return -1


def _raw_end(page: str, position: int, name: str) -> int:
    end = _RAW_END[name].search(page, position)
    return end.start() if end else len(page)


def _script_end(page: str, position: int) -> int:
    state = _SCRIPT_PLAIN
    while match := state.search(page, position):
        position = match.end()
        if match.lastgroup == "end":
            return match.start()
        if match.lastgroup == "plain":
            state = _SCRIPT_PLAIN
        elif state is _SCRIPT_ESCAPED:
            state = _SCRIPT_DOUBLE
        else:
            state = _SCRIPT_ESCAPED
    return len(page)


def _lower(name: str) -> str:
    return name.lower() if name.isascii() else name.translate(_LOWER)


def _text(source: str) -> str:
    return _REFERENCE.sub(_in_text, source) if "&" in source else source


def _in_text(reference: re.Match[str]) -> str:
    return _numbered(reference) or unescape(reference[0])


def _in_value(reference: re.Match[str]) -> str:
    """Decode a reference in a value, where one without semicolon stands for itself before "=": ?a=1&copy=2."""
    if reference["name"] is None:
        return _numbered(reference)
    if not reference["name"].endswith(";") and reference.string.startswith("=", reference.end()):
        return reference[0]
    return html5.get(reference["name"], reference[0])


def _numbered(reference: re.Match[str]) -> str:
    """Return the character of a numeric reference, "" for one by name."""
    digits = reference["hex"] or reference["decimal"]
    if digits is None:
        return ""
    digits = digits.lstrip("0")[:_MOST_DIGITS] or "0"  # a number of more digits stays too large when it is cut
    code = int(digits, 16 if reference["hex"] else 10)
    if 0x80 <= code < 0xA0:
        return bytes((code,)).decode("cp1252", "replace").replace("\ufffd", chr(code))
    valid = 0 < code <= _LARGEST and not 0xD800 <= code < 0xE000
    return chr(code) if valid else "\ufffd"
