"""What counts as a link, and that all ways of finding links agree on it."""

from __future__ import annotations

import pytest

from scrawler.extract.html5lib import Html5libExtractor
from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkExtractor, PageLinks
from scrawler.extract.rules import refresh_target
from scrawler.extract.scanner import scan_links

PAGE = "http://example.org/docs/page.html"


class Scanner:
    """The scanner as an extractor, for tests: otherwise it sees hazardous pages only."""

    def links(self, body: bytes, url: str, content_type: str = "") -> PageLinks:
        return PageLinks(*scan_links(body.decode("utf-8", "replace"), url), "utf-8")


EXTRACTORS = [LexborExtractor(), Html5libExtractor(), Scanner()]


@pytest.fixture(params=EXTRACTORS, ids=["lexbor", "html5lib", "scanner"])
def extractor(request: pytest.FixtureRequest) -> LinkExtractor:
    return request.param  # type: ignore[no-any-return]


CASES = {
    "anchors and areas": (
        b'<a href="a">x</a><a>no</a><a name=n>no</a><map><area href=b><area></map><a HREF=c>x</a>',
        ["a", "b", "c"],
    ),
    "document order, repeats kept": (
        b"<a href=2></a><iframe src=1></iframe><a href=2></a><link rel=next href=0>",
        ["2", "1", "2", "0"],
    ),
    "white space around": (b"<a href=' \t\n x y \r\f'>x</a>", ["x y"]),
    "empty hrefs lead to the page itself": (b"<a href=''></a><a href></a><area href=' '>", ["", "", ""]),
    "empty frames and links lead nowhere": (b"<iframe src=''></iframe><iframe src></iframe><link rel=next href>", []),
    "framesets": (b"<frameset><frame src=a><frame src=b></frameset>", ["a", "b"]),
    "character references": (
        b"<a href='?a=1&amp;b=2&copy=3&copy;&#38;&notit;&unknown;'>x</a>",
        ["?a=1&b=2&copy=3\N{COPYRIGHT SIGN}&&notit;&unknown;"],
    ),
    "the first of two hrefs": (b"<a href=1 HREF=2>x</a>", ["1"]),
    "all kinds of quoting": (
        b'<a href="a\'>">x</a><a href=\'b">\'>x</a><a title=">"href=c>x</a><a href = d/ >x</a>',
        ["a'>", 'b">', "c", "d/"],
    ),
    "not in comments, scripts, styles and text": (
        b"<!-- <a href=1> --><!doctype x><?php <a href=2> ?><script>'<a href=3>'</script><style><a href=4></style>"
        b"<textarea><a href=5></textarea><title><a href=6></title><p title='<a href=7>'><a href=8>x</a>",
        ["8"],
    ),
    "in noscript and template": (
        b"<noscript><a href=1>x</a></noscript><template><a href=2>x</a><template><a href=3>x</a></template></template>"
        b"<a href=4>x</a>",
        ["1", "2", "3", "4"],
    ),
    "in SVG": (b"<svg><a href=1 xlink:href=no><text>x</text></a><a xlink:href=no></a></svg>", ["1"]),
    "meta refresh": (
        b"<meta http-equiv=Refresh content='0; url=a'><meta http-equiv=refresh content=5>"
        b"<meta name=refresh content=0;b>",
        ["a"],
    ),
    "links that lead to documents": (
        b"<link rel=next href=1><link rel='PREV up' href=2><link rel=canonical href=3><link rel=search href=4>"
        b"<link rel=alternate hreflang=de href=5><link rel=alternate type='text/html; charset=utf-8' href=6>",
        ["1", "2", "3", "4", "5", "6"],
    ),
    "links that do not": (
        b"<link href=1><link rel=stylesheet href=2><link rel='alternate stylesheet' href=3><link rel=icon href=4>"
        b"<link rel=alternate type=application/rss+xml href=5><link rel=preload href=6><link rel=manifest href=7>"
        b"<link rel=search type=application/opensearchdescription+xml href=8><img src=9><script src=10></script>",
        [],
    ),
    "tags that never end": (b"<a href=1>x</a><a href=2", ["1"]),
    "NUL, carriage returns and broken UTF-8": (
        b"<a href='a\x00b'>\x00</a><a\x00 href=no></a><a href='c\xff\xc3'>x</a>",
        ["a\ufffdb", "c\ufffd\ufffd"],
    ),
    "misnested": (b"<p><b><a href=1>x</b></a><i><div><a href=2>y</a></i></div>", ["1", "2"]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize(("body", "hrefs"), CASES.values(), ids=CASES.keys())
def test_what_is_a_link(extractor: LinkExtractor, body: bytes, hrefs: list[str]) -> None:
    assert extractor.links(body, PAGE, "text/html; charset=utf-8") == PageLinks(PAGE, hrefs, "utf-8")


@pytest.mark.parametrize(
    ("head", "base"),
    [
        (b"", PAGE),
        (b"<base target=_top>", PAGE),
        (b"<base href='/other/'>", "http://example.org/other/"),
        (b"<base href=' sub/ '>", "http://example.org/docs/sub/"),
        (b"<base href='//cdn.example.org/x'>", "http://cdn.example.org/x"),
        (b"<base target=_top><base href=/1/><base href=/2/>", "http://example.org/1/"),
        (b"<base href='https://[broken/'><base href=/2/>", PAGE),  # the first one counts, usable or not
        (b"<base href='data:text/html,x'>", PAGE),
        (b"<base href='javascript:x'>", PAGE),
        (b"<base href=''>", PAGE),
        (b"<template><base href=/no/></template>", PAGE),
        (b"<template><base href=/no/></template><base href=/yes/>", "http://example.org/yes/"),
    ],
)
def test_base(extractor: LinkExtractor, head: bytes, base: str) -> None:
    found = extractor.links(b"<html><head>" + head + b"</head><body><a href=x>x</a>", PAGE)
    assert (found.base, found.hrefs) == (base, ["x"])


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=a.html", "a.html"),
        ("0;URL = 'a b.html' x", "a b.html"),
        ('3,url="a"', "a"),
        ("0 a.html", "a.html"),
        (" .5;a", "a"),
        ("0;url.html", "url.html"),
        ("0;urlx=1", "urlx=1"),
        ("0;url=", ""),
        ("0;url=''", ""),
        ("5", ""),
        ("5;", ""),
        ("0url=a", ""),
        ("url=a", ""),
        ("", ""),
        ("0" * 100_000, ""),
    ],
)
def test_meta_refresh_as_browsers_read_it(content: str, target: str) -> None:
    assert refresh_target(content) == target
