"""Encoders of the WHATWG Encoding Standard (https://encoding.spec.whatwg.org/) by its names, made of Python's codecs.

Decoders are met on every page, encoders only where the query of a link is not ASCII; and what Python encodes under the
same names is something else, in one direction or the other: it knows the characters of later standards, or prefers
other bytes for those that have several. So the tables of legacy encodings are made here by decoding all bytes, and
taking those that the standard takes. Each is made when it is first asked for.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from functools import lru_cache

import webencodings

Encode = Callable[[str], bytes]  # takes a character beyond ASCII to its bytes, none if the encoding lacks it

STATEFUL = "iso-2022-jp"  # its encoder needs to know what came before: see `query`

_SINGLE_BYTE_NAMES = """ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i
iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250
windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 x-mac-cyrillic
x-user-defined"""
SINGLE_BYTE = frozenset(_SINGLE_BYTE_NAMES.split())
_CONTROLS = range(0x80, 0xA0)  # those that Windows leaves undefined stand for themselves
# The standard has letters here where Python has box drawings, or nothing.
_LETTERS = {("koi8-u", 0xAE): "ў", ("koi8-u", 0xBE): "Ў", ("windows-1255", 0xCA): "\u05ba"}

_KANJI_ROW = 94  # cells of a row of JIS X 0208
_LEAD_CELLS = 2 * _KANJI_ROW  # cells of a lead byte of Shift_JIS
_LAST_ROWS = _KANJI_ROW * _KANJI_ROW  # the first cell that only Shift_JIS reaches
_NEC_COPIES = range(8272, 8836)  # IBM's characters as NEC placed them: Shift_JIS is written without
_USERS_OWN = range(8836, 10716)
_KATAKANA = {chr(0xFF61 + n): bytes((0xA1 + n,)) for n in range(63)}  # half-width letters are one byte in Shift_JIS
_YEN = {"\xa5": b"\\", "\u203e": b"~"}  # JIS X 0201 has these two where ASCII has others
_MINUS, _WIDE_MINUS = "\u2212", "\uff0d"

_BIG5_FIRST, _BIG5_SYMBOLS = 0xA1, range(0xC6A1, 0xC8FF)  # below, Hong Kong's are only read; in it they are newer
_BIG5_HONG_KONG_FROM = b"\xf9\xfe"
_BIG5_CONTROL_PICTURES = {chr(0x2400 + n): bytes((0xA3, 0xC0 + n)) for n in range(32)} | {"\u2421": b"\xa3\xe0"}
_BIG5_READ_BY_NO_CODEC = {
    "廴": b"\xc6\xcf", "无": b"\xc6\xd3", "癶": b"\xc6\xd5", "隶": b"\xc6\xd7", "仝": b"\xc6\xdf", "嘅": b"\xfb\x48",
    "廐": b"\xfb\xf9", "悤": b"\xfc\x6c", "猪": b"\xfe\x52",
}  # fmt: skip
_BIG5_LAST_OF_TWO = "═╞╡╪十卅"  # where several bytes mean one character the first are written, but for these the last

# GB 18030-2005 and -2022 gave proper characters to what had stood in the private use area; Python has the old ones.
_GB_NEW = "ḿ\ue7c7" + "".join(map(chr, (0xFE10, 0xFE12, 0xFE11, *range(0xFE13, 0xFE1A), *range(0x9FB4, 0x9FBC))))
_GB_OLD = (
    "\ue7c7ḿ"
    "\ue78d\ue78e\ue78f\ue790\ue791\ue792\ue793\ue794\ue795\ue796"
    "\ue81e\ue826\ue82b\ue82c\ue832\ue843\ue854\ue864"
)
GB_MOVED = dict(zip(_GB_NEW, _GB_OLD, strict=True))  # what Python has where the standard has the new one
_GB_AS_PYTHON = str.maketrans(GB_MOVED)
_GB_UNWRITTEN = "\ue5e5"  # the bytes of this one are read as an ideographic space


@lru_cache(maxsize=64)
def encoder(name: str) -> Encode | None:
    """Return the encoder of a legacy encoding by its WHATWG name; None for UTF-8, and what is written as UTF-8.

    That is UTF-16, "replacement", and names that nobody knows. None also for the one that is `STATEFUL`.
    """
    if name in SINGLE_BYTE:
        return _looked_up(single_byte(name))
    made = _MAKERS.get(name)
    return made() if made else None


@lru_cache(maxsize=1)
def kanji_cells() -> dict[bytes, str]:
    """Return what two bytes of 7 bits mean in ISO-2022-JP: JIS X 0208 with the characters of NEC and IBM."""
    pointers = [(pointer, character) for pointer, character in _jis_pointers() if pointer < _LAST_ROWS]
    return {bytes((0x21 + at // _KANJI_ROW, 0x21 + at % _KANJI_ROW)): character for at, character in pointers}


@lru_cache(maxsize=1)
def kanji() -> dict[str, bytes]:
    """Return the two bytes of each of these characters; of several the first."""
    bytes_of = {character: cell for cell, character in reversed(kanji_cells().items())}
    bytes_of[_MINUS] = bytes_of[_WIDE_MINUS]
    return bytes_of


def _looked_up(table: dict[str, bytes]) -> Encode:
    return lambda character: table.get(character, b"")


def single_byte(name: str) -> dict[str, bytes]:
    """Return the byte of each character of an encoding of `SINGLE_BYTE`, ASCII left out."""
    if name == "x-user-defined":
        return {chr(0xF700 + byte): bytes((byte,)) for byte in range(0x80, 0x100)}
    encoding = webencodings.lookup(name)
    assert encoding is not None  # these names are webencodings' own
    table = {}
    for byte in range(0x80, 0x100):
        decoded, _ = encoding.codec_info.decode(bytes((byte,)), "ignore")
        character = _LETTERS.get((name, byte), decoded)
        if character or byte in _CONTROLS:
            table[character or chr(byte)] = bytes((byte,))
    return table


def _decoded(encoded: bytes, codec: str) -> str:
    try:
        return encoded.decode(codec)
    except UnicodeDecodeError:
        return ""


def _jis_pointers() -> Iterator[tuple[int, str]]:
    """Yield the places and characters of the standard's index jis0208, in their order."""
    leads = [*range(0x81, 0xA0), *range(0xE0, 0xFD)]
    trails = [*range(0x40, 0x7F), *range(0x80, 0xFD)]
    for row, lead in enumerate(leads):
        for cell, trail in enumerate(trails):
            pointer = row * _LEAD_CELLS + cell
            character = _decoded(bytes((lead, trail)), "cp932")
            if character and pointer not in _USERS_OWN:
                yield pointer, character


