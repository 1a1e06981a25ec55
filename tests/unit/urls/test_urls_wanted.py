"""Which URLs patterns want."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.errors import SettingsError
from scrawler.model.url_pattern import UrlPatternError, url_pattern
from scrawler.settings import make_settings
from scrawler.urls import wanted
from scrawler.urls.wanted import UrlPatterns, url_patterns
from tests.tables import each


@each(
    ("pattern", "url", "fits"),
    [
        ("https://a.example/docs/*", "https://a.example/docs/x/y?z", True),
        ("https://a.example/docs/*", "http://a.example/docs/x", False),
        ("https://a.example/docs/*", "https://a.example/docs", False),
        ("*/print*", "https://a.example/print?x", True),
        ("*.pdf", "https://a.example/x.pdf", True),
        ("*.pdf", "https://a.example/x.pdf?y", False),
        ("/print/*", "https://a.example/print/1", True),
        ("/print/*", "https://a.example/x/print/1", False),
        ("/print/*", "https://a.example:8080/print/", True),
        ("/x?y=*", "https://a.example/x?y=1", True),
        ("/x?y=*", "https://a.example/xzy=1", False),
        ("/a?u=http://b/*", "https://a.example/a?u=http://b/c", True),
        ("/web/*/http://*", "https://a.example/web/2001/http://b.example/", True),
        ("a.example/web/*/http://*", "https://a.example/web/2001/http://b.example/", True),
        ("http*://a.example/*", "https://a.example/1", True),
        ("a.example/*", "https://a.example/1", True),
        ("a.example/*", "https://b.a.example/1", False),
        ("*.example/[1]*", "https://a.example/[1]2", True),
        ("/stra\u00dfe", "https://a.example/stra%C3%9Fe", True),
        ("/a%7Cb", "https://a.example/a%7Cb", True),
        ("Example.org/a*", "https://example.org/a/b", True),
        ("Example.org/A*", "https://example.org/a", False),
        ("HTTP://a.example/*", "http://a.example/1", True),
        ("*://A.example/x", "https://a.example/x", True),
        ("HTTP*://A.example/x", "https://a.example/x", True),
        ("b\u00fccher.example/*", "https://xn--bcher-kva.example/1", True),
        ("https://*.B\u00dccher.example/*", "https://x.xn--bcher-kva.example/1", True),
        ("*.B\u00fccher.example/*", "https://x.xn--bcher-kva.example/1", True),
        ("*.Example.org/X", "https://a.example.org/X", True),
        ("b\u00fccher.example*", "https://xn--bcher-kva.example:80/1", True),
        ("*.PDF", "https://a.example/x.PDF", True),
        ("https://*.PDF", "https://a.example/x.PDF", True),
        ("A.example*.PDF", "https://a.example/x.PDF", True),
        ("https://A.example", "https://a.example/", True),
        ("a.example?x=*", "https://a.example/?x=1", True),
        ("https://a.example:443/*", "https://a.example/1", True),
        ("a.example:443/*", "https://a.example/1", True),
        ("a.example:443/*", "http://a.example/1", False),
        ("http://a.example:443/*", "http://a.example:443/1", True),
        ("https://*.Example.org:8080/*", "https://a.example.org:8080/1", True),
        ("localhost:8080*", "http://localhost:8080/1", True),
        ("[::1]/*", "http://[::1]/1", True),
        ("a.example/http://b/*", "https://a.example/http://b/1", True),
        ("re:[.]PDF$", "https://a.example/x.PDF", True),
        ("re:(?i)[.]pdf$", "https://a.example/x.PDF", True),
        ("re:^https://b", "https://a.example/https://b", False),
    ],
)
def test_what_a_pattern_fits(pattern: str, url: str, fits: bool) -> None:
    assert bool(UrlPatterns((), (pattern,)).refusal(url)) is fits
    assert bool(UrlPatterns((pattern,), ()).refusal(url)) is not fits


@each(
    ("pattern", "words"),
    [
        ("", "an empty pattern fits no URL"),
        ("p1*", "write p1*/* for a host, /p1* for a path"),
        ("p1", "write p1/* for a host, /p1 for a path"),
        ("//host*", "write host* for a host"),
        ("ftp://a.example/*", "only http:// and https:// are crawled"),
        ("https:///x", "names no host"),
        ("?page=*", "names no host"),
        ("me@a.example/*", "'me@a.example' is no host"),
        ("a b.example/*", "'a b.example' is no host"),
        ("a.example:99999/*", "there is no port 99999"),
        ("https://b\u00fcch*.example/", "cannot stand within a label"),
        ("a.example/x#y", "the part behind a #"),
        ("re:", "'re:' fits every URL, for nothing is to be found"),
        ("re:(", "is no regular expression: missing )"),
    ],
)
def test_what_no_url_could_fit_is_refused_with_words(pattern: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        UrlPatterns((), (pattern,))
    for values, where in (({"exclude": [pattern]}, "exclude="), ({"sites": {"a.example": {"exclude": [pattern]}}}, "")):
        with pytest.raises(SettingsError, match=re.escape(words)) as told:
            make_settings(values)
        assert where in str(told.value)
        assert "\n" not in str(told.value)


@given(st.text("ab*", max_size=9), st.text("ab", max_size=9))
def test_stars_stand_for_anything(pattern: str, text: str) -> None:
    plainly = re.fullmatch("http://h/" + pattern.replace("*", ".*"), "http://h/" + text)
    assert bool(UrlPatterns((), (f"http://h/{pattern}",)).refusal(f"http://h/{text}")) is bool(plainly)


def test_what_is_excluded_counts_more_than_what_is_included() -> None:
    patterns = UrlPatterns(("/docs/*", "/news/*"), ("*/old/*",))
    urls = [f"https://a.example{path}" for path in ("/docs/1", "/docs/old/1", "/news/1", "/x")]
    assert patterns.sift(urls) == {
        urls[1]: "excluded by */old/*",
        urls[3]: "included by none of /docs/*, /news/*",
    }


def test_without_patterns_there_is_nothing_to_ask() -> None:
    assert url_patterns((), ()) is None
    assert url_patterns(("/a",), ()) == url_patterns(("/a",), ())


@each(
    "pattern",
    [
        "(a+)+$", "(a|aa)+$", "(a|a)*b", "(x+x+)+y", "^https?://[^/]+/(.*)*$", r"(\w+\s?)*x", "([a-z]+)*",
        "((a+)b?)+$", "(?:.*a)+x", "((a|b)+)+c", "(?i:(A|aB)+)$", "(?=(a+)+$)", "x(?:(a*)*|b)",
    ],
)  # fmt: skip
def test_what_may_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(UrlPatternError, match="may take for ever on some URLs"):
        url_pattern(f"re:{pattern}")


@pytest.mark.parametrize(
    "pattern",
    [
        r"\.pdf$", r"/\d{4}/\d\d/", "([a-z]+/)*x$", r"^https?://[^/]+/(?:[^/?]+/)*[^/?]*\.html$", "(a|b)+c",
        "/(en|de|fr)/", r"(?:\d+-)+x", "[?&](sid|session)=", "(foo|bar)*$", ".*foo.*bar", "(?!x)[a-z]+", "(ab)+",
        "/page/[0-9]+(/|$)", "(?:%[0-9a-f]{2})+", "(/[^/]+){5,}", "(?:/[a-z]+)+/?$", "a{2,5}", "(/[^/]*)*x$",
    ],
)  # fmt: skip
def test_what_is_read_in_one_way_is_taken_and_takes_little_time(pattern: str) -> None:
    """What could be read in many ways would take longer than the world is old."""
    found = url_pattern(f"re:{pattern}")
    for piece in ("a", "x", "1", "/", "a/", "1-", "%a", "foo"):
        begun = process_time()
        found.search(f"http://a.org/{piece * (1_000 // len(piece))}!")
        assert process_time() - begun < 2


def test_a_page_whose_links_take_too_long_costs_some_seconds_and_names_the_pattern(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was not tried is not wanted: a regular expression that is only slow may be everybody's."""
    clock = iter(range(100))
    monkeypatch.setattr(wanted, "monotonic", lambda: float(next(clock)))
    patterns = UrlPatterns((), ("re:.*a.*b",))
    refused = patterns.sift(f"http://a.org/{number}" for number in range(10))
    assert len(refused) == 6
    assert set(refused.values()) == {"not tried: for the links before it on its page 5 s were too few of re:.*a.*b"}
