"""What styles in a page load: backgrounds and the like in style elements, style attributes and what scripts read.

They are found by a look at the tags alone, the same for all extractors: a background stands where it stands, wherever
a parser would put its element. Comments and scripts are passed over.
"""

from __future__ import annotations

import re
from html import unescape

_TELLING = re.compile(rb"url\(|data-b(?:g|ackground)", re.IGNORECASE)
_PLACES = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<(?:script|textarea|title)[ \t\n\f\r>].*?(?:</(?:script|textarea|title)|\Z)"
    rb"|<style[ \t\n\f\r>](?P<sheet>.*?)(?:</style|\Z)"
    rb"|[ \t\n\f\r\"\'](?P<name>style|data-bg|data-background|data-background-image)="
    rb"(?:\"(?P<double>[^\"]*)\"|\'(?P<single>[^\']*)\'|(?P<bare>[^\"\' \t\n\f\r>]+))",
    re.IGNORECASE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_URL = re.compile(
    r"(?<![\w-])url\([ \t\n\f\r]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\"'() \t\n\f\r]+))[ \t\n\f\r]*\)", re.IGNORECASE
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n\f\r]?|(.))")
_LARGEST = 0x10FFFF
_MOST = 5_000  # URLs of a page


def style_urls(page: bytes) -> list[str]:
    """Return the URLs that styles in a page of UTF-8 load, as written; `data:` URLs and places in the page are none."""
    if _TELLING.search(page) is None:
        return []
    found: dict[str, None] = {}
    for place in _PLACES.finditer(page):
        sheet = place["sheet"]
        value = place["double"] or place["single"] or place["bare"]
        if sheet is not None:
            urls = _urls_of(sheet.decode("utf-8", "replace"))
        elif value is not None:
            text = unescape(value.decode("utf-8", "replace"))
            urls = _urls_of(text)
            if not urls and place["name"].lower() != b"style":
                urls = [text.strip()]  # a script makes a background of it
        else:
            continue
        found.update(dict.fromkeys(urls))
        if len(found) >= _MOST:
            break
    return [url for url in found if url and not url.startswith(("data:", "#", "{", "["))]


def _urls_of(css: str) -> list[str]:
    """Return what a style sheet or the value of a style attribute loads (CSS Values 4, "url()")."""
    if "(" not in css:
        return []
    css = _COMMENT.sub(" ", css) if "/*" in css else css
    return [_ESCAPE.sub(_unescaped, "".join(filter(None, match.groups()))).strip() for match in _URL.finditer(css)]


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[2]
    code = int(match[1], 16)
    return chr(code) if 0 < code <= _LARGEST and not 0xD800 <= code < 0xE000 else "\ufffd"
