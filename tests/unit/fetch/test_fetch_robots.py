from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from scrawler.fetch.robots import RobotsRules, robots_url
from scrawler.fetch.robots_text import MAX_ROBOTS, plain_text
from tests.tables import each
from tests.unit.fetch.robots_cases import HARD, RFC_9309, TOKEN, Case


def rules(body: bytes | str, status: int = 200, token: str = TOKEN) -> RobotsRules:
    return RobotsRules.parse(status, body.encode() if isinstance(body, str) else body, token)


def test_robots_url():
    assert robots_url("http://example.test/a/b?c") == "http://example.test/robots.txt"
    assert robots_url("https://[::1]:8443/") == "https://[::1]:8443/robots.txt"
    with pytest.raises(ValueError, match="ftp"):
        robots_url("ftp://example.test/")


@each("case", RFC_9309 + HARD)
def test_each_file_allows_what_it_should(case: Case) -> None:
    found = rules(case.body)
    assert {path: found.allows(f"http://h{path}") for path in case.verdicts} == case.verdicts
    again = rules(plain_text(case.body))  # as the database keeps it
    assert {path: again.allows(f"http://h{path}") for path in case.verdicts} == case.verdicts


@each("status", [301, 308, 400, 401, 403, 404, 410, 429, 499])
def test_no_robots_allows_all(status):
    found = rules("User-agent: *\nDisallow: /\nCrawl-delay: 5\nSitemap: http://h/s", status)
    assert found.allows("http://h/x")
    assert not found.unavailable
    assert found.rule("http://h/x") == ""
    assert (found.crawl_delay, found.sitemaps) == (None, ())


@pytest.mark.parametrize("status", [0, 500, 503, 599, 999])
def test_a_site_that_cannot_say_allows_nothing(status):
    found = rules("User-agent: *\nAllow: /", status)
    assert not found.allows("http://h/x")
    assert found.unavailable


@each(
    ("lines", "seconds"),
    [
        ("Crawl-delay: 2.5", 2.5),
        ("crawl-delay:.5", 0.5),
        ("Crawl-Delay: 10 # seconds", 10.0),
        ("Crawl-delay: 0", 0.0),
        ("Crawl-delay: 3\nDisallow: /\nCrawl-delay: 7\nCrawl-delay: 5", 7.0),
        ("Crawl-delay: " + "9" * 400, 1e9),
        ("Crawl-delay: -1\nCrawl-delay: nan\nCrawl-delay: inf\nCrawl-delay: 1e9\nCrawl-delay: ten\nCrawl-delay:", None),
        ("Crawl-delay: 10s", None),
        ("Disallow: /\n\nUser-agent: other\nCrawl-delay: 10", None),
    ],
)
def test_the_crawl_delay_is_that_of_the_group(lines, seconds):
    assert rules(f"User-agent: *\n{lines}\n").crawl_delay == seconds
    assert rules(f"User-agent: {TOKEN}\n{lines}\n\nUser-agent: *\nCrawl-delay: 50").crawl_delay == seconds


def test_a_crawl_delay_between_names_is_for_those_right_above_it():
    text = "User-agent: first\nCrawl-delay: 10\n\nUser-agent: second\nCrawl-delay: 20\n\nUser-agent: *\nDisallow: /x"
    found = {token: rules(text, token=token) for token in ("first", "second", "third")}
    assert {token: one.crawl_delay for token, one in found.items()} == {"first": 10.0, "second": 20.0, "third": None}
    assert not any(one.allows("http://h/x") for one in found.values())


def test_sitemaps_are_those_of_all_groups():
    text = """Sitemap: http://h/1.xml
    User-agent: other
    sitemap:https://other.example/2.xml?a=b # for all
    Disallow: /
    Sitemap: /relative.xml
    Sitemap http://h/3.xml
    Sitemap: http://h/1.xml
    Sitemap: ftp://h/4.xml
    Sitemap:
    """
    found = rules(text)
    assert found.sitemaps == ("http://h/1.xml", "https://other.example/2.xml?a=b", "http://h/3.xml")
    long = f"Sitemap: http://h/{'x' * 8192}\nSitemap: http://h/{'x' * 8000}\n"
    assert rules(long).sitemaps == (f"http://h/{'x' * 8000}",)
    assert len(rules("".join(f"Sitemap: http://h/{n}\n" for n in range(3000))).sitemaps) == 1000


