"""Where a URL stands in the lists of its site's parties (the Depth URL File), and what is before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scrawler.core.party.entries import Entry, EntryRole, find
from scrawler.insight.answer import LEFT_OUT, PASSED_BY, WAITING, Fact, utc
from scrawler.insight.results import listed_at
from scrawler.model.lanes import LEFTOVER, ChunkRow, LaneKind, LaneState, lane_key
from scrawler.model.seeds import EndReason
from scrawler.store.claims.seeds import Seeds, SeedView
from scrawler.store.reading.traces import Traces
from scrawler.units import counted

_LIMITS = (EndReason.MAX_PAGES, EndReason.MAX_BYTES, EndReason.MAX_TIME)


@dataclass(frozen=True, slots=True)
class _Listing:
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
    listings = [listing for row in traces.chunks(site_id) for url in forms if (listing := _listing(traces, row, url))]
    if not listings:
        return [], ""
    views = seeds.by_ids(one for listing in listings for one in (listing.lane.seed_id, listing.lane.holder_id))
    open_ones = [listing for listing in listings if not listing.finished]
    if not open_ones:
        return [_passed_fact(listings[0], views)], PASSED_BY
    facts = [_open_fact(listing, views) for listing in open_ones]
    in_work = any(views[listing.lane.holder_id].seed.end_reason is None for listing in open_ones)
    return facts, WAITING if in_work else LEFT_OUT


def _listing(traces: Traces, row: ChunkRow, url: str) -> _Listing | None:
    found = find(row.data, url)
    lane = traces.lane(row.seed_id, row.kind) if found else None
    return _Listing(lane, row.first + found[0], found[1]) if found and lane else None


def _open_fact(listing: _Listing, views: dict[int, SeedView]) -> Fact:
    lister, holder = views[listing.lane.seed_id], views[listing.lane.holder_id]
    line = listed_at(listing.entry.stored_position, lister.seed.url, listing.entry.depth)
    reason = holder.seed.end_reason
    before = counted(listing.before, "URL")
    if reason is None:
        turn = f"not fetched yet: {before} before it in its lane" + _tried(listing)
    elif reason in _LIMITS:
        turn = f"not fetched: seed {holder.seed.url} ended by {reason}, with {before} before it"
    else:
        turn = f"not fetched: seed {holder.seed.url} ended as {reason}"
    values = _values(listing, views) | {"before": listing.before, "end_reason": reason and reason.value}
    return Fact("listed", (line, turn), values)


def _tried(listing: _Listing) -> str:
    lane = lane_key(listing.lane.kind)
    if lane is LEFTOVER:
        return ", once a seed in whose scope it is takes it over"
    words = ["the slow one"] if lane.kind is LaneKind.SLOW else []
    words += ["asked for again because its record in the archive was lost"] if lane.kind is LaneKind.REFETCH else []
    words += ["asked for again by `run --retry urls`"] if lane.kind is LaneKind.WANTED else []
    words += ["read again for its links, which were too deep"] if lane.kind is LaneKind.REREAD else []
    words += [f"tried {counted(lane.retries, 'time')}"] if lane.retries else []
    words += [f"pushed back {counted(lane.pushbacks, 'time')}"] if lane.pushbacks else []
    words += [f"not before {utc(listing.entry.not_before)}"] if listing.entry.not_before else []
    return "".join(f", {one}" for one in words)


def _passed_fact(listing: _Listing, views: dict[int, SeedView]) -> Fact:
    line = listed_at(listing.entry.stored_position, views[listing.lane.seed_id].seed.url, listing.entry.depth)
    return Fact("listed", (line, "passed by: it is the URL of a seed of its own"), _values(listing, views))


def _values(listing: _Listing, views: dict[int, SeedView]) -> dict[str, object]:
    return {
        "listed_by": views[listing.lane.seed_id].seed.url,
        "seed": views[listing.lane.holder_id].seed.url,
        "lane": listing.lane.kind,
        "position": listing.entry.stored_position,
        "depth": listing.entry.depth,
        "asset": listing.entry.role is EntryRole.ASSET,
        "sitemap": listing.entry.role is EntryRole.SITEMAP,
        "not_before": listing.entry.not_before or None,
    }
