"""What the compiled look-up judges by itself, external links and those into sure folders, Python would judge alike."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrawler.model.scope import Scope
from scrawler.settings.kinds import NORMALISE_STEPS
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.lookup import COMPILED, ElsewhereRules, LinkCache, NameRules
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import scope_of
from scrawler.urls.steps import PARAMETER_MARKS, make_steps
from scrawler.urls.traps import UrlLimits
from tests.tables import each

pytestmark = pytest.mark.skipif(COMPILED is None, reason="not compiled: python setup.py build_ext --inplace")

HOME = "http://h.org/a/"
PAGES = [HOME, "http://h.org/a/b/c/", "http://h.org/a/b;c/", "http://h.org/", "http://o.org/x/", "http://h.org//a//"]
HOSTS = ["o.org", "h.org", "www.h.org", "o.h.org", "xn--a.org", "o.xn--a", "1.2", "o-.o--o.org", "o..org", ".org", "o"]
HOSTS += ["O.org", "o.org:80", "o.org:25", "o_o.org", "o.o1", "o.org.", "[::1]", "", "a@o.org", "o.org@h.org"]
SEGMENTS = ["x", "y", "a", "x.html", "x.PNG", "x.png", "x.tar.gz", "~x", "-", ".", "..", ".x", "x.", "", "x:y", "x;y"]
SEGMENTS += ["x(y)", "%7e", "%7E", "%2F", "ü", "(S(abcdefghijklmnopqrstuvwx))", "x\\y", "x y", ";jsessionid=1", "x\ty"]
PARAMETERS = ["x", "x=1", "y=x=2", "UTM_A=1", "x=%20", "x=%2f", "x=%41", "x=%4", "fbclid", "xsid=1"]
PARAMETERS += ["", "=", "utm_a=1", "sid=1", "jsessionid=2", "cfid=1", "CFtoken"]
PARAMETERS += ["x=%%2F", "x=%25%34", "x=(1)", "@x=$1!*,", "x='1'", "x=?", "x=ü", "a"]
PARAMETERS += ["x=[1]", "x=|", "aspsessionidqqabcdef=1", "fbcli", "x= ", "x=/x.png", "x=;y", "x=a.b-~_:+"]

STARTS = ["http://", "https://", "HTTP://", "//", "http:/"]
UPWARDS = ["", "../", "/", HOME, "./", "../../", "./../", "/../", "/./", "//", "/a/", ".././", "../../../"]


class Links:
    """Makes links at random, most of them of the usual kind: a failure is found again by its seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.choice = self._random.choice

    def _some(self, of: list[str], usual: int, most: int) -> list[str]:
        odd = self._random.random() < 0.3
        return [self.choice(of if odd else of[:usual]) for _ in range(self._random.randrange(most + 1))]

    def _one(self, of: list[str], usual: int) -> str:
        return self.choice(of if self._random.random() < 0.1 else of[:usual])

    def link(self) -> str:
        path, query = "/".join(self._some(SEGMENTS, 6, 7)), "&".join(self._some(PARAMETERS, 6, 5))
        query = self._one(["", "?"], 2) + query if query else self._one(["", "?"], 1)
        end = self._one(["", "#", "#x", " "], 1)
        if self._random.random() < 0.3:
            return self._one(UPWARDS, 8) + path + (query if self._random.random() < 0.1 else "") + end
        return self._one(STARTS, 2) + self._one(HOSTS, 4) + self._one(["/", ""], 1) + path + query + end


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.sampled_from([Scope.HOST, Scope.PREFIX, Scope.DOMAIN]),
    st.sampled_from([NORMALISE_STEPS, (), ("sorted-query",), ("percent-case", "tracking")]),
    st.sampled_from([UrlLimits(30, 3, 20), None, UrlLimits(4, 1, 2), UrlLimits(6, 2, 3)]),
    st.sampled_from([{}, {"www.h.org": "h.org"}, {"o.org": "h.org"}]),
    st.sampled_from([4096, 0, 5]),
    st.sampled_from([2048, 30]),
)
def test_what_is_judged_in_c_is_what_python_judges(
    seed: int,
    scope: Scope,
    steps: tuple[str, ...],
    limits: UrlLimits | None,
    aliases: dict[str, str],
    entries: int,
    max_length: int,
) -> None:
    def part(cache_entries: int, **form: Any) -> UrlAnalyzer:
        return UrlAnalyzer(
            scope_of(HOME, scope), steps=make_steps(steps), limits=limits, aliases=aliases, max_length=max_length,
            cache_entries=cache_entries, **form,
        )  # fmt: skip

    compiled, plain = part(entries), part(0, compiled=None)
    links = Links(seed)
    hrefs = [links.link() for _ in range(40)]
    for page in [links.choice(PAGES) for _ in range(3)]:
        for some in (hrefs[:20], hrefs):
            assert compiled.analyze(page, some) == plain.analyze(page, some)
    for href in hrefs:  # each alone: what comes of it hides behind no other
        assert part(entries).analyze(HOME, [href]) == plain.analyze(HOME, [href]), href


