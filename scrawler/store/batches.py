"""What one checkpoint writes, in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection

from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.tuples.classes import dataclass


@dataclass(slots=True)
class Batch:
    """The deltas that are valid, and the transaction in which they are written.

    Fields:
        sites: each site once; the site is locked.
        seeds: the seeds of all sites, in the order of their ids.
        targets: ids of the sites to which seeds move, by key.
        done: what is added to the row of the machine, by column.
    """

    connection: Connection
    sites: Sequence[SiteDelta]
    seeds: Sequence[SeedDelta]
    targets: Mapping[str, int]
    done: Counter[str]

    def rows(self, field: str) -> Iterator[Any]:
        """Yield the rows that the seeds have in a field of theirs."""
        rows_of = attrgetter(field)
        return (row for one in self.seeds for row in rows_of(one))


def batch_of(connection: Connection, sites: Sequence[SiteDelta], targets: Mapping[str, int]) -> Batch:
    """Return the batch of all deltas of these sites."""
    seeds = sorted((one for delta in sites for one in delta.seeds), key=attrgetter("seed_id"))
    return Batch(connection, sites, seeds, targets, Counter())
