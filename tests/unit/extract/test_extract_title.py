"""The title of a page: what Chromium 156 said of `document.title` for each of these."""

from __future__ import annotations

from resiliparse.parse.html import HTMLTree
from selectolax.lexbor import LexborHTMLParser

from scrawler.extract.title import title_of
from scrawler.features.texts.corpus import title_of_tree
from tests.tables import each

CASES = {
    "<title> a\n  b </title>x": "a b",
    "<title>a &amp; b &lt;i&gt; &eacute;&nbsp;x</title>x": "a & b <i> é\xa0x",
    "<body><svg><title>pic</title></svg><title>real</title>": "real",
    "<body><svg><title>pic</title></svg>x": "",
    "<title>one</title><title>two</title>": "one",
    "<title></title><title>two</title>": "",
    "<body><p>x<div><title>body</title></div>": "body",
    "<title>a <b>c</b></title>": "a <b>c</b>",
    "<p>x": "",
    "": "",
    "<template><title>t</title></template><title>real</title>": "real",
    "<body><noscript><title>n</title></noscript>": "",
    "<html><head><title>f</title></head><frameset></frameset></html>": "f",
    "<math><mi><title>m</title></mi></math><title>real</title>": "m",
    "<title>a<!-- c -->b</title>": "a<!-- c -->b",
    "<textarea><title>no</title></textarea><title>yes</title>": "yes",
    "<title>\u3000a\u3000\u00a0b</title>": "\u3000a\u3000\xa0b",
}


@each(("page", "title"), CASES.items())
def test_a_title_is_that_of_a_browser(page: str, title: str) -> None:
    assert title_of(LexborHTMLParser(page)) == title
    assert title_of_tree(HTMLTree.parse(page)) == title, "as a corpus has it"
