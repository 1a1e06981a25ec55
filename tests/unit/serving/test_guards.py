"""What keeps off who may not ask, or asks too much: signatures, buckets, bounded caches."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.features.inbound.rate import RateLimit
from scrawler.features.serving.bounded import BoundedCache
from scrawler.features.serving.signing import (
    GOOD_FOR_S,
    FieldLines,
    Nonces,
    Refused,
    SignedMessage,
    Verifier,
    signature_headers,
)

KEY = b"k" * 32
URL = "https://a.example/path?x=1"


def asked(headers: dict[str, str], url: str = URL, method: str = "GET") -> SignedMessage:
    return SignedMessage(method, url, FieldLines(headers.items()))


def test_a_good_signature_is_good_once() -> None:
    verifier = Verifier({"me": KEY})
    headers = signature_headers("GET", URL, "me", KEY)
    assert verifier.judge(asked(headers)) == "me"
    with pytest.raises(Refused, match="used already"):
        verifier.judge(asked(headers))
    assert verifier.judge(asked(signature_headers("GET", URL, "me", KEY))) == "me"


def test_forged_signatures() -> None:
    verifier = Verifier({"me": KEY})
    good = signature_headers("GET", URL, "me", KEY)
    head = good["Signature-Input"]
    forged: list[SignedMessage] = [
        asked({}),
        asked(good, url="https://a.example/path?x=2"),
        asked(good, url="https://a.example/other?x=1"),
        asked(good, url="https://b.example/path?x=1"),
        asked(good, method="HEAD"),
        asked(signature_headers("GET", URL, "me", b"x" * 32)),
        asked(signature_headers("GET", URL, "you", KEY)),
        asked({**good, "Signature": "pyhms=:AAAA:"}),
        asked({**good, "Signature": "nonsense"}),
        asked({**good, "Signature-Input": "\x00"}),
        asked({**good, "Signature-Input": head.replace('"@path" ', "")}),
        asked({**good, "Signature-Input": head.replace("created=", "created=9")}),
        asked({**good, "Signature-Input": head.replace("hmac-sha256", "ed25519")}),
        asked({**good, "Signature-Input": head + "," + head.replace("pyhms", "other")}),
        asked({**good, "Signature": "x" * 10_000}),
    ]
    for message in forged:
        with pytest.raises(Refused):
            verifier.judge(message)
    assert verifier.judge(asked(good)) == "me", "none of them has used its nonce up"


def test_nonces_are_remembered_as_long_as_signatures_are_good() -> None:
    now = [0.0]
    nonces = Nonces(most=2, clock=lambda: now[0])
    nonces.take("me", "1")
    nonces.take("you", "1")
    with pytest.raises(Refused, match="too many"):
        nonces.take("me", "2")
    now[0] = GOOD_FOR_S
    with pytest.raises(Refused, match="used already"):
        nonces.take("me", "1")
    now[0] = GOOD_FOR_S + 121
    nonces.take("me", "2")


def bucket(rate: float, burst: int) -> tuple[RateLimit, Callable[[float], None]]:
    now = [0.0]

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    return RateLimit(rate, burst, lambda: now[0]), pass_time


def test_a_client_asks_as_often_as_it_may() -> None:
    limit, pass_time = bucket(2, 3)
    assert [limit.wait("1.1.1.1") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.wait("2.2.2.2") == 0, "another one"
    pass_time(0.5)
    assert [limit.wait("1.1.1.1"), limit.wait("1.1.1.1") > 0] == [0, True]
    pass_time(1000)
    assert sum(limit.wait("1.1.1.1") == 0 for _ in range(10)) == 3


def test_a_client_with_many_addresses_is_one() -> None:
    limit, _ = bucket(1, 2)
    waits = [limit.wait(f"2001:db8:0:1::{number:x}") for number in range(1, 5)]
    assert [wait > 0 for wait in waits] == [False, False, True, True]
    assert limit.wait("2001:db8:0:2::1") == 0


def test_a_flood_of_addresses_is_forgotten() -> None:
    limit, _ = bucket(1, 2)
    for number in range(25_000):
        limit.wait(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(limit) == 20_000


def test_a_cache_is_bounded_and_keeps_what_is_asked_for() -> None:
    cache: BoundedCache[str] = BoundedCache(10, len)
    cache.put("a", "1234")
    cache.put("b", "1234")
    assert cache.get("a") == "1234"
    cache.put("c", "1234")
    assert [cache.get(key) for key in "abc"] == ["1234", None, "1234"]
    cache.put("d", "x" * 11)
    assert cache.get("d") is None
    cache.put("a", "1")
    assert cache.total == 5
    assert (cache.hits, cache.misses) == (3, 2)
