"""Pages that would take a tree builder minutes or gigabytes: each must be over in well under a second."""

from __future__ import annotations

import tracemalloc
from html.entities import html5
from itertools import count
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.extract.hazards import is_hazardous
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkExtractor, LinkPolicy
from scrawler.extract.scanned import scanned
from scrawler.extract.scanner import COMPILED, fastest_extractor, scan_links
from scrawler.features.classic.reference import Html5libExtractor
from tests.turns import lets_others_run

PAGE, HEADER = "http://example.org/docs/page.html", "text/html; charset=utf-8"
LEXBOR, REFERENCE, FASTEST = LexborExtractor(), Html5libExtractor(), fastest_extractor()
POLICY = LinkPolicy(assets=True)
LINK = b"<a href=end>x</a>"
HAZARDS = {
    "1 MB of <div>": b"<div>" * 200_000,
    "50,000 times <div></p>": b"<div></p>" * 50_000,
    "misnested, balanced in number": b"<span><div></span></div>" * 20_000,
    "end tags in comments": b"<div><!--</div>-->" * 20_000,
    "end tags in attributes": b"<div title='</div>'>" * 20_000,
    "end tags in scripts": b"<div><script></div></script>" * 20_000,
    "names that begin like others": b"<titles>" * 20_000,
    "deep at the end": b"<p>" * 50_000 + b"<div>" * 30_000,
    "100,000 attributes in a tag": b"<p " + b" ".join(b"a%d" % n for n in range(100_000)) + b">",
    "formatting opened again and again": b"<p>"
    + b"".join(b"<b id=%d>" % n for n in range(4_000))
    + b"</p>"
    + b"<p>x</p>" * 100_000,
}


@pytest.mark.parametrize("body", HAZARDS.values(), ids=HAZARDS.keys())
@pytest.mark.parametrize("extractor", [LEXBOR, REFERENCE, FASTEST], ids=["lexbor", "html5lib", "fastest"])
def test_hazards_are_scanned(extractor: LinkExtractor, body: bytes) -> None:
    begin = thread_time()
    found = extractor.links(body + LINK, PAGE, HEADER)
    elapsed = thread_time() - begin
    assert (found.hrefs, found.note) == (["end"], "deep-html")
    assert elapsed < 5  # about 0.4 s on a quiet machine; parsed, the first takes a minute


ORDINARY = {
    "deep, but not too deep": b"<div>" * 4_990,
    "wide": b"<div><p>x</p><br><img src=x></div>" * 20_000,
    "code in colours": b"<pre>" + b"<span class=k>def</span> <span class='n'>f</span>\n" * 10_000 + b"</pre>",
    "a list without end tags": b"<ul>" + b"<li>x" * 30_000,
    "a table without end tags": b"<table>" + b"<tr><td>x<td>y" * 15_000,
    "a large picture in the page": b"<img src='data:image/png;base64," + b"Ab/+" * 200_000 + b"'>",
    "a large script": b"<script>var x = [" + b"1, 2, 3, " * 50_000 + b"]</script>",
}


@pytest.mark.parametrize("body", ORDINARY.values(), ids=ORDINARY.keys())
def test_ordinary_pages_are_parsed(body: bytes) -> None:
    page = b"<html><body>" + body
    assert not is_hazardous(page)
    assert COMPILED is None or scan_links(page, PAGE, POLICY, COMPILED)[2] == ""


LINEAR = {
    "tags without end": b"<a " * 300_000,
    "quotes without end": b"<a b='\"" * 100_000,
    "brackets": b"<" * 500_000,
    "comments without end": b"<!--" * 250_000,
    "ends without names": b"</" * 300_000,
    "titles without end": b"<title>" * 100_000,
    "equals signs": b"<a " + b"=" * 1_000_000,
    "references": b"<a href='" + b"&a" * 300_000 + b"'>",
    "white space": b"<a href" + b" " * 500_000 + b">",
    "white space before an end": b"<a href=x" + b" " * 500_000 + b">",
    "slashes": b"<a href=x " + b"/" * 500_000 + b">",
    "templates": b"<template>" * 100_000,
    "drawings": b"<svg>" * 100_000 + b"</g>" * 100_000,
    "paragraphs below many spans": b"<p><applet>" + b"<span>" * 4_000 + b"<p>" * 30_000,
    "links left open": b"<a href=x><div>" * 15_000 + b"</a>" * 15_000,
    "formatting of many kinds": b"".join(b"<b id=%d>" % n for n in range(4_000)) + b"<p>x</p>" * 10_000,
    "framesets": b"<frameset>" * 100_000,
    "escaped scripts": b"<script><!--<script>" * 20_000,
    "dashes in an escaped script": b"<script><!--" + b"-" * 1_000_000,
    "a long link left open": b"<p><a href='" + b"x" * 300_000 + b"'>x</p>" + b"<p>x</p>" * 20_000,
}


@pytest.mark.parametrize("body", LINEAR.values(), ids=LINEAR.keys())
def test_scans_are_linear(body: bytes) -> None:
    begin = thread_time()
    is_hazardous(body)
    if COMPILED is not None:
        scan_links(body, PAGE, POLICY, COMPILED)
    scanned(body, PAGE, POLICY, "utf-8", "")
    assert thread_time() - begin < 5  # at most 2 s on a quiet machine; anything quadratic takes hours


DEAR = {
    "end tags that look through a drawing": b"<table><svg>" + b"<g>" * 4_900 + b"</tr>" * 3_000,
    "formatting with long attributes, nearly alike": b"".join(
        b"<b %s%d>" % (b"x" * 250, n) for n in range(1_000, 4_000)
    ),
}


