"""How connections are secured is remembered of so many servers, the newest ones."""

from __future__ import annotations

from scrawler.fetch.transfer import _SERVERS, TlsSessions

SUITE = "TLSv1.3", "TLS_AES_256_GCM_SHA384"


def _server(number: int) -> tuple[str, str]:
    return f"https://h{number}.example/", "192.0.2.1"


def test_the_oldest_server_alone_makes_room_for_a_new_one() -> None:
    sessions = TlsSessions()
    for number in range(_SERVERS):
        sessions.note(_server(number), *SUITE)
    sessions.note(_server(0), "TLSv1.2", "")
    sessions.note(_server(_SERVERS), *SUITE)
    known = [number for number in range(_SERVERS + 1) if sessions.knows(_server(number))]
    assert known == [0, *range(2, _SERVERS + 1)]
    assert (sessions.of(_server(0)), sessions.of(_server(1))) == (("TLSv1.2", ""), ("", ""))
