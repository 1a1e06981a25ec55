"""Decoders of the WHATWG Encoding Standard by its names, made of Python's codecs.

Python has nearly all of them under the same names, or takes less under them than browsers do. What a page's text says
of a link must come back as the same bytes where its query is encoded again (`urls.query`), so all that differs is
mended here: NEC's and IBM's characters in Japanese encodings, the euro and the wide space of GBK, what GB 18030 has
moved, the signs of Big5 and Hong Kong's characters, the controls of Windows. An error is as long as the standard says:
a byte of ASCII behind it stays, for it may be markup. ISO-2022-JP has a decoder of its own (`iso2022jp`).
"""

from __future__ import annotations

import codecs
import re
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache

import webencodings

from scrawler.extract.hong_kong import hong_kong
from scrawler.extract.iso2022jp import from_iso2022jp
from scrawler.urls.encoders import GB_MOVED, SINGLE_BYTE, STATEFUL, big5, kanji_cells, single_byte

# The Encoding Standard's decoders for these take more than the codecs that Python has under the same names.
_CODECS = {
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "gbk": "gb18030",
}
# What Python makes of some bytes -> what browsers make of them.
_JAPANESE = (("〜", "～"), ("‖", "∥"), ("−", "－"), ("¢", "￠"), ("£", "￡"), ("¬", "￢"))
_FREE = chr(0xDFFF)  # stands in no text; mypyc takes no such literal
_EXCHANGED = (("ḿ", _FREE), ("\ue7c7", "ḿ"), (_FREE, "\ue7c7"))
_MOVED = tuple((old, new) for new, old in GB_MOVED.items() if new not in "ḿ\ue7c7")
_CHINESE = (("\ue5e5", "\u3000"), *_EXCHANGED, *_MOVED)
_TAIWANESE = (
    ("•", "‧"), ("､", "﹑"), ("‾", "¯"), ("∼", "～"), ("♁", "⊕"), ("☉", "⊙"), ("¥", "￥"), ("¢", "￠"), ("£", "￡")
)  # fmt: skip
_SHIFT_JIS = tuple((character, "\ufffd") for character in "\uf8f0\uf8f1\uf8f2\uf8f3")
_SPELT = {
    "euc-jp": _JAPANESE,
    "gbk": _CHINESE,
    "gb18030": _CHINESE,
    "big5": _TAIWANESE,
    "shift_jis": _SHIFT_JIS,
}
# The wide tilde of JIS X 0212, of which Python makes ASCII's, is the same character as that of JIS X 0208.
_TILDE, _SAME_TILDE = b"\x8f\xa2\xb7", b"\xa1\xc1"
_SLASHES = {b"\xa2A": "∕", b"\xa2B": "﹨"}
_SLASH = re.compile(rb"\xa2[AB]")
_BIG5_PAIR = re.compile(rb"[\x81-\xfe][@-~\x80-\xff]")
_MOST_ERRORS = 20_000  # errors of one body whose meaning is looked up
_HIGH = 0x80
_LONGEST = 4  # bytes of a character

# `number`: how many errors a thread has met in the body that it decodes. It is no part of what knows the errors of an
# encoding: two threads that meet one for the first time at once make two of these, and Python calls the last one.
_found = threading.local()


def decoded(body: bytes, name: str) -> str:
    """Return the text of a body in the encoding with this WHATWG name; what is invalid in it becomes U+FFFD."""
    if name in SINGLE_BYTE:
        return codecs.charmap_decode(body, "replace", _table(name))[0]
    if name == STATEFUL:
        return from_iso2022jp(body, lambda pairs: decoded(pairs, "euc-jp"))
    if name == "big5" and _SLASH.search(body) is not None:
        return "".join(_between_slashes(body))
    return _decoded(body, name)


