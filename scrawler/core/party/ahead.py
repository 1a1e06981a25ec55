"""What the database keeps of sites that are taken up together: read for all of them, and handed out one by one.

For seeds that have moved alone: their lists are short, and a long list of unknown domains has thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from scrawler.model.lanes import Ahead, ChunkRow, LaneState
from scrawler.model.seeds import Seed
from scrawler.model.terms import Millis

_NOTHING = Ahead({}, {}, {}, set(), {}, {}, {})


class Kept(Protocol):
    """The part of the store that keeps lists, cookies and redirects."""

    def ahead(self, sites: Sequence[int], seeds: Sequence[int]) -> Ahead:
        """What there is of sites, and of seeds with short lists."""

    def lanes(self, site_id: int) -> list[LaneState]:
        """All lanes of the site that are unfinished or whose holder is active."""

    def tail(self, seed_id: int, kind: int) -> ChunkRow | None:
        """The last chunk of a lane."""

    def chunks(self, seed_id: int, kind: int, position: int, entries: int) -> list[ChunkRow]:
        """The chunk that holds a position, and those that follow it, up to so many entries."""

    def listed(self, site_id: int) -> Iterable[bytes]:
        """The chunks of all normal lanes of the site."""

    def own_urls(self, site_id: int) -> Mapping[bytes, int]:
        """Hash of the home URL -> seed, of all seeds of the site that were taken up."""

    def free_sites(self, keys: Collection[str]) -> Mapping[str, tuple[int, Millis]]:
        """Those of the sites that have no seed to be crawled: id, and the time before which it is not asked."""

    def jar(self, seed_id: int) -> bytes | None:
        """The cookies of a party, if it has any."""

    def redirected(self, seed_id: int) -> list[tuple[bytes, int, int, bytes]]:
        """A party's newest URLs that were redirected."""


def only_moved(seed: Seed) -> bool:
    """Tell whether a seed has listed nothing but its own URL, and where that redirected: no trap can be found in it."""
    counts = seed.counts
    return not (counts.pages or seed.round) and counts.listed <= counts.redirects + 1


class ReadAhead:
    """Asks the store for what was not read ahead, and for that but once."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._ahead = _NOTHING
        self._looked: dict[str, tuple[int, Millis] | None] = {}  # sites of which it is known whether they are free

    def read(self, sites: Sequence[int], seeds: Iterable[Seed], led_from: Callable[[Seed], Iterable[str]]) -> None:
        """Read what there is of sites and of seeds; `led_from(seed)` names the sites from which one has come."""
        self.forget()
        moved = [seed for seed in seeds if seed.rehomed and only_moved(seed)]
        if not moved:
            return
        self._ahead = self._kept.ahead(sites, [seed.id for seed in moved])
        keys = {key for seed in moved for key in led_from(seed)}
        free = self._kept.free_sites(keys)
        left = self._kept.ahead(sorted({site_id for site_id, _ in free.values()}), ())
        self._ahead.listed.update(left.listed)
        self._looked.update((key, free.get(key)) for key in keys)

    def forget(self) -> None:
        """Forget what was read, which may change once its sites are in work."""
        self._ahead = _NOTHING
        self._looked = {}

    def lanes(self, site_id: int) -> list[LaneState]:
        """Return all lanes of the site that are unfinished or whose holder is active."""
        found = self._ahead.lanes.get(site_id)
        return self._kept.lanes(site_id) if found is None else found

    def tail(self, seed_id: int, kind: int) -> ChunkRow | None:
        """Return the last chunk of a lane."""
        found = self._ahead.chunks.get(seed_id)
        if found is None:
            return self._kept.tail(seed_id, kind)
        of_lane = [row for row in found if row.kind == kind]
        return of_lane[-1] if of_lane else None

    def chunks(self, seed_id: int, kind: int, position: int, entries: int) -> list[ChunkRow]:
        """Return the chunk that holds a position, and those that follow it; of a short list all of them."""
        found = self._ahead.chunks.get(seed_id)
        if found is None:
            return self._kept.chunks(seed_id, kind, position, entries)
        return [row for row in found if row.kind == kind and row.first + row.count > position]

    def listed(self, site_id: int) -> Iterable[bytes]:
        """Return the chunks of all lanes in which URLs of the site were listed first."""
        found = self._ahead.listed.get(site_id)
        return self._kept.listed(site_id) if found is None else found

    def own_urls(self, site_id: int) -> Mapping[bytes, int]:
        """Return hash of the home URL -> seed, of all seeds of the site that were taken up."""
        found = self._ahead.owners.get(site_id)
        return self._kept.own_urls(site_id) if found is None else found

    def may_have_robots(self, site_id: int) -> bool:
        """Whether a robots.txt of the site may be kept."""
        return site_id not in self._ahead.lanes or site_id in self._ahead.robots

    def free_sites(self, keys: Collection[str]) -> Mapping[str, tuple[int, Millis]]:
        """Return those of the sites that have no seed to be crawled: id, and the time before which it is not asked."""
        if not self._looked.keys() >= set(keys):
            return self._kept.free_sites(keys)
        found = ((key, self._looked[key]) for key in keys)
        return {key: free for key, free in found if free is not None}

    def jar(self, seed_id: int) -> bytes | None:
        """Return the cookies of a party, if it has any."""
        return self._ahead.jars.get(seed_id) if seed_id in self._ahead.chunks else self._kept.jar(seed_id)

    def redirected(self, seed_id: int) -> list[tuple[bytes, int, int, bytes]]:
        """Return a party's newest URLs that were redirected."""
        found = self._ahead.redirected.get(seed_id)
        return self._kept.redirected(seed_id) if found is None else found
