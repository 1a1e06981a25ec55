"""Normalising: what the WHATWG standard says, what is judged on top of it, and lines of seed files."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from ada_url import URL
from hypothesis import assume, example, given
from hypothesis import strategies as st

from scrawler.settings import Settings
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.normalise import HTTP_SCHEMES, normalise, resolve_plain, seed_url
from scrawler.urls.scope import PrefixRule, folder_of, origin
from scrawler.urls.steps import Step, make_steps
from scrawler.urls.verdict import Verdict
from tests.tables import each
from tests.vectors import url_cases

NO_LONGER_VALID = {"http://256.256.256.256.256"}  # since then every host that ends in a number must be an IPv4 address
REFUSED_PORTS = {"0", "21"}  # of those in the vectors, which no browser would ask
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
URL_TEXT = st.text(st.sampled_from(":/?#[]@!.%ab2Eüé漢 \t\n\\0\x00-~;=&"))


def expected_url(case: dict[str, Any]) -> str:
    """What the standard says, in our form: no fragment, no userinfo, empty for what we refuse."""
    if case.get("failure") or case["input"] in NO_LONGER_VALID or case["protocol"] not in ("http:", "https:"):
        return ""
    url = URL(case["href"])
    url.hash = url.username = url.password = ""
    return "" if url.port in REFUSED_PORTS else url.href


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    """The standard's own test cases."""
    return [case for case in json.loads(url_cases().read_text("utf-8")) if isinstance(case, dict)]


def test_the_standards_own_vectors(cases: list[dict[str, Any]]) -> None:
    surrogates = [case for case in cases if any("\ud800" <= c <= "\udfff" for c in case["input"])]
    wrong = []
    for case in cases:
        base = case.get("base")
        url, reason = normalise(case["input"], None if base in (None, "about:blank") else base)
        if case in surrogates:
            assert (url, reason) == ("", Verdict.SYNTAX)
        elif url != expected_url(case) or (reason is None) != bool(url):
            wrong.append((case["input"], base, url, reason))
    assert len(cases) > 400
    assert wrong == []


PAGE = "http://page.example/a/b"


def analyse(case: dict[str, Any], steps: Step | None) -> str:
    """What the analyzer makes of a case's input on a page with the case's base, if that is http, as its <base href>."""
    part = UrlAnalyzer(PrefixRule(HTTP_SCHEMES), steps=steps, refused_types=frozenset())
    base = case["base"] if case.get("base") and normalise(case["base"]).url else ""
    analysis = part.analyze(PAGE, [case["input"]], base)
    assert part.analyze(PAGE, [case["input"]], base) == analysis  # out of the cache or not
    return "".join(analysis.internal)


def leads_to_the_web(case: dict[str, Any]) -> bool:
    """Whether a case gives an http URL, and would on our page too if its base is none from which a page comes."""
    if not expected_url(case):
        return False
    has_base = case.get("base") and normalise(case["base"]).url
    return has_base or normalise(case["input"], PAGE).url == expected_url(case)


def test_the_analyzer_passes_the_standards_vectors_and_only_steps_change_anything(cases: list[dict[str, Any]]) -> None:
    steps = make_steps(Settings().normalise)
    assert steps is not None
    wrong, spelt = [], {}
    resolved = [case for case in cases if leads_to_the_web(case)]
    for case in resolved:
        expected, url = expected_url(case), analyse(case, steps)
        if analyse(case, None) != expected:
            wrong.append((case["input"], case.get("base"), analyse(case, None), expected))
        if url != expected:
            spelt[expected] = url
    assert len(resolved) > 150
    assert wrong == []
    assert len(spelt) == 9
    for url, changed in spelt.items():
        plainer = re.sub("%[0-9a-f]{2}", lambda escape: escape[0].upper(), url, flags=re.IGNORECASE)
        for escape, character in (("%2E", "."), ("%41", "A"), ("%51", "Q"), ("%7A", "z")):
            plainer = plainer.replace(escape, character)
        assert changed == plainer.removesuffix("?")  # nothing else happens to any of these


