from __future__ import annotations

import codecs
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from scrawler.fetch.robots import MAX_ROBOTS, RobotsRules, robots_url

TOKEN = "SCrawler"
ROBOTS = b"""# all
User-agent: *
Disallow: /private/
Allow: /private/open
Disallow: /*.pdf$
Crawl-delay: 2.5

User-agent: Other
User-agent: SCRAWLER
Disallow: /only-us/
Crawl-delay: 7
"""


def rules(body: bytes, status: int = 200, token: str = TOKEN) -> RobotsRules:
    return RobotsRules.parse(status, body, token)


def test_robots_url():
    assert robots_url("http://example.test/a/b?c") == "http://example.test/robots.txt"
    assert robots_url("https://[::1]:8443/") == "https://[::1]:8443/robots.txt"
    with pytest.raises(ValueError, match="ftp"):
        robots_url("ftp://example.test/")


def test_the_group_of_ones_own_name_holds():
    own = rules(ROBOTS)
    assert not own.allows("http://h/only-us/x")
    assert own.allows("http://h/private/x")
    assert own.crawl_delay == 7


def test_the_group_of_all_holds_for_others():
    general = rules(ROBOTS, token="somebot")
    assert not general.allows("http://h/private/x")
    assert general.allows("http://h/private/open/x")
    assert not general.allows("http://h/a/b.pdf")
    assert general.allows("http://h/a/b.pdf?x")
    assert general.allows("http://h/only-us/x")
    assert general.crawl_delay == 2.5


@pytest.mark.parametrize("status", [301, 308, 400, 401, 403, 404, 410, 429, 499])
def test_no_robots_allows_all(status):
    found = rules(b"User-agent: *\nDisallow: /", status)
    assert found.allows("http://h/x")
    assert not found.unavailable
    assert found.crawl_delay is None


@pytest.mark.parametrize("status", [0, 500, 503, 599, 999])
def test_a_site_that_cannot_say_allows_nothing(status):
    found = rules(b"User-agent: *\nAllow: /", status)
    assert not found.allows("http://h/x")
    assert found.unavailable


@pytest.mark.parametrize(
    "body",
    [
        codecs.BOM_UTF8 + b"User-agent: *\nDisallow: /x",
        codecs.BOM_UTF16_LE + "User-agent: *\nDisallow: /x".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "User-agent: *\nDisallow: /x".encode("utf-16-be"),
        b"User-agent: *\r\nDisallow: /x\r\n",
        b"User-agent: *\rDisallow: /x\r",
        b"\xff\x00\xfe\nUser-agent: *\nDisallow: /x\n\x00\x80",
        b"user agent *\ndisalow /x",
    ],
)
def test_marks_line_ends_and_broken_bytes(body):
    assert not rules(body).allows("http://h/x")
    assert rules(body).allows("http://h/y")


@pytest.mark.parametrize("body", [b"", b"<html>Not found</html>", b"User-agent: *\nDisallow:", bytes(1000)])
def test_nothing_forbidden(body):
    assert rules(body).allows("http://h/x?y=z")


def test_what_is_beyond_500_kib_is_not_read_and_half_a_line_is_no_rule():
    filler = b"Disallow: /filler\n"
    head = b"User-agent: *\n" + filler * ((MAX_ROBOTS - 60) // len(filler))
    body = head + b"Disallow: /x" + b"x" * 200 + b"\nDisallow: /y\n"
    found = rules(body)
    assert len(head) < MAX_ROBOTS < len(body)
    assert not found.allows("http://h/filler")
    assert found.allows("http://h/x" + "x" * 40)
    assert found.allows("http://h/y")


@pytest.mark.parametrize("agent", ["bot-{}", "*{}*", "scrawler" + "*{}", "s # {}", "{}"])
def test_many_names_with_many_rules_are_read_in_no_time(agent):
    body = "".join(f"User-agent: {agent.format(n)}\n" for n in range(10_000))
    body += "".join(f"Disallow: /{n}\n" for n in range(10_000))
    began = time.process_time()
    rules(body.encode())
    assert time.process_time() - began < 3


NAMES = st.sampled_from(
    ["*", "SCrawler", "scrawler", "s", "craw", "scrawler*", "**", "googlebot", "", "a*b", "scrawler/1.0"]
)
AGENTS = st.tuples(
    st.sampled_from(["User-agent: ", "user-agent:", "useragent ", "User agent: ", "user  agent "]), NAMES
)
PATHS = st.text(alphabet="ab/*$?=%2F~.", max_size=8)
FIELDS = st.sampled_from(
    ["Disallow: /", "Allow: /", "disallow:", "Crawl-delay: 3", "Sitemap: http://h/", "nonsense", "#"]
)
LINES = st.one_of(AGENTS.map("".join), st.tuples(FIELDS, PATHS).map("".join), st.text(max_size=12))


@given(st.lists(LINES, max_size=20), st.lists(PATHS, min_size=1, max_size=5))
def test_leaving_out_other_names_changes_nothing(lines, paths):
    text = "\n".join(lines)
    own, reference = rules(text.encode("utf-8", "replace")), Protego.parse(text)
    for path in paths:
        url = f"http://h/{path}"
        assert own.allows(url) == reference.can_fetch(url, TOKEN)
    assert own.crawl_delay == reference.crawl_delay(TOKEN)
