"""Where an agent listens, so that others reach it at the address in its line."""

from __future__ import annotations

import pytest

from scrawler.features.cluster.agents.run import listening_at


@pytest.mark.parametrize(
    ("address", "listen"),
    [
        ("tcp://127.0.0.1:7400", "127.0.0.1:7400"),
        ("tcp://localhost:7400", "localhost:7400"),
        ("tcp://192.0.2.1:7400", "*:7400"),  # of a router before this host
        ("tcp://[2001:db8::1]:7400", "*:7400"),
        ("tcp://one.example:7400", "*:7400"),
        ("tcp://127.example:7400", "*:7400"),
    ],
)
def test_an_agent_listens_at_its_address_if_that_is_of_this_host(address: str, listen: str) -> None:
    assert listening_at(address) == listen
