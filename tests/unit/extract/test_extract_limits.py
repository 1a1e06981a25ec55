"""What a page may cost: with small limits, so that small pages meet them."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable
from html.entities import html5
from itertools import count, islice
from pathlib import Path

import pytest

from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkPolicy
from scrawler.extract.scanner import COMPILED, WITH_ASSETS, Scan, scan_links
from tests.compiled import LINKSCAN, ROOT, build, load
from tests.limits import HANGS

from .random_pages import page_of_tags

pytestmark = pytest.mark.skipif(
    COMPILED is None, reason="the link scanner is not compiled: python setup.py build_ext --inplace"
)

PAGE, HEADER = "http://example.org/docs/page.html", "text/html; charset=utf-8"
POLICY = LinkPolicy(nofollow=frozenset({"ugc"}), assets=True)
DEEP = {"DEEPEST": 6, "MOST_ATTRIBUTES": 2, "MOST_OTHERS": 9}
DEAR = {"STEPS_A_BYTE": 0, "STEPS_AT_LEAST": 20, "COMPARED_A_STEP": 1}
PAGES, JOINED = 500, 6
SHORT, LONG = 2_000, 4_000  # bytes
MOST_OTHERS = 100_000
# Of these, a page that is read flat may hold less than a tree: SVG is no more than markup then, and what begins raw
# text does so where a tree drops it.
MAY_HIDE = re.compile(rb"<(?:svg|math|select|frameset)", re.IGNORECASE)

Page = Callable[[int], bytes]  # of any size


@pytest.mark.parametrize("limits", [{**DEEP, "MOST_OTHERS": MOST_OTHERS}, DEAR], ids=["deep", "dear"])
def test_what_is_read_flat_keeps_its_links(limits: dict[str, int], tmp_path: Path) -> None:
    scan: Scan = load(LINKSCAN, build(LINKSCAN, tmp_path, limits=limits)).scan
    lexbor, deep = LexborExtractor(POLICY), 0
    plain = (page for page in map(page_of_tags, count()) if not MAY_HIDE.search(page))
    for _ in range(PAGES):
        page = b"".join(islice(plain, JOINED))
        collector, hrefs, note = scan_links(page, PAGE, POLICY, scan)
        deep += bool(note)
        found, tree = collector.result("utf-8", page, note), lexbor.links(page, PAGE, HEADER)
        assert set(tree.hrefs) <= set(hrefs), page
        assert set(tree.assets) <= set(found.assets), page
        assert set(tree.unfollowed) <= set(found.unfollowed), page
    assert PAGES / 10 < deep < PAGES


def test_what_says_something_is_bounded(tmp_path: Path) -> None:
    assert COMPILED is not None
    few: Scan = load(LINKSCAN, build(LINKSCAN, tmp_path, limits=DEEP)).scan
    for scan, most in ((COMPILED, MOST_OTHERS), (few, DEEP["MOST_OTHERS"])):
        bases = b"<template><base href=no></template>" + b"<base href=x>" * 1_000
        assert scan(bases, 3, html5)[2] == [(0, "base", {"href": "x"}, False, False)]
        metas = b"<meta name=robots content=x>" * (most + 5) + b"<a href=x>"
        _hrefs, links, others, _deep = scan(metas, 0, html5)
        assert (links, len(others)) == (1, most)


def page_of(*parts: str) -> Page:
    """Make pages of any size: every other part is repeated; %d in one stands for the number of the repetition."""

    def page(size: int) -> bytes:
        share = size // (len(parts) // 2)
        return "".join(repeated(part, share) if place % 2 else part for place, part in enumerate(parts)).encode()

    return page


def repeated(part: str, size: int) -> str:
    return "".join(part.replace("%d", str(number)) for number in range(size // len(part)))


FORMATTING = "<b id=%d>"
SHAPES = {
    "brackets": page_of("", "<"),
    "ends without names": page_of("", "</"),
    "comments without end": page_of("", "<!--"),
    "comments": page_of("", "<!-->"),
    "document types": page_of("", "<!doctype public>"),
    "instructions": page_of("", "<?"),
    "attributes": page_of("<a", " x%d=1", ">"),
    "attributes without end": page_of("<a", " href='"),
    "references": page_of("<a href='", "&amp", "'>"),
    "a long number": page_of("<a href='&#", "1", "'>"),
    "escaped scripts": page_of("<script>", "<!--<script></script>"),
    "titles": page_of("", "<title>x</title"),
    "sections of text": page_of("<svg>", "<![CDATA[]]>"),
    "elements left open": page_of("", "<div>"),
    "ends of what is not open": page_of("", "<span>", "", "</x>"),
    "paragraphs": page_of("", "<span>", "", "<p></p>"),
    "list items": page_of("", "<span>", "", "<li>"),
    "items in addresses": page_of("", "<address><dd>"),
    "headings": page_of("", "<h1>"),
    "buttons": page_of("", "<span>", "", "<button></button>"),
    "forms": page_of("", "<div>", "", "<form><div></form></div>"),
    "ends of the page": page_of("", "<span>", "", "</html><p>"),
    "links left open": page_of("", "<a href=x><div>"),
    "links below many": page_of("", "<div>", "", "<a href=x>"),
    "formatting left open": page_of("", FORMATTING),
    "formatting opened again": page_of("<p>", FORMATTING, "</p>", "<p>x</p>"),
    "formatting that waits behind a marker": page_of("<p>", FORMATTING, "</p><object>", "x<br>"),
    "formatting and objects": page_of("", FORMATTING, "", "<object></object>"),
    "formatting and links": page_of("", FORMATTING, "", "<a href=x></a>"),
    "formatting, nearly alike": page_of("", f"<b {'x' * 50}%d></b>"),
    "misnested formatting": page_of("", "<b><i><em><div></b></i></em>"),
    "misnested below many": page_of("", "<div>", "", "<b><p></b>"),
    "once and again": page_of("", "<nobr>"),
    "tables in tables": page_of("", "<table><tr><td>"),
    "tables without cells": page_of("", "<a href=x><b><table></a></b>"),
    "rows": page_of("<table>", "<tr>"),
    "cells": page_of("<table>", "<td><b>"),
    "text among columns": page_of("<table><colgroup>", "x &#32;&#0"),
    "options": page_of("", "<select><option>"),
    "annotations": page_of("", "<ruby><rt><rtc>"),
    "drawings": page_of("", "<svg><g>"),
    "ends in drawings": page_of("<svg>", "<g>", "", "</x>"),
    "formulas": page_of("", "<math><annotation-xml encoding=text/html>"),
    "templates": page_of("", "<template>", "", "<tr><b>"),
    "framesets": page_of("", "<frameset>"),
}


COUNTER = """
#include <stdint.h>
uint64_t blocks;
void __sanitizer_cov_trace_pc(void) { blocks++; }
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], int]:
    """Return what scans a page and tells its work: the pieces of straight code that ran in the scanner."""
    folder = tmp_path_factory.mktemp("counted")
    counter = folder / "counter.c"
    counter.write_text(COUNTER)
    subprocess.run(["cc", "-fPIC", "-c", counter, "-o", folder / "counter.o"], check=True, timeout=HANGS)
    flags = ["-fsanitize-coverage=trace-pc", str(folder / "counter.o")]
    limits = {"DEEPEST": LONG, "STEPS_A_BYTE": 4, "STEPS_AT_LEAST": 0}
    built = build(LINKSCAN, folder, flags, limits)
    scan: Scan = load(LINKSCAN, built).scan
    blocks = ctypes.c_uint64.in_dll(ctypes.CDLL(str(built)), "blocks")

    def worked(page: bytes) -> int:
        before = blocks.value
        scan(page, WITH_ASSETS, html5)
        return blocks.value - before

    return worked


@pytest.mark.parametrize("page", SHAPES.values(), ids=SHAPES.keys())
def test_work_is_linear_in_the_size_of_a_page(page: Page, work: Callable[[bytes], int]) -> None:
    short, long = work(page(SHORT)), work(page(LONG))
    assert short > 0
    assert long < short * 1.1 * LONG / SHORT


def test_limits_are_those_that_are_told() -> None:
    defined = dict(re.findall(r"#define (\w+) +(\d+)", (ROOT / "scrawler/extract/linkscan_c/limits.h").read_text()))
    assert int(defined["MOST_OTHERS"]) == MOST_OTHERS
    assert (DEEP | DEAR).keys() <= defined.keys()
