"""The lists of parties: from the machine to the store, and back to whoever takes a site up."""

from __future__ import annotations

from typing import NamedTuple

SITEMAP_LANE = -3  # kind of the lane of a party's sitemaps
REFETCH_LANE = 1_000_000  # kinds from here on: URLs whose records were lost, asked for again for the archive alone


class LaneState(NamedTuple):
    """A lane as the database keeps it: a list that only grows, and a cursor that only moves forward.

    `seed_id` is the seed that listed the entries, `holder_id` the seed that fetches them now.
    `kind` tells how its entries came there (see core/party/depth.py): 0 is the normal lane. `cursor` is the lowest
    position not finished; `ahead` lists finished positions beyond it.
    """

    seed_id: int
    kind: int
    holder_id: int
    cursor: int
    length: int
    ahead: tuple[int, ...] = ()


class ChunkRow(NamedTuple):
    """Entries `first` .. `first + count - 1` of a lane, compressed (the Depth URL File)."""

    seed_id: int
    kind: int
    seq: int
    first: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody wants here
    data: bytes