def _decoded(body: bytes, name: str) -> str:
    encoding = webencodings.lookup(name)
    assert encoding is not None  # all names come from webencodings itself
    codec = codecs.lookup(_CODECS[name]) if name in _CODECS else encoding.codec_info
    errors = _errors(name)
    if errors is None:
        return codec.decode(body, "replace")[0]
    if name == "euc-jp":
        body = body.replace(_TILDE, _SAME_TILDE)
    _found.number = 0
    try:
        text = codec.decode(body, errors.name)[0]
    except _TooManyError:
        text = codec.decode(body, "replace")[0]
    for pythons, browsers in _SPELT.get(name, ()):
        text = text.replace(pythons, browsers)
    return text


def _between_slashes(body: bytes) -> Iterator[str]:
    """Yield the text of a body in Big5, where two of its slashes stand: Python takes them for two others."""
    at = 0
    for pair in _BIG5_PAIR.finditer(body):
        if pair[0] in _SLASHES:
            yield _decoded(body[at : pair.start()], "big5")
            yield _SLASHES[pair[0]]
            at = pair.end()
    yield _decoded(body[at:], "big5")


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
    """Return what knows the bytes that Python's codec refuses and browsers read, if it has any."""
    if name not in _LENGTHS:
        return None
    errors = _Errors(f"scrawler.{name}", _lacking(name), _LENGTHS[name])
    codecs.register_error(errors.name, errors.meant)
    return errors


def _lacking(name: str) -> dict[bytes, str]:
    """Return what some bytes mean that Python's codec refuses."""
    if name == "euc-jp":
        return {bytes(byte | _HIGH for byte in cell): character for cell, character in kanji_cells().items()}
    if name == "big5":
        return {both: character for character, both in big5().items()} | dict(hong_kong())
    return {b"\x80": "€"} if name in ("gbk", "gb18030") else {}


def _length_of_pair(bad: bytes) -> int:
    """Return how many of these bytes are one error: a lead byte takes what follows with it, if that is no ASCII."""
    if not 0x81 <= bad[0] <= 0xFE or len(bad) == 1:
        return 1
    return 1 if bad[1] < _HIGH else 2


def _length_in_shift_jis(bad: bytes) -> int:
    return 1 if bad[0] == 0xA0 or bad[0] > 0xFC else _length_of_pair(bad)


def _length_in_euc_jp(bad: bytes) -> int:
    if bad[0] not in (0x8E, 0x8F) and bad[0] < 0xA1:
        return 1
    if bad[0] == 0x8F and len(bad) > 1 and 0xA1 <= bad[1] <= 0xFE:
        return 1 + _length_of_pair(bad[1:])
    return _length_of_pair(bad)


def _length_in_gb18030(bad: bytes) -> int:
    if not 0x81 <= bad[0] <= 0xFE or bad[1:2] not in _DIGITS:
        return _length_of_pair(bad)
    whole = 0x81 <= bad[2] <= 0xFE if len(bad) > 2 else True
    whole = whole and (len(bad) <= 3 or bad[3:4] in _DIGITS)
    return min(len(bad), 4) if whole else 1


_DIGITS = frozenset(bytes((digit,)) for digit in b"0123456789")
_LENGTHS = {
    "big5": _length_of_pair,
    "euc-kr": _length_of_pair,
    "shift_jis": _length_in_shift_jis,
    "euc-jp": _length_in_euc_jp,
    "gbk": _length_in_gb18030,
    "gb18030": _length_in_gb18030,
}


class _TooManyError(Exception):
    """A body has more errors than is worth while."""


class _Errors:
    """An error handler for `codecs` that knows what some invalid bytes mean, and how long an error is."""

    def __init__(self, name: str, lacking: dict[bytes, str], length: Callable[[bytes], int]) -> None:
        self.name = name
        self._lacking = lacking
        self._length = length

    def meant(self, error: UnicodeError) -> tuple[str, int]:
        """Return what stands for the bytes of an error, and where to go on."""
        assert isinstance(error, UnicodeDecodeError)
        _found.number += 1
        if _found.number > _MOST_ERRORS:
            raise _TooManyError
        bad = error.object[error.start : error.start + _LONGEST]
        for length in (2, 1):
            piece = bad[:length]
            if piece in self._lacking:
                return self._lacking[piece], error.start + len(piece)
        return "\ufffd", error.start + self._length(bad)
