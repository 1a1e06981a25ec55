"""What a site remembers of its archived payloads: the newest, whole digests, bounded."""

from __future__ import annotations

import tracemalloc
from hashlib import sha1

from scrawler.archive.record import RevisitOf
from scrawler.core.party.archived import ArchivedPayloads


def _digest(number: int) -> bytes:
    return sha1(str(number).encode(), usedforsecurity=False).digest()


def test_a_payload_leads_to_its_record() -> None:
    known = ArchivedPayloads()
    origins = ["http://a", "http://a.b", "https://a", "http://a:8", "http://a"]
    urls = [f"{origins[number % 5]}/ü{number}" for number in range(98)] + ["http://a//", "http://b/http://a/x"]
    records = [RevisitOf(url, 1_700_000_000_000 + number) for number, url in enumerate(urls)]
    for number, record in enumerate(records):
        known.remember(_digest(number), record)
    assert [known.get(_digest(number)) for number in range(100)] == records
    assert known.get(_digest(100)) is None


def test_payloads_are_the_same_only_if_all_of_their_digests_is() -> None:
    known = ArchivedPayloads()
    known.remember(b"12345678" + b"a" * 12, RevisitOf("http://a/", 1))
    assert known.get(b"12345678" + b"b" * 12) is None
    assert known.get(b"12345678" + b"a" * 12) == RevisitOf("http://a/", 1)


def test_the_newest_thousands_are_kept_and_no_more() -> None:
    known = ArchivedPayloads()
    for number in range(30_000):
        known.remember(_digest(number), RevisitOf("http://a/", number))
        assert len(known) <= 10_000
    assert all(known.get(_digest(number)) for number in range(25_000, 30_000))
    assert known.get(_digest(0)) is None


def test_payloads_with_keys_that_collide_are_bounded_too() -> None:
    known = ArchivedPayloads()
    for number in range(20_000):
        known.remember(b"12345678" + (b"a" if number % 2 else b"b") * 12, RevisitOf(f"http://a/{number}", number))
        assert len(known) <= 10_000
    assert known.get(b"12345678" + b"a" * 12) == RevisitOf("http://a/19999", 19_999)


def test_two_hundred_payloads_take_ten_kilobytes_at_most() -> None:
    digests = [_digest(number) for number in range(200)]
    tracemalloc.start()
    try:
        known = ArchivedPayloads()
        for number, digest in enumerate(digests):
            known.remember(digest, RevisitOf(f"http://www.site12.example/p{number}.html", number))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 10_000
