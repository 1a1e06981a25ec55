"""The lists of a seed that is taken up: short ones are read once, long ones part by part."""

from __future__ import annotations

from scrawler.core.party.depth import DEPTH_BUFFER
from scrawler.core.party.entries import EntryRole, Lines
from scrawler.core.party.own_lists import OwnLists
from scrawler.model.lanes import CHUNK_ENTRIES, NORMAL, PUSHED, ChunkRow


class Store:
    """Chunks of one seed's normal lane, and how often they were asked for."""

    def __init__(self, entries: int) -> None:
        self.asked = 0
        self.rows = []
        for seq, first in enumerate(range(0, entries, CHUNK_ENTRIES)):
            urls = [url(number) for number in range(first, min(first + CHUNK_ENTRIES, entries))]
            lines = Lines(first)
            lines.extend(urls, 1, first, EntryRole.PAGE, b"")
            self.rows.append(ChunkRow(7, NORMAL.number, seq, first, len(urls), lines.packed()))

    def chunks(self, seed_id: int, kind: int, position: int, entries: int) -> list[ChunkRow]:
        self.asked += 1
        rows = [row for row in self.rows if (row.seed_id, row.kind) == (seed_id, kind)]
        found = [row for row in rows if position < row.first + row.count]
        return found[: max(1, entries // CHUNK_ENTRIES)]


def url(number: int) -> str:
    return f"http://a.org/{number}"


def urls(lists: OwnLists, first: int, kind: int = NORMAL.number) -> list[str]:
    return [entry.url for _, entry in lists.entries(first, kind)]


def test_a_short_list_is_read_once() -> None:
    store = Store(3)
    lists = OwnLists(store)
    lists.begin(7)
    assert urls(lists, 0) == [url(0), url(1), url(2)]
    assert urls(lists, 2) == [url(2)]
    assert urls(lists, 3) == []
    assert [at for at, _ in lists.entries(1)] == [1, 2]
    assert store.asked == 1
    assert urls(lists, 0, PUSHED.number) == []


def test_it_is_read_anew_for_the_next_seed() -> None:
    store = Store(3)
    lists = OwnLists(store)
    lists.begin(7)
    assert len(urls(lists, 0)) == 3
    lists.begin(8)
    assert urls(lists, 0) == []
    lists.begin(7)
    assert len(urls(lists, 0)) == 3


def test_a_long_list_is_read_to_its_end() -> None:
    for entries in (CHUNK_ENTRIES, CHUNK_ENTRIES + 1, DEPTH_BUFFER + 5):
        lists = OwnLists(Store(entries))
        lists.begin(7)
        assert urls(lists, 0) == [url(number) for number in range(entries)]
        assert urls(lists, entries - 2) == [url(entries - 2), url(entries - 1)]
