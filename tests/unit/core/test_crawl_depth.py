"""The append-only list with its cursor: nothing is handed out twice, nothing is lost, memory is bounded."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrawler.core.party import depth
from scrawler.core.party.depth import DEPTH_BUFFER, Lane
from scrawler.core.party.entries import Entry, EntryRole, decode, decode_urls, encode, find
from scrawler.model.lanes import CHUNK_ENTRIES, ChunkRow, LaneState


class Durable:
    """What the database would hold of one lane."""

    def __init__(self) -> None:
        self.state = LaneState(1, 0, 1, 0, 0)
        self.chunks: dict[int, ChunkRow] = {}

    def checkpoint(self, lane: Lane) -> None:
        delta = lane.take_delta()
        if delta is not None:
            self.state, rows = delta
            for row in rows:
                kept = self.chunks.get(row.seq)
                assert kept is None or kept.count < CHUNK_ENTRIES, "a full chunk is immutable"
                self.chunks[row.seq] = row

    def reopen(self) -> Lane:
        return Lane(self.state, self.chunks[max(self.chunks)] if self.chunks else None)

    def fill(self, lane: Lane) -> None:
        position = lane.missing
        if position is not None:
            here = next(n for n, c in self.chunks.items() if c.first <= position < c.first + c.count)
            lane.filled([self.chunks[n] for n in (here, here + 1) if n in self.chunks])


def new_lane() -> Lane:
    return Lane(LaneState(1, 0, 1, 0, 0))


def test_entries_survive_packing() -> None:
    entries = [
        Entry("http://a/?x=%20y", 0, 0),
        Entry("http://a/ü", 15, 7, 1234567890123),
        Entry("http://a/1", 15, 8),
        Entry("http://a/2", 15, 9),
        Entry("http://a/3", 15, 9),
        Entry("http://a/4", 2, 10, role=EntryRole.ASSET),
        Entry("http://a/5", 2, 11, 1, EntryRole.ASSET),
        Entry("http://a/6", 2, 12, role=EntryRole.ASSET),
        Entry("http://a/7", 2, 13),
        Entry("http://a/8", 2, 14, hops=1),
        Entry("http://a/9", 2, 15, hops=1),
        Entry("http://a/10", 2, 16, hops=20, referrer=b"12345678"),
        Entry("http://a/11", 2, 17, role=EntryRole.ASSET, hops=3),
        Entry("http://a/12", 2, 18, role=EntryRole.ASSET),
        Entry("http://a/8", 1, 0, role=EntryRole.SITEMAP),
        Entry("http://a/9", 2, 1, role=EntryRole.SITEMAP),
        Entry("http://a/a", 2, 14, referrer=b"\0" * 16),
        Entry("http://a/b", 2, 15, referrer=b"\0" * 16),
        Entry("http://a/c", 2, 16, referrer=b"\xff" * 16),
        Entry("http://a/d", 2, 17, 5, EntryRole.ASSET, b"\xff" * 16),
        Entry("http://a/e", 2, 18),
    ]
    for first in range(len(entries)):
        assert decode(encode(entries[first:])) == entries[first:]
    assert list(decode_urls(encode(entries))) == [entry.url for entry in entries]


_URLS = [
    "http://a/",
    "http://a/?x=%20y",
    "http://a/ü",
    "http://a//http://a/",
    "https://a/",
    "http://ab/",
    "http://a:8/",
]
_ENTRIES = st.builds(
    Entry,
    st.sampled_from(_URLS),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from([0, 0, 0, 1234567890123]),
    st.sampled_from(EntryRole),
    st.sampled_from([b"", b"a" * 16, b"b" * 16]),
)


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.tuples(_ENTRIES, st.integers(1, 60)), min_size=1, max_size=6), data=st.data())
def test_a_chunk_is_read_from_anywhere(parts: list[tuple[Entry, int]], data: st.DataObject) -> None:
    entries = [
        entry._replace(position=entry.position + more) for entry, following in parts for more in range(following)
    ]
    cursor = data.draw(st.integers(0, len(entries) - 1))
    lane = Lane(LaneState(1, 0, 1, cursor, len(entries) + CHUNK_ENTRIES))
    lane.filled([ChunkRow(1, 0, 0, 0, len(entries), encode(entries))])
    read = []
    while len(read) < len(entries) - cursor:
        entry = lane.peek()
        assert entry is not None
        read.append(entry)
        lane.take()
    assert read == entries[cursor:]


@settings(max_examples=100, deadline=None)
@given(pages=st.lists(st.tuples(st.lists(st.sampled_from(_URLS), min_size=1, max_size=8), st.booleans()), min_size=1))
def test_lists_hold_urls_of_any_origin_and_chunks_have_them_whole(pages: list[tuple[list[str], bool]]) -> None:
    lane, durable, listed = new_lane(), Durable(), []
    for urls, is_kept in pages:
        lane.extend(urls, 1)
        listed += urls
        if is_kept:
            durable.checkpoint(lane)
            lane = durable.reopen()
    durable.checkpoint(lane)
    kept = b"\n".join(zlib.decompress(row.data) for _, row in sorted(durable.chunks.items()))
    assert [line.rpartition(" ")[2] for line in kept.decode().split("\n")] == listed
    read = []
    while (entry := _next(lane, durable)) is not None:
        read.append(entry.url)
        lane.take()
    assert read == listed


def _next(lane: Lane, durable: Durable) -> Entry | None:
    durable.fill(lane)
    return lane.peek()


def test_a_tail_stands_in_memory_without_the_origin_of_its_urls() -> None:
    origin = f"http://{'a' * 10_000}.example"
    lane = new_lane()
    tracemalloc.start()
    try:
        lane.extend([f"{origin}/{number}" for number in range(CHUNK_ENTRIES - 1)], 1)
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert size < 4 * len(origin)


def test_what_a_page_lists_has_its_referrer_once() -> None:
    page = b"p" * 16
    entries = [Entry(f"http://a/{number}", 1, number, referrer=page) for number in range(CHUNK_ENTRIES)]
    lane = new_lane()
    lane.extend([entry.url for entry in entries], 1, referrer=page)
    delta = lane.take_delta()
    assert delta is not None
    ((row,),) = delta[1:]
    assert decode(row.data) == entries
    assert zlib.decompress(row.data).count(page.hex().encode()) == 1


def _packed_by_schema_2(entries: list[Entry]) -> bytes:
    """Pack as programs for schema 2 did: each line says all of its entry."""
    lines = (f"{one.stored_depth} {one.stored_position} {one.not_before} {one.url}" for one in entries)
    return zlib.compress("\n".join(lines).encode())


def test_what_programs_for_schema_2_packed_is_read() -> None:
    entries = [
        Entry("http://a/?x=%20y", 0, 0),
        Entry("http://a/1", 1, 1),
        Entry("http://a/2", 1, 2),
        Entry("http://a/ü", 1, 3, 1234567890123),
        Entry("http://a/3", 1, 4),
        Entry("http://a/4", 2, 9, role=EntryRole.ASSET),
        Entry("http://a/5", 1, 0, role=EntryRole.SITEMAP),
    ]
    assert decode(_packed_by_schema_2(entries)) == entries
    assert list(decode_urls(_packed_by_schema_2(entries))) == [entry.url for entry in entries]
    assert find(_packed_by_schema_2(entries), "http://a/3") == (4, entries[4])


@pytest.mark.parametrize("listed", [3, CHUNK_ENTRIES - 1, CHUNK_ENTRIES, 700, 1023, 1024])  # it filled chunks of 1,024
def test_a_list_that_schema_2_left_goes_on(listed: int) -> None:
    entries = [Entry(f"http://a/{number}", 1, number) for number in range(listed)]
    durable = Durable()
    durable.state = LaneState(1, 0, 1, 2, listed)
    durable.chunks[0] = ChunkRow(1, 0, 0, 0, listed, _packed_by_schema_2(entries))
    lane = durable.reopen()
    for number in range(listed, listed + 2 * CHUNK_ENTRIES):
        lane.append(f"http://a/{number}", 1)
        if number % 50 == 0:
            durable.checkpoint(lane)
    durable.checkpoint(lane)
    lane = durable.reopen()
    asked = []
    while not lane.exhausted:
        durable.fill(lane)
        entry = lane.peek()
        assert entry is not None
        asked.append(entry)
        lane.finish(lane.take())
    assert asked == [Entry(f"http://a/{number}", 1, number) for number in range(2, listed + 2 * CHUNK_ENTRIES)]


def test_one_entry_is_found_in_a_chunk() -> None:
    entries = [Entry(f"http://a/{number}", number % 7, number + 5, number) for number in range(CHUNK_ENTRIES)]
    data = encode(entries)
    assert [find(data, entry.url) for entry in entries] == [*enumerate(entries)]
    for url in ("http://a/", "http://a/9999", "/1", "a/1", "1"):
        assert find(data, url) is None


def test_entries_come_in_the_order_of_listing() -> None:
    lane = new_lane()
    for number in range(3000):
        lane.append(f"http://a/{number}", 1)
    seen = []
    while not lane.exhausted:
        entry = lane.peek()
        assert entry is not None
        assert entry.position == lane.take()
        seen.append(entry.url)
    assert seen == [f"http://a/{number}" for number in range(3000)]


def test_what_is_left_are_entries_that_have_not_been_finished_in_whatever_order_others_were() -> None:
    lane, left = new_lane(), []
    for number in range(5):
        lane.append(f"http://a/{number}", 1)
    taken = [lane.take() for _ in range(5)]
    for index in (taken[3], taken[1], taken[0], taken[4], taken[2]):
        left.append(lane.left)
        lane.finish(index)
    assert [*left, lane.left] == [5, 4, 3, 2, 1, 0]


def test_full_chunks_leave_memory_and_come_back() -> None:
    lane, durable = new_lane(), Durable()
    in_chunks = DEPTH_BUFFER // CHUNK_ENTRIES
    for number in range((in_chunks + 10) * CHUNK_ENTRIES + 5):
        lane.append(f"http://a/{number}", 1)
    durable.checkpoint(lane)
    assert lane.in_memory <= DEPTH_BUFFER + CHUNK_ENTRIES
    fills = 0
    while not lane.exhausted:
        if lane.missing is not None:
            durable.fill(lane)  # two at a time
            fills += 1
        lane.finish(lane.take())
    assert fills == 5
    assert not lane.unfinished


def test_a_list_that_grows_as_it_is_read_stays_in_memory() -> None:
    lane, durable = new_lane(), Durable()
    for number in range(20 * CHUNK_ENTRIES):
        lane.append(f"http://a/{number}", 1)
        if number % 2 and number > CHUNK_ENTRIES:
            durable.checkpoint(lane)
        if number >= 600:
            entry = lane.peek()
            assert entry is not None
            assert entry.url == f"http://a/{number - 600}"
            lane.finish(lane.take())
        assert lane.missing is None
        assert lane.in_memory <= DEPTH_BUFFER + 2 * CHUNK_ENTRIES


@pytest.mark.parametrize("most", [CHUNK_ENTRIES, 5 * CHUNK_ENTRIES, 5000])
def test_as_many_entries_as_the_user_says_are_kept_in_memory_to_be_read(most: int) -> None:
    lane, durable = Lane(LaneState(1, 0, 1, 0, 0), depth_buffer=most), Durable()
    for number in range(most + 10 * CHUNK_ENTRIES):
        lane.append(f"http://a/{number}", 1)
        durable.checkpoint(lane)
    assert most <= lane.in_memory <= most + 2 * CHUNK_ENTRIES
    read = 0
    while lane.missing is None:
        assert lane.peek() == Entry(f"http://a/{read}", 1, read)
        lane.finish(lane.take())
        read += 1
    assert read == most // CHUNK_ENTRIES * CHUNK_ENTRIES


def memory_of(make: Callable[[], object]) -> int:
    """Return the bytes that what is made takes."""
    tracemalloc.start()
    try:
        made = make()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert made is not None
    return taken


def test_a_list_takes_little_more_memory_than_its_urls() -> None:
    def listed() -> Lane:
        lane = new_lane()
        for page in range(20):
            lane.extend([f"http://shop.example/items/{page}-{number}.html" for number in range(10)], 1)
            lane.peek()
        lane.take_delta()
        return lane

    memory_of(listed)  # what is made once
    assert memory_of(listed) < 10_000  # 200 URLs of 38 characters; as objects they took 42,000


def test_small_tail_chunks_are_written_again_as_one() -> None:
    lane, durable = new_lane(), Durable()
    for number in range(20):
        lane.append(f"http://a/{number}", 1)
        durable.checkpoint(lane)
    assert len(durable.chunks) == 1
    assert durable.chunks[0].count == 20


def test_nothing_to_write_is_no_delta() -> None:
    lane = new_lane()
    assert lane.take_delta() is None
    lane.append("http://a/", 0)
    assert lane.take_delta() is not None
    assert lane.take_delta() is None
    lane.take()
    assert lane.take_delta() is None, "in flight is not a change: it is fetched again after a crash"


def test_a_taken_over_lane_hands_out_again_what_was_in_flight() -> None:
    lane = new_lane()
    for number in range(4):
        lane.append(f"http://a/{number}", 1)
    first, second, _ = lane.take(), lane.take(), lane.take()
    lane.finish(second)
    lane.hand_to(2)
    handed = []
    while not lane.exhausted:
        handed.append(lane.take())
    assert handed == [first, 2, 3]


@settings(max_examples=60)
@given(st.data())
def test_crashes_lose_nothing_and_repeat_only_what_was_not_checkpointed(data: st.DataObject) -> None:
    lane, durable = new_lane(), Durable()
    listed, durable_finished = 0, set()
    in_flight: list[int] = []
    finished: set[int] = set()
    for _ in range(data.draw(st.integers(1, 60))):
        action = data.draw(st.sampled_from(["list", "list many", "take", "finish", "checkpoint", "crash"]))
        if action.startswith("list"):
            for _ in range(1 if action == "list" else 700):
                lane.append(f"http://a/{listed}", 1)
                listed += 1
        elif action == "take" and not lane.exhausted:
            durable.fill(lane)
            entry = lane.peek()
            assert entry is not None
            index = lane.take()
            assert entry.url == f"http://a/{index}"
            assert index not in finished
            assert index not in in_flight
            in_flight.append(index)
        elif action == "finish" and in_flight:
            index = in_flight.pop(data.draw(st.integers(0, len(in_flight) - 1)))
            lane.finish(index)
            finished.add(index)
        elif action == "checkpoint":
            durable.checkpoint(lane)
            durable_finished = set(finished)
        elif action == "crash":
            lane = durable.reopen()
            listed, finished, in_flight = durable.state.length, set(durable_finished), []
    rest = set()
    lane.give_back()
    while not lane.exhausted:
        durable.fill(lane)
        rest.add(lane.take())
    assert rest == set(range(listed)) - finished


def listing_seconds(urls: list[str]) -> float:
    lane, begin = new_lane(), thread_time()
    lane.extend(urls, 1)
    assert lane.length == len(urls)
    return thread_time() - begin


def test_a_long_list_costs_in_proportion_to_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "CHUNK_ENTRIES", 16)  # many chunks of few URLs: a copy of the rest for each costs much
    urls = [f"http://a/{number}" for number in range(160_000)]
    # The machine may be busy with other things in one measurement, not in each; a copy for each chunk costs 64 times.
    assert any(listing_seconds(urls) < 24 * listing_seconds(urls[::8]) for _ in range(10))
