"""The URL Analyzer: verdicts and their counts, and a cache that nobody can tell from none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.core.seen import MemoryBudget, compact_seen
from scrawler.model.scope import Scope
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.filetype import is_refused_type
from scrawler.urls.lookup import COMPILED, KnownLinks
from scrawler.urls.normalise import MAX_URL_LENGTH, normalise
from scrawler.urls.query import encode_query
from scrawler.urls.scope import scope_of
from scrawler.urls.steps import make_steps
from scrawler.urls.traps import UrlLimits
from scrawler.urls.verdict import Verdict

SEED = "http://h/docs/index.html"
PAGES = ["http://h/docs/a.html", "http://h/docs/b.html?q/r", "http://h/docs/b.html", "http://h/", "https://h/docs/"]
PAGES += ["http://h:8080/docs/a.html", "http://www.h/docs//x/"]
HREFS = ["", "#", "#x", "?x", "?x#y", " ?x", "\t?x", "x", "x#y", "x #y", " x", "x ", "x\n", "./x", "../x", "..", "/x"]
HREFS += ["/x#y", "//h/x", "//www.h/x", "/\\h/x", "http://h/x", "https://h/x", "HTTP://H/x", "http:x", "http:?x"]
HREFS += ["https:?x", "http:", "http:/x", "ht\ntp:?x", "http://h", "http://h?x", "http://user@h/x", "http://h:80/x"]
HREFS += ["mailto:x@h", "javascript:void(0)", "a.jpg", "../a.jpg?x", "File:a.jpg", "http://[", "\ud800", "x" * 300]
HREFS += [
    "y/x",
    "y/x#z",
    "y/x",
    "y/",
    "./y/x.HTML",
    "../docs/y/x",
    "y/x.jpg",
    "y/x.JPG#z",
    "y/.x",
    "y/x:z.jpg",
    "y/x?z",
]
HREFS += ["y/ü", "/docs/y/x", "http://h/docs/y/x", "http://h/docs/y/z.css", "httpd/x", "http:y/x", "y/ŵ", "ŵ"]
HREFS += ["http://h/ŵ", "y/" + "x" * 2100, "y/" + "x" * 250, "y/" + "x" * 254, "y.z/x", "y\\z/x", "//o.org/y/x"]
HREFS += ["http://o.org/x?y=z", "http://xn--a.org/", "http://o.1/", "http://o.org/%7e/x", "http://o.org/a/../x"]
HREFS += ["?é", "x?é", "/x?é#y", "x?é", "//o.org/x?é", "é?é", "?é ", "x?\x0e", " ?é\x01", "http:?é", "x?" + "é" * 1200]
HREFS += ["x" * 3000, "%2e%2e/x", "a b", "ü", "a\0b", " #x", " ", "hello.html", "http", "httpx:y", "\xa0?x"]


Form = Callable[[], KnownLinks] | None
FORMS = [None, COMPILED]


def analyzer(scope: Scope = Scope.HOST, cache_entries: int = 4096, compiled: Form = COMPILED) -> UrlAnalyzer:
    return UrlAnalyzer(scope_of(SEED, scope), cache_entries=cache_entries, compiled=compiled)


def analyse_plainly(
    scope: Scope, page: str, hrefs: list[str], base: str = "", charset: str = ""
) -> tuple[list[str], list[str], dict[str, int]]:
    """Do the analyzer's work link by link, without any of its short cuts."""
    rule, counts = scope_of(SEED, scope), dict[str, int]()
    found: dict[Verdict, dict[str, None]] = {Verdict.INTERNAL: {}, Verdict.EXTERNAL: {}}
    resolved = normalise(base, page).url or page
    for href in hrefs:
        url, refused = normalise(encode_query(href, charset, MAX_URL_LENGTH), resolved)
        if resolved == page and href.partition("#")[0] == "":
            verdict = Verdict.SAME_PAGE
        elif refused:
            verdict = refused
        elif is_refused_type(url):
            verdict = Verdict.FILE_TYPE
        else:
            verdict = Verdict.INTERNAL if rule.contains(url) else Verdict.EXTERNAL
            found[verdict][url] = None
        counts[verdict] = counts.get(verdict, 0) + 1
    return list(found[Verdict.INTERNAL]), list(found[Verdict.EXTERNAL]), counts


