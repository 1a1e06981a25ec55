from __future__ import annotations

from scrawler.extract.sniff import RESOURCE_HEADER, sniffed_type
from tests.tables import each

MP4 = b"\0\0\0\x18ftyp\0\0\0\0\0\0\0\0mp41\0\0\0\0"
WEBM = bytes.fromhex("1A45DFA301FFFFFFFFFFFFFF4286810142F7810142F2810442F381084287810142858101428284") + b"webm"


@each(
    ("body", "found"),
    [
        (b"<!DOCTYPE html><p>", "text/html"),
        (b"\xef\xbb\xbf\n <HTML\n>", "text/html"),
        (b"<?xml version='1.0'?>\n<html xmlns='x'>", "text/html"),
        (b"<!-- x -->", "text/html"),
        (b"<p>x", "text/html"),
        (b" \t\r\n\f<BoDy>", "text/html"),
        (b" " * (RESOURCE_HEADER - 3) + b"<p>", "text/html"),
        (b" " * (RESOURCE_HEADER - 2) + b"<p>", "text/plain"),
        (b"<people>", "text/plain"),
        (b"<html", "text/plain"),
        (b"<?xml version='1.0'?><rss>", "text/xml"),
        (b"%PDF-1.4", "application/pdf"),
        (b"%!PS-Adobe-3.0", "application/postscript"),
        (b"", ""),
        (b"words", "text/plain"),
        ("Wörter".encode("latin-1"), "text/plain"),
        (b"\x1b[0m\t\r\n\x0c", "text/plain"),
        (b"words\0", "application/octet-stream"),
        (b"\x0e", "application/octet-stream"),
        (b"\xef\xbb\xbf\0", "text/plain"),
        (b"\xff\xfea\0", "text/plain"),
        (b"\xfe\xff\0a", "text/plain"),
        (b"\0\0\1\0", "image/x-icon"),
        (b"BM", "image/bmp"),
        (b"GIF89a", "image/gif"),
        (b"GIF88a", "text/plain"),
        (b"RIFF\0\0\0\0WEBPVP", "image/webp"),
        (b"RIFF\0\0\0\0WEBP", "application/octet-stream"),
        (b"RIFF\0\0\0\0AVI ", "video/avi"),
        (b"RIFF\0\0\0\0WAVE", "audio/wave"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"FORM\0\0\0\0AIFF", "audio/aiff"),
        (b"ID3", "audio/mpeg"),
        (b"OggS\0", "application/ogg"),
        (b"OggS", "text/plain"),
        (b"MThd\0\0\0\6", "audio/midi"),
        (b"\0\0\0\x10ftypmp4\0\0\0\0\0", "video/mp4"),
        (MP4, "video/mp4"),
        (MP4.replace(b"mp41", b"avc1"), "application/octet-stream"),
        (MP4[:-1], "application/octet-stream"),
        (bytes.fromhex("1A45DFA381428284") + b"webm", "video/webm"),
        (WEBM, "video/webm"),
        (WEBM.replace(b"webm", b"matr"), "application/octet-stream"),
        (b"\x1f\x8b\x08", "application/x-gzip"),
        (b"PK\3\4", "application/zip"),
        (b"Rar!\x1a\7\0", "application/x-rar-compressed"),
        (b"MM\0*", "application/octet-stream"),
    ],
)
def test_what_a_body_is_that_nobody_declared(body: bytes, found: str) -> None:
    assert sniffed_type(body) == found


def test_who_forbids_to_sniff_gets_no_html() -> None:
    assert sniffed_type(b"<!DOCTYPE html><p>", scriptable=False) == "text/plain"
    assert sniffed_type(b"<?xml version='1.0'?>", scriptable=False) == "text/plain"
    assert sniffed_type(b"\x89PNG\r\n\x1a\n", scriptable=False) == "image/png"