@each(
    ("text", "base", "url"),
    [
        ("HTTP://Example.COM:80/%7ea/./b/../c?q#f", None, "http://example.com/%7ea/c?q"),
        ("https://münchen.example/straße", None, "https://xn--mnchen-3ya.example/stra%C3%9Fe"),
        ("../x.html#top", "http://h/a/b/c.html?q", "http://h/a/x.html"),
        ("", "http://h/a?b", "http://h/a?b"),
        ("?x", "http://h/a?b", "http://h/a?x"),
        ("#x", "http://h/a?b", "http://h/a?b"),
        ("http:?x", "http://h/a?b", "http://h/a?x"),
        ("a #x", "http://h/", "http://h/a%20"),
        ("a #" + "x" * 3000, "http://h/", "http://h/a%20"),
        ("//other/x", "https://h/", "https://other/x"),
        ("http://user:p%40ss@h:8080/@x", None, "http://h:8080/@x"),
        ("http://h/@x", None, "http://h/@x"),
        ("a\0b", "http://h/", "http://h/a%00b"),
        ("http://xn--mnchen-3ya.example/xn--a", None, "http://xn--mnchen-3ya.example/xn--a"),
        ("http://xn--ls8h.example/", None, "http://xn--ls8h.example/"),
        ("http://xn--x-cx5s.example/", None, "http://xn--x-cx5s.example/"),
        ("http://axn--.example/", None, "http://axn--.example/"),
    ],
)
def test_what_becomes_a_url(text: str, base: str | None, url: str) -> None:
    assert normalise(text, base) == (url, None)


@each(
    ("text", "reason"),
    [
        ("http://", Verdict.SYNTAX),
        ("http://h:99999/", Verdict.SYNTAX),
        ("http://a.b.c.xn--pokxncvks/", Verdict.SYNTAX),
        ("http://xn--/", Verdict.SYNTAX),
        ("http://www.xn--0.example/", Verdict.SYNTAX),
        ("http://xn--a.example:8080/", Verdict.SYNTAX),
        ("http://u:p@xn--zn7c.example/", Verdict.SYNTAX),
        ("http://a b/", Verdict.SYNTAX),
        ("http://h\0/", Verdict.SYNTAX),
        ("http://h/\ud800", Verdict.SYNTAX),
        ("relative", Verdict.SYNTAX),
        ("", Verdict.SYNTAX),
        ("mailto:a@b", Verdict.SCHEME),
        ("file:///etc/passwd", Verdict.SCHEME),
        ("data:text/html," + "x" * 5000, Verdict.SCHEME),
        ("http://h:25/", Verdict.PORT),
        ("https://h:22", Verdict.PORT),
        ("http://[::1]:6667/x", Verdict.PORT),
        ("http://h:0/", Verdict.PORT),
        ("http://h:000110/", Verdict.PORT),
        ("http://u:p@h:10080/", Verdict.PORT),
        ("https://127.0.0.1:995/?http://h:81/", Verdict.PORT),
        ("http://h/" + "x" * 2040, Verdict.LENGTH),
        ("http://h/" + "ü" * 400, Verdict.LENGTH),  # 2,409 bytes only when percent-encoded
    ],
)
def test_what_is_refused(text: str, reason: Verdict) -> None:
    assert normalise(text) == ("", reason)


@pytest.mark.parametrize(
    "text",
    [
        "http://h:81/",
        "http://h:8080/:25/",
        "http://[2001:db8::25]/",
        "http://[::22]:8022/",
        "http://h/x:25/",
        "http://h/",
    ],
)
def test_other_ports_are_asked(text: str) -> None:
    assert normalise(text) == (text, None)


def test_no_other_port_than_those_that_browsers_refuse_is_refused() -> None:
    refused = [port for port in range(65536) if normalise(f"http://h:{port}/").reason is Verdict.PORT]
    assert len(refused) == 83
    assert {0, 1, 25, 2049, 6000, 6665, 6669, 10080} <= set(refused)
    assert not {80, 81, 443, 591, 3128, 8000, 8008, 8080, 8443, 6664, 6670} & set(refused)


def test_a_seed_at_a_refused_port_is_told_why() -> None:
    assert (
        seed_url("example.com:25/x").problem
        == "a port that is never asked, for it is another service's: 'example.com:25'"
    )
    assert seed_url("http://example.com:6667").url == ""
    assert seed_url("example.com:8080").url == "http://example.com:8080/"


def test_the_length_limit_is_exact() -> None:
    longest = "http://h/" + "x" * 2039
    assert normalise(longest) == (longest, None)
    assert normalise(longest + "x") == ("", Verdict.LENGTH)
    assert normalise("http://h/12", max_length=10) == ("", Verdict.LENGTH)


