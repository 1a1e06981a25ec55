"""How many files a machine needs for those who send to it."""

from __future__ import annotations

from typing import Any

import pytest

from scrawler.features.cluster.exchange.carrying import files_of_port, most_members
from scrawler.features.cluster.exchange.communicator import MOST_MEMBERS, MOST_STRANGERS
from scrawler.fetch.descriptors import file_limit
from scrawler.settings import Settings


@pytest.mark.parametrize(
    ("given", "has_port"),
    [
        ({}, False),
        ({"mode": "exchange"}, False),
        ({"mode": "exchange", "communicator": "db"}, False),
        ({"mode": "exchange", "communicator": "redis://h/0"}, False),
        ({"mode": "firewall", "communicator": "tcp://7400"}, False),
        ({"mode": "exchange", "communicator": "tcp://7400"}, True),
        ({"agents": "agents.txt"}, True),
    ],
)
def test_strangers_and_members_are_reckoned_with_where_there_is_a_port(given: dict[str, Any], has_port: bool) -> None:
    settings = Settings.model_validate(given)
    assert (files_of_port(settings) > MOST_STRANGERS) is has_port
    assert (files_of_port(settings, 100) > MOST_STRANGERS + 200) is has_port


def test_members_have_a_part_of_the_files_of_a_process_and_no_more() -> None:
    limit = file_limit()
    assert 16 <= most_members() <= MOST_MEMBERS
    assert limit is None or most_members() <= max(16, limit // 16)
