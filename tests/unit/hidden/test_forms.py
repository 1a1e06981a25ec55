"""Which forms are searches, and how they are asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrawler.features.hidden.forms import SearchForm, search_forms
from tests.tables import each

URL = "http://shop.example/list/index.html?page=2"


def test_a_search_is_asked_with_all_that_it_sends() -> None:
    page = b"""<form action=/find role=search><input type=search name=q><input type=hidden name=in value='a b'>
    <select name=sort><option>new<option value=old selected>oldest</select>
    <input type=checkbox name=all checked><input type=checkbox name=none><input type=submit name=go value=Go></form>"""
    (form,) = search_forms(page, URL)
    assert form == SearchForm("http://shop.example/find", "q", (("in", "a b"), ("sort", "old"), ("all", "on")), True)
    assert form.url("ä & b") == "http://shop.example/find?in=a+b&sort=old&all=on&q=%C3%A4+%26+b"


def test_without_an_action_it_is_sent_to_its_page() -> None:
    (form,) = search_forms(b"<form><input name=words></form>", URL)
    assert form == SearchForm("http://shop.example/list/index.html", "words")


@each(
    "form",
    [
        "<form method=post><input name=q></form>",
        "<form action=http://other.example/><input name=q></form>",
        "<form action=javascript:void(0)><input name=q></form>",
        "<form><input name=q><input name=r></form>",
        "<form><input></form>",
        "<form><input name=q><input type=password name=p></form>",
        "<form><input name=q><textarea name=t></textarea></form>",
        "<form><input name=email></form>",
        "<form><input name=x placeholder='Your e-mail'></form>",
        "<form><input type=hidden name=q></form>",
        f"<form><input name=q>{'<input type=hidden name=a>' * 60}</form>",
    ],
)
def test_what_is_no_search(form: str) -> None:
    assert search_forms(form.encode(), URL) == []


def test_who_says_that_it_searches_comes_first() -> None:
    page = b"<form action=/a><input name=x></form><form action=/b class=site-search><input name=x></form>" * 2
    assert [form.action[-1] for form in search_forms(page, URL)] == ["b", "a"]


def test_a_page_that_must_not_be_parsed_is_not() -> None:
    assert search_forms(b"<form><input name=q></form>" + b"<div>" * 100_000, URL) == []


@given(st.binary(max_size=300), st.text(max_size=20))
def test_any_page_can_be_read(page: bytes, term: str) -> None:
    text = page.decode("utf-8", "replace").encode()
    for form in search_forms(b"<form><input name=q " + text, URL):
        assert form.url(term).startswith("http://shop.example/")
