"""The steps beyond the standard: what each does and leaves, and that twice is once."""

from __future__ import annotations

import time
from itertools import chain, combinations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.settings.kinds import NORMALISE_STEPS
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.normalise import normalise, seed_url
from scrawler.urls.scope import scope_of
from scrawler.urls.steps import MARKS, make_steps, spellings
from tests.tables import each

LONG = "0123456789abcdef0123456789ABCDEF"
ASP = "(S(abcdefghijklmnopqrstuvwx))"
CHANGES = {
    "percent-case": [
        ("/%7euser/%2d%2E%5f%41%7a%30", "/~user/-._Az0"),
        ("/%c3%a9?q=%2f%3D%26", "/%C3%A9?q=%2F%3D%26"),
        ("/%2541%25%34%31%zz%", "/%2541%2541%zz%"),
        ("/%%341/%4%31", "/%%341/%4%31"),  # decoded, they would make another escape whole
        ("/%2e%2e%2e", "/..."),
    ],
    "empty-query": [("/a?", "/a"), ("/?", "/")],
    "session-ids": [
        ("/a;jsessionid=1A2b!x.node1", "/a"),
        ("/a;JSESSIONID=1;v=2/b;jsessionid=?q", "/a;v=2/b?q"),
        (f"/a?x=1&PHPSESSID={LONG}&y=2", "/a?x=1&y=2"),
        ("/a?jsessionid=1&zenid=2&osCsid=3", "/a"),
        (f"/a?sid={LONG}&sessionid={LONG}0", "/a"),
        ("/a?ASPSESSIONIDQQABCDEF=XYZ&b", "/a?b"),
        ("/a?CFID=1&b=2&CFTOKEN=3", "/a?b=2"),
        (f"/x/{ASP}/a.aspx", "/x/a.aspx"),
        (f"/{ASP}/{ASP}/", "/"),
        ("/(A(abcdefghijklmnopqrstuvwx)S(abcdefghijklmnopqrstuvwx))/a", "/a"),
        ("/(abcdefghijklmnopqrstuv01)/a.aspx", "/a.aspx"),
    ],
    "tracking": [
        ("/a?utm_source=x&b=1&UTM_Medium=y&fbclid=z", "/a?b=1"),
        ("/a?gclid=1&msclkid=2&mc_cid=3&mc_eid=4", "/a"),
    ],
    "sorted-query": [("/a?b=2&a=9&b=1&&a=0", "/a?&a=9&a=0&b=2&b=1")],
}
LEFT = {
    "percent-case": ["/%C3%A9", "/%", "/%2F"],
    "empty-query": ["/a?b?", "/a??", "/a"],
    "session-ids": [
        "/a?sid=12&sessionid=7&cfid=1&id=" + LONG,
        "/a?cftoken=1",
        "/..;jsessionid=1/b",  # without it, a dot segment
        "/(part)/a",
        f"/{ASP}",
        "/a?aspsessionid=1",
        "/jsessionid=1",
    ],
    "tracking": ["/a?source=x&ref=y&campaign=z&q=utm_source=1", "/utm_source=1"],
    "sorted-query": ["/a?a=2&a=1&b", "/a"],
}
SUBSETS = list(chain.from_iterable(combinations(NORMALISE_STEPS, n) for n in range(len(NORMALISE_STEPS) + 1)))
PIECES = ["%", "%4", "%41", "%7e", "%2e", ".", "/", ";", "?", "&", "=", "(", ")", "a", "4", ";jsessionid=1", ASP]
PIECES += ["sid=", LONG, "utm_x=1", "cfid=1", "cftoken=2", "jsessionid", "é", "://", "(", "\\", "zenid"]


def flat(table: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str, str]]:
    return [(step, before, after) for step, cases in table.items() for before, after in cases]


@each(("step", "before", "after"), flat(CHANGES))
def test_what_a_step_changes(step: str, before: str, after: str) -> None:
    run = make_steps([step])
    assert run is not None
    assert run("http://h" + before) == "http://h" + after


@each(("step", "path"), [(step, path) for step, paths in LEFT.items() for path in paths])
def test_what_a_step_leaves(step: str, path: str) -> None:
    run = make_steps([step])
    assert run is not None
    assert run("http://h" + path) == "http://h" + path


