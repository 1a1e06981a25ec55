"""The cookie jar: the rules of RFC 6265 case by case, its bounds, and headers of people who mean no good."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.fetch.cookies import (
    MAX_COOKIE,
    MAX_HEADER,
    MAX_KEPT,
    MAX_PER_DOMAIN,
    MAX_PER_JAR,
    CookieJar,
    parse_set_cookie,
)
from tests.tables import each

NOW = 1_800_000_000.0
HOME = "http://www.site.example/docs/page.html?x=/y/"


def head(*cookies: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/html", *(f"Set-Cookie: {cookie}" for cookie in cookies)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def jar(url: str = HOME, *cookies: str, clock: Callable[[], float] = lambda: NOW) -> CookieJar:
    made = CookieJar(clock)
    made.take(url, head(*cookies))
    return made


@each(
    ("cookie", "asked", "sent"),
    [
        # name and value (5.2)
        ("a=1", HOME, "a=1"),
        ("  a  =  1 2  ; x=y", HOME, "a=1 2"),
        ('a="q"', HOME, 'a="q"'),
        ("a=b=c", HOME, "a=b=c"),
        ("a=", HOME, "a="),
        # without a name (rfc6265bis, 5.6): the value alone
        ("=1", HOME, "1"),
        (" = 1 ; Path=/", HOME, "1"),
        ("a", HOME, "a"),
        ("=a=b", HOME, "a=b"),
        ("Secure", HOME, "Secure"),
        ("=", HOME, ""),
        (" ; Path=/", HOME, ""),
        ("=__Host-a=1; Path=/", HOME, ""),
        ("__secure-a", HOME, ""),
        ("", HOME, ""),
        ("; path=/", HOME, ""),
        # host-only without Domain (5.3, 6), with it also below (5.1.3)
        ("a=1", "http://sub.www.site.example/docs/", ""),
        ("a=1", "http://site.example/docs/", ""),
        ("a=1; Domain=site.example", HOME, "a=1"),
        ("a=1; domain = .Site.Example", "http://other.site.example/docs/", "a=1"),
        ("a=1; Domain=www.site.example", "http://sub.www.site.example/docs/", "a=1"),
        ("a=1; Domain=site.example", "http://notsite.example/docs/", ""),
        ("a=1; Domain=", "http://sub.www.site.example/docs/", ""),
        ("a=1; Domain=x.example; Domain=site.example", HOME, "a=1"),
        # of somebody else, of somebody below, of a public suffix
        ("a=1; Domain=other.example", HOME, ""),
        ("a=1; Domain=sub.www.site.example", HOME, ""),
        ("a=1; Domain=te.example", HOME, ""),
        ("a=1; Domain=example", HOME, ""),
        ("a=1; Domain=..", HOME, ""),
        # path (5.1.4)
        ("a=1", "http://www.site.example/docs", "a=1"),
        ("a=1", "http://www.site.example/docs/x", "a=1"),
        ("a=1", "http://www.site.example/docsx", ""),
        ("a=1", "http://www.site.example/", ""),
        ("a=1; Path=/", "http://www.site.example/", "a=1"),
        ("a=1; Path=relative", "http://www.site.example/", ""),
        ("a=1; Path", HOME, "a=1"),
        ("a=1; Path=/docs/", "http://www.site.example/docs", ""),
        ("a=1; Path=/docs/", "http://www.site.example/docs/x?/", "a=1"),
        ("a=1; Path=/other", "http://www.site.example/other?q", "a=1"),
        # Secure is not set without TLS (6265bis, 5.7, 8); a port is no boundary
        ("a=1; Secure", HOME, ""),
        ("a=1; secure=no", "https://www.site.example/docs/", ""),
        ("a=1", "https://www.site.example:8443/docs/", "a=1"),
        # Max-Age goes before Expires (5.3, 3)
        ("a=1; Max-Age=10", HOME, "a=1"),
        ("a=1; Max-Age=0", HOME, ""),
        ("a=1; Max-Age=-1", HOME, ""),
        ("a=1; Max-Age=soon", HOME, "a=1"),
        ("a=1; Max-Age=+5", HOME, "a=1"),
        ("a=1; Max-Age=" + "9" * 900, HOME, "a=1"),
        ("a=1; Expires=Wed, 09 Jun 2021 10:18:14 GMT", HOME, ""),
        ("a=1; Expires=Wed, 09 Jun 2038 10:18:14 GMT", HOME, "a=1"),
        ("a=1; Expires=never", HOME, "a=1"),
        ("a=1; Max-Age=10; Expires=Wed, 09 Jun 2021 10:18:14 GMT", HOME, "a=1"),
        ("a=1; Expires=Wed, 09 Jun 2038 10:18:14 GMT; Max-Age=0", HOME, ""),
        # what else browsers know does not matter here
        ("a=1; HttpOnly; SameSite=Strict; Priority=High", HOME, "a=1"),
    ],
)
def test_when_a_cookie_is_sent(cookie: str, asked: str, sent: str) -> None:
    assert jar(HOME, cookie).header(asked) == sent


SAFE = HOME.replace("http:", "https:")


@each(
    ("cookie", "over_http", "over_tls"),
    [
        ("a=1", "a=1", "a=1"),
        ("a=1; Secure", "", "a=1"),
        ("__Secure-a=1", "", ""),
        ("__Secure-a=1; Secure", "", "__Secure-a=1"),
        ("__Secure-a=1; Secure; Domain=site.example", "", "__Secure-a=1"),
        ("__sECURE-a=1", "", ""),
        ("__Host-a=1; Path=/", "", ""),
        ("__Host-a=1; Secure", "", ""),
        ("__Host-a=1; Secure; Path=/docs", "", ""),
        ("__Host-a=1; Secure; Path=/", "", "__Host-a=1"),
        ("__Host-a=1; Secure; Path=/; Domain=", "", "__Host-a=1"),
        ("__Host-a=1; Secure; Path=/; Domain=www.site.example", "", ""),
        ("__hOST-a=1; Secure", "", ""),
        ("__Hosta=1", "__Hosta=1", "__Hosta=1"),
        ("=__Host-a=1; Secure; Path=/", "", ""),
        ("__Secure-a; Secure", "", ""),
    ],
)
def test_what_secure_cookies_ask_for(cookie: str, over_http: str, over_tls: str) -> None:
    assert jar(HOME, cookie).header(SAFE) == over_http
    assert jar(SAFE, cookie).header(SAFE) == over_tls


@pytest.mark.parametrize(
    ("new", "both"),
    [
        ("a=2; Path=/docs", "a=1"),
        ("a=2; Path=/docs; Max-Age=0", "a=1"),
        ("a=2; Path=/docs/page.html", "a=1"),
        ("a=2; Path=/docs; Domain=site.example", "a=1"),
        ("a=2; Path=/", "a=1; a=2"),
        ("b=2; Path=/docs", "a=1; b=2"),
        ("A=2; Path=/docs", "a=1; A=2"),
    ],
)
def test_secure_cookies_are_left_alone_without_tls(new: str, both: str) -> None:
    made = jar(SAFE, "a=1; Secure; Path=/docs")
    made.take(HOME, head(new))
    assert made.header(SAFE) == both
    made.take(SAFE, head("a=3; Path=/docs"))  # over TLS it is replaced
    assert made.header(HOME).startswith("a=3")


def test_a_secure_cookie_that_has_expired_or_is_elsewhere_is_in_nobodys_way() -> None:
    now = [NOW]
    made = jar(SAFE, "a=1; Secure; Path=/; Max-Age=9", clock=lambda: now[0])
    made.take("http://other.site.example/", head("a=2"))
    assert made.header("http://other.site.example/") == "a=2"
    now[0] += 10
    made.take(HOME, head("a=3; Path=/"))
    assert made.header(HOME) == "a=3"


@each(
    ("home", "cookie", "asked", "sent"),
    [
        ("http://192.0.2.7/", "a=1", "http://192.0.2.7/", "a=1"),
        ("http://192.0.2.7/", "a=1; Domain=192.0.2.7", "http://192.0.2.7/", "a=1"),
        ("http://192.0.2.7/", "a=1; Domain=2.7", "http://192.0.2.7/", ""),
        ("http://[2001:db8::1]:80/", "a=1", "http://[2001:db8::1]:8080/", "a=1"),
        ("http://localhost/", "a=1; Domain=localhost", "http://localhost/", "a=1"),
        ("http://localhost/", "a=1; Domain=localhost", "http://x.localhost/", ""),
        ("http://github.io/", "a=1; Domain=github.io", "http://github.io/", "a=1"),
        ("http://github.io/", "a=1; Domain=github.io", "http://me.github.io/", ""),
        ("http://me.github.io/", "a=1; Domain=github.io", "http://me.github.io/", ""),
        ("http://www.shop.co.uk/", "a=1; Domain=co.uk", "http://www.shop.co.uk/", ""),
        ("http://www.shop.co.uk/", "a=1; Domain=shop.co.uk", "http://shop.co.uk/", "a=1"),
    ],
)
def test_hosts_that_are_their_own_domain(home: str, cookie: str, asked: str, sent: str) -> None:
    assert jar(home, cookie).header(asked) == sent


def test_order_and_replacement() -> None:
    made = jar(HOME, "old=1; Path=/", "deep=2; Path=/docs", "new=3; Path=/")
    assert made.header(HOME) == "deep=2; old=1; new=3"
    made.take(HOME, head("old=9; Path=/", "deep=; Path=/docs; Max-Age=0"))
    assert (made.header(HOME), len(made)) == ("old=9; new=3", 2)


def test_time_goes_on() -> None:
    now = [NOW]
    made = jar(HOME, "brief=1; Max-Age=60", "long=2", clock=lambda: now[0])
    assert made.header(HOME) == "brief=1; long=2"
    now[0] += 61
    assert made.header(HOME) == "long=2"


def test_repeated_headers_are_read_apart() -> None:
    """A list joined with commas could not be: dates have them."""
    raw = (
        b"HTTP/1.1 200 OK\r\nset-cookie: a=1; Expires=Wed, 09 Jun 2038 10:18:14 GMT\r\nX: Set-Cookie: no=1\r\n"
        b"SET-COOKIE:b=2;\r\n Path=/docs\r\nSet-Cookie : c=3\r\nnonsense\r\n d=4\r\n\r\nSet-Cookie: body=1\r\n"
    )
    made = CookieJar(lambda: NOW)
    made.take(HOME, raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
    assert made.header(HOME) == "a=1; b=2; c=3"


@pytest.mark.parametrize(
    "cookie",
    ["a=1\x00", "a\x01b=1", "a=1\rX-Evil: 1", "a=1; Path=/\x7f", "a" * MAX_COOKIE + "=1", "a=" + "x" * MAX_COOKIE],
)
def test_what_is_no_cookie(cookie: str) -> None:
    assert parse_set_cookie(cookie, NOW) is None


def test_an_attribute_that_is_too_long_is_none() -> None:
    parsed = parse_set_cookie(f"a=1; Path=/{'x' * 2000}; Domain={'y' * 2000}; Secure", NOW)
    assert parsed is not None
    assert (parsed.path, parsed.domain, parsed.secure, parsed.expires_at) == ("", "", True, inf)


def test_a_jar_is_bounded_and_the_unused_go_first() -> None:
    made = jar(HOME, *(f"c{n}=1" for n in range(MAX_PER_DOMAIN)))
    made.take("http://www.site.example/docs/", head("only=there; Path=/away"))  # c0 goes
    assert len(made) == MAX_PER_DOMAIN
    assert "c0=1" not in made.header(HOME)
    made.take(HOME, head("new=1"))  # all others were just sent
    assert made.header("http://www.site.example/away") == ""
    assert len(made) == MAX_PER_DOMAIN
    for n in range(10):
        made.take(f"http://h{n}.site.example/", head(*(f"c{m}=1" for m in range(MAX_PER_DOMAIN + 5))))
        made.header(HOME)
    assert len(made) == MAX_PER_JAR
    assert made.header(HOME).count(";") == MAX_PER_DOMAIN - 1


def test_a_cookie_header_is_bounded() -> None:
    made = jar(HOME, *(f"c{n}={'x' * 1000}" for n in range(20)))
    sent = made.header(HOME)
    assert MAX_HEADER - 1010 < len(sent) <= MAX_HEADER < 4096
    assert [pair[:3] for pair in sent.split("; ")] == [
        "c16",
        "c17",
        "c18",
        "c19",
    ]
    made.take(HOME, head(f"c0={'y' * 1000}"))
    assert [pair[:3] for pair in made.header(HOME).split("; ")] == ["c0=", "c17", "c18", "c19"]


def test_thousands_of_headers_cost_no_more_than_a_few() -> None:
    made = jar(HOME, *(f"c{n}=1; Domain=h{n}.example" for n in range(5_000)), "late=1")
    assert len(made) == 0


@given(st.lists(st.text(st.characters(max_codepoint=255, exclude_characters="\n"), max_size=60), max_size=8), st.data())
def test_any_header_leaves_a_jar_that_sends_clean_headers(cookies: list[str], data: st.DataObject) -> None:
    parts = ["a", "=", ";", " ", "Domain=site.example", "Path=/", "Expires=", "Max-Age=", "9", "\t", "\r", "\x00", "é"]
    shuffled = ["".join(data.draw(st.lists(st.sampled_from(parts), max_size=12))) for _ in range(3)]
    sent = jar(HOME, *cookies, *shuffled).header(HOME)
    assert not set(sent) & set(map(chr, [*range(9), *range(10, 32), 127]))
    assert len(sent) <= MAX_HEADER


def test_a_long_life_of_random_cookies_keeps_all_bounds() -> None:
    luck, now = random.Random(6265), [NOW]
    made = CookieJar(lambda: now[0])
    for _ in range(2_000):
        host = luck.choice(["www.site.example", "site.example", "a.b.site.example", "b.site.example", "c.example"])
        life = luck.choice(["", "; Max-Age=0", "; Max-Age=30", "; Domain=site.example", "; Path=/docs"])
        made.take(f"http://{host}/docs/", head(f"n{luck.randrange(120)}={luck.randrange(10)}{life}"))
        now[0] += luck.random()
        made.header(f"http://{host}/docs/")
        assert len(made) <= MAX_PER_JAR


def again(made: CookieJar, now: float = NOW) -> CookieJar:
    return CookieJar.load(made.dump(), lambda: now)


def test_a_jar_that_was_kept_sends_what_it_would_have_sent() -> None:
    made = jar(
        SAFE, "session=1; Path=/", 'odd="\\é\t=x"', "deep=2; Path=/docs", "all=3; Domain=site.example; Path=/",
        "safe=4; Secure; Path=/", "bare; Path=/", "==q; Path=/docs", "brief=5; Max-Age=60; Path=/", "gone=6; Max-Age=0",
    )  # fmt: skip
    later = again(made, NOW + 61)
    for scheme in ("http", "https"):
        for url in (HOME, "http://www.site.example/", "http://other.site.example/", "http://sub.www.site.example/"):
            asked = url.replace("http", scheme)
            sent = made.header(asked)
            assert again(made).header(asked) == sent
            assert later.header(asked) == sent.replace("; brief=5", "")
    assert "brief=5" in made.header(HOME)
    assert "brief" not in later.dump().decode()
    assert again(jar()).header(HOME) == ""


def test_a_jar_knows_whether_it_changed() -> None:
    made = jar(HOME, "", "never=1; Max-Age=0")
    assert not made.changed
    for cookie, changes in [
        ("a=1", True), ("a=1", False), ("a=2", True), ("a=2; Max-Age=9", True), ("a=2; Max-Age=9", False),
        ("a=2; Max-Age=9; Secure", True), ("b=; Max-Age=0", False), ("a=; Max-Age=0", True),
    ]:  # fmt: skip
        made.take(SAFE, head(cookie))
        assert made.changed is changes, cookie
        made.dump()
    assert not again(jar(HOME, "a=1")).changed


def test_what_is_kept_of_a_jar_is_bounded_and_the_unused_is_left_out() -> None:
    made = jar(HOME, "front=1; Path=/away")
    for n in range(4):
        made.take(f"http://h{n}.site.example/", head(*(f"c{m}={'é' * 4000}; Path=/" for m in range(45))))
    made.take(HOME, head("last=1"))
    data = made.dump()
    assert MAX_KEPT - 25_000 < len(data) <= MAX_KEPT
    kept = CookieJar.load(data, lambda: NOW)
    assert kept.header(HOME) == "last=1"
    assert kept.header("http://h3.site.example/")
    assert not kept.header("http://h0.site.example/")


FINE = ["www.site.example", "a=1", True, "/", False, None]
WRONG = [
    (0, ""), (0, 7), (0, None), (1, "a"), (1, "="), (1, "a=1\r\nEvil: 1"), (1, "a=\x00"), (1, "a=\ud800"),
    (1, "a=" + "x" * 5000), (1, 7), (1, []), (3, ""), (3, "relative"), (3, None), (5, "soon"), (5, []), (5, 10**400),
]  # fmt: skip
DAMAGED = [
    b"", b"\xff\x00", b"{", b"[" * 60_000, b"null", b"7", b'{"a": 1}', b'"text"', b"[[]]", b"[null]",
    *(json.dumps([FINE, [*FINE[:n], value, *FINE[n + 1 :]]]).encode() for n, value in WRONG),
    json.dumps([FINE]).encode() + b" " * MAX_KEPT,
]  # fmt: skip


@each("data", DAMAGED)
def test_of_damaged_data_an_empty_jar_is_made(data: bytes) -> None:
    assert len(CookieJar.load(data, lambda: NOW)) == 0


def test_too_many_kept_cookies_are_bounded_too() -> None:
    many = [[f"h{n % 9}.example", f"c{n}=1", True, "/", False, None] for n in range(1_000)]
    made = CookieJar.load(json.dumps(many).encode(), lambda: NOW)
    assert len(made) == MAX_PER_JAR
    assert len(CookieJar.load(json.dumps([[*FINE[:5], float("nan")], FINE]).encode(), lambda: NOW)) == 1
