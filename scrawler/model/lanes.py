"""The lists of parties: from the machine to the store, and back to whoever takes a site up.

A party has several lists, its lanes: they differ in why URLs stand there, and in how often these were asked for. The
database knows each lane of a seed by a number, and so it knows of each URL how often that was tried: a URL that was
tried again r times and pushed back p times stands in lane r + 100 p, and behind the slow lane in -1000 - (r + 100 p).
In lane -10 - n stands what promises more than others, at level n, and in lane -20 what somebody else has sent.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

CHUNK_ENTRIES = 64  # a full chunk has so many; those that earlier programs wrote may have more


class LaneKind(Enum):
    """Why URLs stand in a lane."""

    NORMAL = auto()  # they were listed, and not asked for yet
    SITEMAP = auto()  # they are sitemaps, which come before the normal lane
    RETRY = auto()  # they failed, and are tried again before what the normal lane has
    PUSHED_BACK = auto()  # the server asked for time: it is asked for what the normal lane has first
    LEFTOVER = auto()  # they are out of their holder's scope, and kept for the site's next seed
    SLOW = auto()  # they take longer than the first pass waits, and come when nothing else is left
    PRIORITY = auto()  # as NORMAL, and before it: they promise more of what the crawl looks for
    REFETCH = auto()  # their records were lost: they are asked for again, for the archive alone, before all others
    WANTED = auto()  # they failed, or were left out, and a user wants them: they are asked for before all others
    PUSHED = auto()  # a server, or the owner of the site, has just told that they are new, or have changed
    REREAD = auto()  # they were fetched, and their links were left out for their depth: for these alone they come again
    REVISIT = auto()  # they were visited before, and it is time to see whether they are as they were


class LaneKey(NamedTuple):
    """What tells the lanes of a seed apart; `lane_key` makes one of each, so they are compared by identity."""

    kind: LaneKind
    retries: int
    pushbacks: int
    number: int

    @property
    def level(self) -> int:
        """How much the URLs of a lane of priority promise: 1, 2, ...; 0 for all others."""
        return _PRIORITY - self.number if self.kind is LaneKind.PRIORITY else 0

    @property
    def place(self) -> float:
        """Where a lane stands among those of its seed, by number.

        But what was pushed comes first, and behind the sitemaps what is visited again, and then what promises more than
        others.
        """
        if self.kind is LaneKind.PRIORITY:
            return _SITEMAP + 1 - self.level / 10
        if self is REVISIT:
            return _SITEMAP + 0.05
        if self is PUSHED:
            return _SITEMAP - 1
        return self.number

    def after(self, retries: int = 0, pushbacks: int = 0) -> LaneKey:
        """Return the key of the lane for URLs of this one that are tried again so often, or were pushed back."""
        more = retries + pushbacks * _PUSHED_BACK
        if self.kind is LaneKind.SLOW:
            return lane_key(self.number - more)
        return lane_key(max(self.number, _NORMAL) + more)


_SITEMAP = -3
_PRIORITY = -10  # the numbers of lanes of priority begin below this and go down
_LOWEST_PRIORITY = -19
_PUSHED = -20
_LEFTOVER = -1
_NORMAL = 0
_PUSHED_BACK = 100  # the number of a lane counts retries, and each push-back as so many of them
_SLOW = -1000  # the numbers of slow lanes begin here and go down
_REFETCH = 1_000_000  # the numbers of lanes that refetch begin here
_WANTED = 1_500_000  # the numbers of lanes of what a user wants once more begin here
_REREAD = 3_000_000  # the numbers of lanes of what is read again begin here
_REVISIT = 2_000_000  # the numbers of lanes of what is visited again begin here

_OTHERS = {
    _NORMAL: LaneKind.NORMAL,
    _LEFTOVER: LaneKind.LEFTOVER,
    _SITEMAP: LaneKind.SITEMAP,
    _PUSHED: LaneKind.PUSHED,
}

_keys: dict[int, LaneKey] = {}


def lane_key(number: int) -> LaneKey:
    """Return the key of the lane that has a number in the database."""
    key = _keys.get(number)
    return _keys.setdefault(number, _made(number)) if key is None else key


def _made(number: int) -> LaneKey:
    if number <= _SLOW:
        kind, tries = LaneKind.SLOW, _SLOW - number
    elif number >= _REREAD:
        kind, tries = LaneKind.REREAD, number - _REREAD
    elif number >= _REVISIT:
        kind, tries = LaneKind.REVISIT, number - _REVISIT
    elif number >= _WANTED:
        kind, tries = LaneKind.WANTED, number - _WANTED
    elif number >= _REFETCH:
        kind, tries = LaneKind.REFETCH, number - _REFETCH
    elif number >= _PUSHED_BACK:
        kind, tries = LaneKind.PUSHED_BACK, number
    elif _LOWEST_PRIORITY <= number < _PRIORITY:
        kind, tries = LaneKind.PRIORITY, 0
    elif number > _NORMAL:
        kind, tries = LaneKind.RETRY, number
    else:
        kind, tries = _OTHERS[number], 0
    pushbacks, retries = divmod(tries, _PUSHED_BACK)
    return LaneKey(kind, retries, pushbacks, number)


NORMAL: Final = lane_key(_NORMAL)
SITEMAP = lane_key(_SITEMAP)
LEFTOVER = lane_key(_LEFTOVER)
SLOW = lane_key(_SLOW)
REFETCH = lane_key(_REFETCH)
WANTED = lane_key(_WANTED)
REVISIT = lane_key(_REVISIT)
REREAD = lane_key(_REREAD)
PUSHED: Final = lane_key(_PUSHED)


def priority(level: int) -> LaneKey:
    """Return the key of the lane for URLs of a level, 0 to 9; that of level 0 is the normal one."""
    return lane_key(_PRIORITY - level) if level else NORMAL


# Lanes in which URLs are listed for the first time.
LISTED_FIRST = (NORMAL, SITEMAP, PUSHED, *map(priority, range(1, 10)))


class LaneState(NamedTuple):
    """A lane as the database keeps it: a list that only grows, and a cursor that only moves forward.

    `seed_id` is the seed that listed the entries, `holder_id` the seed that fetches them now.
    `kind` is the number of its key. `cursor` is the lowest position not finished; `ahead` lists finished positions
    beyond it.
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


class Ahead(NamedTuple):
    """What the database keeps of sites, and of seeds with short lists, that are taken up together; all by id."""

    lanes: dict[int, list[LaneState]]  # of sites
    listed: dict[int, list[bytes]]  # chunks in which URLs of sites were listed first
    owners: dict[int, dict[bytes, int]]  # of sites: hash of the home URL -> seed
    robots: set[int]  # sites of which a robots.txt is kept
    chunks: dict[int, list[ChunkRow]]  # of seeds, those of all their lanes
    jars: dict[int, bytes]  # of the seeds that have cookies
    redirected: dict[int, list[tuple[bytes, int, int, bytes]]]  # of seeds
