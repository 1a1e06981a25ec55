"""What a page may cost: with small limits, so that small pages meet them."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from html.entities import html5
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType

import pytest

from scrawler.extract import linkscan
from scrawler.extract.scanned import COMPILED
from scrawler.extract.treeless import limits

from .random_pages import page_of_tags

SOURCE = Path(linkscan.__file__).with_name("linkscan_c")
DEEP = {"DEEPEST": 6, "MOST_ATTRIBUTES": 2, "MOST_OTHERS": 9}
DEAR = {"STEPS_A_BYTE": 0, "STEPS_AT_LEAST": 20, "COMPARED_A_STEP": 1}
PAGES, JOINED = 500, 6
SHORT, LONG = 2_000, 4_000  # bytes

Page = Callable[[int], bytes]  # of any size


def test_both_forms_have_the_same_limits() -> None:
    defined = dict(re.findall(r"#define (\w+) +(\d+)", (SOURCE / "limits.h").read_text()))
    assert {name: str(value) for name, value in vars(limits).items() if name.isupper()}.items() <= defined.items()


def build(folder: Path, changed: dict[str, int]) -> linkscan.Scan:
    """Compile the scanner with other limits."""
    for part in SOURCE.iterdir():
        text = part.read_text()
        for name, value in changed.items() if part.name == "limits.h" else ():
            text = re.sub(rf"(?<=#define {name} )( *)\d+", str(value), text)
        (folder / part.name).write_text(text)
    built = folder / "_linkscan.so"
    include = sysconfig.get_path("include")
    subprocess.run(
        ["cc", "-shared", "-fPIC", f"-I{include}", folder / "linkscan.c", "-o", built], check=True, timeout=60
    )
    spec = spec_from_file_location("_linkscan", built, loader=ExtensionFileLoader("_linkscan", str(built)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    scan: linkscan.Scan = module.scan
    return scan


@pytest.mark.skipif(COMPILED is None, reason="the link scanner is not compiled: python setup.py build_ext --inplace")
@pytest.mark.parametrize("changed", [DEEP, DEAR], ids=["deep", "dear"])
def test_both_forms_go_flat_at_the_same_place(
    changed: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = build(tmp_path, changed)
    for name, value in changed.items():
        monkeypatch.setattr(limits, name, value)
    deep = 0
    for number in range(PAGES):
        page = b"".join(map(page_of_tags, range(JOINED * number, JOINED * (number + 1))))
        found = scan(page, 3, html5)
        assert found == linkscan.scan(page, 3, html5), (number, page)
        deep += found[2]
    assert PAGES / 5 < deep < PAGES * 4 / 5


@pytest.mark.parametrize("scan", [COMPILED or linkscan.scan, linkscan.scan], ids=["best", "python"])
def test_what_says_something_is_bounded(scan: linkscan.Scan) -> None:
    bases = b"<template><base href=no></template>" + b"<base href=x>" * 1_000
    assert scan(bases, 3, html5)[1] == [(0, "base", {"href": "x"}, False, False)]
    metas = b"<meta name=robots content=x>" * (limits.MOST_OTHERS + 5) + b"<a href=x>"
    hrefs, others, _ = scan(metas, 0, html5)
    assert (len(hrefs), len(others)) == (1, limits.MOST_OTHERS)


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


@pytest.mark.parametrize("page", SHAPES.values(), ids=SHAPES.keys())
def test_work_is_linear_in_the_size_of_a_page(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DEEPEST": LONG, "STEPS_A_BYTE": 4, "STEPS_AT_LEAST": 0}.items():
        monkeypatch.setattr(limits, name, value)
    assert events(page(LONG)) < events(page(SHORT)) * 1.1 * LONG / SHORT


def events(page: bytes) -> int:
    """Scan a page in Python; returns how many lines, calls and returns that took."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., object]:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        linkscan.scan(page, linkscan.WITH_ASSETS, html5)
    finally:
        sys.settrace(before)
    return count
