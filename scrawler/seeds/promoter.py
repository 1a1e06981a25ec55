"""The promoter: candidate seeds become seeds of the crawl, without leaving the database."""

from __future__ import annotations

from scrawler.model.scope import Scope
from scrawler.store.candidates import Candidates
from scrawler.store.engine import Database
from scrawler.store.externals import AsCandidates
from scrawler.store.seeds import NewSeed, Seeds
from scrawler.urls.scope import site_key

ANY_HOPS = 2**31 - 1
_BATCH = 2000  # candidates a transaction


def promote(
    candidates: Candidates,
    seeds: Seeds,
    scope: Scope,
    *,
    max_hops: int = ANY_HOPS,
    like: str | None = None,
    min_count: int = 1,
) -> int:
    """Make seeds of the candidates within `max_hops` of a user's seed; return how many are new.

    `like` is an SQL pattern of the URL (% and _), `min_count` how often it must have been found. Killed between
    adding and marking, nothing is lost or doubled: a candidate that is a seed is no candidate any more.
    """
    new, after = 0, b""
    while batch := candidates.unpromoted(max_hops, after, _BATCH, like=like, min_count=min_count):
        new += seeds.add([NewSeed(one.url, site_key(one.url, scope), one.hops) for one in batch]).new
        candidates.mark_promoted(one.url_hash for one in batch)
        after = batch[-1].url_hash
    return new


class WithinHops(AsCandidates):
    """Candidates that were found within so many sites of a user's seed become seeds; with 0 hops none does."""

    def __init__(self, database: Database, scope: Scope, hops: int) -> None:
        """Work on `database`."""
        super().__init__(database)
        self._database = database
        self._scope = scope
        self.hops = hops  # can be changed while the machine runs

    def become_seeds(self) -> int:
        """Promote what is near enough."""
        if not self.hops:
            return 0
        return promote(Candidates(self._database), Seeds(self._database), self._scope, max_hops=self.hops)
