"""Limits on the shape of a URL: exact at their bounds, judged where links are analysed, never of the query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrawler.model.scope import Scope
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from scrawler.urls.traps import UrlLimits, over_limit
from scrawler.urls.verdict import Verdict
from tests.tables import each

LIMITS = UrlLimits(segments=30, repeats=3, parameters=20)


def path(*segments: str) -> str:
    return "http://h/" + "/".join(segments)


@each(
    ("url", "verdict"),
    [
        ("http://h/", None),
        (path(*(f"s{n}" for n in range(30))), None),
        (path(*(f"s{n}" for n in range(30)), ""), None),
        (path(*(f"s{n}" for n in range(31))), Verdict.SEGMENTS),
        (path("a", "a", "a"), None),
        (path("a", "a", "a", "b", "a", "a", "a"), None),
        (path("x", "a", "a", "a", "a", "y"), Verdict.REPEATS),
        (path(*"ab" * 3), None),
        (path(*"ab" * 3, "a"), None),
        (path(*"ab" * 4), Verdict.REPEATS),
        (path("x", *"abc" * 4, ""), Verdict.REPEATS),
        (path("", "", "", ""), None),
        (path("", "", "", "", ""), Verdict.REPEATS),
        ("http://h/?q=/a/a/a/a/a" + "/b" * 40, None),
        ("http://h/?" + "&".join(f"p{n}=1" for n in range(20)), None),
        ("http://h/?" + "&".join(f"p{n}=1" for n in range(21)), Verdict.PARAMETERS),
        ("http://h/?" + "&" * 50 + "a=1", None),
        ("http://h/" + "&" * 50, None),
    ],
)
def test_limits_are_exact(url: str, verdict: Verdict | None) -> None:
    assert over_limit(url, LIMITS) is verdict


@given(st.lists(st.sampled_from("ab"), max_size=16), st.integers(1, 4), st.integers(1, 20))
def test_it_agrees_with_a_plain_search(segments: list[str], repeats: int, most: int) -> None:
    text = "".join(segments)
    rows = (text[start : start + size] for size in range(1, len(text) + 1) for start in range(len(text)))
    repeated = any(row * (repeats + 1) in text for row in rows if row)
    expected = Verdict.SEGMENTS if len(text) > most else Verdict.REPEATS if repeated else None
    assert over_limit(path(*segments), UrlLimits(most, repeats, 20)) is expected


def test_links_are_judged_and_counted_from_the_cache_too() -> None:
    analyzer = UrlAnalyzer(scope_of("http://h/", Scope.HOST), limits=LIMITS)
    hrefs = ["a/b", "a/a/a/a", "http://other/" + "x/" * 40, "?" + "p=1&" * 21]
    for _ in range(2):
        found = analyzer.analyze("http://h/", hrefs)
        assert found.internal == ["http://h/a/b"]
        assert found.external == []
        assert found.counts == {"internal": 1, "repeats": 1, "segments": 1, "parameters": 1}