@pytest.mark.parametrize("unit", ["a", " ", "\0", "\ud800", "../", "http://h/", "data:x", "#", "ü", "@", "%00", "-."])
def test_ten_megabytes_are_judged_quickly(unit: str) -> None:
    text = unit * (10_000_000 // len(unit))
    begin = time.thread_time()
    normalise(text, "http://h/")
    resolve_plain(text, "http://h/", "http://h/")
    assert seed_url(text).url == ""
    assert time.thread_time() - begin < 10  # of CPU; at most 0.1 s, and anything quadratic takes days


@given(ANY_TEXT | URL_TEXT, st.none() | URL_TEXT | st.sampled_from(["http://h/a/b?c", "https://h:8/", "file:///a"]))
def test_any_text_gives_a_url_or_a_reason(text: str, base: str | None) -> None:
    url, reason = normalise(text, base)
    assert (url == "") != (reason is None)
    assert (seed_url(text).url == "") != (seed_url(text).problem == "")


@given(URL_TEXT | ANY_TEXT)
@example("http://a@b@c:80/..//./%2e?%zz'\"")
def test_normalising_again_changes_nothing(text: str) -> None:
    url = normalise(text, "https://h:8443/a//b?c").url
    assume(url)
    assert normalise(url) == (url, None)
    assert seed_url(url) == (url, "")
    assert url.isascii()


@given(
    st.text(st.sampled_from("ab.-_~/")) | URL_TEXT,
    st.sampled_from(["http://h/", "http://h/a//b/c?d/e", "https://h:8443/a/b/../c.html"]),
)
@example("./../../x/..y/", "http://h/a/b")
def test_a_plain_path_resolves_as_the_standard_says(text: str, base: str) -> None:
    base = normalise(base).url
    for path in (text, "../" * 2 + text, "/" + text, origin(base) + "/" + text):
        plain = resolve_plain(path, folder_of(base), origin(base) + "/")
        assert plain == "" or not path or plain == normalise(path, base).url


@pytest.mark.parametrize("path", ["x.html", "./x.html", "../lib/x-1.2_3~.html", "a/b/", "../../../", "/a/b.html"])
def test_the_usual_path_is_plain(path: str) -> None:
    assert resolve_plain(path, "http://h/a/b/", "http://h/") == normalise(path, "http://h/a/b/c.html").url


@each(
    ("line", "url"),
    [
        ("example.com/path", "http://example.com/path"),
        ("  \thttps://Example.com:443/a b#c \r\n", "https://example.com/a%20b"),
        ("\ufeffexample.com", "http://example.com/"),
        ("//example.com/x", "http://example.com/x"),
        ("example.com:8080/x", "http://example.com:8080/x"),
        ("localhost:8000", "http://localhost:8000/"),
        ("127.1.2.3:80", "http://127.1.2.3/"),
        ("[::1]:8080", "http://[::1]:8080/"),
        ("http://intranet", "http://intranet/"),
        ("http:example.com", "http://example.com/"),
        ("münchen.de", "http://xn--mnchen-3ya.de/"),
    ],
)
def test_a_good_seed(line: str, url: str) -> None:
    assert seed_url(line) == (url, "")


@each(
    ("line", "problem"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("x" * 3000, "longer than 2048"),
        ("http://h.org/" + "ü" * 1000, "percent-encoded"),
        ("http://h.org/a\0b", "U+0000"),
        ("h.org/\x1b[0m", "U+001B"),
        ("h.org/\udc80", "not UTF-8"),
        ("ftp://h.org/", "'ftp' is neither http nor https"),
        ("mailto:a@b.org", "'mailto'"),
        ("C:\\seeds.txt", "'C'"),
        ("http://", "no host"),
        ("/etc/passwd", "no host"),
        ("# comment", "no host"),
        ("http://me:secret@h.org/", "user name or password"),
        ("hello", "no dot"),
        ("12345", "no dot"),
        ("http://h.org:99999/", "no valid host or port: 'h.org:99999'"),
        ("two words.org", "no valid host"),
    ],
)
def test_a_bad_seed_says_why(line: str, problem: str) -> None:
    url, said = seed_url(line)
    assert url == ""
    assert problem in said
    assert "secret" not in said
    assert len(said) < 120
