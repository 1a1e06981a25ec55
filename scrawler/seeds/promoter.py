"""The promoter: candidate seeds become seeds of the crawl, without leaving the database."""

from __future__ import annotations

from typing import NamedTuple

from scrawler.model.scope import Scope
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.commit.externals import Externals
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import sliced
from scrawler.store.reading.candidates import Candidates
from scrawler.urls.boundary import BoundaryRule
from scrawler.urls.scope import site_key

ANY_HOPS = 2**31 - 1
_BATCH = 2000  # candidates a transaction


class Promoted(NamedTuple):
    """How many candidates are new seeds, and how many stay what they are because they may not enter the crawl."""

    new: int
    outside: int


def promote(
    candidates: Candidates,
    seeds: Seeds,
    scope: Scope,
    boundary: BoundaryRule,
    *,
    max_hops: int = ANY_HOPS,
    like: str | None = None,
    min_count: int = 1,
    batch_number: int = 0,
    dry_run: bool = False,
) -> Promoted:
    """Make seeds of the candidates within `max_hops` of a user's seed and inside the boundary.

    `like` is an SQL pattern of the URL (% and _), `min_count` how often it must have been found. Killed between
    adding and marking, nothing is lost or doubled: a candidate that is a seed is no candidate any more. The seeds have
    the number of their batch. With `dry_run` nothing is changed: what would be is counted.
    """
    new = outside = 0
    for batch in sliced(candidates.unpromoted(max_hops, like=like, min_count=min_count), _BATCH):
        inside = [one for one in batch if not boundary.refusal(one.url)]
        outside += len(batch) - len(inside)
        if dry_run:
            new += len(inside)
            continue
        fresh = [NewSeed(one.url, site_key(one.url, scope), one.hops, batch=batch_number) for one in inside]
        new += seeds.add(fresh).new
        candidates.mark_promoted(one.url_hash for one in inside)
    return Promoted(new, outside)


class WithinHops:
    """Candidates that were found within so many sites of a user's seed become seeds; with 0 hops none does."""

    def __init__(
        self, externals: Externals, database: Database, scope: Scope, boundary: CrawlBoundary, hops: int
    ) -> None:
        """Work on `database`; what is found goes to `externals`."""
        self.keep = externals.keep
        self._database = database
        self._scope = scope
        self._boundary = boundary
        self.hops = hops  # the machine changes it while it runs, as users do

    def become_seeds(self) -> int:
        """Promote what is near enough."""
        if not self.hops:
            return 0
        candidates, seeds, rule = Candidates(self._database), Seeds(self._database), self._boundary.rule()
        return promote(candidates, seeds, self._scope, rule, max_hops=self.hops).new