def test_the_line_that_decides_is_evidence():
    found = rules(
        b"# ours\nUser-agent: *\n\nDisallow: /private/ # all of it\nAllow: /private/open\r\nDisallow: /*.pdf$\n"
        b"Disallow: /\xe9\nAllow: /%7Euser/\nDisallow: /private/\nDisallow: /"
        + b"y" * 1000
        + b"\nDisallow: /t*\nDisallow: /tt\nAllow: /u*\nDisallow: /uu\nAllow: /uu"
    )
    evidence = {
        "/private/x": "Disallow: /private/ (line 4, group *)",
        "/private/open": "Allow: /private/open (line 5, group *)",
        "/a/b.pdf": "Disallow: /*.pdf$ (line 6, group *)",
        "/%E9": "Disallow: /\ufffd (line 7, group *)",
        "/~user/": "Allow: /%7Euser/ (line 8, group *)",
        "/" + "y" * 1000: f"Disallow: /{'y' * 299}... (line 10, group *)",
        "/tt": "Disallow: /t* (line 11, group *)",
        "/uu": "Allow: /u* (line 13, group *)",
        "/": "",
    }
    assert {path: found.rule(f"http://h{path}") for path in evidence} == evidence
    own = rules("User-agent: other\nUser-agent: FOOBOT/1\nDisallow: /")
    assert own.rule("http://h/x") == "Disallow: / (line 3, group FooBot)"


