"""Encodings of the pages of html5lib-tests, which others wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scrawler.extract.charset import declared_in_meta, to_utf8
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkPolicy
from scrawler.features.classic.reference import Html5libExtractor
from tests.vectors import html5lib_tests

PAGE, HEADER = "http://example.org/docs/page.html", "text/html; charset=utf-8"
POLICY = LinkPolicy(nofollow=frozenset({"ugc"}), assets=True)
LEXBOR, REFERENCE = LexborExtractor(POLICY), Html5libExtractor(POLICY)
Marker = Callable[[bytes], bytes]


def blocks(folder: str) -> Iterator[bytes]:
    for file in html5lib_tests(folder):
        yield from (b"\n" + file.read_bytes()).split(b"\n#data\n")[1:]


def test_encodings() -> None:
    tried = 0
    german = "Größere Änderungen über München, schöne Grüße. ".encode("windows-1252")  # where nothing is declared
    for block in blocks("encoding"):
        page, _, answer = block.partition(b"\n#encoding\n")
        if b"document.write('<meta charset=\"ISO-8859-' + '2\">')" in page:
            continue  # its declaration is made by a script; later editions leave it out as well
        wanted = answer.strip().decode().lower()
        if page.startswith(b"\xef\xbb\xbf"):
            assert to_utf8(page, "")[1] == wanted
        elif len(page) <= 1_024:  # a declaration further down is not looked for
            assert (declared_in_meta(page) or "windows-1252") == wanted, page
        if not page.startswith(b"\xef\xbb\xbf"):  # a declaration further down is better than a guess, as in browsers
            assert to_utf8(german + page, "")[1] == wanted, page
        tried += 1
    assert tried == 82
