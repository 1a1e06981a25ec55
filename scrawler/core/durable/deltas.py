"""Deltas that wait for one transaction, brought together: a site, a seed, a lane stands in it once.

What a delta holds is absolute (counts, cursors, states), so of two the later one counts; a statement that writes many
rows at a time would not know which that is. Pages are rows of their own; of rows of features their kinds say it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.row_kinds import joined

Join = Callable[[list[Any]], Any]  # what several deltas have in a field, in order of time -> what one has


def merged(deltas: Iterable[SiteDelta]) -> list[SiteDelta]:
    """Return one delta for each site and token, as if each had been taken only now; `deltas` are in order of time."""
    groups: dict[tuple[int, int], list[SiteDelta]] = {}
    for delta in deltas:
        groups.setdefault((delta.site_id, delta.token), []).append(delta)
    return [group[0] if len(group) == 1 else _of_site(group) for group in groups.values()]


def _of_site(group: list[SiteDelta]) -> SiteDelta:
    parts = [seed for delta in group for seed in delta.seeds]
    # A lane can go from one seed to another between two deltas.
    lanes = {(lane.seed_id, lane.kind): lane for part in parts for lane in part.lanes}
    chunks = {(chunk.seed_id, chunk.kind, chunk.seq): chunk for part in parts for chunk in part.chunks}
    seeds: dict[int, list[SeedDelta]] = {}
    for part in parts:
        seeds.setdefault(part.seed_id, []).append(part)
    return replace(
        group[-1],
        seeds=tuple(_of_seed(of_one, lanes, chunks) for of_one in seeds.values()),
        released=any(delta.released for delta in group),
        resting=any(delta.resting for delta in group),
        **_brought_together(_ROWS_OF_SITE, (), group),
    )


def _of_seed(
    parts: list[SeedDelta], lanes: dict[tuple[int, int], LaneState], chunks: dict[tuple[int, int, int], ChunkRow]
) -> SeedDelta:
    """Bring a seed's deltas together; its lanes and chunks are taken out of those of the site."""
    kinds = dict.fromkeys((lane.seed_id, lane.kind) for part in parts for lane in part.lanes)
    numbers = dict.fromkeys((chunk.seed_id, chunk.kind, chunk.seq) for part in parts for chunk in part.chunks)
    return replace(
        parts[-1],
        lanes=tuple(lanes.pop(key) for key in kinds if key in lanes),
        chunks=tuple(chunks.pop(key) for key in numbers if key in chunks),
        **_brought_together(_ROWS_OF_SEED, ("jar",), parts),
    )


def _brought_together(rows: Mapping[str, Join], latest: Sequence[str], parts: Sequence[Any]) -> dict[str, Any]:
    """Return what all parts have in these fields: rows are joined, and of the others the last one counts."""
    together: dict[str, Any] = {}
    for name, join in rows.items():
        if said := [value for part in parts if (value := getattr(part, name))]:
            together[name] = join(said)
    for name in latest:
        if given := [value for part in parts if (value := getattr(part, name)) is not None]:
            together[name] = given[-1]
    return together


def _all(parts: list[Any]) -> Any:
    return tuple(chain.from_iterable(parts))


def _later(key_of: Callable[[Any], Any]) -> Join:
    """Return what keeps the later one of rows with the same key."""

    def join(parts: list[Any]) -> Any:
        return tuple({key_of(row): row for row in chain.from_iterable(parts)}.values())

    return join


# How rows in the fields of several deltas become those of one; of fields that stand nowhere here the last delta counts.
_BY_URL = _later(attrgetter("url_hash"))
_ROWS_OF_SITE: Mapping[str, Join] = {
    "robots_records": _all,
    "taken": _all,
    "robots": _later(attrgetter("origin_hash")),
    "rows": joined,
}
_ROWS_OF_SEED: Mapping[str, Join] = {
    "pages": _all,
    "externals": _all,
    "relations": _later(itemgetter(0, 1)),
    "patterns": _later(attrgetter("pattern_hash")),
    "rejections": _BY_URL,
    "sitemap_urls": _BY_URL,
    "rows": joined,
    "marked": _all,
    "replaced": _all,
    "kept": _all,
    "orphans": _all,
}
