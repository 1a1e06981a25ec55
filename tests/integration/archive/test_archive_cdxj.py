"""CDXJ files: sorted whatever their size, whole or not there."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrawler.archive.cdxj import cdxj_line, write_cdxj
from scrawler.errors import ArchiveError
from scrawler.model.records import CdxRow


def make_rows(count: int) -> list[CdxRow]:
    rng = random.Random(7)
    return [
        CdxRow(
            f"http://{rng.choice('abc')}.example/{rng.randrange(count)}?é={n % 3}",
            1_700_000_000_000 + rng.randrange(10**9),
            "text/html",
            200,
            rng.randbytes(20),
            n,
            n * 7,
            "m1.warc.gz",
            n % 5 == 0,
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("in_memory", [100_000, 1_000, 999, 250])
def test_lines_are_in_byte_order_whatever_the_memory(tmp_path: Path, in_memory: int) -> None:
    rows = make_rows(1_000)
    path = tmp_path / "m1.cdxj"
    assert write_cdxj(path, iter(rows), in_memory) == 1_000
    assert path.read_bytes().splitlines(keepends=True) == sorted(map(cdxj_line, rows))
    assert list(tmp_path.iterdir()) == [path]
    for line in path.read_text().splitlines():
        key, timestamp, fields = line.split(" ", 2)
        assert key.startswith("example,")
        assert len(timestamp) == 14
        assert json.loads(fields)["filename"] == "m1.warc.gz"


def test_no_rows_make_an_empty_index(tmp_path: Path) -> None:
    assert write_cdxj(tmp_path / "m1.cdxj", []) == 0
    assert (tmp_path / "m1.cdxj").read_bytes() == b""


def test_rows_that_fail_leave_the_old_index(tmp_path: Path) -> None:
    path = tmp_path / "m1.cdxj"
    path.write_bytes(b"old")

    def failing() -> Iterator[CdxRow]:
        yield from make_rows(30)
        raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        write_cdxj(path, failing(), 10)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_refuses_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ArchiveError, match=r"^cannot write .*m1\.cdxj: Not a directory$"):
        write_cdxj(tmp_path / "taken" / "m1.cdxj", make_rows(3))
