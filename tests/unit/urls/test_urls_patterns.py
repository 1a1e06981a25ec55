"""Patterns: what is folded, and that words never are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrawler.urls.patterns import fold, patterns_of
from tests.tables import each

FOLDED = {
    "/t3/p12.html": "/t*/p*.html",
    "/2024-01-15/": "/*-*-*/",
    "/en/4.2/ref/models.html": "/en/*.*/ref/models.html",
    "/u/3f2504e0-4f89-11d3-9a0c-0305e82c3301/x": "/u/*/x",
    "/u/3F2504E0-4F89-11D3-9A0C-0305E82CABCD": "/u/*",
    "/commit/9fceb02d0ae598e95dc970b74767f19372d61af8": "/commit/*",
    "/v/dQw4w9WgXcQ": "/v/*",
    "/(S(lit3py55t21z5v55vlm25s55))/a.aspx": "/(S(*))/a.aspx",
    "/a;jsessionid=1A2B;v=2/b": "/a;jsessionid=;v=/b",
    "/show?sort=a&id=7": "/show?id=&sort=",
    "/show?id=8&sort=b&id=9&&": "/show?id=&sort=",
    "/list?12": "/list?*",
    "/x?filter[12]=3&y": "/x?filter[*]=&y",
    "/x?": "/x?",
}
WORDS = [
    "/", "/library/os.html", "/genindex-A.html", "/_modules/asyncio/base_events.html", "/deadbeef/facade.html",
    "/wiki/File:Map.png", "/caf%C3%A9/%E6%97%A5%E6%9C%AC.html", "/some-long-words-and-more-words/UPPER/CamelCase",
]  # fmt: skip


@each("path", FOLDED)
def test_what_is_folded(path: str) -> None:
    assert patterns_of(f"http://h8:80/{path[1:]}").own == f"http://h8:80{FOLDED[path]}"


@each("path", WORDS)
def test_words_stay_words(path: str) -> None:
    assert patterns_of(f"http://h8{path}") == ("", "")


def test_all_queries_of_a_path_are_one_more_pattern() -> None:
    assert patterns_of("http://h/p7?a=1&b=2") == ("http://h/p*?a=&b=", "http://h/p*?**")


@given(st.from_regex(r"(?:/[a-z0-9A-F%;=.-]{0,12}){1,6}", fullmatch=True))
def test_folding_again_changes_nothing_and_no_digit_is_left(path: str) -> None:
    folded = fold(path)
    assert fold(folded) == folded
    assert not any(sign.isdigit() for sign in folded.replace("%", "%%").split("%%")[0])


@given(st.text("0123456789", min_size=1, max_size=12), st.text("0123456789", min_size=1, max_size=12))
def test_numbers_make_no_difference(one: str, other: str) -> None:
    assert patterns_of(f"http://h/t-{one}/p?n={one}") == patterns_of(f"http://h/t-{other}/p?n={other}")


def test_what_was_asked_before_makes_no_difference() -> None:
    """What is known goes by the places of the digits alone, after the origin, and where no escape has any."""
    for number in (1, 2):
        assert patterns_of(f"http://h{number}/p{number}.html").own == f"http://h{number}/p*.html"
        assert patterns_of(f"http://h/%4{number}/p{number}").own == f"http://h/%4{number}/p*"