def _shift_jis() -> Encode:
    table: dict[str, bytes] = {"\x80": b"\x80"} | _YEN | _KATAKANA
    for pointer, character in _jis_pointers():
        if pointer not in _NEC_COPIES:
            row, cell = divmod(pointer, _LEAD_CELLS)
            lead = row + (0x81 if row < 0x1F else 0xC1)
            trail = cell + (0x40 if cell < 0x3F else 0x41)
            table.setdefault(character, bytes((lead, trail)))
    table[_MINUS] = table[_WIDE_MINUS]
    return _looked_up(table)


def _euc_jp() -> Encode:
    table = {character: bytes(byte | 0x80 for byte in cell) for character, cell in kanji().items()}
    table |= {character: b"\x8e" + byte for character, byte in _KATAKANA.items()}
    return _looked_up(table | _YEN)


def big5() -> dict[str, bytes]:
    """Return the bytes of each character of Big5 as it is written."""
    table = _BIG5_CONTROL_PICTURES | _BIG5_READ_BY_NO_CODEC
    for lead in range(_BIG5_FIRST, 0xFF):
        for trail in (*range(0x40, 0x7F), *range(0xA1, 0xFF)):
            both = bytes((lead, trail))
            is_hong_kong = both >= _BIG5_HONG_KONG_FROM or (lead << 8 | trail) in _BIG5_SYMBOLS
            character = ("" if is_hong_kong else _decoded(both, "cp950")) or _decoded(both, "big5hkscs")
            if character in _BIG5_LAST_OF_TWO or character not in table:
                table[character] = both
    return table


def _gb18030(character: str) -> bytes:
    return b"" if character == _GB_UNWRITTEN else codecs.encode(character.translate(_GB_AS_PYTHON), "gb18030", "ignore")


def _gbk(character: str) -> bytes:
    encoded = b"\x80" if character == "€" else _gb18030(character)
    return encoded if len(encoded) <= 2 else b""  # four bytes are for GB 18030 alone


def _euc_kr(character: str) -> bytes:
    return character.encode("cp949", "ignore")


_MAKERS: dict[str, Callable[[], Encode]] = {
    "big5": lambda: _looked_up(big5()),
    "euc-jp": _euc_jp,
    "euc-kr": lambda: _euc_kr,
    "gb18030": lambda: _gb18030,
    "gbk": lambda: _gbk,
    "shift_jis": _shift_jis,
}
