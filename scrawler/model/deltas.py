"""What a machine hands to the store at a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.replaced import WaitingRow
from scrawler.model.robots import RobotsRecord, RobotsRow
from scrawler.model.row_kinds import Rows as FeatureRows
from scrawler.model.rows import (
    ExternalRow,
    PageRow,
    PatternRow,
    RejectionRow,
    RelationRow,
    SitemapRow,
)
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.model.terms import Millis

_Row = TypeVar("_Row", covariant=True)


class Rows(Protocol[_Row]):
    """Rows that may be made only while they are gone through, each time anew; a tuple is one as well."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __iter__(self) -> Iterator[_Row]:
        """Yield them in order."""


@dataclass(frozen=True, slots=True)
class Rehoming:
    """A seed moves to the site to which its URL redirects."""

    home_url: str
    site_key: str
    rehomed: int


@dataclass(slots=True)
class SeedDelta:
    """All that changed for one seed since its last checkpoint; counts and verdicts are absolute.

    In a polite crawl nearly every page brings one: it is not frozen, for that would cost 1 us.
    """

    seed_id: int
    pages: Rows[PageRow]
    lanes: tuple[LaneState, ...]
    chunks: tuple[ChunkRow, ...]  # new ones, and a tail chunk written again with more entries
    externals: Rows[ExternalRow]
    counts: SeedCounts
    verdicts: Mapping[str, int]
    elapsed_ms: int
    state: SeedState = SeedState.ACTIVE
    end_reason: EndReason | None = None
    end_detail: str = ""
    rehoming: Rehoming | None = None  # where the seed goes on: its state is READY again then
    relations: tuple[RelationRow, ...] = ()
    patterns: tuple[PatternRow, ...] = ()  # what each pattern has come to by now, not since the last checkpoint
    rejections: tuple[RejectionRow, ...] = ()
    sitemap_urls: tuple[SitemapRow, ...] = ()
    jar: bytes | None = None  # the party's cookies, if they changed
    rows: FeatureRows = ()  # of features
    replaced: tuple[WaitingRow, ...] = ()  # rows whose place those of `pages` take
    marked: tuple[int, ...] = ()  # ids of rows whose URLs are listed to be asked for again
    kept: tuple[int, ...] = ()  # ids of rows that were asked for again in vain
    orphans: tuple[tuple[str, int, int], ...] = ()  # records that have come, and have no row: file, offset, length


@dataclass(slots=True)
class SiteDelta:
    """What one site's holder hands to the checkpointer; it commits only while `token` is the site's."""

    site_id: int
    token: int
    seeds: tuple[SeedDelta, ...]
    next_due_at: Millis  # the site's politeness clock, which goes to its next owner
    address: str = ""
    released: bool = False  # whether the machine lets go of the site
    pause_ms: int = 0  # pause between two requests to the site
    slowest_ms: int = 0  # its slowest answer so far; 0: it has given none
    pushbacks: int = 0  # times that the site has refused in a row: see `health`
    resting: bool = False  # whether a site that is released is taken up by nobody before `next_due_at`
    robots: tuple[RobotsRow, ...] = ()
    robots_records: tuple[RobotsRecord, ...] = ()
    taken: tuple[int, ...] = ()  # URLs of the site's inbox, by id, that its parties have listed or refused
    guest_at: int = 0  # the id of the site itself, where this is of its guests: its clock is written as well
    rows: FeatureRows = ()  # of features, on the site

    @property
    def lets_go(self) -> bool:
        """Whether with its commit something may be there to claim, or the crawl be over."""
        return self.released or any(seed.state is not SeedState.ACTIVE for seed in self.seeds)