FOLDER = LinkCache(HOME, "http://h.org/", True, 0, 0, {}, {}, {})[:5]
ELSEWHERE = ElsewhereRules(
    ("http://h.org/", "https://h.org/"), {"www.h.org": "h.org"}, PARAMETER_MARKS, UrlLimits(6, 2, 3), False
)
RULES = NameRules(frozenset({"png"}), 60, {HOME, "http://h.org/b/"}, ELSEWHERE)


def left_to_python(hrefs: list[str], rules: NameRules = RULES) -> list[str]:
    left = []

    def learn(href: str, path: str) -> Any:
        left.append(href)
        return ("http://left.org/",), False

    assert COMPILED is not None
    COMPILED().look_up("\0".join(hrefs).encode(), True, FOLDER, rules, 99, learn, None)
    return left


USUAL = [
    "http://o.org/",
    "https://sub.o-o.org/wiki/A_page.html",
    "https://o.org/blob/3.11/~x/y/",
    "http://o.org/i.php?title=a/b&oldid=1",
    "http://o.org/i?@action=redirect&bpo=1",
    "http://o.org/?x=%20%C3%A9&y=%",
    "http://www.o.org/x#y",
    "x.html",
    "./y",
    "../b/x.html#z",
    "/b/",
    "http://h.org/b/x",
]


def test_what_is_usual_is_not_left_to_python() -> None:
    assert left_to_python(USUAL) == []


@each(
    "href",
    [
        "http://www.h.org/",
        "http://h.org/c/x",
        "../c/x",
        "http://o.org/x.png",
        "http://o.org/x.PNG?y",
        "http://o.org/1/2/3/4/5/6/7",
        "http://o.org/x/y/x",
        "http://o.org/?a&b&c&d",
        "http://o.org/?utm_source=x",
        "http://o.org/?x&SID=1",
        "http://o.org/?x=%2f",
        "http://o.org/?x=%7E",
        "http://o.org/?",
        "http://o.org/" + "x" * 60,
        "http://o.org",
        "http://O.org/",
        "http://xn--o.org/",
        "http://o.org:81/",
        "http://192.0.2.7/",
        "http://o.org/./x",
        "http://o.org//x",
        "http://o.org/x y",
        "http://o.org/é",
        "http://o.org/(x)",
        "http://o.org/?'",
        "//o.org/",
        "../b/x.png",
        "../b/.x",
        "../b//x",
        "?x",
    ],
)
def test_what_may_be_anything_else_is_left_to_python(href: str) -> None:
    assert left_to_python([href]) == [href]


def test_parameters_that_are_to_be_sorted_are_left_to_python() -> None:
    rules = RULES._replace(elsewhere=ELSEWHERE._replace(sorts=True))
    assert left_to_python(USUAL, rules) == [href for href in USUAL if "&" in href]


def test_without_rules_all_other_sites_are_left_to_python() -> None:
    assert left_to_python(USUAL, RULES._replace(elsewhere=None)) == USUAL[:7]


@pytest.mark.parametrize("rules", [(), [("http://h.org/",)], ("x",) * 5, (*ELSEWHERE[:3], (1, 2), False), 7])
def test_rules_of_another_kind_are_an_error(rules: Any) -> None:
    with pytest.raises(TypeError):
        left_to_python(USUAL, RULES._replace(elsewhere=rules))
    with pytest.raises(TypeError):
        left_to_python(USUAL, RULES._replace(sure_folders=rules))


@given(st.text(st.sampled_from("@$()[]!*,;:/+%.~=&-_'\"<>?|^`{}\\aZ0é ")))
def test_queries_that_are_called_plain_are_as_the_standard_leaves_them(query: str) -> None:
    href = f"http://o.org/x?{query}"
    assert normalise(href).url == normalise("HTTP" + href[4:]).url  # in capitals it is never called plain
