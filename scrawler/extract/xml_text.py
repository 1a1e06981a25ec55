"""XML documents before they are parsed: their text, and what their root element is called."""

from __future__ import annotations

import codecs
import re

from scrawler.extract.charset import declared_in_header, declared_in_xml
from scrawler.extract.decoders import decoded

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BARE_STARTS = ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"), (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
# What may stand before the root element, part for part, and its start tag.
_BEFORE_ROOT = re.compile(r"\s+|<\?[^>]*>|<!--.*?-->|<!(?!--)[^<>\[]*(?:\[[^\]]*\]\s*)?>", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)(?=[\s/>])([^<>]*)")


def xml_text(body: bytes, content_type: str) -> tuple[str, str]:
    """Return a document's text, and the encoding it was in (RFC 7303, 3; XML 1.0, appendix F).

    Bytes that are invalid in the encoding are replaced. UTF-16 and UTF-32 are called utf-8, as which their links are.
    """
    for mark, codec in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace").lstrip(), "utf-8"
    for start, codec in _BARE_STARTS:
        if body.startswith(start):
            return body.decode(codec, "replace"), "utf-8"
    in_header = declared_in_header(content_type)
    if in_header.startswith("utf-16"):  # what was read as ASCII is not in UTF-16
        in_header = ""
    name = in_header or declared_in_xml(body) or "utf-8"
    return decoded(body, name).lstrip(), name


def root_of(text: str) -> tuple[str, str]:
    """Return the name of the root element, without prefix, and its attributes as written; empty if there is none."""
    position = 0
    while part := _BEFORE_ROOT.match(text, position):
        position = part.end()
    root = _ROOT.match(text, position)
    return (root[1], root[2]) if root else ("", "")
