"""Whose a URL is: keys of sites, scopes, and the parts that are sliced from normalised URLs."""

from __future__ import annotations

import pytest
from ada_url import URL
from hypothesis import given
from hypothesis import strategies as st

from scrawler.model.scope import Scope
from scrawler.urls.filetype import is_refused_type
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import (
    PrefixRule,
    authority,
    folder_of,
    host_port,
    is_reachable,
    origin,
    registrable_domain,
    scope_of,
    site_key,
    with_authority,
)
from tests.tables import each

HOSTS = [
    *("example.org", "www.example.org", "a.b.example.org", "example.org.", "example.co.uk", "co.uk", "localhost"),
    *("a.github.io", "b.github.io", "github.io", "s3.amazonaws.com", "x.s3.amazonaws.com", "aws.amazonaws.com"),
    *("127.0.0.1", "127.0.0.2", "[::1]", "[2001:db8::1]", "a..b", "xn--mnchen-3ya.de", "intranet"),
]
URLS = st.builds(
    lambda scheme, host, port, path: normalise(f"{scheme}://{host}{port}/{path}").url,
    st.sampled_from(["http", "https"]),
    st.sampled_from(HOSTS),
    st.sampled_from(["", ":80", ":443", ":8080"]),
    st.sampled_from(["", "a", "a/", "a/b.html", "a/b.html?c=/d/", "ab/c", "?a/", "http://example.org/"]),
)


@given(URLS)
def test_the_slices_agree_with_a_parser(url: str) -> None:
    parsed = URL(url)
    assert authority(url) == parsed.host
    assert origin(url) == parsed.origin
    port = int(parsed.port) if parsed.port else {"http:": 80, "https:": 443}[parsed.protocol]
    assert host_port(url) == (parsed.hostname.strip("[]"), port)
    assert folder_of(url) == normalise(".", url).url


@given(URLS, URLS, st.sampled_from(Scope))
def test_what_is_in_scope_belongs_to_the_same_site(seed: str, url: str, scope: Scope) -> None:
    rule = scope_of(seed, scope)
    same_site = site_key(seed, scope) == site_key(url, scope)
    assert rule.contains(seed)
    if scope is Scope.PREFIX:
        start, of_url = (one.partition(":")[2].replace("org.", "org") for one in (normalise(".", seed).url, url))
        assert rule.contains(url) == of_url.startswith(start)
        assert same_site or not rule.contains(url)
    else:
        assert rule.contains(url) == same_site


@each(
    ("url", "host_key", "domain_key"),
    [
        ("http://www.example.org/", "www.example.org", "example.org"),
        ("https://www.example.org/", "www.example.org", "example.org"),
        ("http://example.org:8080/", "example.org:8080", "example.org"),
        ("http://example.org:443/", "example.org:443", "example.org"),
        ("http://a.b.example.co.uk/", "a.b.example.co.uk", "example.co.uk"),
        ("http://me.github.io/", "me.github.io", "me.github.io"),
        ("http://co.uk/", "co.uk", "co.uk"),
        ("http://localhost/", "localhost", "localhost"),
        ("http://127.1.2.3:8080/", "127.1.2.3:8080", "127.1.2.3"),
        ("http://[::1]:8080/", "[::1]:8080", "[::1]"),
        ("http://www.example.org./", "www.example.org", "example.org"),
        ("http://example.org.:8080/", "example.org:8080", "example.org"),
        ("http://localhost.:8080/", "localhost:8080", "localhost"),
        ("http://org./", "org", "org"),
        ("http://./", ".", "."),
        ("http://.:8080/", ".:8080", "."),
    ],
)
def test_site_keys(url: str, host_key: str, domain_key: str) -> None:
    assert site_key(url, Scope.HOST) == host_key
    assert site_key(url, Scope.PREFIX) == host_key
    assert site_key(url, Scope.DOMAIN) == domain_key


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        (Scope.HOST, ["http://h.org/", "https://h.org/x"], ["http://www.h.org/", "http://h.org:81/", "http://h.orgx/"]),
        (
            Scope.PREFIX,
            ["http://h.org/a/", "https://h.org/a/x?y"],
            ["http://h.org/a", "http://h.org/ab/", "http://g.org/a/"],
        ),
        (Scope.DOMAIN, ["http://x.h.org:81/", "https://h.org/"], ["http://xh.org/", "http://h.org.uk/"]),
    ],
)
def test_scopes(scope: Scope, inside: list[str], outside: list[str]) -> None:
    rule = scope_of("http://h.org/a/seed.html?q=/x/", scope)
    assert [url for url in inside + outside if rule.contains(url)] == inside


@pytest.mark.parametrize("seed", ["http://h.org:81/a/", "http://h.org.:81/a/"])
@pytest.mark.parametrize("scope", list(Scope))
def test_a_dot_at_the_end_of_a_host_makes_no_other_site(seed: str, scope: Scope) -> None:
    rule = scope_of(seed, scope)
    inside = ["http://h.org:81/a/x", "http://h.org.:81/a/x", "https://h.org.:81/a/"]
    outside = ["http://hh.org.:81/a/", "http://org.:81/a/"]
    assert [url for url in inside + outside if rule.contains(url)] == inside


def test_an_address_has_no_dotted_form() -> None:
    assert scope_of("http://10.0.0.1/", Scope.HOST) == PrefixRule(("http://10.0.0.1/", "https://10.0.0.1/"))


def test_an_address_is_its_own_domain() -> None:
    assert registrable_domain("10.0.0.1") == "10.0.0.1"


def test_an_authority_is_replaced_and_nothing_else() -> None:
    assert with_authority("http://t/t", {"t": "example.org"}) == "http://example.org/t"
    assert with_authority("https://h/t", {"t": "example.org"}) == "https://h/t"


@each(
    ("url", "refused"),
    [
        ("http://h/a.jpg", True),
        ("http://h/a.tar.GZ?download=1", True),
        ("http://h/style.css?v=2", True),
        ("http://h/a.html", False),
        ("http://h/show.php?file=a.jpg", False),
        ("http://h/a.pdf", False),
        ("http://h/jpg", False),
        ("http://h.zip/", False),
        ("http://h/a.zip/", False),
        ("http://h/whois/example.com", False),
        ("http://h/wiki/File:Map.png", False),
        ("http://h/wiki/Datei%3AMap.png", False),
        ("http://h/wiki:x/Map.png", True),
    ],
)
def test_file_types(url: str, refused: bool) -> None:
    assert is_refused_type(url) is refused


def test_file_types_can_be_replaced() -> None:
    assert is_refused_type("http://h/a.pdf", {"pdf"})
    assert not is_refused_type("http://h/a.jpg", {"pdf"})


@pytest.mark.parametrize(
    ("url", "depth", "expected"),
    [
        ("http://www.a.org/x", 1, True),
        ("http://a.org/x", 1, True),  # the host that was given
        ("http://a.org/", 0, False),  # this has led to the new site, and nothing else
        ("http://m.a.org/x", 2, True),  # a host between both
        ("http://b.org/x", 1, False),
    ],
)
def test_what_a_seed_can_ask_for_again_since_it_has_moved(url: str, depth: int, expected: bool) -> None:
    assert is_reachable(url, depth, "www.a.org", "http://a.org/", "http://www.a.org/", Scope.HOST) is expected
