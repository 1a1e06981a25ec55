"""What a site remembers of its archived payloads: the newest, whole digests, bounded."""

from __future__ import annotations

import tracemalloc
import zlib
from hashlib import sha1
from random import Random
from typing import Any

import pytest

from scrawler.archive.record import RevisitOf
from scrawler.core.party import archived
from scrawler.core.party.archived import COMPILED, ArchivedPayloads, generation
from tests.allocations import UNWINDS_WITHOUT_MEMORY

pytestmark = pytest.mark.usefixtures("form")


@pytest.fixture(params=["python", "compiled"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all payloads be kept in one form of `Generation`, then in the other, if that was built."""
    if request.param == "python":
        monkeypatch.setattr(archived, "COMPILED", None)
    elif COMPILED is None:
        pytest.skip("there is no part in C")


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


def test_what_was_kept_last_under_a_key_is_found_and_nothing_else() -> None:
    random = Random(5)
    known, expected = generation(), {}
    keys = [random.randbytes(6) for _ in range(300)]
    for number in range(1_000):
        key = random.choice(keys)
        digest = key + random.choice([b"", b"a" * 14, b"b" * 14, b"c" * 255])
        text = random.choice(["", "ü", "x" * 5_000, f"/{number}"])
        known.remember(digest, text, number - 500)
        expected[key] = digest, (text, number - 500)
        assert len(known) == number + 1
    for digest, record in expected.values():
        assert known.get(digest) == record
        assert known.get(digest + b"!") is None
    assert known.get(random.randbytes(20)) is None
    known.remember(b"abc", "short", 1)
    assert known.get(b"abc") == ("short", 1)


@UNWINDS_WITHOUT_MEMORY
@pytest.mark.interpreted("compiled code ends the process where there is no memory for a number")
def test_whichever_allocation_fails_what_is_kept_stays_whole() -> None:
    memory = pytest.importorskip("_testcapi")
    number = done = 0
    while done < 10:
        known = generation()
        for one in range(31):  # the next one makes these full
            known.remember(_digest(one), f"/{one}", one)
        number += 1
        memory.set_nomemory(number, number + 1)
        try:
            known.remember(_digest(31), "/31", 31)
            done += 1
        except MemoryError:
            done = 0
        finally:
            memory.remove_mem_hooks()
        assert len(known) in ([32] if done else [31, 32])  # one that is found no more counts
        known.remember(_digest(32), "/32", 32)
        for one in [*range(31), 32, *([31] if done else [])]:
            assert known.get(_digest(one)) == (f"/{one}", one)
        assert done or known.get(_digest(31)) is None
    assert number > 10


def test_the_part_in_c_is_whole_whatever_its_packers_do() -> None:
    if COMPILED is None:
        pytest.skip("there is no part in C")
    wrong: list[Any] = []

    def packed(data: bytes) -> bytes:
        if wrong:
            wrong.clear()
            known.remember(_digest(99), "while others are packed", 99)
        return zlib.compress(data)

    def unpacked(data: bytes) -> Any:
        return wrong[0] if wrong else zlib.decompress(data)

    known = COMPILED.Generation(packed, unpacked)
    for number in range(63):
        known.remember(_digest(number), f"/{number}", number)
    for answer in (b"", b"\xff" * 40, None, "text"):
        wrong[:] = [answer]
        with pytest.raises(ValueError, match="no record"):
            known.get(_digest(31))
    with pytest.raises(RuntimeError, match="two threads"):
        known.remember(_digest(63), "/63", 63)
    assert known.get(_digest(99)) == ("while others are packed", 99)
    assert known.get(_digest(63)) is None
    assert [known.get(_digest(number)) for number in range(63)] == [(f"/{number}", number) for number in range(63)]


@pytest.mark.parametrize(
    "given", [(), (b"digest", "text"), ("digest", "text", 1), (b"digest", b"text", 1), (b"digest", "text", "1")]
)
def test_the_part_in_c_takes_nothing_else(given: tuple[Any, ...]) -> None:
    if COMPILED is None:
        pytest.skip("there is no part in C")
    known = COMPILED.Generation(bytes, bytes)
    with pytest.raises(TypeError):
        known.remember(*given)
    with pytest.raises(TypeError):
        known.get("digest")
    for arguments in ((), (bytes,)):
        with pytest.raises(TypeError):
            COMPILED.Generation(*arguments)
    for digest, date in ((b"digest" + b"!" * 256, 1), (b"digest", 1 << 63)):
        with pytest.raises(OverflowError):
            known.remember(digest, "text", date)
    assert len(known) == 0
