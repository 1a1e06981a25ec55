"""Hosts that never answer: on Linux the kernel drops what comes for them, so that a connection times out.

A small program at the listening socket (a classic BPF filter, see socket(7), SO_ATTACH_FILTER) looks at each segment's
address. So a dead host costs nothing, whatever their number, and needs no rights. Elsewhere the connection is made, and
nothing is ever said on it: the server takes care of that.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress

from scrawler.features.synthweb.site import SPREAD, dead_rule
from scrawler.features.synthweb.spec import Hosts
from scrawler.features.synthweb.web import FIRST_ADDRESS, SyntheticWeb

_ATTACH_FILTER = 26  # SO_ATTACH_FILTER of Linux, which Python's socket does not name
_DESTINATION = 0xFFF00000 + 16  # the address in an IPv4 header: SKF_NET_OFF and its offset there

# Operations of the filter's machine (linux/bpf_common.h) on its one accumulator, with a constant.
_LOAD, _SUBTRACT, _MULTIPLY, _ADD, _UNLESS_LESS, _END = 0x20, 0x14, 0x24, 0x04, 0x35, 0x06
_DROP, _KEEP = 0, 0xFFFFFFFF  # how many bytes of a segment are kept


def leave_unanswered(sockets: Sequence[socket.socket], web: SyntheticWeb) -> None:
    """Let the kernel drop what comes for dead hosts, where it can; the sockets are bound to the places of the web."""
    if not web.spec.dead_share or sys.platform != "linux":
        return
    if web.spec.hosts is not Hosts.PORTS:
        for listening in sockets:
            _attach(listening, _by_address(web))
        return
    for site, listening in enumerate(sockets):
        if web.site(site).dead:
            _attach(listening, [(_END, 0, 0, _DROP)])


def _by_address(web: SyntheticWeb) -> list[tuple[int, int, int, int]]:
    """Return the program that says of an address what `is_dead` says of its site."""
    start, least = dead_rule(web.spec)
    return [
        (_LOAD, 0, 0, _DESTINATION),
        (_SUBTRACT, 0, 0, FIRST_ADDRESS),
        (_UNLESS_LESS, 3, 0, web.spec.sites),  # it is no site's
        (_MULTIPLY, 0, 0, SPREAD),
        (_ADD, 0, 0, start),
        (_UNLESS_LESS, 1, 0, least),
        (_END, 0, 0, _KEEP),
        (_END, 0, 0, _DROP),
    ]


def _attach(listening: socket.socket, program: Sequence[tuple[int, int, int, int]]) -> None:
    """Give a socket a program of (operation, steps to skip if so, if not, constant) each."""
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    with suppress(OSError):  # a kernel without filters: the server stays silent instead
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(text)))
