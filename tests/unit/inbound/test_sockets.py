"""Who connects, and says nothing."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing

import pytest

from scrawler.errors import SettingsError
from scrawler.features.inbound.connections import OpenConnections
from scrawler.features.inbound.rate import client_key
from scrawler.features.inbound.sockets import bound
from tests.limits import HANGS


def test_connections_count_from_their_first_moment_to_their_end() -> None:
    opened = OpenConnections(2, 3, ("127.0.0.9",))
    with ExitStack() as held:
        (listening,) = bound("127.0.0.1", 0, opened)
        held.enter_context(closing(listening))
        listening.listen()
        listening.settimeout(HANGS)

        def connect(source: str) -> socket.socket | None:
            """Connect from an address; return what was accepted."""
            held.enter_context(socket.create_connection(listening.getsockname(), HANGS, (source, 0)))
            try:
                return listening.accept()[0]
            except ConnectionAbortedError:
                return None

        first, second = connect("127.0.0.1"), connect("127.0.0.1")
        assert first is not None
        assert second is not None
        assert connect("127.0.0.1") is None, "it has as many as it may"
        third = connect("127.0.0.2")
        assert third is not None, "another one goes on"
        assert connect("127.0.0.3") is None, "all together are as many as there may be"
        first.close()
        first.close()  # once more counts nothing
        proxied = connect("127.0.0.9")
        assert proxied is not None
        for one in (third, proxied):
            one.close()
        trusted = [connect("127.0.0.9"), connect("127.0.0.9")]
        assert all(trusted), "a proxy may have more than others"
        for one in (second, *trusted):
            assert one is not None
            one.close()
        assert opened.take("127.0.0.1"), "nothing is left"


@pytest.mark.parametrize("host", ["a" * 80, "a..b", "no such host", "192.0.2.1"])
def test_where_nobody_can_listen_is_one_line(host: str) -> None:
    with pytest.raises(SettingsError, match=f"cannot listen at {host}, port 0: "):
        bound(host, 0, OpenConnections(1))


def test_a_port_that_is_taken() -> None:
    (one,) = bound("127.0.0.1", 0, OpenConnections(1))
    with closing(one):
        one.listen()
        with pytest.raises(SettingsError, match="Address already in use"):
            bound("127.0.0.1", one.getsockname()[1], OpenConnections(1))


def test_clients_of_ipv4_differ_at_a_socket_for_both() -> None:
    assert client_key("::ffff:192.0.2.1") == "192.0.2.1" != client_key("::ffff:192.0.2.2")
