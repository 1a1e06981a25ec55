"""Both parsers find the same links in the pages of html5lib-tests, which others wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from scrawler.extract.charset import declared_in_meta, to_utf8
from scrawler.extract.html5lib import Html5libExtractor
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkPolicy

VECTORS = Path(__file__).parents[4] / "shared/vectors/html5lib-tests"
PAGE, HEADER = "http://example.org/docs/page.html", "text/html; charset=utf-8"
POLICY = LinkPolicy(nofollow=frozenset({"ugc"}), assets=True)
LEXBOR, REFERENCE = LexborExtractor(POLICY), Html5libExtractor(POLICY)
Marker = Callable[[bytes], bytes]


def blocks(folder: str) -> Iterator[bytes]:
    if not (VECTORS / folder).is_dir():
        pytest.skip(f"no html5lib-tests at {VECTORS}")
    for file in sorted((VECTORS / folder).glob("*.dat")):
        yield from (b"\n" + file.read_bytes()).split(b"\n#data\n")[1:]


def as_written(page: bytes) -> bytes:
    return page


def with_links(page: bytes) -> bytes:
    """Give every element that can be a link a target of its own; as the pages were written, few have any."""
    numbers = count()
    targets = {
        **dict.fromkeys((b"a", b"area", b"base"), b" href=%d"),
        **dict.fromkeys((b"iframe", b"frame"), b" src=%d"),
        b"link": b" rel=next href=%d",
        b"meta": b" http-equiv=refresh content=0;%d",
    }

    def mark(tag: re.Match[bytes]) -> bytes:
        return tag[0] + targets[tag[1].lower()] % next(numbers)

    return re.sub(rb"(?i)<(a|area|base|frame|iframe|link|meta)(?=[\s/>])", mark, page)


def with_all_else(page: bytes) -> bytes:
    """Give every element that can say something else a content of its own."""
    numbers = count()
    said = {
        b"a": b" rel=ugc href=%d",
        b"link": b" rel='stylesheet canonical' href=%d",
        b"meta": b" name=robots content=%d",
        b"video": b" poster=%d",
        b"source": b" srcset=%d",
        **dict.fromkeys((b"script", b"img"), b" src=%d"),
    }

    def mark(tag: re.Match[bytes]) -> bytes:
        return tag[0] + said[tag[1].lower()] % next(numbers)

    return re.sub(rb"(?i)<(a|link|meta|video|source|script|img)(?=[\s/>])", mark, page)


def with_link_at_end(page: bytes) -> bytes:
    """Whether the last link counts depends on the state in which a page leaves its parser."""
    return page + b"<a href=end>x</a>"


@pytest.mark.parametrize(
    ("change", "least"),
    [(as_written, 5), (with_links, 100), (with_all_else, 200), (with_link_at_end, 1_000)],
    ids=["as-is", "links", "else", "end"],
)
def test_both_parsers_find_the_same_links(change: Marker, least: int) -> None:
    # Where they differ, html5lib 1.1 is behind: it knows the standard of 2020, and since then <select> may hold any
    # element, so that links in it count; and it never knew <template>, which it takes for any other element.
    changed_since = re.compile(rb"(?i)<(?:select|template)\b")
    pages_with_links = 0
    for block in blocks("tree-construction"):
        page = change(block.split(b"\n#errors\n")[0])
        found, expected = LEXBOR.links(page, PAGE, HEADER), REFERENCE.links(page, PAGE, HEADER)
        pages_with_links += bool(expected.hrefs or expected.assets or expected.canonicals or expected.unfollowed)
        if change in (as_written, with_links) or not changed_since.search(page):
            assert found == expected, page
    assert pages_with_links >= least


def test_encodings() -> None:
    tried = 0
    german = "Größere Änderungen über München, schöne Grüße. ".encode("windows-1252")  # where nothing is declared
    for block in blocks("encoding"):
        page, _, answer = block.partition(b"\n#encoding\n")
        wanted = answer.strip().decode().lower()
        if page.startswith(b"\xef\xbb\xbf"):
            assert to_utf8(page, "")[1] == wanted
        elif len(page) <= 1_024:  # a declaration further down is not looked for
            assert (declared_in_meta(page) or "windows-1252") == wanted, page
        if not page.startswith(b"\xef\xbb\xbf"):  # a declaration further down is better than a guess, as in browsers
            assert to_utf8(german + page, "")[1] == wanted, page
        tried += 1
    assert tried == 82