@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.sampled_from(SUBSETS),
    st.sampled_from(["http://h/", "http://h", "https://h:8/a/"]),
)
@example("/..;jsessionid=1", ("session-ids",), "http://h/")
@example(f"/{ASP}/", ("session-ids",), "http:/")
@example("/x:/(S(1))", ("session-ids", "percent-case"), "http://h;jsessionid=1")
def test_twice_is_once_and_the_standard_is_content(text: str, names: tuple[str, ...], start: str) -> None:
    url = normalise(start + text).url
    assume(url)
    steps = make_steps(names)
    if steps is None:
        assert not set(names) - {"www"}
        return
    spelt = steps(url)
    assert steps(spelt) == spelt
    assert normalise(spelt) == (spelt, None)
    assert len(spelt) <= len(url)
    assert spelt.partition("//")[2].partition("/")[0] == url.partition("//")[2].partition("/")[0]
    assert MARKS.search(url) or spelt == url


@pytest.mark.parametrize("unit", ["%", "%4", "%%34", ";jsessionid=", "(S(", f"/{ASP}", "&cfid=1", "?", "utm_", "/..;"])
def test_a_long_url_is_spelt_quickly(unit: str) -> None:
    steps = make_steps(NORMALISE_STEPS)
    assert steps is not None
    begin = time.thread_time()
    steps("http://h/" + unit * (300_000 // len(unit)))
    steps("http://h/?" + unit * (300_000 // len(unit)))
    assert time.thread_time() - begin < 6  # of CPU; at most 0.3 s, and anything quadratic takes many minutes


@each(
    ("home", "other"),
    [
        ("http://example.org/x", {"www.example.org": "example.org"}),
        ("https://www.example.org/", {"example.org": "www.example.org"}),
        ("http://a.example.co.uk:81/", {"www.a.example.co.uk:81": "a.example.co.uk:81"}),
        ("http://www.co.uk/", {}),
        ("http://co.uk/", {}),
        ("http://localhost:8000/", {}),
        ("http://192.0.2.7/", {}),
        ("http://[::1]:80/", {}),
    ],
)
def test_with_www_and_without(home: str, other: dict[str, str]) -> None:
    assert spellings(home) == other


def test_the_other_spelling_is_internal_but_a_redirect_to_it_is_none() -> None:
    part = UrlAnalyzer(scope_of("http://t.org/", Scope.HOST), aliases=spellings("http://t.org/"))
    assert part.analyze("http://t.org/", ["http://www.t.org/x", "//www.t.org:81/"]).internal == ["http://t.org/x"]
    assert part.redirected("http://t.org/", "http://www.t.org/").external == ["http://www.t.org/"]
    assert part.redirected("http://t.org/", "http://www.t.org/y").internal == ["http://t.org/y"]


def test_a_redirect_to_another_spelling_of_the_page_is_followed_as_written() -> None:
    part = UrlAnalyzer(scope_of("http://h/", Scope.HOST), steps=make_steps(["session-ids", "percent-case"]))
    page = "http://h/~a"
    assert part.redirected(page, "/~a;jsessionid=1").internal == ["http://h/~a;jsessionid=1"]
    assert part.redirected(page + ";jsessionid=1", "/~a;jsessionid=2").internal == [page]
    assert part.redirected(page, "/b;jsessionid=1").internal == ["http://h/b"]
    assert part.redirected(page, "/%7ea").internal == ["http://h/%7ea"]
    assert part.redirected(page, page) == part.analyze(page, [page])
    assert part.redirected(page, "mailto:x").counts == {"scheme": 1}


def test_links_and_seeds_are_spelt_alike() -> None:
    names = Settings().normalise
    assert names == ("percent-case", "empty-query", "session-ids", "tracking")
    steps = make_steps(names)
    part = UrlAnalyzer(scope_of("http://h.org/", Scope.HOST), steps=steps)
    hrefs = ["/%7ea?utm_source=x", "/a?", "b;jsessionid=1", "c", "/x.png;jsessionid=1"]
    analysis = part.analyze(f"http://h.org/{ASP}/d", hrefs)
    assert analysis.internal == ["http://h.org/" + path for path in ("~a", "a", "b", "c")]
    assert analysis.counts == {"internal": 4, "file-type": 1}
    assert part.analyze(f"http://h.org/{ASP}/d", hrefs) == analysis  # out of the cache
    for href, url in zip(hrefs[:2], analysis.internal, strict=False):
        assert seed_url("h.org" + href, steps=steps) == (url, "")
        assert seed_url("h.org" + href).url != url
    assert part.resolve("/x.png;jsessionid=1", "http://h.org/") == "http://h.org/x.png"
    assert part.judge("/x.png;jsessionid=1", "http://h.org/")[0] == "file-type"
