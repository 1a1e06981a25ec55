"""Which pages look as if their links were made by scripts."""

from __future__ import annotations

from scrawler.extract.scripted import scripted
from tests.tables import each

SCRIPT = "<script src=/app.js></script>"
ARTICLE = "<p>" + "words of an article " * 30
LINKS = "".join(f"<a href=/{number}>x</a>" for number in range(4))


@each(
    ("page", "likely"),
    [
        (f'<div id="root"></div>{SCRIPT}', True),
        (f"<app-root></app-root>{SCRIPT}{ARTICLE}", True),
        (f"<body>{SCRIPT}<noscript>You need to enable JavaScript to run this app.</noscript>{ARTICLE}", True),
        (f"<p>Loading ...{SCRIPT}", True),
        (f"<a href='#top'>x</a><a href='javascript:go()'>x</a>{SCRIPT}", True),
        (f'<div id="root"></div>{SCRIPT}{LINKS}', False),  # it leads on
        (f"{ARTICLE}{SCRIPT}", False),  # a page of text, with a counter
        ('<div id="root"></div>', False),
        ('<script type="application/ld+json">{}</script>', False),
        ("", False),
    ],
)
def test_a_page_without_links_that_scripts_fill(page: str, likely: bool) -> None:
    found = scripted(page.encode(), "text/html; charset=utf-8")
    assert found is not None
    assert found.is_likely is likely


def test_what_speaks_for_it_is_said_in_words() -> None:
    found = scripted(f'<div id="app"></div>{SCRIPT}<noscript>JavaScript, please</noscript>'.encode(), "")
    words = 'no link, 1 script, 0 characters of text, an empty element that scripts fill (<div id="app">)'
    assert str(found) == f"{words} and a request to turn JavaScript on"


def test_a_page_that_costs_a_tree_too_much_is_left_alone() -> None:
    assert scripted(b"<div>" * 200_000, "text/html") is None
