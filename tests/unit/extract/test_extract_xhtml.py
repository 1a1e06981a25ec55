"""XHTML: what XML means by the same tags, and what is read as HTML after all."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkPolicy
from scrawler.extract.scanner import fastest_extractor
from scrawler.extract.simhash import fingerprint_of, words_in
from scrawler.extract.xhtml import XhtmlExtractor, is_xhtml, is_xml
from scrawler.features.classic.reference import Html5libExtractor

PAGE = "http://example.org/docs/page.xhtml"
XHTML = "application/xhtml+xml"
ROOT = "<html xmlns='http://www.w3.org/1999/xhtml' xmlns:x='http://www.w3.org/1999/xlink'>"
SVG, MATH = "xmlns='http://www.w3.org/2000/svg'", "xmlns='http://www.w3.org/1998/Math/MathML'"
DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
)
END = "</html>"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
EXTRACTOR = XhtmlExtractor(fastest_extractor())

AS_XML = {
    "empty title": (f"<head><title/></head><body><a href='1'>x</a></body>{END}", ["1"]),
    "empty script": (f"<head><script src='x.js'/></head><a href='1'>x</a><p/><a href='2'/>{END}", ["1", "2"]),
    "empty textarea, iframe": (f"<body><textarea/><iframe src='1'/><style/><a href='2'/></body>{END}", ["1", "2"]),
    "CDATA": (f"<script><![CDATA[ if (a < b) '<a href=\"no\">' ]]></script><a href='1'/>{END}", ["1"]),
    "comment in script": (f"<script><!-- </script> --></script><a href='1'/>{END}", ["1"]),
    "an a in an a": (f"<a href='1'><a href='2'/></a>{END}", ["1", "2"]),
    "references": (f"<a href='?a=1&amp;b=&eacute;&#233;&xe9;'/>{END}".replace("&xe9;", "&#xe9;"), ["?a=1&b=ééé"]),
    "named like markup": (f"<a title='&LT;&quot;&AMP;' href='?&quot;&apos;&lt;'/>{END}", ["?\"'<"]),
    "white space": (f"<a href=' \n1 '/>{END}", ["1"]),
    "case": (f"<A href='no'/><a HREF='no'/><a href='1'/>{END}", ["1"]),
    "other name spaces": (f"<a xmlns='urn:x' href='no'/><y:a xmlns:y='urn:x' href='no'/><a href='1'/>{END}", ["1"]),
    "SVG": (f"<svg {SVG}><a x:href='1'/><a href='2' x:href='no'/></svg><a x:href='no'/>{END}", ["1", "2"]),
    "link in SVG": (f"<svg {SVG}><link href='no' rel='next'/></svg><link href='1' rel='next'/>{END}", ["1"]),
    "MathML": (f"<math {MATH}><a href='1'/><mi href='no'/></math>{END}", ["1"]),
    "template": (f"<template><a href='1'/><base href='/no/'/></template>{END}", ["1"]),
    "refresh": (f"<head><meta http-equiv='Refresh' content='0;url=1'/></head>{END}", ["1"]),
    "xml:base": (f"<body xml:base='/no/'><a href='1'/></body>{END}", ["1"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", AS_XML)
@pytest.mark.parametrize(
    "before", ["", "<?xml version='1.0'?>\n<!-- x -->", DOCTYPE], ids=["bare", "declared", "doctype"]
)
def test_links(kind: str, before: str) -> None:
    rest, hrefs = AS_XML[kind]
    found = EXTRACTOR.links((before + ROOT + rest).encode(), PAGE, f"{XHTML}; charset=utf-8")
    assert (found.hrefs, found.base, found.charset) == (hrefs, PAGE, "utf-8")


def test_prefixes() -> None:
    page = "<h:html xmlns:h='http://www.w3.org/1999/xhtml'><h:title/><h:a href='1'/><a href='no'/></h:html>"
    assert EXTRACTOR.links(page.encode(), PAGE, XHTML).hrefs == ["1"]
    assert is_xhtml(page.encode(), "text/xml")


def test_what_else_is_found() -> None:
    policy = LinkPolicy(nofollow=frozenset({"ugc"}), assets=True)
    page = f"""{ROOT}<head><base href='/b/'/><base href='/no/'/><link rel='canonical' href='c'/><noscript>
