"""Strangers at the HTTP ports that a crawl opens; `make torture` sends more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.ports import PortsOrdeal


@pytest.mark.heavy
def test_no_port_is_closed_by_strangers_and_no_page_is_lost(tmp_path: Path) -> None:
    PortsOrdeal(1, attacks=30).run(tmp_path)
