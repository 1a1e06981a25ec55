"""What counts as a link, and that all ways of finding links agree on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import LinkExtractor, LinkPolicy, PageLinks
from scrawler.extract.rules import DEFAULT_POLICY, refresh_target, refreshes_at_once, srcset_urls
from scrawler.extract.scanned import scanned
from scrawler.extract.scanner import fastest_extractor
from scrawler.features.classic.reference import Html5libExtractor
from tests.tables import each

PAGE = "http://example.org/docs/page.html"


class ByTags:
    """The scan of hazardous pages as an extractor."""

    def __init__(self, policy: LinkPolicy = DEFAULT_POLICY) -> None:
        self.policy = policy

    def links(self, body: bytes, url: str, content_type: str = "") -> PageLinks:
        return scanned(body, url, self.policy, "utf-8", "")


PARSERS = {"lexbor": LexborExtractor, "html5lib": Html5libExtractor, "fastest": fastest_extractor}
EXTRACTORS = {**PARSERS, "by-tags": ByTags}


@pytest.fixture(params=EXTRACTORS.values(), ids=EXTRACTORS)
def make_extractor(request: pytest.FixtureRequest) -> Callable[..., LinkExtractor]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=PARSERS.values(), ids=PARSERS)
def make_parser(request: pytest.FixtureRequest) -> Callable[..., LinkExtractor]:
    """Return what makes an extractor that knows SVG and MathML; a scan by tags reads them as HTML."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def extractor(make_extractor: Callable[..., LinkExtractor]) -> LinkExtractor:
    return make_extractor()


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
    "XLink in HTML": (
        b"<a xlink:href=no>x</a><svg><foreignObject><a xlink:href=no></a></foreignObject><desc><a xlink:href=no></a>"
        b"</desc><g><p><a xlink:href=no></a></svg><math><mi><a xlink:href=no></a></mi></math><a src=no xlink:href=no>x",
        [],
    ),
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
IN_DRAWINGS = {
    "in SVG": (b"<svg><a href=1 xlink:href=no><text>x</text></a><a xlink:href=2></a></svg>", ["1", "2"]),
    "in MathML": (b"<math><a href=1><mi href=no>x</mi></a><a XLink:href=2></a><mi xlink:href=no></math>", ["1", "2"]),
    "in SVG in a template": (b"<template><svg><a xlink:href=1></a></svg><a xlink:href=no></a></template>", ["1"]),
    "xml:base is of no matter": (b"<div xml:base=no/><svg xml:base=no/><a xlink:href=1>", ["1"]),
}


@pytest.mark.parametrize(("body", "hrefs"), CASES.values(), ids=CASES.keys())
def test_what_is_a_link(extractor: LinkExtractor, body: bytes, hrefs: list[str]) -> None:
    found = replace(extractor.links(body, PAGE, "text/html; charset=utf-8"), canonicals=[], refresh="")
    assert found == PageLinks(PAGE, hrefs, "utf-8")


@pytest.mark.parametrize(("body", "hrefs"), IN_DRAWINGS.values(), ids=IN_DRAWINGS)
def test_what_is_a_link_in_drawings(make_parser: Callable[..., LinkExtractor], body: bytes, hrefs: list[str]) -> None:
    assert make_parser().links(body, PAGE, "text/html; charset=utf-8") == PageLinks(PAGE, hrefs, "utf-8")


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


