"""Decoders of the WHATWG Encoding Standard by its names, made of Python's codecs.

Python has nearly all of them under the same names, or takes less under them than browsers do. What a page's text says
of a link must come back as the same bytes where its query is encoded again (`urls.query`), so what is common on the
web is mended here: NEC's and IBM's characters in Japanese encodings, the euro and the wide space of GBK, the signs of
Big5, the controls of Windows. Some 150 characters of Hong Kong's Big5 stay U+FFFD, and 18 of GB 18030-2005 private.
"""

from __future__ import annotations

import codecs
import threading
from functools import lru_cache

import webencodings

from scrawler.urls.encoders import SINGLE_BYTE, big5, kanji_cells, single_byte

# The Encoding Standard's decoders for these take more than the codecs that Python has under the same names.
_CODECS = {
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "gbk": "gb18030",
    "iso-2022-jp": "iso2022_jp_ext",
}
# What Python makes of some bytes -> what browsers make of them.
_JAPANESE = (("〜", "～"), ("‖", "∥"), ("−", "－"), ("¢", "￠"), ("£", "￡"), ("¬", "￢"))
_CHINESE = (("\ue5e5", "\u3000"),)
_TAIWANESE = (
    ("•", "‧"), ("､", "﹑"), ("‾", "¯"), ("∼", "～"), ("♁", "⊕"), ("☉", "⊙"), ("¥", "￥"), ("¢", "￠"), ("£", "￡")
)  # fmt: skip
_SPELT = {
    "euc-jp": _JAPANESE,
    "iso-2022-jp": _JAPANESE,
    "gbk": _CHINESE,
    "gb18030": _CHINESE,
    "big5": _TAIWANESE,
}
_MOST_ERRORS = 20_000  # errors of one body whose meaning is looked up
_HIGH = 0x80

# `number`: how many errors a thread has met in the body that it decodes. It is no part of what knows the errors of an
# encoding: two threads that meet one for the first time at once make two of these, and Python calls the last one.
_found = threading.local()


def decoded(body: bytes, name: str) -> str:
    """Return the text of a body in the encoding with this WHATWG name; what is invalid in it becomes U+FFFD."""
    if name in SINGLE_BYTE:
        return codecs.charmap_decode(body, "replace", _table(name))[0]
    encoding = webencodings.lookup(name)
    assert encoding is not None  # all names come from webencodings itself
    codec = codecs.lookup(_CODECS[name]) if name in _CODECS else encoding.codec_info
    errors = _errors(name)
    if errors is None:
        return codec.decode(body, "replace")[0]
    _found.number = 0
    try:
        text = codec.decode(body, errors.name)[0]
    except _TooManyError:
        text = codec.decode(body, "replace")[0]
    for pythons, browsers in _SPELT[name]:
        text = text.replace(pythons, browsers)
    return text


@lru_cache(maxsize=64)
def _table(name: str) -> str:
    """Return what each byte means in a single-byte encoding."""
    meant = ["\ufffd"] * 256
    meant[:128] = map(chr, range(128))
    for character, byte in single_byte(name).items():
        meant[byte[0]] = character
    return "".join(meant)


@lru_cache(maxsize=16)
def _errors(name: str) -> _Errors | None:
    """Return what knows the bytes that Python's codec refuses and browsers read."""
    if name == "euc-jp":
        lacking = {bytes(byte | _HIGH for byte in cell): character for cell, character in kanji_cells().items()}
    elif name == "iso-2022-jp":
        lacking = kanji_cells()
    elif name == "big5":
        lacking = {both: character for character, both in big5().items()}
    elif name in ("gbk", "gb18030"):
        lacking = {b"\x80": "€"}
    else:
        return None
    errors = _Errors(f"scrawler.{name}", lacking)
    codecs.register_error(errors.name, errors.meant)
    return errors


class _TooManyError(Exception):
    """A body has more errors than is worth while."""


class _Errors:
    """An error handler for `codecs` that knows what some invalid bytes mean."""

    def __init__(self, name: str, lacking: dict[bytes, str]) -> None:
        self.name = name
        self._lacking = lacking

    def meant(self, error: UnicodeError) -> tuple[str, int]:
        """Return what stands for the bytes of an error, and where to go on."""
        assert isinstance(error, UnicodeDecodeError)
        _found.number += 1
        if _found.number > _MOST_ERRORS:
            raise _TooManyError
        for length in (2, 1):
            piece = error.object[error.start : error.start + length]
            if piece in self._lacking:
                return self._lacking[piece], error.start + len(piece)
        return "\ufffd", error.end
