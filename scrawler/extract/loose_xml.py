"""Reading XML that is broken: what markup there is, token by token, with no rule that could end it.

Meant for documents that a parser has refused, for one raw "&" perhaps. No token is passed over twice, entities are
those of HTML, and declarations are read over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import html5
from typing import NamedTuple

_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)|<![^>]*(?:>|\Z)"
    r"""|<(?P<end>/?)(?P<name>[^\s<>/="']+)(?=[\s/>])(?P<rest>[^<>]*)>"""
    r"|(?P<text>[^<]+|<)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""(?<![^\s/"'])([^\s=/"'<>]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = re.compile(r"&(?:#(?P<decimal>[0-9]{1,7})|#[xX](?P<hex>[0-9a-fA-F]{1,6})|(?P<name>[A-Za-z][A-Za-z0-9]*));")
_LARGEST = 0x10FFFF


class Start(NamedTuple):
    """An element begins."""

    name: str
    attributes: dict[str, str]
    is_empty: bool  # whether the tag is the element's end as well


class End(NamedTuple):
    """An element ends; which one is for the reader to say."""

    name: str


def tokens(text: str) -> Iterator[Start | End | str]:
    """Yield starts, ends, and texts."""
    for match in _TOKEN.finditer(text):
        if match["name"] is not None:
            if match["end"]:
                yield End(match["name"])
            else:
                found = _ATTRIBUTE.findall(match["rest"])
                attributes = {name: resolved(double or single) for name, double, single in reversed(found)}
                yield Start(match["name"], attributes, match["rest"].endswith("/"))
        elif match["text"] is not None:
            yield resolved(match["text"])
        elif match["cdata"] is not None:
            yield match["cdata"]


def resolved(text: str) -> str:
    """Return a text with its references resolved; what looks like one and is unknown stands for itself."""
    return _REFERENCE.sub(_meant, text) if "&" in text else text


def _meant(reference: re.Match[str]) -> str:
    if name := reference["name"]:
        return html5.get(f"{name};", reference[0])
    code = int(reference["decimal"]) if reference["decimal"] else int(reference["hex"], 16)
    valid = 0 < code <= _LARGEST and not 0xD800 <= code < 0xE000
    return chr(code) if valid else "\ufffd"
