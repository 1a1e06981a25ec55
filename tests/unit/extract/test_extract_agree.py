"""All extractors find the same, on pages that others wrote, on real ones, and on those that nobody would write.

Lexbor and html5lib, of 2020, are what the compiled scanner is held to, and Lexbor the scan of hazardous pages; html5lib
is what Lexbor is. Where two differ, `DIFFERENCES` says why, or the test fails.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.docsweb.sites import SITES, Site
from scrawler.extract.charset import to_utf8
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkPolicy, PageLinks
from scrawler.extract.scanned import scanned
from scrawler.extract.scanner import COMPILED, scan_links
from scrawler.features.classic.reference import Html5libExtractor
from tests.vectors import html5lib_tests

from .random_pages import damaged, page_of_pieces, page_of_tags

PAGE, HEADER = "http://example.org/docs/page.html", "text/html; charset=utf-8"
POLICY = LinkPolicy(nofollow=frozenset({"ugc"}), assets=True)
LEXBOR, REFERENCE = LexborExtractor(POLICY), Html5libExtractor(POLICY)
# Pages of each kind; more by hand: SCRAWLER_SCAN_PAGES=200000 SCRAWLER_SCAN_FIRST=1000000
FIRST, MANY = int(os.environ.get("SCRAWLER_SCAN_FIRST", "0")), int(os.environ.get("SCRAWLER_SCAN_PAGES", "1500"))


class Difference(NamedTuple):
    """Why two may find something else on a page like `pattern`, in what of `differing`."""

    pattern: re.Pattern[bytes]
    fields: frozenset[str]
    reason: str


def _difference(pattern: bytes, fields: str, reason: str) -> Difference:
    return Difference(re.compile(pattern, re.DOTALL | re.IGNORECASE), frozenset(fields.split()), reason)


SCANNER_DIFFERENCES = [
    _difference(
        rb"<(?:table|template).*<image", "assets", "Lexbor loses an <image> in a table but in no cell; browsers do not",
    ),
    _difference(rb"<table.*<base.*<base", "base", "what is in a table but in no cell comes before the table in a tree"),
    _difference(
        rb"<input[^>]*(?-i:HIDDEN).*<frameset", "hrefs assets base robots unfollowed canonicals",
        "Lexbor takes type=HIDDEN for a visible input, which no <frameset> may follow",
    ),
    _difference(rb"<a.*<textarea", "copies", "Lexbor copies an open <a> into a <textarea>"),
    _difference(rb"<svg.*<template.*<template", "copies", "LexborExtractor counts a <template> in <svg> twice"),
    _difference(rb"(?:<meta|href|src).*(?:href|src|poster)", "copies", "LexborExtractor counts those with two twice"),
    _difference(rb"<table", "order", "in a tree, what is in a table but in no cell comes before the table"),
]  # fmt: skip
REFERENCE_DIFFERENCES = [
    _difference(rb"<select", "hrefs copies order assets unfollowed", "since 2020, <select> may hold any element"),
    _difference(rb"<template", "hrefs copies order assets unfollowed canonicals robots", "html5lib has no <template>"),
]
TAGS_DIFFERENCES = [
    _difference(rb"<(?:svg|math)", "hrefs unfollowed assets robots canonicals", "SVG and MathML are read as HTML"),
    _difference(
        rb"<(?:select|frameset).*<(?:title|style|script|textarea|xmp|iframe|noembed|noframes|plaintext)",
        "hrefs unfollowed assets robots canonicals", "what begins raw text may be dropped there",
    ),
]  # fmt: skip
TOO_DEEP = 10_000  # open elements: more than the scanner follows, and than a sample of a page can overlook
LISTS = ("hrefs", "robots", "canonicals", "unfollowed", "assets")


def differing(found: PageLinks, expected: PageLinks) -> set[str]:
    """Return in what two results differ: fields (as sets), how often a link comes, or only the order."""
    pairs = {name: (getattr(found, name), getattr(expected, name)) for name in ("base", *LISTS)}
    fields = {name for name, (one, other) in pairs.items() if _distinct(one) != _distinct(other)}
    lists = ((found.hrefs, expected.hrefs), (found.unfollowed, expected.unfollowed), (found.robots, expected.robots))
    if not fields and any(Counter(one) != Counter(other) for one, other in lists):
        fields.add("copies")
    if not fields and any(
        dict.fromkeys(one) != dict.fromkeys(other) or [*dict.fromkeys(one)] != [*dict.fromkeys(other)]
        for one, other in pairs.values()
    ):
        fields.add("order")
    return fields  # fmt: skip


def _distinct(value: str | list[str]) -> str | set[str]:
    return value if isinstance(value, str) else set(value)


def unexplained(page: bytes, found: PageLinks, expected: PageLinks, differences: list[Difference]) -> set[str]:
    fields = differing(found, expected)
    for one in differences if fields else ():
        if one.pattern.search(page):
            fields -= one.fields
    return fields


def by_scanner(page: bytes) -> PageLinks:
    if COMPILED is None:
        pytest.skip("the link scanner is not compiled: python setup.py build_ext --inplace")
    collector, hrefs, note = scan_links(page, PAGE, POLICY, COMPILED)
    found = collector.result("utf-8", page, note)
    found.hrefs = list(hrefs)
    return found


def by_tags(page: bytes) -> PageLinks:
    return scanned(page, PAGE, POLICY, "utf-8", "")


def blocks() -> Iterator[bytes]:
    for file in html5lib_tests("tree-construction"):
        for block in (b"\n" + file.read_bytes()).split(b"\n#data\n")[1:]:
            yield block.split(b"\n#errors\n")[0]


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


CHANGES = pytest.mark.parametrize(
    ("change", "least"),
    [(as_written, 5), (with_links, 100), (with_all_else, 200), (with_link_at_end, 1_000)],
    ids=["as-is", "links", "else", "end"],
)
Marker = Callable[[bytes], bytes]


@CHANGES
def test_lexbor_finds_what_the_reference_finds(change: Marker, least: int) -> None:
    pages_with_links = 0
    for page in map(change, blocks()):
        found, expected = LEXBOR.links(page, PAGE, HEADER), REFERENCE.links(page, PAGE, HEADER)
        pages_with_links += bool(expected.hrefs or expected.assets or expected.canonicals or expected.unfollowed)
        assert not unexplained(page, found, expected, REFERENCE_DIFFERENCES), page
    assert pages_with_links >= least


@CHANGES
def test_the_scanner_finds_what_lexbor_finds(change: Marker, least: int) -> None:
    for page in map(change, blocks()):
        expected = LEXBOR.links(page, PAGE, HEADER)
        assert not unexplained(page, by_scanner(page), expected, SCANNER_DIFFERENCES), page


@CHANGES
def test_the_scanner_finds_what_the_reference_finds(change: Marker, least: int) -> None:
    for page in map(change, blocks()):
        expected = REFERENCE.links(page, PAGE, HEADER)
        assert not unexplained(page, by_scanner(page), expected, SCANNER_DIFFERENCES + REFERENCE_DIFFERENCES), page


@pytest.mark.parametrize("make", [page_of_tags, page_of_pieces])
def test_the_scanner_finds_what_lexbor_finds_in_random_pages(make: Callable[[int], bytes]) -> None:
    for number in range(FIRST, FIRST + MANY):
        page = make(number)
        expected = LEXBOR.links(page, PAGE, HEADER)
        assert not unexplained(page, by_scanner(page), expected, SCANNER_DIFFERENCES), (number, page)


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_scanner_finds_what_lexbor_finds_in_damaged_pages(numbers: list[int], random: Random) -> None:
    page = damaged(b"".join(map(page_of_tags, numbers)), random)
    expected = LEXBOR.links(page, PAGE, HEADER)
    assert not unexplained(page, by_scanner(page), expected, SCANNER_DIFFERENCES), page


def test_texts_and_values_of_each_length_are_read_alike() -> None:
    """The scanner looks at so many of their bytes at once: what is odd may stand anywhere among them."""
    for length in range(1, 70):
        for odd in (b"", b"&amp;", b" ", b"\r\n", b"\0", b"\xc3\xa4", b"\xff", b"\x7f", b">"):
            for at in {0, length // 2, length}:
                text = b"x" * at + odd + b"x" * (length - at)
                page = b'<body><p>%s<a href="%s">%s</a></p><a href="%s">%s</a x>' % (text, text, text, text[:5], text)
                for cut in (page, page[:-9], page[: -length - 9]):
                    found, expected = by_scanner(cut), LEXBOR.links(cut, PAGE, HEADER)
                    assert not differing(found, expected), cut


def missed(page: bytes) -> set[str]:
    """Return in what the scan by tags misses something that the tree of a page holds."""
    found, tree = by_tags(page), LEXBOR.links(page, PAGE, HEADER)
    pairs = [(name, getattr(found, name), getattr(tree, name)) for name in LISTS]
    fields = {name for name, here, there in pairs if not set(there) <= set(here)}
    for one in TAGS_DIFFERENCES if fields else ():
        if one.pattern.search(page):
            fields -= one.fields
    return fields


@CHANGES
def test_a_scan_by_tags_misses_nothing_that_lexbor_finds(change: Marker, least: int) -> None:
    for page in map(change, blocks()):
        assert not missed(page), page


@pytest.mark.parametrize("make", [page_of_tags, page_of_pieces])
def test_a_scan_by_tags_misses_nothing_that_lexbor_finds_in_random_pages(make: Callable[[int], bytes]) -> None:
    for number in range(FIRST, FIRST + MANY):
        assert not missed(make(number)), (number, make(number))


@pytest.mark.parametrize("make", [page_of_tags, page_of_pieces])
@pytest.mark.heavy
def test_a_page_too_deep_to_be_followed_is_read_alike_with_and_without_a_compiler(make: Callable[[int], bytes]) -> None:
    for number in range(FIRST, FIRST + MANY // 15):
        page = b"<div>" * 5 * TOO_DEEP + make(number)  # so long that no sample misses it
        found, expected = by_scanner(page), LEXBOR.links(page, PAGE, HEADER)
        assert (found.note, expected.note) == ("deep-html", "deep-html")
        assert not differing(found, expected), (number, page)


@pytest.mark.parametrize("site", SITES, ids=[site.name for site in SITES])
@pytest.mark.parametrize("find", [by_scanner, by_tags], ids=["scanner", "by tags"])
def test_real_pages(find: Callable[[bytes], PageLinks], site: Site) -> None:
    files = sorted(site.root.rglob("*.html")) if site.root.is_dir() else []
    if not files:
        pytest.skip(f"{site.package} is not installed: python -m experiments.docsweb setup")
    for file in files[:: len(files) // 30 + 1]:
        page, _ = to_utf8(file.read_bytes(), "text/html")
        expected = LEXBOR.links(page, PAGE, HEADER)
        found = find(page)
        assert differing(found, expected) <= {"order"}, file
        assert found.note == expected.note
