"""The temporary files of commands."""

from __future__ import annotations

import pytest

from scrawler.errors import ScrawlerError
from scrawler.insight.scratch import scratch, telling_of_the_file


def test_a_file_that_finds_no_room_is_told_in_a_line() -> None:
    known = scratch("CREATE TABLE text (text TEXT)")
    known.execute("PRAGMA max_page_count = 10")

    @telling_of_the_file()
    def note() -> None:
        for _ in range(100):
            known.execute("INSERT INTO text VALUES (?)", ("x" * 10_000,))

    with pytest.raises(ScrawlerError, match=r"temporary file .* full.*TMPDIR"):
        note()
    known.close()
