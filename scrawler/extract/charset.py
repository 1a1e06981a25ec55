"""From bytes to UTF-8: what a page's encoding is.

The order is that of the HTML Standard, 13.2.3.2: byte order mark, Content-Type header, <meta> in the first 1,024
bytes, XML declaration, and then a guess. A page that declares nothing and is valid UTF-8 is UTF-8 here; browsers refuse
that guess only to keep authors honest. So are pages in UTF-16 without a byte order mark recognised, by the zeros in
their markup. For the rest chardetng guesses, the detector that Firefox uses for the same question; it cannot tell GBK
from its superset GB18030 nor KOI8-R from KOI8-U, which does no harm, and a single-byte encoding needs some words to be
told from others.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

import webencodings
from chardetng_py.detector import EncodingDetector

from scrawler.extract.decoders import decoded
from scrawler.extract.markup import ATTRIBUTE, TAG_REST
from scrawler.mime import media_type

_PRESCANNED: Final = 1_024  # bytes in which a declaration is looked for
_DETECTED = 16_384  # bytes on which a guess is based, at most
_TELLING = re.compile(rb"[\x1b\x80-\xff]")  # what plain ASCII does not have
_VALIDATED = 65_536  # bytes that must be valid UTF-8 for a page that does not declare it
_FALLBACK = "windows-1252"
_BYTE_ORDER_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))

_CONTENT_CHARSET = re.compile(rb"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)
_MARKUP: Final = re.compile(
    rf"<!--.*?(?:-->|\Z)|<meta[\s/](?P<meta>{TAG_REST})(?P<closed>>?)|</?[a-z]{TAG_REST}|<[!/?][^>]*".encode(),
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(ATTRIBUTE.encode())
_SAYS_MORE: Final = re.compile(b"""[>"'=]""")
_XML_DECLARATION = re.compile(rb"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")


def to_utf8(body: bytes, content_type: str) -> tuple[bytes, str]:
    """Return the body in UTF-8 and the WHATWG name of the encoding it was in; UTF-8 is handed back as it came.

    Bytes that are invalid in the encoding become U+FFFD; in a body that was UTF-8 they are still there.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _transcode(body[len(mark) :], name)
    name = declared_in_header(content_type) or declared_in_meta(body[:_PRESCANNED])
    name = name or declared_in_xml(body) or _guess(body)
    return (body, name) if name == "utf-8" else _transcode(body, name)


def declared_in_meta(start: bytes) -> str:
    """Return the encoding that a <meta> declares (HTML Standard, 13.2.3.2, "prescan"), or an empty string.

    The pages of a site are mostly the same up to their declaration, but for their titles, and what follows cannot
    change what it says.
    """
    named = start.find(b"charset")
    end = start.find(b">", named) + 1 if named >= 0 else 0
    name = _declared_by(_without_title(start[:end])) if 0 < end <= _PRESCANNED else ""
    return name or _prescan(start)


def _without_title(beginning: bytes) -> bytes:
    """Return the beginning of a page without the text of its title, where that says nothing wherever it may stand.

    What could end a comment, a tag or a value, or declare anything, is left where it is.
    """
    begin = beginning.find(b"<title>") + len(b"<title>")
    if begin < len(b"<title>"):
        return beginning
    end = beginning.find(b"<", begin)
    if end < 0 or _SAYS_MORE.search(beginning, begin, end) is not None:
        return beginning
    return beginning[:begin] + beginning[end:]


def _prescan(start: bytes) -> str:
    for markup in _MARKUP.finditer(start):
        if markup["closed"] and (name := _meta_charset(markup["meta"])):
            return name
    return ""


@lru_cache(maxsize=1_024)  # beginnings of pages, which take 1 MB at most
def _declared_by(beginning: bytes) -> str:
    return _prescan(beginning)


def declared_in_xml(body: bytes) -> str:
    """Return the encoding that an XML declaration at the beginning declares, or an empty string."""
    declared = _XML_DECLARATION.match(body)
    name = _label(declared[1].decode()) if declared else ""
    return "" if name.startswith("utf-16") else name  # a declaration that was read as ASCII is not in UTF-16


def declared_in_header(content_type: str) -> str:
    """Return the encoding that an answer's Content-Type headers, joined with ", ", declare, or an empty string."""
    return _label(media_type(content_type).charset)


@lru_cache(maxsize=256)  # sites give the same few labels with every page
def _label(label: str) -> str:
    return _known(label)


@lru_cache(maxsize=64)  # sites give the same few <meta> with every page, which take 1 MB at most
def _meta_charset(source: bytes) -> str:
    attributes: dict[bytes, bytes] = {}
    for match in _ATTRIBUTE.finditer(source):
        value = match["double"] or match["single"] or match["bare"] or b""
        attributes.setdefault(match["name"].lower(), value)
    label = attributes.get(b"charset", b"")
    if b"charset" not in attributes and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        match_content = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
        if match_content:
            label = match_content[1] or match_content[2] or match_content[3] or b""
    name = _known(label.decode("latin-1"))
    if name.startswith("utf-16"):
        return "utf-8"  # a declaration that was read as ASCII is not in UTF-16
    return _FALLBACK if name == "x-user-defined" else name


def _known(label: str | None) -> str:
    encoding = webencodings.lookup(label) if label else None
    # "replacement" stands for encodings that the Encoding Standard refuses to decode for safety.
    return encoding.name if encoding and encoding.name != "replacement" else ""


def _guess(body: bytes) -> str:
    if utf16 := _guess_utf16(body[:_PRESCANNED]):
        return utf16
    if b"\x1b" not in body and (body.isascii() or _is_utf8(body[:_VALIDATED])):  # with escapes it may be ISO-2022-JP
        return "utf-8"
    # For a declaration further down a browser starts again; here it only has to be better than a guess.
    if late := declared_in_meta(body[:_DETECTED]):
        return late
    telling = _TELLING.search(body)  # plain ASCII before it says nothing, and long scripts may stand there
    begin = max(telling.start() - _PRESCANNED, 0) if telling else 0
    guess = EncodingDetector()
    guess.feed(body[begin : begin + _DETECTED], last=len(body) <= begin + _DETECTED)
    return _known(guess.guess(tld=None, allow_utf8=False)) or _FALLBACK


def _guess_utf16(start: bytes) -> str:
    """Return the UTF-16 in which a page begins, which declares nothing that could be read, or an empty string.

    A page begins with ASCII markup, and holds more of it, so that zeros stand in every other place and hardly between.
    """
    if b"\0" not in start[:4]:
        return ""
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) < max(len(start) // 16, 3) or 8 * min(even, odd) > max(even, odd):
        return ""
    return "utf-16le" if odd > even else "utf-16be"


def _is_utf8(start: bytes) -> bool:
    try:
        codecs.utf_8_decode(start, "strict", False)  # False: a character that is cut in two at the end is no error
    except UnicodeDecodeError:
        return False
    return True


def _transcode(body: bytes, name: str) -> tuple[bytes, str]:
    if name == "utf-8":
        return body, name
    return decoded(body, name).encode("utf-8", "replace"), name
