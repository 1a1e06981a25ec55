from __future__ import annotations

import random

import pytest
from sqlalchemy import Column, LargeBinary, MetaData, Table, create_engine, insert, select
from sqlalchemy.pool import StaticPool

from scrawler.store.engines.hash_ranges import HashRanges

WANTED = 50
CHANCE = random.Random(1)
EVEN = [CHANCE.randbytes(16) for _ in range(5_000)]
CLOSE = [b"\x7f" * 15 + bytes([last]) for last in range(256)]
ENDS = [bytes(16), b"\xff" * 16]


def _read(hashes: list[bytes]) -> list[list[bytes]]:
    """Return what a database finds, range by range."""
    table = Table("some", MetaData(), Column("hash", LargeBinary, primary_key=True))
    engine = create_engine("sqlite://", poolclass=StaticPool)
    table.metadata.create_all(engine)
    found: list[list[bytes]] = []
    with engine.begin() as connection:
        for one in hashes:
            connection.execute(insert(table).values(hash=one))
        ranges = HashRanges(WANTED)
        while not ranges.over:
            query = select(table.c.hash).where(*ranges.hold(table.c.hash)).order_by(table.c.hash)
            rows = list(connection.scalars(query))
            if ranges.fits(len(rows)):
                found.append(rows)
                ranges.go_on(len(rows))
    engine.dispose()
    return found


@pytest.mark.parametrize("hashes", [[], EVEN[:1], EVEN[:3], EVEN, CLOSE, ENDS, [*EVEN, *CLOSE, *ENDS]])
def test_each_hash_is_in_one_range_and_ranges_are_in_order(hashes: list[bytes]) -> None:
    ranges = _read(hashes)
    assert [one for some in ranges for one in some] == sorted(hashes)
    assert all(len(some) <= 4 * WANTED for some in ranges)


def test_few_ranges_are_asked_for_whether_there_are_many_hashes_or_none() -> None:
    assert len(_read([])) <= 5
    assert len(_read(EVEN)) <= 2 * len(EVEN) / WANTED
