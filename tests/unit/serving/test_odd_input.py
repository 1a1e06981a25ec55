"""Files and queries that are not as usual."""

from __future__ import annotations

import os
from pathlib import Path

from scrawler.features.serving.app import _term
from scrawler.features.serving.folder import stamp_of


def test_a_file_from_after_the_year_2262_has_a_date_that_can_be_kept(tmp_path: Path) -> None:
    file = tmp_path / "late"
    file.touch()
    os.utime(file, (2**34, 2**34))
    assert stamp_of(file.stat()) == 2**63 - 1
    os.utime(file, ns=(1, 10**18))
    assert stamp_of(file.stat()) == 10**18


def test_a_query_of_too_many_fields_asks_for_nothing() -> None:
    assert _term("q=apples&page=2") == "apples"
    assert _term("") == ""
    assert _term("&".join("a" * 30)) == ""
    assert _term("q=" + "x" * 5_000) == ""
