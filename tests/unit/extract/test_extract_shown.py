"""Texts of pages hold what a reader sees, whichever of them is asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.extract.shown import shown
from scrawler.extract.visible import visible_text
from scrawler.features.texts.corpus import text_reader
from scrawler.features.texts.markdown import markdown_text

TERM = "<mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>"
MATH = f"<math><semantics><mrow>{TERM}</mrow><annotation encoding=tex>no</annotation></semantics></math>"
FILLING = "<p>" + "Some words that make this page long enough to have a main text of its own. " * 4


def _text(page: str) -> str:
    return visible_text(page.encode(), "text/html; charset=utf-8", "text/html") or ""


def _markdown(page: str) -> str:
    return markdown_text(page.encode(), "text/html; charset=utf-8", "text/html", "http://h.example/") or ""


def _corpus(page: str) -> str:
    found = text_reader()(page.encode())
    assert found is not None
    return found.text


@pytest.fixture(params=[_text, _markdown, _corpus], ids=["text", "markdown", "corpus"])
def text_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    made: Callable[[str], str] = request.param
    return lambda body: made(f"<!doctype html><title>t</title><main>{body}{FILLING}</main>")


def test_formulas_are_in_the_text(text_of: Callable[[str], str]) -> None:
    text = text_of(f"<p>Energy is {MATH} as ever.</p><table><tr><th>Name<th>Value<tr><td>First<td>{MATH}</table>")
    assert "Energy is E=mc2 as ever." in text
    assert text.count("E=mc2") == 2
    assert "no" not in text.split()


def test_a_formula_that_a_picture_shows_is_in_the_text_once(text_of: Callable[[str], str]) -> None:
    for_eyes = "<span class=katex-html aria-hidden=true>E</span>"
    katex = f"<span class=katex><span class=katex-mathml>{MATH}</span>{for_eyes}</span>"
    text = text_of(f'<p>One <span style="display: none;">{MATH}</span><img src=x.svg> two {katex} three')
    assert text.count("E=mc2") == 2
    assert "two E=mc2 three" in text


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>Nobody</p>", "<p hidden=until-found>Nobody</p>", '<p style="display:none">Nobody</p>',
        '<p style="color: red; Display : NONE !important ;">Nobody</p>',
        "<div style='visibility:hidden'><p>Nobody</p></div>",
        '<p style="visibility:collapse">Nobody</p>', "<dialog>Nobody</dialog>", "<div popover>Nobody</div>",
        "<div hidden><section><p>x <b>Nobody</b></p></section></div>",
        "<div hidden><div hidden><math><math><mi>Nobody</math></math><p style=display:none>Nobody</div></div>",
    ],
)  # fmt: skip
def test_what_is_hidden_is_not_in_the_text(text_of: Callable[[str], str], hidden: str) -> None:
    text = text_of(f"<p>Before.</p>{hidden}<p>After.</p>")
    assert "Nobody" not in text
    assert "Before." in text
    assert "After." in text


@pytest.mark.parametrize(
    "seen",
    [
        '<p style="display:none;display:block">Somebody</p>', "<p aria-hidden=true>Somebody</p>",
        "<p style=x:none>Somebody</p>",
        '<p style="--display:none">Somebody</p>', "<p data-hidden>Somebody</p>", "<p class=hidden>Somebody</p>",
    ],
)  # fmt: skip
def test_what_is_shown_is_in_the_text(text_of: Callable[[str], str], seen: str) -> None:
    assert "Somebody" in text_of(f"<p>Before.</p>{seen}<p>After.</p>")


def test_code_comes_without_the_numbers_of_its_lines(text_of: Callable[[str], str]) -> None:
    pygments = (
        "<div class=highlight><table><tr><td class=linenos><div class=linenodiv><pre>1\n2\n3</pre></div></td>"
        "<td class=code><pre><span>def</span> f(a):\n    return a &lt; 1\n\n</pre></td></tr></table></div>"
    )
    rows = "<table>" + "".join(
        f"<tr><td class=blob-num data-line-number={n}></td><td class=blob-code>line {n};</td></tr>" for n in (41, 42)
    ) + "</table>"  # fmt: skip
    text = text_of(f"{pygments}<p>Words.</p>{rows}")
    assert "def f(a):\n    return a < 1\n" in text
    assert "line 41;\nline 42;" in text
    assert not {"1", "2", "3", "41", "|"} & set(text.replace("< 1", "").split())
    assert "3" in text_of("<table><tr><td>1<td>one</tr><tr><td>3<td>three</tr></table>")


def test_markdown_has_no_links_that_are_programs() -> None:
    text = _markdown('<p><a href="javascript:void(0)">a</a> <a href=" Java&#9;Script:x">b</a> <a href=c>c</a>')
    assert "cript:" not in text
    assert "[c](http://h.example/c)" in text


def test_a_page_that_a_script_shows_is_read_as_a_whole() -> None:
    assert _text("<body style='display:none'><p>All") == "All"
    assert _text("<body><div hidden><p>All</div>") == "All"
    assert shown(b"<p>plain <b>page") == b"<p>plain <b>page"