def test_what_is_beyond_500_kib_is_not_read_and_half_a_line_is_no_rule():
    filler = b"Disallow: /filler\n"
    head = b"User-agent: *\n" + filler * ((MAX_ROBOTS - 60) // len(filler))
    body = head + b"Disallow: /x" + b"x" * 200 + b"\nDisallow: /y\n"
    found = rules(body)
    assert len(head) < MAX_ROBOTS < len(body)
    assert not found.allows("http://h/filler")
    assert found.allows("http://h/x" + "x" * 40)
    assert found.allows("http://h/y")
    assert plain_text(head + b"Disallow: /x", cut=True) == head
    assert len(plain_text(body)) <= MAX_ROBOTS


@pytest.mark.parametrize("agent", ["bot-{}", "*{}*", "foobot" + "*{}", "f # {}", "{}"])
@pytest.mark.parametrize("path", ["/{}", "/*{}", "/{}*x*$"])
def test_many_names_with_many_rules_are_read_and_obeyed_in_no_time(agent, path):
    body = "".join(f"User-agent: {agent.format(n)}\n" for n in range(5_000)) + "User-agent: foobot\n"
    body += "".join(f"Disallow: {path.format(n)}\n" for n in range(5_000))
    began = time.process_time()
    found = rules(body)
    for number in range(10):
        found.allows(f"http://h/{number}" + "/a" * 1000)
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize("agent", ["*", TOKEN])
def test_one_name_many_times_is_one_group(agent):
    found = rules(f"user-agent:{agent}\n" * 15_000 + "disallow:/x\n" * 20_000 + "crawl-delay:1\n")
    assert len(found._plain._rules) == 1
    assert not found.allows("http://h/x")
    assert found.crawl_delay == 1


@pytest.mark.parametrize("stars_before", [0, 5000])
def test_any_number_of_rules_with_stars_is_obeyed_as_written(stars_before):
    rest = "Disallow: /x/*y\nAllow: /x/z**\nAllow: /x/*/open\nDisallow: /q*$\nDisallow: /x/no\n"
    text = "User-agent: *\n" + "".join(f"Disallow: /*?p{n}=\n" for n in range(stars_before)) * 2 + rest
    found = rules(text)
    allowed, denied = "/ /p1 /x/b /x/z /x/zy /x/y/open /x/ay/open /robots.txt?p1=", "/x/y /x/ay /qq /x/no"
    if stars_before:
        denied += f" /?p1= /x/b?p1=2 /x?p{stars_before - 1}="
    verdicts = dict.fromkeys(allowed.split(), True) | dict.fromkeys(denied.split(), False)
    assert {path: found.allows(f"http://h{path}") for path in verdicts} == verdicts
    assert found.rule("http://h/x/y") == f"Disallow: /x/*y (line {2 * stars_before + 2}, group *)"
    assert found.rule("http://h/x/b") == ""


HOSTILE = {
    "one rule of thousands of stars": ["/" + "*a" * 250_000],
    "thousands of stars in each of many rules": [f"/{'*a' * 1000}*{n}z" for n in range(250)],
    "stars between what a URL is full of": [f"/*{'a*' * 15}{n}$" for n in range(11_000)],
    "long parts that match nearly": [f"/b*{'a' * 14}c{n}" for n in range(15_000)],
    "parts that match nearly at each place": [f"/*{'a' * 25}{n}{'a' * 25}" for n in range(7_500)],
    "very many short ones": [f"/*{n:x}z" for n in range(25_000)],
    "very many without stars": [f"/{n}/abc$" for n in range(22_000)],
    "each the beginning of the next": ["/" + "a" * n for n in range(1, 950)],
}


@pytest.mark.parametrize("patterns", HOSTILE.values(), ids=HOSTILE)
def test_the_slowest_rules_that_fit_a_file_are_obeyed_in_no_time(patterns):
    body = "User-agent: *\n" + "".join(f"Disallow: {pattern}\n" for pattern in patterns)
    assert 150_000 < len(body) < MAX_ROBOTS + 20_000
    began = time.process_time()
    found = rules(body)
    for number in range(2):
        found.allows(url := f"http://h/c{'a' * 2030}{number}b")
        found.rule(url)
    assert time.process_time() - began < 6  # measured: 0.7, where a part matches nearly at each place


def test_what_a_rule_with_stars_costs_grows_as_the_url_does_and_not_with_its_stars():
    """Each part is looked for behind the one before it, so that no place of a URL is tried again."""
    seconds = {}
    for stars in (500, 1000):
        found = rules(f"User-agent: *\nDisallow: /{'*a*b' * (stars // 2)}*c$\n")
        url = "http://h/" + "ab" * 2 * stars
        seconds[stars] = min(_cpu(found, url) for _ in range(5))
    assert seconds[1000] < 8 * seconds[500]  # backtracking would take more than all time


def _cpu(found: RobotsRules, url: str) -> float:
    began = time.process_time()
    for _ in range(20):
        assert found.allows(url)
    return time.process_time() - began


NAMES = st.sampled_from(["*", "FooBot", "foobot", "foobot*", "googlebot", "", "foobot/1.0"])
AGENTS = st.tuples(st.sampled_from(["User-agent: ", "user-agent:", "useragent ", "User agent: "]), NAMES)
PATHS = st.text(alphabet="ab/*$~.", max_size=8)
URLS = st.text(alphabet="ab/~.?", max_size=10)
FIELDS = st.sampled_from(
    ["Disallow: /", "Allow: /", "disallow:", "allow: *", "Crawl-delay: 3", "Sitemap: http://h/", "#"]
)
LINES = st.one_of(AGENTS.map("".join), st.tuples(FIELDS, PATHS).map("".join), st.text(max_size=12))


@given(st.lists(st.one_of(AGENTS.map("".join), st.tuples(FIELDS, PATHS).map("".join)), max_size=20), st.lists(URLS))
def test_protego_finds_the_same_where_it_keeps_to_the_standard(lines, paths):
    """It reads the whole file here, where the program lets it match only.

    "foobot/1.0" is another name to it, and a row of stars longer than one. A Crawl-delay ends the names of a group to
    it, where RFC 9309 (2.2.4) has it stand between them.
    """
    own = rules("\n".join(lines))
    lines = [line for line in lines if not line.lower().startswith("crawl-delay")]
    theirs = Protego.parse("\n".join(re.sub("foobot/1.0$", "foobot", re.sub(r"\*+", "*", line)) for line in lines))
    for path in paths:
        url = f"http://h/{path}"
        assert own.allows(url) == theirs.can_fetch(url, TOKEN)


PIECES = st.lists(st.sampled_from([*"ab/*$?=&~.% ", "%2F", "%3f", "%26", "%61", "%C3%A9", "é"]), max_size=8).map(
    "".join
)
RULES = st.tuples(st.sampled_from(["Disallow: /", "Allow: /", "Disallow: *", "Allow: *"]), PIECES).map("".join)


@given(st.lists(st.one_of(LINES, RULES), max_size=20).map(lambda lines: ["User-agent: *", *lines]),
       st.lists(PIECES, min_size=1))  # fmt: skip
def test_the_evidence_agrees_with_the_verdict_and_stands_in_the_file(lines, paths):
    text = "\n".join(lines).encode("utf-8", "replace").decode()
    found = rules(text)
    for path in paths:
        url = f"http://h/{path}"
        match = re.fullmatch(r"(Allow|Disallow): (.+) \(line (\d+), group .+\)", found.rule(url), re.DOTALL)
        assert found.allows(url) == (match is None or match[1] == "Allow")
        if match is not None:
            line = re.split("\r\n|\r|\n", text)[int(match[3]) - 1]
            assert match[2] in line
            assert match[1].lower() in line.lower()


@given(st.binary(max_size=300), st.sampled_from([b"", b"User-agent: *\nDisallow: /"]))
def test_whatever_comes_is_read(body, before):
    found = rules(before + body)
    found.allows("http://h/x?y")
    assert plain_text(plain_text(body)) == plain_text(body)


def test_sites_with_equal_texts_share_what_is_made_of_them():
    text = b"User-agent: *\nDisallow: /a\nUser-agent: b\nDisallow: /c\n"
    first, same, other = (RobotsRules.parse(200, bytes(bytearray(text)), token) for token in ("a", "a", "b"))
    assert first is same
    assert (first.allows("http://a/a"), other.allows("http://a/a"), other.allows("http://a/c")) == (False, True, False)
    assert RobotsRules.parse(404, b"x", "a") is RobotsRules.parse(302, b"y", "b")
    assert RobotsRules.parse(500, b"", "a") is RobotsRules.parse(0, b"", "a") is not RobotsRules.parse(404, b"", "a")


def test_what_is_made_of_long_texts_is_not_kept():
    text = b"Disallow: /a\n" * 100
    assert RobotsRules.parse(200, text, "a") is not RobotsRules.parse(200, text, "a")