def test_one_page() -> None:
    hrefs = ["b.html", "#top", "", "b.html#x", "/", "mailto:me@h", "http://o/", "https://h/docs/b.html", "http://o/#x"]
    hrefs += ["logo.png", "http://[/", "b.html", "x" * 3000, "../docs/c.html", "http://o/a.zip", "/docs/c.html?"]
    internal, external, counts, _listed = analyzer().analyze("http://h/docs/a.html", hrefs)
    assert internal == [
        "http://h/docs/b.html",
        "http://h/",
        "https://h/docs/b.html",
        "http://h/docs/c.html",
        "http://h/docs/c.html?",
    ]
    assert external == ["http://o/"]
    assert counts == {
        "internal": 7,
        "external": 2,
        "same-page": 2,
        "scheme": 1,
        "syntax": 1,
        "length": 1,
        "file-type": 2,
    }


def test_a_page_without_links() -> None:
    assert analyzer().analyze(SEED, []) == ([], [], {}, 0)


def test_a_query_replaces_the_query_of_each_page() -> None:
    part = analyzer()
    hrefs = ["?x", "", "#y", "http:?x"]
    for page in ("http://h/d/a?1", "http://h/d/b?2", "http://h/d/a?1"):
        internal, _, counts, _listed = part.analyze(page, hrefs)
        assert internal == [page[:-1] + "x"]
        assert counts == {"internal": 2, "same-page": 2}


def test_a_name_in_the_root_folder_is_another_one_further_down() -> None:
    part = analyzer()
    for page, url in [("http://h/", "http://h/x"), ("http://h/d/", "http://h/d/x"), ("http://h/e/", "http://h/e/x")]:
        assert part.analyze(page, ["x", "/x"]).internal == list(dict.fromkeys([url, "http://h/x"]))


def test_base_href() -> None:
    part = analyzer()
    page = "http://h/docs/a.html"
    assert part.analyze(page, ["x", "#f", ""], "/other/y").internal == ["http://h/other/x", "http://h/other/y"]
    assert part.analyze(page, ["x", "#f"], "HTTP://H/other\\y/../").internal == ["http://h/other/x", "http://h/other/"]
    assert part.analyze(page, ["x", "#f"], "http://o/").external == ["http://o/x", "http://o/"]
    for bad in ("javascript:1", "http://[/", "\ud800", page, ""):
        assert part.analyze(page, ["x", "#f"], bad) == (["http://h/docs/x"], [], {"internal": 1, "same-page": 1}, 0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(PAGES),
            st.lists(st.sampled_from(HREFS) | st.text(st.sampled_from("xh/.:?# \t\n@%")), max_size=12),
            st.sampled_from(["", "", "", "/docs/", "http://o/x?y", "?z", "mailto:x"]),
            st.sampled_from(["", "utf-8", "windows-1252", "gbk", "iso-2022-jp", "nonsense"]),
        ),
        max_size=12,
    ),
    st.sampled_from(Scope),
    st.sampled_from([0, 1, 7, 4096]),
    st.sampled_from(FORMS),
)
def test_no_cache_can_be_told_from_none(
    pages: list[tuple[str, list[str], str, str]], scope: Scope, entries: int, compiled: Form
) -> None:
    part = analyzer(scope, entries, compiled)
    for page in pages + pages:
        assert tuple(part.analyze(*page))[:3] == analyse_plainly(scope, *page)


@pytest.mark.parametrize("entries", [0, 50, 4096])
def test_links_resolved_together_are_those_resolved_alone(entries: int) -> None:
    part = analyzer(cache_entries=entries)
    bases = [*PAGES, "http://o/x?y/z", "https://h/a/b/../c?#d", "http://o/b#/c", f"http://o/{'x' * 2000}/"]
    for hrefs in (HREFS, HREFS[::-1], HREFS * 2):
        for base in bases:
            for charset in ("", "gbk", "windows-1252"):
                alone = [part.resolve(href, base, charset) for href in hrefs]
                assert list(part.resolve_all(hrefs, base, charset)) == alone


