"""Deltas that wait for one transaction, brought together: a site, a seed, a lane stands in it once.

What a delta holds is absolute (counts, cursors, states), so of two the later one counts; a statement that writes many
rows at a time would not know which that is. Pages and changes are rows of their own; demands are added up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.row_kinds import joined
from scrawler.model.rows import PublishedRow


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
        robots_records=tuple(chain.from_iterable(delta.robots_records for delta in group)),
        taken=tuple(chain.from_iterable(delta.taken for delta in group)),
        robots=tuple({row.origin_hash: row for delta in group for row in delta.robots}.values()),
        rates=next((delta.rates for delta in reversed(group) if delta.rates is not None), None),
        demand=_added_up(delta.demand for delta in group),
    )


def _added_up(demands: Iterable[tuple[tuple[int, int], ...]]) -> tuple[tuple[int, int], ...]:
    cells: dict[int, int] = {}
    for cell, number in chain.from_iterable(demands):
        cells[cell] = cells.get(cell, 0) + number
    return tuple(sorted(cells.items()))


def _of_seed(
    parts: list[SeedDelta], lanes: dict[tuple[int, int], LaneState], chunks: dict[tuple[int, int, int], ChunkRow]
) -> SeedDelta:
    """Bring a seed's deltas together; its lanes and chunks are taken out of those of the site."""
    kinds = dict.fromkeys((lane.seed_id, lane.kind) for part in parts for lane in part.lanes)
    numbers = dict.fromkeys((chunk.seed_id, chunk.kind, chunk.seq) for part in parts for chunk in part.chunks)
    return replace(
        parts[-1],
        pages=tuple(chain.from_iterable(part.pages for part in parts)),
        externals=tuple(chain.from_iterable(part.externals for part in parts)),
        relations=tuple({row[:2]: row for part in parts for row in part.relations}.values()),
        patterns=tuple({row.pattern_hash: row for part in parts for row in part.patterns}.values()),
        rejections=tuple({row.url_hash: row for part in parts for row in part.rejections}.values()),
        sitemap_urls=tuple({row.url_hash: row for part in parts for row in part.sitemap_urls}.values()),
        jar=next((part.jar for part in reversed(parts) if part.jar is not None), None),
        lanes=tuple(lanes.pop(key) for key in kinds if key in lanes),
        chunks=tuple(chunks.pop(key) for key in numbers if key in chunks),
        **_of_what_few_have(parts),
    )


def _of_what_few_have(parts: list[SeedDelta]) -> dict[str, Any]:
    """Bring together what few seeds have: those that are retried or visited again, and those of features."""
    together: dict[str, Any] = {}
    if any(part.states or part.changes for part in parts):
        together["states"] = tuple({row.url_hash: row for part in parts for row in part.states}.values())
        together["changes"] = tuple(chain.from_iterable(part.changes for part in parts))
    if any(part.published or part.publisher is not None for part in parts):
        together["published"] = _newest(parts)
        publishers = (part.publisher for part in reversed(parts) if part.publisher is not None)
        together["publisher"] = next(publishers, None)
    if any(part.rows for part in parts):
        together["rows"] = joined([part.rows for part in parts])
    if any(part.replaced or part.kept or part.marked for part in parts):
        together["marked"] = tuple(chain.from_iterable(part.marked for part in parts))
        together["replaced"] = tuple(chain.from_iterable(part.replaced for part in parts))
        together["kept"] = tuple(chain.from_iterable(part.kept for part in parts))
        together["orphans"] = tuple(chain.from_iterable(part.orphans for part in parts))
    return together


def _newest(parts: list[SeedDelta]) -> tuple[PublishedRow, ...]:
    """Return of what lists have said of each URL the newest."""
    found: dict[bytes, PublishedRow] = {}
    for row in chain.from_iterable(part.published for part in parts):
        before = found.get(row.url_hash)
        if before is None or before.changed_at <= row.changed_at:
            found[row.url_hash] = row
    return tuple(found.values())
