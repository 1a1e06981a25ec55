"""Somebody who is no agent, but knows the secret, and asks all of them how they are."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from scrawler.features.cluster.agents.members import Member
from scrawler.features.cluster.exchange.communicator import Communicator, Note, NoteBody

_ASK_AGAIN = 1.0  # seconds


def guest_name() -> str:
    """Return a name that no agent has, nor any other guest."""
    return f"guest-{secrets.token_hex(8)}"


def ask_all(
    communicator: Communicator,
    members: Mapping[str, Member],
    patience: float,
    address_for: Callable[[str, str], str] = lambda own, other: own,
) -> dict[str, NoteBody]:
    """Return what each agent says of itself; those that say nothing within `patience` seconds are left out."""
    told: dict[str, NoteBody] = {}
    until = time.monotonic() + patience
    ask_at = 0.0
    while len(told) < len(members) and (now := time.monotonic()) < until:
        if now >= ask_at:
            ask_at = now + _ASK_AGAIN
            for name in members.keys() - told.keys():
                reply = address_for(communicator.address, members[name].address)
                communicator.tell("how", {"reply": reply}, name)
        arrival = communicator.receive(min(ask_at, until) - now)
        if isinstance(arrival, Note) and arrival.topic == "status" and arrival.sender in members:
            told[arrival.sender] = arrival.body
    return told


def reached_from(own: str, other: str) -> str:
    """Return the own address (tcp://host:port) as somebody at the other one reaches it: with the host of that route."""
    there, port = urlsplit(other), urlsplit(own).port
    try:
        family, kind, _, _, place = socket.getaddrinfo(there.hostname, there.port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(place)  # nothing is sent: the system says by which of its addresses it would be
            host = str(probe.getsockname()[0])
    except OSError:
        return own
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