<link rel='canonical' href='d'/></noscript><meta name='robots' content='nofollow'/><link rel='stylesheet' href='s.css'/>
</head><body><link rel='canonical' href='e'/><a rel='ugc' href='u'/><img src='i.png' srcset='j.png 2x'/>
<template><meta name='robots' content='none'/></template>
<svg {SVG}><image x:href='k.png'/><use href='l.svg#x'/><use href='#x'/><script src='no'/></svg></body></html>"""
    found = XhtmlExtractor(fastest_extractor(policy), policy).links(page.encode(), PAGE, XHTML)
    assert found.base == "http://example.org/b/"
    assert found.canonicals == ["c", "d"]
    assert found.robots == ["nofollow"]
    assert found.unfollowed == ["u"]
    assert found.assets == ["s.css", "i.png", "j.png", "k.png", "l.svg"]


def test_where_links_stand_in_a_page_that_breaks() -> None:
    policy = LinkPolicy(outlinks=True)
    page = f"{ROOT}<head><title/></head><iframe src='1'/><a href='2'/><img src='3'/><p><a href='4'></p></html>"
    found = XhtmlExtractor(fastest_extractor(policy), policy).links(page.encode(), PAGE, XHTML)
    assert found.sources is not None
    assert {*zip(found.hrefs, found.sources.of_hrefs, strict=True)} == {
        ("1", "E iframe/@src"), ("2", "L a/@href"), ("4", "L a/@href")
    }  # fmt: skip
    assert found.sources.others == [("3", "E img/@src")]


@pytest.mark.parametrize(
    ("encoding", "declaration", "header", "charset"),
    [
        ("utf-8", "", "", "utf-8"),
        ("utf-8-sig", "gbk", "", "utf-8"),
        ("utf-16", "utf-16", "", "utf-8"),
        ("gbk", "gbk", "", "gbk"),
        ("gbk", "utf-8", "; charset=gb2312", "gbk"),
        ("shift_jis", "shift_jis", "", "shift_jis"),
    ],
)
def test_encodings(encoding: str, declaration: str, header: str, charset: str) -> None:
    declared = f"<?xml version='1.0' encoding='{declaration}'?>" if declaration else ""
    page = f"{declared}{ROOT}<title/><a href='?日'/></html>"
    found = EXTRACTOR.links(page.encode(encoding), PAGE, XHTML + header)
    assert (found.hrefs, found.charset) == (["?日"], charset)


AS_HTML = {
    "not closed": f"{ROOT}<p><a href='1'>x</p>",
    "ampersand": f"{ROOT}<p>a & b</p><a href='1'>x</a></html>",
    "unknown entity": f"{ROOT}<p>&quux;</p><a href='1'>x</a></html>",
    "attribute without quotes": f"{ROOT}<p class=x/><a href='1'>x</a></html>",
    "control character": f"{ROOT}<p>\x0c</p><a href='1'>x</a></html>",
    "prefix nobody declared": f"{ROOT}<y:p/><a href='1'>x</a></html>",
    "junk behind": f"{ROOT}<a href='1'>x</a></html><!-- x --><script/>",
    "no name space": "<html><a href='1'>x</a></html>",
    "another root": "<body xmlns='http://www.w3.org/1999/xhtml'><a href='1'>x</a></body>",
    "laughs": f'<!DOCTYPE html [<!ENTITY l0 "ha">{LAUGHS}]>{ROOT}<p>&l9;</p><a href="1">x</a></html>',
    "file": f'<!DOCTYPE html [<!ENTITY f SYSTEM "file:///etc/passwd">]>{ROOT}<p>&f;</p><a href="1">x</a></html>',
    "parameter": f'<!DOCTYPE html [<!ENTITY % p SYSTEM "http://h/">%p;]>{ROOT}<a href="1">x</a></html>',
    "attributes": f"<!DOCTYPE html [<!ATTLIST a href CDATA 'no'>]>{ROOT}<a href='1'>x</a></html>",
    "deep": f"{ROOT}<a href='1'/>{'<b>' * 100_000}{'</b>' * 100_000}</html>",
    "elements": f"{ROOT}<a href='1'/>{'<br/>' * 200_000}</html>",
    "half a pair": f"{ROOT}<a href='1'>x</a>&#xd800;</html>",
}


@pytest.mark.parametrize("kind", AS_HTML)
def test_what_cannot_be_read_as_xml_is_read_as_html(kind: str) -> None:
    begin = time.thread_time()
    found = EXTRACTOR.links(AS_HTML[kind].encode(), PAGE, XHTML)
    assert time.thread_time() - begin < 10
    assert found.hrefs == ["1"]


def test_what_was_read_as_xml_before_it_broke_is_kept() -> None:
    head = "<head><title/><base href='/b/'/><meta name='robots' content='nofollow'/></head>"
    found = EXTRACTOR.links(f"{ROOT}{head}<a href='1'/><a href='1'/>&quux;<a href='2'/></html>".encode(), PAGE, XHTML)
    assert (set(found.hrefs), found.robots, found.base) == ({"1"}, ["nofollow"], "http://example.org/b/")
    found = EXTRACTOR.links(f"{ROOT}<a href='1'/><a href='2'/>&quux;<a href='3'/></html>".encode(), PAGE, XHTML)
    assert found.hrefs == ["1", "2", "3"]


PIECES = [
    ROOT,
    END,
    DOCTYPE,
    "<a href='1'>",
    "</a>",
    "<a",
    "&",
    "&nbsp;",
    "&#0;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "<?x",
    "\0",
]
PIECES += [
    "<x:y/>",
    "<a x:href='2' href='3'/>",
    "<!DOCTYPE html [",
    "<!ENTITY a 'b'>",
    "]>",
    "xmlns:x='u'",
    "\ud800",
    "é",
]
ENCODINGS = st.sampled_from(["utf-8", "utf-16"])


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=15), ENCODINGS)
def test_whatever_it_is_nothing_is_raised(pieces: list[str], encoding: str) -> None:
    body = "".join(pieces).encode(encoding, "surrogatepass")
    EXTRACTOR.links(body, PAGE, XHTML)
    is_xhtml(body, "text/xml")


def test_html_is_not_read_as_xml() -> None:
    page = f"{ROOT}<title/><a href='1'/></html>".encode()
    assert EXTRACTOR.links(page, PAGE, "text/html").hrefs == []
    assert EXTRACTOR.links(page, PAGE).hrefs == []
    assert EXTRACTOR.links(page, PAGE, "text/html; x=xml").hrefs == []


@pytest.mark.parametrize("other", [LexborExtractor(), Html5libExtractor()])
def test_words(other: LexborExtractor | Html5libExtractor) -> None:
    extractor = XhtmlExtractor(other)
    page = f"{ROOT}<head><title>The&nbsp;title</title></head><body><textarea/><h1>Head</h1><a href='1'>link</a>"
    page += f" &eacute;t&eacute;<script>hidden</script><svg {SVG}><title>other title</title></svg></body></html>"
    links = extractor.links(page.encode(), PAGE, XHTML)
    words = set(words_in(fingerprint_of(links.page, links.is_xml).words))
    assert links.is_xml
    assert words == set(words_in(fingerprint_of(b"The title Head link &#233;t&#233; other title").words))


@pytest.mark.parametrize(
    ("essence", "expected"),
    [
        ("text/xml", True),
        ("application/xml", True),
        (XHTML, True),
        ("image/svg+xml", True),
        ("text/html", False),
        ("", False),
    ],
)
def test_types_of_xml(essence: str, expected: bool) -> None:
    assert is_xml(essence) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ROOT, True),
        (f"<?xml version='1.0'?><!-- <rss> -->\n{DOCTYPE}{ROOT}", True),
        ("<html>", False),
        (f"<rss>{ROOT}", False),
        ("<svg xmlns='http://www.w3.org/2000/svg'>", False),
        ("", False),
    ],
)
def test_what_is_xhtml(body: str, expected: bool) -> None:
    assert is_xhtml(body.encode(), "application/xml") is expected
    assert is_xhtml(body.encode("utf-16"), "application/xml") is expected