def test_what_is_remembered_of_resolved_links_is_bounded() -> None:
    part = analyzer(cache_entries=100)
    for n in range(500):
        assert len(list(part.resolve_all([f"{n}-{m}.html" for m in range(n % 7)], f"http://h/{n}/"))) == n % 7
        assert len(part._resolved) + sum(map(len, part._resolved.values())) == part._entries <= 101


@pytest.mark.parametrize("compiled", FORMS)
@pytest.mark.parametrize("scope", Scope)
def test_every_pair_of_pages_and_hrefs_in_one_party(scope: Scope, compiled: Form) -> None:
    part = analyzer(scope, compiled=compiled)
    for hrefs in (HREFS, HREFS[::-1], HREFS * 2):
        for page in PAGES:
            for charset in ("", "gbk", "windows-1252"):
                found = analyse_plainly(scope, page, hrefs, "", charset)
                assert tuple(part.analyze(page, hrefs, "", charset)) == (*found, 0)


@pytest.mark.parametrize("compiled", FORMS)
@pytest.mark.parametrize("max_length", [30, 2048])
def test_a_whole_url_is_judged_as_where_nothing_is_remembered(compiled: Form, max_length: int) -> None:
    steps = make_steps(["session-ids", "percent-case", "tracking", "empty-query"])
    part = UrlAnalyzer(
        scope_of("http://h.org/", Scope.HOST), max_length=max_length, steps=steps, limits=UrlLimits(3, 1, 2),
        aliases={"other.org": "h.org"}, compiled=compiled,
    )  # fmt: skip
    page = "http://h.org/a/"
    roots = ["http://h.org", "https://h.org", "http://far.org", "http://other.org", "http://h.org.evil.org"]
    hosts = [*roots, "HTTP://far.org", "http://1.2.3.4", "http://far.org:25", "http://u@far.org", "http://far.org."]
    ends = ["", "/", "/x", "/x.png", "/a/a/a/", "/1/2/3/4", "/x?", "/x?utm_a=1&b", "/%7ex", "/x?%7e", "/./x", "/x;y"]
    for href in (host + end for host in hosts for end in ends):
        verdict, url = part.judge(href, page)
        for link in (href, href + "#f"):
            found = part.analyze(page, [link])
            assert found.counts == {verdict: 1}, link
            assert [*found.internal, *found.external] == [url] * (url != ""), link


@pytest.mark.parametrize("compiled", FORMS)
@pytest.mark.parametrize("limits", [None, UrlLimits(3, 1, 2), UrlLimits(6, 2, 2)])
@pytest.mark.parametrize("max_length", [24, 2048])
def test_a_name_in_a_folder_that_is_known_is_judged_like_any_url(
    compiled: Form, limits: UrlLimits | None, max_length: int
) -> None:
    def part(entries: int) -> UrlAnalyzer:
        rule, steps = scope_of("http://h.org/a/", Scope.PREFIX), make_steps(["session-ids", "percent-case"])
        aliases = {"192.0.2.7": "h.org"}
        return UrlAnalyzer(
            rule, max_length=max_length, steps=steps, limits=limits, aliases=aliases, cache_entries=entries,
            compiled=compiled,
        )  # fmt: skip

    learning, plain = part(4096), part(0)
    folders = [
        "",
        "./",
        "../",
        "a/",
        "../a/",
        "/a/b/a/",
        "/a/a/",
        "/a/b/c/d/e/",
        "http://192.0.2.7/a/",
        "http://h.org/a/",
    ]
    folders += ["/a;jsessionid=1/", "/a/%7e/"]
    names = ["x", "", "a", "b", "x.html", "x.HTML", "x.PNG", "x.tar.gz", ".x", "..", "x;y", "x?y", "x" * 30, "\u00e4"]
    hrefs = [folder + name for folder in folders for name in names]
    for page in ["http://h.org/a/", "http://h.org/a/b/c/", "http://h.org/a;b/", "http://192.0.2.7/a/", "http://h.org/"]:
        for links in (hrefs, hrefs[::-1]):
            assert learning.analyze(page, links) == plain.analyze(page, links)


