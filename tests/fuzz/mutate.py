"""Damages bytes: flips, cuts, doubles and inserts, of which some are what parsers stumble over."""

from __future__ import annotations

from random import Random

TOKENS = (
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b";", b",", b"=", b'"', b"'", b"<", b">", b"&", b"%", b"#", b"?",
    b"/", b"//", b"\\", b"@", b"[", b"]", b"-1", b"0", b"00000000000000000001", b"9" * 30, b"1" * 5000, b"0x10", b"1e9",
    b"NaN", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\xe2\x80\xae", b"%00", b"%", b"%zz", b"%ud800", b"&#0;", b"&#xd800;", b"&#x110000;", b"&#99999999999;",
    b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?xml", b"<!DOCTYPE", b"\x1b$B", b"~{", b"\x0e", b"\x85", b"\x0b", b"\x0c",
    b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n", b"0\r\n\r\n", b"\r\n\r\n", b"\n\n",
    b"\xe2\x84\xaa", b"\xc4\xb0", b"\xef\xbc\x8f", b"xn--", b"..", b"/../", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd",
)  # fmt: skip
_MOST = 6  # damages of one text
_LONGEST = 40  # bytes that one damage touches


def damaged(chance: Random, data: bytes) -> bytes:
    """Return the data with one or some damages."""
    made = bytearray(data)
    for _ in range(min(chance.randint(1, _MOST), chance.randint(1, _MOST))):
        _damage(chance, made)
    return bytes(made)


def maybe(chance: Random, data: bytes, share: float) -> bytes:
    """Return the data, a share of the times damaged."""
    return damaged(chance, data) if chance.random() < share else data


def _damage(chance: Random, made: bytearray) -> None:
    at = chance.randrange(len(made) + 1)
    end = min(len(made), at + chance.randint(1, _LONGEST))
    kind = chance.randrange(7)
    if kind == 0 and at < len(made):
        made[at] ^= 1 << chance.randrange(8)
    elif kind == 1 and at < len(made):
        made[at] = chance.randrange(256)
    elif kind == 2:
        del made[at:end]
    elif kind == 3:
        made[at:at] = made[at:end] * chance.choice((1, 1, 2, 50))
    elif kind == 4:
        made[at:at] = chance.randbytes(chance.randint(1, 8))
    elif kind == 5 and chance.random() < 0.3:
        del made[at:]
    else:
        made[at:at] = chance.choice(TOKENS)
