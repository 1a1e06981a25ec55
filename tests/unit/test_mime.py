"""Content-Type headers, single and repeated; the cases are those of web-platform-tests (fetch, mimesniff)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.mime import NO_TYPE, MediaType, media_type
from tests.tables import each


@each(
    ("headers", "essence", "charset"),
    [
        (["text/html", "text/html; charset=utf-8"], "text/html", "utf-8"),
        (['text/html;charset="";charset=GBK'], "text/html", ""),
        (["text/html;charset=;charset=GBK"], "text/html", "GBK"),
        (["text/html;charset=gbk", 'text/html;charset=""'], "text/html", ""),
        (["", "text/plain"], "text/plain", ""),
        (["text/plain", ""], "text/plain", ""),
        (["text/html", "text/plain"], "text/plain", ""),
        (["text/plain;charset=gbk", "text/html"], "text/html", ""),
        (["text/plain;charset=gbk", "text/html;charset=windows-1254"], "text/html", "windows-1254"),
        (["text/plain;charset=gbk", "text/plain"], "text/plain", "gbk"),
        (["text/plain;charset=gbk", "text/plain;charset=windows-1252"], "text/plain", "windows-1252"),
        (["text/html;charset=gbk", 'text/html;x=",text/plain'], "text/html", "gbk"),
        (["text/html;charset=gbk", "text/plain", "text/html"], "text/html", ""),
        (["text/plain", "*/*"], "text/plain", ""),
        (["*/*", "text/html"], "text/html", ""),
        (["text/html", "*/*;charset=gbk"], "text/html", ""),
        (['text/html;x="', "text/plain"], "text/html", ""),
        (['text/html;"', "text/plain"], "text/html", ""),
        (["text/html", "html"], "text/html", ""),
        (["text/html;charset=gbk", "html;charset=utf-8"], "text/html", "gbk"),
    ],
)
def test_of_several_headers_the_last_valid_one_counts(headers: list[str], essence: str, charset: str) -> None:
    assert media_type(", ".join(headers)) == MediaType(essence, charset)
    assert media_type(",".join(headers)) == MediaType(essence, charset)


@each(
    ("parameters", "charset"),
    [
        (";CHARSET=GBK", "GBK"),
        (";charset=gbk(", "gbk("),
        (";x=(;charset=gbk", "gbk"),
        (";charset=gbk;charset=windows-1255", "gbk"),
        (";charset =gbk", ""),
        (" ;charset=gbk", "gbk"),
        ("; charset=gbk ", "gbk"),
        (";charset= gbk", " gbk"),
        (";charset='gbk'", "'gbk'"),
        (";test;charset=gbk", "gbk"),
        (";test=;charset=gbk", "gbk"),
        (";';charset=gbk", "gbk"),
        (';";charset=gbk', "gbk"),
        (" ; ; charset=gbk", "gbk"),
        (';charset="gbk"', "gbk"),
        (';charset="gbk', "gbk"),
        (';charset=gbk"', 'gbk"'),
        (';charset="\\ gbk"', " gbk"),
        (';charset="\\g\\b\\k"', "gbk"),
        (';charset="gbk"x', "gbk"),
        (';x=";charset=utf-8";charset=gbk', "gbk"),
        (";test=\u0100;charset=gbk", "gbk"),
        (";charset=\u0100;charset=gbk", "gbk"),
        (";charset=", ""),
    ],
)
def test_the_charset_is_the_first_valid_parameter_of_the_name(parameters: str, charset: str) -> None:
    assert media_type("text/html" + parameters) == MediaType("text/html", charset)


@each(
    "header",
    [
        *("", "\t", "bogus", "bogus/", "bogus/ ", "/html", "bogus/bogus/;", "</>", "(/)", "{/}", "\u0100/\u0100"),
        *("*/*", "html", "text/html charset=utf-8", "text/html(;doesnot=matter", "text /html", "html, , text"),
    ],
)
def test_what_is_no_media_type(header: str) -> None:
    assert media_type(header) == NO_TYPE


def test_tokens_may_be_odd_and_case_means_nothing() -> None:
    assert media_type("!#$%&'*+-.^_`|~0A/!#$%&'*+-.^_`|~0A;x=y").essence == "!#$%&'*+-.^_`|~0a/!#$%&'*+-.^_`|~0a"
    assert media_type("  TEXT/Html\t").essence == "text/html"


@given(st.text(alphabet='aA/;=",\\ \t*(é\u0100', max_size=30), st.text(max_size=20))
def test_whatever_comes_is_read(odd: str, text: str) -> None:
    media_type(odd + text)
    assert media_type(f"{odd},text/html;charset=x").essence in ("", "text/html") or '"' in odd
    assert media_type("text/html;" + odd).essence != "" or "," in odd


@pytest.mark.parametrize("odd", ['"', "\\", '"\\', ",", ";", ";x=", ';x="', "a/b,", "a/b;charset,", " "])
def test_headers_made_to_be_slow_are_not(odd: str) -> None:
    began = time.process_time()
    for number in range(50):
        media_type("text/html;" + odd * 40_000 + str(number))
    assert time.process_time() - began < 5