@pytest.mark.skipif(COMPILED is None, reason="the link scanner is not compiled: python setup.py build_ext --inplace")
@pytest.mark.parametrize("body", DEAR.values(), ids=DEAR.keys())
def test_pages_that_cost_more_than_their_length_are_read_flat(body: bytes) -> None:
    assert COMPILED is not None
    _collector, hrefs, note = scan_links(body + LINK, PAGE, POLICY, COMPILED)
    assert (hrefs, note) == (["end"], "deep-html")


@pytest.mark.skipif(COMPILED is None, reason="the link scanner is not compiled: python setup.py build_ext --inplace")
def test_an_allocation_that_fails_is_a_memory_error() -> None:
    memory = pytest.importorskip("_testcapi")
    assert COMPILED is not None
    page = (
        b"<p><a href=x&amp;y><p>x<a rel href='"
        + b"&lt;" * 400
        + b"'>"
        + b"<div><b><a href=z>" * 300
        + b"<link rel=x href=y>"
    )
    expected, failed = COMPILED(page, 3, html5), 0
    for number in count():
        memory.set_nomemory(number, number + 1)
        try:
            found = COMPILED(page, 3, html5)
        except MemoryError:
            failed += 1
            continue
        finally:
            memory.remove_mem_hooks()
        if found == expected:
            break
    assert failed > 100


@pytest.mark.skipif(COMPILED is None, reason="the link scanner is not compiled: python setup.py build_ext --inplace")
def test_other_threads_run_while_a_page_of_many_links_is_scanned() -> None:
    scan = COMPILED
    assert scan is not None
    page = b"<link rel href>" * 300_000
    assert lets_others_run(lambda: scan(page, 0, html5))


@pytest.mark.parametrize("digits", ["1", "0", "9", "x1", "xF"])
def test_numbers_of_any_length_are_read(digits: str) -> None:
    body = (
        b"<div>" * 10_000 + f"<a href='&#{digits}{digits[-1] * 10_000};'>&#{digits}{digits[-1] * 10_000};</a>".encode()
    )
    for extractor in (LEXBOR, REFERENCE, FASTEST):
        assert extractor.links(body, PAGE, HEADER).hrefs == ["\ufffd"]


@pytest.mark.skipif(COMPILED is None, reason="the link scanner is not compiled: python setup.py build_ext --inplace")
def test_a_scan_keeps_no_memory() -> None:
    assert COMPILED is not None
    page = (
        b"<p><a href=x&amp;y><p>x<a rel href='&lt;'>"
        + b"<div><b><a href=z>" * 300
        + b"<link rel=x href=y><template>" * 300
    )
    taken = []
    tracemalloc.start()
    try:
        for _ in range(3):
            for _ in range(20):
                COMPILED(page, 3, html5)
            taken.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert taken[2] - taken[1] < 1_000  # bytes; one page takes 500,000


def test_100_000_links() -> None:
    body = b"".join(b"<a href='/page/%d.html'>page %d</a>\n" % (n, n) for n in range(100_000))
    begin = thread_time()
    found = LEXBOR.links(body, PAGE, HEADER)
    assert thread_time() - begin < 5
    assert found.hrefs == [f"/page/{n}.html" for n in range(100_000)]
    assert found.note == ""


def test_templates_in_templates() -> None:
    found = LEXBOR.links(b"<template><a href=x>" * 1_500, PAGE, HEADER)
    assert found.hrefs == ["x"] * 1_500


PIECES = """<a_href=x> <a_href='y <a_href="z </a> <p> </p> <table> <td> </table> <b> </b> <select> <template>
</template> <script> </script> <!-- --> <svg> </svg> <math> <title> <base_href=q> <frameset> <frame> <link> <meta>
& &amp &# \x00 \xff < > / ' " = <![CDATA[ ]]> <plaintext> <iframe> </ <! <?"""
# Breaks an assertion in html5lib 1.1 (the page ends with a table and elements of two name spaces open).
FAULT = (
    b"</dl><table><a href=1>x</desc><a href=2>x</br><optgroup><a href=3>x</article></br><ruby></hr><ol><col><col>"
    b"<tbody></col></a><a href=4>x<span><svg><html>"
)


def test_a_fault_of_the_parser_is_not_the_end() -> None:
    found = REFERENCE.links(FAULT, PAGE, HEADER)
    assert (found.hrefs, found.note) == (["1", "2", "3", "4"], "parser-failed")


@pytest.mark.parametrize("body", [b"\x01" * 100_000, b"<p>" + b"<" * 200_000 + b"<br>"], ids=["control", "brackets"])
def test_what_takes_html5lib_too_long_is_scanned(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrawler.features.classic.reference._MAX_SECONDS", 0.1)
    found = REFERENCE.links(body + LINK, PAGE, HEADER)
    assert (found.hrefs, found.note) == (["end"], "deep-html")


MARKUP = st.lists(st.sampled_from(PIECES.split()), max_size=40).map(
    lambda pieces: "".join(pieces).replace("_", " ").encode("latin-1")
)


@given(st.one_of(MARKUP, st.binary(max_size=400)), st.sampled_from(["", HEADER, "text/html; charset=utf-16"]))
def test_nothing_raises(body: bytes, content_type: str) -> None:
    for extractor in (LEXBOR, REFERENCE, FASTEST):
        found = extractor.links(body, PAGE, content_type)
        assert found.base.startswith("http://")
        assert all(isinstance(href, str) for href in found.hrefs)
    if COMPILED is not None:
        scan_links(body, PAGE, POLICY, COMPILED)
    scanned(body, PAGE, POLICY, "utf-8", "")
