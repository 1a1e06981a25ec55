"""The queries of links, percent-encoded in the encoding of their document (WHATWG URL standard, "query state").

Path and fragment of a link are UTF-8 whatever the page is in, but old sites read their parameters in their own
encoding, and so browsers write links: on a GBK page `/s?q=中文` asks for `/s?q=%D6%D0%CE%C4`. A character that the
encoding lacks becomes a character reference, percent-encoded: `%26%2326376%3B`. What is ASCII is left to the URL
parser, so that of pages in UTF-8, and of links in ASCII, nothing is changed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from scrawler.urls.encoders import STATEFUL, Encode, encoder, kanji

AS_UTF_8: Final = frozenset(("", "utf-8"))  # labels that nearly all pages have; others are looked up
_ENCODED = frozenset(b"\"#<>'").union(range(0x21), range(0x7F, 0x100))  # the special-query percent-encode set
_ESCAPED = [f"%{byte:02X}" if byte in _ENCODED else chr(byte) for byte in range(256)]
_SHORT = 2  # encoded characters of so many bytes are remembered; GB 18030 has many of four, which hardly come again

# In ISO-2022-JP these switch to ASCII, to the Latin letters of JIS X 0201 (with yen and overline), and to JIS X 0208.
_TO_ASCII, _TO_LATIN, _TO_KANJI = b"\x1b(B", b"\x1b(J", b"\x1b$B"
_LATIN = {"\xa5": b"\\", "\u203e": b"~"}
_SWITCHES = "\x0e\x0f\x1b"  # the encoding lacks these, which would switch by themselves
_NOT_PLAIN = re.compile(rf"[^\x00-\x7f]|[{_SWITCHES}]")
_WIDE_KATAKANA = dict(
    zip(
        map(chr, range(0xFF61, 0xFFA0)),
        "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜",
        strict=True,
    )
)
_TRIMMED = "".join(map(chr, range(0x21)))  # what is trimmed at both ends of a URL
_DROPPED = str.maketrans("", "", "\t\n\r")


class _Escapes(dict[int, int | str]):
    """For `str.translate`: what stands in a query for each character, learned as they come."""

    def __init__(self, encode: Encode) -> None:
        super().__init__((code, code) for code in range(0x80))
        self._encode = encode

    def __missing__(self, code: int) -> str:
        encoded = self._encode(chr(code))
        escaped = _escaped(encoded) if encoded else _lacked(code)
        if 0 < len(encoded) <= _SHORT:
            self[code] = escaped
        return escaped


def encode_query(href: str, charset: str, max_length: int) -> str:
    """Return a link as written in a document with this encoding, a WHATWG name, its query as that encodes it.

    One that is longer than `max_length`, fragment apart, is too long for a URL and left as it is.
    """
    if charset in AS_UTF_8 or _NOT_PLAIN.search(href) is None:
        return href
    before, sharp, fragment = href.partition("#")
    path, mark, query = before.partition("?")
    if not mark or len(before) > max_length:
        return href
    if charset == STATEFUL:
        query = query if sharp else query.rstrip(_TRIMMED)
        return path + mark + _in_iso_2022_jp(query.translate(_DROPPED)) + sharp + fragment
    escapes = None if query.isascii() else _escapes(charset)
    return href if escapes is None else path + mark + query.translate(escapes) + sharp + fragment


@lru_cache(maxsize=64)
def _escapes(charset: str) -> _Escapes | None:
    encode = encoder(charset)
    return None if encode is None else _Escapes(encode)


def _escaped(encoded: bytes) -> str:
    return "".join([_ESCAPED[byte] for byte in encoded])


def _lacked(code: int) -> str:
    return f"%26%23{code}%3B"


def _in_iso_2022_jp(query: str) -> str:
    """Encode a query in the one encoding in which bytes mean what the last switch before them says."""
    parts: list[str] = []
    now = _TO_ASCII
    for character in query:
        wanted, encoded = _in_set(character, now)
        if wanted != now:
            parts.append(_escaped(wanted))
            now = wanted
        if encoded:
            parts.append(_escaped(encoded))
        else:
            parts.append(_lacked(ord("\ufffd" if character in _SWITCHES else character)))
    if now != _TO_ASCII:
        parts.append(_escaped(_TO_ASCII))
    return "".join(parts)


def _in_set(character: str, now: bytes) -> tuple[bytes, bytes]:
    """Return the switch to the set in which a character is, and its bytes there; none if it is lacked."""
    if character in _SWITCHES:
        return (now if now != _TO_KANJI else _TO_ASCII), b""
    if character < "\x80":
        stays = now == _TO_LATIN and character not in "\\~"
        return (now if stays else _TO_ASCII), character.encode()
    if character in _LATIN:
        return _TO_LATIN, _LATIN[character]
    cell = kanji().get(_WIDE_KATAKANA.get(character, character))
    if cell is not None:
        return _TO_KANJI, cell
    return (now if now != _TO_KANJI else _TO_ASCII), b""
