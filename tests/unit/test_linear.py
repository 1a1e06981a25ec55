"""Regular expressions whose time is bounded: they say what Python's engine says, and no URL keeps them busy."""

from __future__ import annotations

import re
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrawler.model.linear import Regex
from scrawler.model.url_pattern import UrlPatternError, url_pattern
from scrawler.urls.wanted import UrlPatterns
from tests.limits import HANGS
from tests.tables import each

LONG = 2_048  # characters, as many as a URL may have
ONES = st.sampled_from(["a", "b", "A", "/", ".", "[ab]", "[^a]", r"\w", r"\W", "[^/]"])
PLACES = st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\Z"])
PATTERNS = st.recursive(
    ONES | PLACES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}"])),
        st.builds("({}{})".format, st.sampled_from(["?=", "?!", "?i:", ""]), inner),
    ),
    max_leaves=6,
)


@settings(max_examples=400)
@given(PATTERNS, st.text("abA/.", min_size=1, max_size=8))
def test_it_finds_what_the_engine_of_python_finds(pattern: str, text: str) -> None:
    found = Regex(pattern)
    found.longest = -1  # so that it is not left to Python's engine
    assert found.search(text) is (re.search(pattern, text) is not None)


@each(
    ("pattern", "text"),
    [
        ("(?i).*FOO.*[B]AR", "xfoo-bar"), ("(?<=a)b", "ab"), ("(?<!a)b", "ab"), ("(?<=/a)b.*/", "/ab/"),
        ("(?i:a(?-i:B))", "AB"), ("(?i:a(?-i:B))", "Ab"), ("[à-ü]|é", "a"), ("(?s)a.b", "a/b"), ("(?x) a b # c", "ab"),
        ("(?:a{2,4}){2}", "aaaa"), ("a{3}$", "aaaa"), ("^a{3}$", "aaaa"), (r"\d+-\d+[^\d/]", "1-22a"), ("a|", "b"),
        ("a(?!)|b", "ab"),
    ],
)  # fmt: skip
def test_so_it_does_with_flags_and_looks_behind(pattern: str, text: str) -> None:
    found = Regex(pattern)
    found.longest = -1
    assert found.search(text) is (re.search(pattern, text) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        r".*/.*/.*/.*\.html", "([a-z]+-?){1,5}$", "([a-z]*/[a-z]*)*$", "(?:[a-z]*x[a-z]*/)*$",
        "a?" * 40 + "a" * 40 + "$",
        ".*a.*b.*c.*d!$", r"^(?:\w+\.?){2,8}!!", "(?=.*a.*/.*x)(?!.*/.*a.*y).*-.*~", r"(?i)[a-z]+-[a-z]+-[a-z]+\.pdf$",
        r"(\w+)/.*\1/x",
    ],
)  # fmt: skip
def test_no_url_takes_long(pattern: str) -> None:
    """With Python's engine, any of them would take minutes, and most of them longer than the world is old."""
    patterns = UrlPatterns((), (f"re:{pattern}",))
    begun = thread_time()
    for piece in ("/", "a", "a/", "1", "a-", "x", "xx/", "abc", "ab/cd.html-"):
        for end in ("", "!"):
            patterns.refusal(f"http://a.org/{piece * (LONG // len(piece))}{end}")
    assert thread_time() - begun < HANGS


def test_honest_patterns_judge_long_urls_as_ever() -> None:
    patterns = UrlPatterns((r"re:.*/.*/.*/.*\.html", r"re:([a-z]+-?){1,5}$"), ("re:.*old.*print.*page=[0-9]+",))
    assert not patterns.refusal(f"http://a.org/{'a/' * 900}b.html")
    assert not patterns.refusal(f"http://a.org/{'1/' * 900}b-c")
    assert patterns.refusal(f"http://a.org/old/{'1/' * 900}print?page=1").startswith("excluded by re:.*old")
    assert patterns.refusal(f"http://a.org/{'1/' * 900}").startswith("included by none of ")


def test_what_refers_to_a_group_is_tried_on_urls_that_are_not_too_long() -> None:
    patterns = UrlPatterns((), (r"re:/(.+)/.*\1/x",))
    assert patterns.refusal("http://a.org/ab/1/ab/x") == r"excluded by re:/(.+)/.*\1/x"
    assert patterns.refusal("http://a.org/" + "a" * 987) == (
        r"not tried: a URL of 1000 characters may take too long with re:/(.+)/.*\1/x"
    )
    with pytest.raises(UrlPatternError, match="may take for ever on some URLs: a reference to a group"):
        url_pattern(r"re:(.*).*.*.*.*\1x")
