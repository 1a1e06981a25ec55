"""What a body is whose headers do not say it (MIME Sniffing Standard, "rules for identifying an unknown MIME type").

HTML is known a little more generously than there: behind a byte order mark or an XML declaration, and with any white
space behind the tag's name. MP3 files without an ID3 tag are not looked for.
"""

from __future__ import annotations

import re
from typing import Final

RESOURCE_HEADER: Final = 1_445  # bytes that are looked at (MIME Sniffing Standard, 5.2)
HTML_TYPES: Final = frozenset(("text/html", "application/xhtml+xml"))
UNKNOWN_TYPES: Final = frozenset(("", "application/unknown", "unknown/unknown"))  # they say nothing (ibid., 5.1)

_HTML_TAGS = rb"!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p"
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*(?:<\?xml[^>]*>[\t\n\f\r ]*)?<(?:!--|(?:%b)[\t\n\f\r >])" % _HTML_TAGS,
    re.IGNORECASE,
)
_XML = re.compile(rb"[\t\n\f\r ]*<\?xml")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_RIFF = {b"WEBPVP": "image/webp", b"AVI ": "video/avi", b"WAVE": "audio/wave"}
_STARTS = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\xfe\xff", "text/plain"),
    (b"\xff\xfe", "text/plain"),
    (b"\xef\xbb\xbf", "text/plain"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"\0\0\2\0", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\0", "application/ogg"),
    (b"MThd\0\0\0\6", "audio/midi"),
    (b"\x1f\x8b\x08", "application/x-gzip"),
    (b"PK\3\4", "application/zip"),
    (b"Rar!\x1a\7\0", "application/x-rar-compressed"),
)


def sniffed_type(body: bytes, scriptable: bool = True) -> str:
    """Return the media type of a decoded body of which no valid one is declared; empty for an empty body.

    `scriptable` is False where the answer forbids to take it for more than it says (X-Content-Type-Options: nosniff).
    """
    start = body[:RESOURCE_HEADER]
    if not start:
        return ""
    if scriptable and _HTML.match(start):
        return "text/html"
    if scriptable and _XML.match(start):
        return "text/xml"
    for magic, name in _STARTS:
        if start.startswith(magic) and (name != "text/plain" or len(start) > 3):
            return name
    return _of_container(start) or ("application/octet-stream" if _BINARY.search(start) else "text/plain")


def _of_container(start: bytes) -> str:
    """Return the type of what has its mark further behind."""
    if start.startswith(b"RIFF"):
        return next((name for mark, name in _RIFF.items() if start.startswith(mark, 8)), "")
    if start.startswith(b"FORM") and start.startswith(b"AIFF", 8):
        return "audio/aiff"
    if _is_mp4(start):
        return "video/mp4"
    return "video/webm" if _is_webm(start) else ""


def _is_mp4(start: bytes) -> bool:
    size = int.from_bytes(start[:4], "big")
    if len(start) < max(size, 12) or size % 4 or start[4:8] != b"ftyp":
        return False
    brands = (start[at : at + 3] for at in (8, *range(16, size, 4)))
    return b"mp4" in brands


def _is_webm(start: bytes) -> bool:
    if not start.startswith(b"\x1aE\xdf\xa3"):
        return False
    at = start.find(b"\x42\x82", 4, 40)
    if at < 0:
        return False
    length = start[at + 2 : at + 3]
    width = 9 - length[0].bit_length() if length else 0  # bytes of the number that says how long the name is
    name = start[at + 2 + width :][:5].lstrip(b"\0")
    return name.startswith(b"webm")
