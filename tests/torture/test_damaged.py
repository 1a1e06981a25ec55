"""An earlier archive is damaged while a later crawl refers to it; `make torture` does so for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.damaged import DamagedOrdeal


@pytest.mark.heavy
@pytest.mark.parametrize("again", [False, True], ids=["another crawl", "next round"])
def test_what_comes_can_be_read_whatever_befalls_the_earlier_archive(tmp_path: Path, again: bool) -> None:
    DamagedOrdeal(2, strikes=6, again=again).run(tmp_path)
