"""What the change lists of a party's site have told (ResourceSync, ANSI/NISO Z39.99-2017), and what that spares.

A visit is spared where a change list that was read not long ago would have named the URL if it had changed since its
last visit. Whether these lists are true is found out by visits: one in twenty that could be spared is made, and where
one finds a change that nobody has told, nothing is spared until many others have found none.
"""

from __future__ import annotations

from scrawler.extract.sitemaps import Listed
from scrawler.features.revisit.kinds import PublisherRow
from scrawler.features.revisit.policies.change import Trust
from scrawler.model.results import Result
from scrawler.model.terms import Millis
from scrawler.model.visits import KnownVisit, UrlState

SEVERAL = -1  # as `complete_since`: there are several sets of lists, and no telling to which one a URL belongs
_SLACK_MS = 60_000  # by which the clock of a server, and what it lists, may be late
_MOST_CHANGED = 100_000  # URLs of one round whose changes are remembered; with more of them nothing is spared
_AUDIT = 20  # one in so many visits that could be spared is made
_MOST_COUNTED = 64
_PRIOR = 8  # visits that a list of changes is believed for until it was tried
_THERE = frozenset((Result.FETCHED.value, Result.NOT_MODIFIED.value))


class Told:
    """The change lists of one party. `fresh_ms` is how old what they say may be."""

    __slots__ = ("_before", "_changed", "_failed", "_full", "_row", "_skipped", "dirty", "fresh_ms")

    def __init__(self, row: PublisherRow, fresh_ms: int, before: Millis = 0) -> None:
        """`before` is a time before which no URL was visited, if there is one: older changes are of no interest."""
        self._row = row
        self._before = before
        self._skipped: Millis = 0  # until when lists of changes are over that are not read
        self.fresh_ms = fresh_ms
        self._changed: dict[bytes, Millis] = {}  # of this round, by the hash of the URL
        self._full = False
        self._failed = False
        self.dirty = False

    @property
    def row(self) -> PublisherRow:
        """What the database is to keep."""
        return self._row

    def note_change(self, key: bytes, at: Millis) -> None:
        """Note that a list names a URL as changed."""
        if len(self._changed) >= _MOST_CHANGED and key not in self._changed:
            self._full = True
        else:
            self._changed[key] = max(at, self._changed.get(key, 0))

    def note_list(self, since: Millis, read_at: Millis) -> None:
        """Note that the list of all changes since then was read; 0: it does not say since when."""
        row = self._row
        if row.complete_since == SEVERAL or self._failed:
            return
        goes_on = 0 < since <= row.read_at
        complete_since = row.complete_since if goes_on and row.complete_since else since or read_at
        complete_since = max(complete_since, self._skipped)
        self._row = row._replace(complete_since=complete_since, read_at=max(row.read_at, read_at))
        self.dirty = True

    def knows(self, one: Listed) -> bool:
        """Tell whether a list of changes need not be read: it was over when the last one was read, or long before."""
        if not one.until:
            return False
        if one.until <= self._row.read_at and self._row.complete_since > 0:
            return True
        if one.until >= self._before - _SLACK_MS:
            return False
        self._skipped = max(self._skipped, one.until)
        return True

    def note_unchanged(self, read_at: Millis) -> None:
        """Note that the list is as it was when it was read last."""
        if self._row.complete_since > 0:
            self._row = self._row._replace(read_at=max(self._row.read_at, read_at))
            self.dirty = True

    def note_failure(self) -> None:
        """Note that a list could not be read: nothing more is spared in this round."""
        self._failed = True
        if self._row.complete_since > 0:
            self._row = self._row._replace(complete_since=0)
            self.dirty = True

    def note_sets(self, count: int) -> None:
        """Note how many sets of lists the server has."""
        if count > 1:
            self._row = self._row._replace(complete_since=SEVERAL)
            self.dirty = True

    @property
    def believed(self) -> bool:
        """Whether what the lists say has proved true."""
        return Trust(float(self._row.hits + _PRIOR), float(self._row.misses)).believed

    def unchanged(self, key: bytes, known: KnownVisit, now: Millis) -> bool:
        """Tell whether the lists say that a URL is as its last visit has found it."""
        state, row = known.state, self._row
        if state is None or known.published is None or self._failed or self._full:
            return False
        if row.complete_since <= 0 or row.read_at < now - self.fresh_ms:
            return False
        if state.result not in _THERE or state.missing or not state.digest:
            return False
        changed_at = max(known.published, self._changed.get(key, 0))
        return changed_at <= state.visited_at - _SLACK_MS and row.complete_since <= state.visited_at

    def spares(self, key: bytes, known: KnownVisit, now: Millis) -> bool:
        """Tell whether a visit is spared."""
        if not self.unchanged(key, known, now) or not self.believed:
            return False
        return (key[0] + key[1] + known.number) % _AUDIT != 0

    def tried(self, changed: bool) -> None:
        """Note what a visit has found of a URL that the lists call unchanged."""
        hits, misses = self._row.hits + (not changed), self._row.misses + changed
        if hits + misses > _MOST_COUNTED:
            hits, misses = hits // 2, misses // 2
        self._row = self._row._replace(hits=hits, misses=misses)
        self.dirty = True


def spared_state(before: UrlState, visit: int, now: Millis) -> UrlState:
    """Return the state of a URL whose visit was spared: that of its last visit, due again as after one."""
    return before._replace(visit=visit, due_at=now + before.interval_ms if before.interval_ms else 0)
