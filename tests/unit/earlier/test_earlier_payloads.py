"""What an earlier crawl has archived of a site: as much as there is room for, and no more."""

from __future__ import annotations

from hashlib import sha1

from scrawler.archive.record import RevisitOf
from scrawler.features.earlier.known import EarlierPayloads, EarlierRoom

TOGETHER = 64  # payloads that take their room at once


def _digest(number: int) -> bytes:
    return sha1(str(number).encode()).digest()


def _filled(room: EarlierRoom, first: int, count: int) -> tuple[EarlierPayloads, int]:
    payloads = EarlierPayloads(room)
    kept = sum(
        payloads.remember(_digest(number), RevisitOf(f"http://a.example/{number}", number))
        for number in range(first, first + count)
    )
    return payloads, kept


def test_each_is_found_with_its_record_until_there_is_no_room() -> None:
    payloads, kept = _filled(EarlierRoom(2), 0, 2 * TOGETHER + 5)
    assert kept == 2 * TOGETHER
    for number in (0, TOGETHER, 2 * TOGETHER - 1):
        assert payloads.get(_digest(number)) == RevisitOf(f"http://a.example/{number}", number)
    assert payloads.get(_digest(2 * TOGETHER)) is None


def test_room_is_shared_by_sites_and_given_back_once() -> None:
    room = EarlierRoom(1)
    first, kept = _filled(room, 0, 1)
    second, none = _filled(room, 1, 1)
    assert (kept, none) == (1, 0)
    first.close()
    first.close()
    assert first.get(_digest(0)) is None
    assert second.remember(_digest(1), RevisitOf("http://a.example/1", 1))
    assert not _filled(room, 2, 1)[1], "closed twice, it gave back what it had taken once"


def test_what_could_not_be_read_is_referred_to_no_more() -> None:
    payloads, _ = _filled(EarlierRoom(1), 0, 2)
    payloads.leave(_digest(0))
    assert payloads.get(_digest(0)) is None
    assert payloads.get(_digest(1)) == RevisitOf("http://a.example/1", 1)
