"""What a page says, read by both parsers and the scanner."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.extract.lexbor import LexborExtractor
from scrawler.extract.links import PageText
from scrawler.extract.reference import Html5libExtractor
from scrawler.extract.scan_text import scan_text

Reader = Callable[[bytes], PageText]
READERS: list[Reader] = [LexborExtractor().text, Html5libExtractor().text, lambda body: scan_text(body.decode())]

PAGE = b"""<!DOCTYPE html><html><head>
<title> The  Title &amp; more </title><title>second</title>
<meta name="Description" content=" What
it is "><meta name=description content=later><meta property=og:title content=T><meta name=empty><meta charset=utf-8>
<style>p { color: red }</style><script>var hidden = "<b>";</script>
<noscript><style>x</style></noscript></head>
<body><h1>First <em>head</em>ing</h1><p>One<p>Two, wo<b>rd</b>s<br>three
<a href=" a.html ">An <i>an</i>chor<img alt=no src=i></a><a name=x>no link</a><a href="b">B</a>
<ul><li>x<li>y</ul><template><p>hidden</p><a href=t>t</a></template><svg><title>drawing</title><text>drawn</text></svg>
<h3>Third</h3><h2></h2><noscript>hidden <a href=n>n</a></noscript><textarea>typed</textarea><!-- hidden -->
</body></html>"""


@pytest.fixture(params=READERS, ids=["lexbor", "html5lib", "scanner"])
def read(request: pytest.FixtureRequest) -> Reader:
    return request.param  # type: ignore[no-any-return]


def test_text(read: Reader) -> None:
    assert read(PAGE) == PageText(
        title="The Title & more",
        meta={"description": "What it is", "og:title": "T"},
        headings=[(1, "First heading"), (3, "Third"), (2, "")],
        anchors=[("a.html", "An anchor"), ("b", "B")],
        text="First heading One Two, words three An anchor no linkB x y drawing drawn Third typed",
    )


@pytest.mark.parametrize("body", [b"", b"text", b"<!-- -->", b"<title>", b"<a href=x", b"<p>\x00"])
def test_pages_that_say_little(read: Reader, body: bytes) -> None:
    found = read(body)
    assert (found.title, found.headings, found.anchors) == ("", [], [])
