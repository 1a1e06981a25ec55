"""Agents that freeze, die, come back and are cut off, for half a minute; `make torture` does so for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.agents import AgentsOrdeal


@pytest.mark.heavy
@pytest.mark.parametrize("number", [1, 2])
def test_no_page_is_lost_whatever_befalls_agents(tmp_path: Path, number: int) -> None:
    AgentsOrdeal(number, faults=3).run(tmp_path)
