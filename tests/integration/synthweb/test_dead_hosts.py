"""Hosts of the synthetic web that never answer."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack, suppress

import pytest

from scrawler.features.synthweb import unanswered
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.web import FIRST_ADDRESS, SyntheticWeb, site_address
from tests.integration.synthweb.test_server import free_ports
from tests.limits import HANGS

_LISTENS = 0.2  # seconds in which nothing must be heard; an answer that is late does not fail the test


def _ask(address: str, port: int, seconds: float) -> bytes | None:
    """Ask for a home page; returns the first bytes, none if nothing is answered, None if there is no connection."""
    with socket.socket() as asking:
        asking.settimeout(seconds)
        try:
            asking.connect((address, port))
        except TimeoutError:
            return None
        asking.sendall(f"GET / HTTP/1.1\r\nHost: {address}:{port}\r\n\r\n".encode())
        with suppress(TimeoutError):
            return asking.recv(12)
        return b""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel drops segments on Linux")
@pytest.mark.parametrize("hosts", [Hosts.ADDRESSES, Hosts.NAMES, Hosts.PORTS])
def test_there_is_no_connection_to_a_dead_host_and_the_others_answer(hosts: Hosts) -> None:
    spec = WebSpec(sites=12, mean_pages=3, dead_share=0.25, alias_every=0, hosts=hosts)
    with SynthServer(spec, free_ports(12) if hosts is Hosts.PORTS else 0, workers=2) as server:
        dead = [index for index in range(12) if server.web.site(index).dead]
        assert 2 <= len(dead) <= 4
        for index in range(12):
            by_port = hosts is Hosts.PORTS
            place = ("127.0.0.1", server.port + index) if by_port else (site_address(index), server.port)
            if index in dead:
                assert _ask(*place, _LISTENS) is None
            else:
                assert (_ask(*place, 60.0) or b"").startswith(b"HTTP/1.1 ")
    assert len(server.log()) == 12 - len(dead)


def test_where_the_kernel_has_no_filter_nothing_is_said_on_the_connection() -> None:
    """Asked by another address, a dead host is named in the request only: no filter can know."""
    with SynthServer(WebSpec(sites=12, mean_pages=3, dead_share=0.25, alias_every=0)) as server, ExitStack() as stack:
        dead = next(index for index in range(12) if server.web.site(index).dead)
        alive = next(index for index in range(12) if not server.web.site(index).dead)
        asking = stack.enter_context(socket.create_connection((site_address(alive), server.port), timeout=HANGS))
        host = server.web.site(dead).authority
        asking.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        asking.settimeout(_LISTENS)
        with pytest.raises(TimeoutError):
            asking.recv(1)
        asking.shutdown(socket.SHUT_WR)
        asking.settimeout(HANGS)
        assert asking.recv(1) == b""  # it closes when the client has said its last
    assert not server.log()


def test_the_filter_says_what_the_web_says_of_every_address() -> None:
    """Its program, reckoned here as the kernel does it: in 32 bits, with jumps that count from the next step."""
    web = SyntheticWeb(WebSpec(sites=3_000, dead_share=0.15, seed=4), 8400)
    program = unanswered._by_address(web)
    for address in range(FIRST_ADDRESS - 2, FIRST_ADDRESS + 3_002):
        step, value = 0, 0
        while True:
            operation, taken, passed, constant = program[step]
            step += 1
            if operation == 0x20:
                value = address
            elif operation == 0x14:
                value = value - constant & 0xFFFFFFFF
            elif operation == 0x24:
                value = value * constant & 0xFFFFFFFF
            elif operation == 0x04:
                value = value + constant & 0xFFFFFFFF
            elif operation == 0x35:
                step += taken if value >= constant else passed
            else:
                break
        index = address - FIRST_ADDRESS
        assert (constant == 0) == (0 <= index < 3_000 and web.site(index).dead)
