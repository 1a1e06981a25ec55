"""What one checkpoint writes, in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection

from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.row_kinds import RowKind, rows_of_kind
from scrawler.model.row_kinds import Rows as FeatureRows


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

    def rows_of_kind(self, kind: RowKind) -> list[Any]:
        """Return the rows of a feature, of one kind, that the seeds have, and the sites."""
        return [row for rows in self.of_features() for row in rows_of_kind(rows, kind)]

    def of_features(self) -> list[FeatureRows]:
        """Return the rows of features that seeds have, and sites."""
        found = [one.rows for one in self.seeds if one.rows]
        return [*found, *(one.rows for one in self.sites if one.rows)]


def batch_of(connection: Connection, sites: Sequence[SiteDelta], targets: Mapping[str, int]) -> Batch:
    """Return the batch of all deltas of these sites."""
    seeds = sorted((one for delta in sites for one in delta.seeds), key=attrgetter("seed_id"))
    return Batch(connection, sites, seeds, targets, Counter())
