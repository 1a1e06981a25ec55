"""What a member lets in: what others have signed for it, once, in time, and no more than it can take."""

from __future__ import annotations

import json

import pytest

from scrawler.features.cluster.exchange.communicator import MAX_ITEMS, MAX_MESSAGE, Batch, Delivery, Item, Note, Receipt
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.envelope import MAGIC, sealed
from tests.tables import each

SECRET = b"a secret that is long enough"
ITEM = Item(7, "http://a.example/x", 3, 1, b"\x01\x02")


def doors() -> tuple[Door, Door]:
    return Door("crawl", "a", SECRET), Door("crawl", "b", SECRET)


def frame(**changed: object) -> dict[str, object]:
    said = {"crawl": "crawl", "from": "a", "run": "r", "to": "b", "seq": 1, "at": 1_000_000, "batch": 1, "urls": []}
    return {**said, **changed}


def refused(said: dict[str, object]) -> dict[str, int]:
    door = Door("crawl", "b", SECRET, clock=lambda: 1000.0)
    assert door.let_in(sealed(SECRET, said)) is None
    return dict(door.dropped())


def test_a_batch_a_receipt_and_a_note_come_through() -> None:
    a, b = doors()
    there = b.let_in(a.batch(Batch(5, (ITEM,)), "b") or b"")
    assert there == Delivery("a", a.run, Batch(5, (ITEM,)))
    assert isinstance(there, Delivery)
    assert a.let_in(b.receipt(there, frozenset({7})) or b"") == Receipt("b", 5, frozenset({7}))
    assert b.let_in(a.note("heartbeat", {"load": 0.5, "of": "ä"}, "b") or b"") == Note(
        "a", a.run, "heartbeat", {"load": 0.5, "of": "ä"}
    )
    assert not a.dropped()
    assert not b.dropped()


def test_each_changed_bit_is_noticed() -> None:
    a, _ = doors()
    data = a.batch(Batch(5, (ITEM,)), "b") or b""
    for place in range(len(data)):
        door = Door("crawl", "b", SECRET)
        assert door.let_in(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]) is None
        assert sum(door.dropped().values()) == 1
    for length in range(0, len(data), 7):
        assert doors()[1].let_in(data[:length]) is None


def test_a_message_comes_once_in_any_order() -> None:
    a, b = doors()
    sent = [a.batch(Batch(number, (ITEM,)), "b") or b"" for number in range(1, 200)]
    assert all(b.let_in(one) for one in sent[::-1])
    assert not any(b.let_in(one) for one in sent)
    assert b.dropped() == {"replayed": len(sent)}


def test_a_message_far_behind_the_newest_is_taken_for_one_that_came() -> None:
    a, b = doors()
    first = a.note("n", {}, "b") or b""
    for _ in range(5_000):
        last = a.note("n", {}, "b") or b""
    assert b.let_in(last)
    assert not b.let_in(first)


def test_a_flood_is_cut() -> None:
    a, b = doors()
    let_in = sum(b.let_in(a.note("n", {}, "b") or b"") is not None for _ in range(12_000))
    assert let_in < 12_000
    assert b.dropped() == {"flood": 12_000 - let_in}


@each(
    ("said", "why"),
    [
        (frame(crawl="other"), "another-crawl"),
        (frame(to="c"), "another-receiver"),
        (frame(at=600_000), "too-old"),
        (frame(at=1_400_000), "too-old"),
        (frame(seq=0), "malformed"),
        (frame(seq=True), "malformed"),
        (frame(seq="1"), "malformed"),
        (frame(**{"from": ""}), "malformed"),
        (frame(**{"from": "a" * 300}), "malformed"),
        (frame(**{"from": "a\nb"}), "malformed"),
        (frame(urls=None), "malformed"),
        (frame(urls=[[1, "http://a/", -1, 0, ""]]), "malformed"),
        (frame(urls=[[1, "http://a/", 1, 0, "xyz"]]), "malformed"),
        (frame(urls=[[1, "http://a/"]]), "malformed"),
        (frame(urls=[[1, "http://a/", 70_000, 0, ""]]), "malformed"),
        (frame(urls=[[1, "http://a/", 1, 0, "00" * 17]]), "malformed"),
        (frame(urls=[[1, "", 0, 0, ""]] * (MAX_ITEMS + 1)), "too-many-urls"),
        (frame(batch=-1), "malformed"),
    ],
)
def test_what_is_signed_and_no_message_for_us_is_refused(said: dict[str, object], why: str) -> None:
    assert refused(said) == {why: 1}