@pytest.mark.parametrize("compiled", FORMS)
def test_the_cache_is_bounded(compiled: Form) -> None:
    part = analyzer(cache_entries=100, compiled=compiled)
    most = 0
    for n in range(50):
        part.analyze(f"http://h/{n}/", [f"{n}-{m}.html" for m in range(n * 5)] + [f"/{n}/{m}" for m in range(20)])
        held = sum(1 + len(cache.sure) + len(cache.in_folder) for cache in part._caches.values())
        held += sum(len(in_origin) for _number, in_origin in part._in_origins.values()) + len(part._sure_folders)
        assert held == part._entries or compiled is not None
        held = part._entries
        most = max(most, held)
    assert 100 <= most <= 103  # a page may add its own folder and those it links to, to a cache that is nearly full


@pytest.mark.parametrize("compiled", FORMS)
def test_hrefs_of_no_use_to_other_pages_are_not_kept(compiled: Form) -> None:
    part = analyzer(compiled=compiled)
    part.analyze(SEED, ["?x", "", "#x", "http:?x", " ?x", "x" * 300, "x.html#a", "x.html#b", "x.html"])
    # Kept are the folder of the page, and that of x.html; in Python as well that x.html leads there.
    assert part._entries == (3 if compiled is None else 2)


def test_an_alias_is_that_site_from_the_moment_it_is_known() -> None:
    aliases: dict[str, str] = {}
    part = UrlAnalyzer(scope_of("http://t/", Scope.HOST), aliases=aliases)
    hrefs = ["http://192.0.2.7/x", "http://192.0.2.7:81/x", "https://192.0.2.7/y"]
    assert part.analyze("http://t/", hrefs).external == hrefs
    aliases["192.0.2.7"] = "t"
    analysis = part.analyze("http://t/", hrefs)
    assert analysis.internal == ["http://t/x", "https://t/y"]
    assert analysis.external == ["http://192.0.2.7:81/x"]
    assert part.analyze("http://t/", hrefs) == analysis


def test_of_any_type() -> None:
    """Assets are judged by the same rules, aliases included, and do not change what links of the same spelling are."""
    aliases = {"192.0.2.7": "h"}
    one = UrlAnalyzer(scope_of(SEED, Scope.HOST), max_length=60, aliases=aliases)
    hrefs = ["a.png", "/b.css", "http://192.0.2.7/c.js", "http://cdn/d.js", "data:image/png,x", "x" * 99, "#", "a.png"]
    for _ in range(2):
        assets = one.analyze_any_type(PAGES[0], hrefs)
        assert assets.internal == ["http://h/docs/a.png", "http://h/b.css", "http://h/c.js"]
        assert assets.external == ["http://cdn/d.js"]
        assert assets.counts == {"internal": 4, "external": 1, "scheme": 1, "length": 1, "same-page": 1}
        assert one.analyze(PAGES[0], hrefs) == ([], [], {"file-type": 5, "scheme": 1, "length": 1, "same-page": 1}, 0)
    aliases["192.0.2.8"] = "h"
    assert one.analyze_any_type(PAGES[0], ["http://192.0.2.8/e.png"]).internal == ["http://h/e.png"]


@pytest.mark.skipif(COMPILED is None, reason="the look-up is not compiled")
@pytest.mark.parametrize("folder", range(9))
def test_what_is_listed_is_known_again_however_long_its_name_and_folder_are(folder: int) -> None:
    page, names = (
        f"http://h/docs/{'f' * folder}x/",
        ["n" * length + end for length in range(26) for end in ("", ".html")],
    )
    part, seen = analyzer(), compact_seen(MemoryBudget(1 << 20))
    part.analyze(page, ["first"])  # with it the folder is known
    names.remove("")
    half = names[::2]
    seen.add(seen.unseen([page + name for name in half if not name.startswith(".")]))
    found = part.analyze(page, names, seen=seen)
    assert found.internal == [page + name for name in names if name == ".html" or name not in half]
    assert found.listed + len(found.internal) == len(names)
