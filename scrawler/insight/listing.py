"""Where a URL stands in the lists of its site's parties (the Depth URL File), and what is before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scrawler.core.party.depth import Entry, EntryRole, find
from scrawler.insight.answer import LEFT_OUT, PASSED_BY, WAITING, Fact, utc
from scrawler.insight.results import listed_at
from scrawler.model.lanes import LEFTOVER, ChunkRow, LaneKind, LaneState, lane_key
from scrawler.model.seeds import EndReason
from scrawler.store.seeds import Seeds, SeedView
from scrawler.store.traces import Traces
from scrawler.units import counted

_LIMITS = (EndReason.MAX_PAGES, EndReason.MAX_BYTES, EndReason.MAX_TIME)


@dataclass(frozen=True, slots=True)
class _Place:
    """An entry of a lane."""

    lane: LaneState
    index: int
    entry: Entry

    @property
    def finished(self) -> bool:
        """Whether the entry has its final result, or was passed by."""
        return self.index < self.lane.cursor or self.index in self.lane.ahead

    @property
    def before(self) -> int:
        """Entries of the lane that are to be fetched first."""
        return self.index - self.lane.cursor - sum(one < self.index for one in self.lane.ahead)


def listed(traces: Traces, seeds: Seeds, site_id: int, forms: Sequence[str]) -> tuple[list[Fact], str]:
    """Return where a URL that has no final result is listed, and what that comes to; it reads all lists of its site."""
    places = [place for row in traces.chunks(site_id) for url in forms if (place := _place(traces, row, url))]
    if not places:
        return [], ""
    views = seeds.by_ids(one for place in places for one in (place.lane.seed_id, place.lane.holder_id))
    open_ones = [place for place in places if not place.finished]
    if not open_ones:
        return [_passed_fact(places[0], views)], PASSED_BY
    facts = [_open_fact(place, views) for place in open_ones]
    in_work = any(views[place.lane.holder_id].seed.end_reason is None for place in open_ones)
    return facts, WAITING if in_work else LEFT_OUT


def _place(traces: Traces, row: ChunkRow, url: str) -> _Place | None:
    found = find(row.data, url)
    lane = traces.lane(row.seed_id, row.kind) if found else None
    return _Place(lane, row.first + found[0], found[1]) if found and lane else None


def _open_fact(place: _Place, views: dict[int, SeedView]) -> Fact:
    lister, holder = views[place.lane.seed_id], views[place.lane.holder_id]
    line = listed_at(place.entry.stored_position, lister.seed.url, place.entry.depth)
    reason = holder.seed.end_reason
    before = counted(place.before, "URL")
    if reason is None:
        turn = f"not fetched yet: {before} before it in its lane" + _tried(place)
    elif reason in _LIMITS:
        turn = f"not fetched: seed {holder.seed.url} ended by {reason}, with {before} before it"
    else:
        turn = f"not fetched: seed {holder.seed.url} ended as {reason}"
    values = _values(place, views) | {"before": place.before, "end_reason": reason and reason.value}
    return Fact("listed", (line, turn), values)


def _tried(place: _Place) -> str:
    lane = lane_key(place.lane.kind)
    if lane is LEFTOVER:
        return ", once a seed in whose scope it is takes it over"
    words = ["the slow one"] if lane.kind is LaneKind.SLOW else []
    words += ["asked for again because its record in the archive was lost"] if lane.kind is LaneKind.REFETCH else []
    words += [f"tried {counted(lane.retries, 'time')}"] if lane.retries else []
    words += [f"pushed back {counted(lane.pushbacks, 'time')}"] if lane.pushbacks else []
    words += [f"not before {utc(place.entry.not_before)}"] if place.entry.not_before else []
    return "".join(f", {one}" for one in words)


def _passed_fact(place: _Place, views: dict[int, SeedView]) -> Fact:
    line = listed_at(place.entry.stored_position, views[place.lane.seed_id].seed.url, place.entry.depth)
    return Fact("listed", (line, "passed by: it is the URL of a seed of its own"), _values(place, views))


def _values(place: _Place, views: dict[int, SeedView]) -> dict[str, object]:
    return {
        "listed_by": views[place.lane.seed_id].seed.url,
        "seed": views[place.lane.holder_id].seed.url,
        "lane": place.lane.kind,
        "position": place.entry.stored_position,
        "depth": place.entry.depth,
        "asset": place.entry.role is EntryRole.ASSET,
        "sitemap": place.entry.role is EntryRole.SITEMAP,
        "not_before": place.entry.not_before or None,
    }