@pytest.mark.parametrize("text", [b"", b"[]", b"[" * 100_000, b"{", b'{"a": NaN}', b"\xff", b"1" * 10_000])
def test_what_is_signed_and_no_object_is_refused(text: bytes) -> None:
    import hmac

    door = Door("crawl", "b", SECRET)
    assert door.let_in(MAGIC + hmac.digest(SECRET, MAGIC + text, "sha256") + text) is None
    assert sum(door.dropped().values()) == 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_json_does_not_know_as_a_number_is_refused(number: str) -> None:
    """A member of another make may write it; it must not end the thread that listens."""
    import hmac

    said = json.dumps({key: one for key, one in frame(note="n", body={}).items() if key not in ("batch", "urls")})
    text = said.replace('"body": {}', f'"body": {{"load": {number}}}').encode()
    door = Door("crawl", "b", SECRET, clock=lambda: 1000.0)
    assert door.let_in(MAGIC + hmac.digest(SECRET, MAGIC + text, "sha256") + text) is None
    assert door.dropped() == {"malformed": 1}


def test_what_an_earlier_life_of_a_sender_has_said_is_not_heard_once_a_later_one_has_spoken() -> None:
    """Somebody on the wire keeps a message, and sends it to a receiver that was started again since."""
    now = [1000.0]
    before = Door("crawl", "a", SECRET, clock=lambda: now[0])
    kept, late = (before.note("over", {"view": "v"}, "b") or b"" for _ in range(2))
    now[0] += 10
    after = Door("crawl", "a", SECRET, clock=lambda: now[0])
    b = Door("crawl", "b", SECRET, clock=lambda: now[0])
    assert b.let_in(kept)
    first, second = (after.note("beat", {}, "b") or b"" for _ in range(2))
    assert b.let_in(first)
    assert b.let_in(late) is None
    assert b.dropped() == {"another-life": 1}
    assert b.let_in(second), "it costs the later life nothing"


def test_urls_that_no_crawl_could_want_are_left_out() -> None:
    a, b = doors()
    urls = ("http://a/" + "x" * 3000, "http://ä/", "http://a/\n", "http://a/ok", "\ud800", "")
    found = b.let_in(a.batch(Batch(1, tuple(Item(n, url) for n, url in enumerate(urls))), "b") or b"")
    assert isinstance(found, Delivery)
    assert [one.url for one in found.batch.items] == ["http://a/ok"]
    assert b.dropped() == {"bad-url": 5}


def test_what_is_huge_neither_leaves_nor_comes_in() -> None:
    a, b = doors()
    items = tuple(Item(number, "http://a/" + "x" * 2000) for number in range(600))
    assert a.batch(Batch(1, items), "b") is None
    assert b.let_in(b"x" * (MAX_MESSAGE + 1)) is None
    assert b.dropped() == {"huge": 1}


def test_a_reason_is_told_once() -> None:
    told: list[str] = []
    door = Door("crawl", "b", SECRET, say=told.append)
    for _ in range(5):
        door.let_in(b"nonsense" * 20)
    assert len(told) == 1
    assert door.dropped() == {"damaged": 5}


def test_a_receipt_is_for_one_life_of_a_sender() -> None:
    a, b = doors()
    there = b.let_in(a.batch(Batch(5, (ITEM,)), "b") or b"")
    assert isinstance(there, Delivery)
    receipt = b.receipt(there, frozenset()) or b""
    assert Door("crawl", "a", SECRET).let_in(receipt) is None
    assert a.let_in(receipt)


def test_a_short_secret_is_none() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Door("crawl", "a", b"short")


def test_another_version_is_told_apart() -> None:
    a, b = doors()
    data = a.note("n", {}, "b") or b""
    assert b.let_in(b"SCX2" + data[4:]) is None
    assert b.dropped() == {"another-version": 1}
    assert json.loads(data[36:])["crawl"] == "crawl"