@each(
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
        ("1;;url=foo", ";url=foo"),
        ("1 ; , a", ", a"),
        ("1 a", "a"),
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


@each(
    ("content", "at_once"),
    [
        ("0; url=a", True), (" 00,a", True), ("0.9;a", True), (".5;a", True),
        ("1;a", False), ("05;a", False), ("10;a", False), (" 3 url=a", False),
    ],
)  # fmt: skip
def test_a_refresh_without_a_pause_is_told_from_one_with(content: str, at_once: bool) -> None:
    assert refreshes_at_once(content) is at_once
    page = f'<template><meta http-equiv=refresh content="0;x"></template><meta http-equiv=refresh content="{content}">'
    for extractor in (fastest_extractor(), LexborExtractor(), Html5libExtractor()):
        links = extractor.links(page.encode(), "http://h.example/", "text/html")
        assert links.refresh == ("a" if at_once else "")


@pytest.mark.parametrize(
    ("page", "robots"),
    [
        (b"<meta name=robots content='noindex'><meta NAME=' RoBots ' content='a, b '>", ["noindex", "a, b"]),
        (b"<meta name=MyBot content=x><meta name=otherbot content=y><meta name=robots>", ["x", ""]),
        (b"<body><p>text<meta name=robots content=in-body><noscript><meta name=robots content=n></noscript>",
         ["in-body", "n"]),
        (b"<meta name=robots2 content=x><meta property=robots content=x><meta name content=x>", []),
        (b"<template><meta name=robots content=x></template><!-- <meta name=robots content=x> -->", []),
        (b"<meta name=robots http-equiv=refresh content='0;a'>", ["0;a"]),
    ],
    ids=["twice", "names", "places", "others", "hidden", "both"],
)  # fmt: skip
def test_robots_meta(make_extractor: Callable[..., LinkExtractor], page: bytes, robots: list[str]) -> None:
    found = make_extractor(LinkPolicy(robots=frozenset({"robots", "mybot"}))).links(page + b"<a href=x>x</a>", PAGE)
    assert (found.robots, found.hrefs[-1]) == (robots, "x")


@pytest.mark.parametrize(
    ("page", "canonicals"),
    [
        (b"<title>x <p></title><link rel='CANONICAL up' href=' a '><link rel=canonical href=b>", ["a", "b"]),
        (
            b"<head><noscript><link rel=canonical href=a></noscript></head> <link rel=canonical href=b>",
            ["a", "b"],
        ),
        (b"<head><meta name=x><script>var a = 1;</script><style>p</style><link rel=canonical href=a>", ["a"]),
        (b"<head></head><body><link rel=canonical href=a>", []),
        (b"<head>text<link rel=canonical href=a>", []),
        (b"<head><p><link rel=canonical href=a>", []),
        (b"<head><img src=x><link rel=canonical href=a>", []),
        (b"<head><template><link rel=canonical href=a></template><link rel=canonicals href=b>", []),
    ],
)
def test_canonical_links_count_in_the_head(extractor: LinkExtractor, page: bytes, canonicals: list[str]) -> None:
    assert extractor.links(page, PAGE).canonicals == canonicals


def test_links_that_are_not_followed_for_their_rel(make_extractor: Callable[..., LinkExtractor]) -> None:
    page = (
        b"<a href=1>x</a><a rel=nofollow href=2>x</a><a href=3 rel='noopener UGC'>x</a><a rel=sponsored href=4>x</a>"
        b"<area rel=nofollow href=''><a rel='no follow' href=5><link rel='next nofollow' href=6><a rel=nofollow>x</a>"
        b"<template><a rel=nofollow href=7></a></template><a rel href=8 src=y>x</a>"
    )
    default, strict = make_extractor(), make_extractor(LinkPolicy(nofollow=frozenset({"nofollow", "ugc"})))
    both = [default.links(page, PAGE), strict.links(page, PAGE)]
    assert [list(dict.fromkeys(found.hrefs)) for found in both] == [
        ["1", "2", "3", "4", "", "5", "6", "7", "8"], ["1", "4", "5", "8"],
    ]  # fmt: skip
    assert [found.unfollowed for found in both] == [[], ["2", "3", "", "6", "7"]]


ASSETS = b"""<link rel=stylesheet href=a.css><link rel='shortcut ICON' href=b.ico type=image/png>
<link rel=preload as=Script href=c.js>
<link rel=preload as=font href=no><link rel=preload href=no><link rel=manifest href=no><link rel=stylesheet>
<link rel='alternate stylesheet' href=d.css><script src=' e.js '></script><script>no</script>
<img src=f.png srcset='g.png 1x,h.png 2x, data:image/png;base64,x 3x'><img srcset=i.png><img src><img src=f.png>
<picture><source srcset="j.webp 100w, k.webp 200w"></picture><video poster=l.jpg></video>
<input type=IMAGE src=m.gif><input src=no><input type=text src=no><iframe src=frame></iframe><p src=no>
<template><img src=n.png></template><noscript><img src=o.png></noscript><svg><script src=no></script></svg>
<a href=q.png><img src=r.png></a><img src='' srcset=' , ,'><svg><image href=s.png xlink:href=no /><use href=t.svg#x>
<use xlink:href="#no"><image xlink:href=u.png><foreignObject><image src=v.png href=no></svg><use xlink:href=no>"""
FILMS = ["f1.mp4", "f2.webm", "f3.mp3", "f4.vtt", "f5.swf"]
LAZY = b"""<img data-src=a.png src=data:,x><img data-lazy-src=b.png><img data-srcset='c.png 1x, d.png 2x'>
<img data-original=e.png><img data-lazy=f.png><img data-lazy-srcset='g.png 2x'><img data-original-set='h.png 1x'>
<source data-srcset=i.png>
<video data-poster=j.png data-src=k.mp4><img data-src='{"no": 1}'><p data-src=no><a data-src=no></a>
<link rel=preload as=image imagesrcset='l.png 1x, m.png 2x' href=n.png><link rel=preload as=image imagesrcset=o.png>
<link rel=preload as=font imagesrcset=no><link rel=apple-touch-icon href=p.png>
<div style="background-image: url('q.png')"><div style='background:URL( r.png )'>
<div style="background:url(&quot;s.png&quot;)"><div data-bg=t.png><section data-background="url(u.png)">
<style>a { background: url(v.png), url("w\\2e png") } /* url(no) */
@import url(x.css); b { b: url(data:,no); c: url(#no); d: my-url(no) }</style><!-- <p style="b: url(no)"> -->
<script>x = '<p style="b: url(no)">'</script><template><p style="c: url(y.png)"></template>
<noscript><img src=z.png></noscript>"""


def test_assets(make_parser: Callable[..., LinkExtractor]) -> None:
    default, wanted = make_parser(), make_parser(LinkPolicy(assets=True))
    assert default.links(ASSETS, PAGE) == PageLinks(PAGE, ["frame", "q.png"], "utf-8")
    found = wanted.links(ASSETS, PAGE)
    assert found.hrefs == ["frame", "q.png"]
    assert found.assets == [
        "a.css", "b.ico", "c.js", "d.css", "e.js", "f.png", "g.png", "h.png", "data:image/png;base64,x", "i.png",
        "j.webp", "k.webp", "l.jpg", "m.gif", "n.png", "o.png", "r.png",
        "s.png", "t.svg", "u.png", "v.png",
    ]  # fmt: skip


def test_what_is_loaded_late_or_by_a_style(make_parser: Callable[..., LinkExtractor]) -> None:
    assert make_parser().links(LAZY, PAGE).assets == []
    found = make_parser(LinkPolicy(assets=True)).links(LAZY, PAGE)
    assert found.hrefs == []
    assert set(found.assets) - {"data:,x"} == {
        *(f"{letter}.png" for letter in "abcdefghijlmnopqrstuvwyz"), "k.mp4", "x.css"
    }  # fmt: skip


def test_films_and_sounds_are_assets(make_parser: Callable[..., LinkExtractor]) -> None:
    body = b"""<video src=f1.mp4><source src=f2.webm></video><audio src=f3.mp3></audio><video><track src=f4.vtt></video>
    <embed src=f5.swf>"""
    assert make_parser(LinkPolicy(assets=True)).links(body, PAGE).assets == FILMS
    assert make_parser().links(body, PAGE) == PageLinks(PAGE, [], "utf-8")


def test_where_links_stand(make_parser: Callable[..., LinkExtractor]) -> None:
    page = b"""<link rel=stylesheet href=a.css><link rel=next href=b><meta http-equiv=refresh content='0;c'>
    <a href=d></a><area href=e><a href=f><img src=g srcset='h 2x'></a><iframe src=i></iframe><a rel=ugc href=j></a>
    <input type=image src=k><video poster=l></video><picture><source srcset=m></picture><script src=n></script>
    <svg><use href=o></svg><a href=p></a>"""
    policy = LinkPolicy(nofollow=frozenset({"ugc"}))
    plain, told = (make_parser(replace(policy, outlinks=wanted)).links(page, PAGE) for wanted in (False, True))
    assert plain.sources is None
    assert replace(told, sources=None) == plain
    assert plain.hrefs == [*"bcdefip"]
    assert told.sources is not None
    assert told.sources.of_hrefs == [
        "L link/@href", "R meta", "L a/@href", "L area/@href", "L a/@href", "E iframe/@src", "L a/@href"
    ]  # fmt: skip
    assert [*dict.fromkeys(told.sources.others)] == [  # Lexbor finds an element with two of them twice
        ("a.css", "E link/@href"), ("g", "E img/@src"), ("h", "E img/@srcset"), ("j", "L a/@href"),
        ("k", "E input/@src"), ("l", "E video/@poster"), ("m", "E source/@srcset"), ("n", "E script/@src"),
        ("o", "E use/@href"),
    ]  # fmt: skip


@each(
    ("srcset", "urls"),
    [
        ("a", ["a"]),
        ("a, b", ["a", "b"]),
        ("a,b", ["a,b"]),  # as the standard has it
        (" a 1x ,b 2x,\n c,", ["a", "b", "c"]),
        ("a,, b", ["a", "b"]),
        ("a calc(1px, 2px) 3w, b (,", ["a", "b"]),
        ("a (, b", ["a"]),
        (",,,", []),
        ("", []),
        ("a 1x" + " (" * 100_000, ["a"]),
        ("," * 100_000 + "a " + ")" * 100_000, ["a"]),
    ],
)
def test_srcset(srcset: str, urls: list[str]) -> None:
    assert srcset_urls(srcset) == urls


def test_what_is_named_as_in_html_inside_svg_and_mathml(make_parser: Callable[..., LinkExtractor]) -> None:
    said = b"<base href=/no/><iframe src=no></iframe><area href=no><link rel='next stylesheet' href=no>"
    point = b"<foreignObject><base href=/b/><iframe src=2></iframe></foreignObject>"
    page = b"<svg>%s<a href=1></a>%s</svg><math>%s<a href=3></a><mi><area href=4></mi></math>" % (said, point, said)
    page += b"<template><svg>%s</svg><iframe src=5></iframe></template><link rel=next href=6>" % said
    found = make_parser(LinkPolicy(assets=True)).links(page, PAGE)
    assert (found.base, sorted(found.hrefs), found.assets) == ("http://example.org/b/", [*"123456"], [])
