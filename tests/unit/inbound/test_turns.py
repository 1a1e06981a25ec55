"""Nobody's request keeps others waiting: of each connection so much is read, and then that of others."""

from __future__ import annotations

from collections.abc import Iterator

import h11

from scrawler.features.inbound.connections import _EVENTS, _Events

CHUNKS = 1_000


def test_a_body_in_many_chunks_is_read_in_turns() -> None:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS * b"1\r\nx\r\n"
    )
    events = _Events(connection)
    turns: list[int] = []
    while not turns or turns[-1]:
        events.left = _EVENTS
        told = iter(events.next_event, h11.PAUSED)
        turns.append(sum(isinstance(one, (h11.Request, h11.Data)) for one in _until_more_is_needed(told)))
    assert sum(turns) == CHUNKS + 1
    assert max(turns) == _EVENTS


def _until_more_is_needed(told: Iterator[object]) -> Iterator[object]:
    for one in told:
        if one is h11.NEED_DATA:
            return
        yield one
