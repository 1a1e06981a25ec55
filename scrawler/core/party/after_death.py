"""How long a site rests whose owner was killed. Decisions only: no I/O.

A killed process closes its connections, but a server may still be at work on what was asked last. A crawler that lives
asks that host again when the answer is there, or when it has given the download up, and the pause after that is over.
The next owner does the same: it counts from the last moment at which the dead one may have asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from scrawler.core.rules import CrawlRules
from scrawler.model.claims import ClaimedSite
from scrawler.model.lanes import LEFTOVER, LaneKey, LaneKind, LaneState, lane_key
from scrawler.model.terms import Millis


def rest_after_death(claimed: ClaimedSite, lanes: Iterable[LaneState], rules: CrawlRules, now: Millis) -> Millis:
    """Return how long a site rests from `now` on; `lanes` are those of its parties, as they were last committed."""
    pause = max(claimed.pause_ms, int(rules.delay * 1000))
    asked_ago = max(0, now - claimed.silent_since)
    return max(pause, _longest_answer(claimed, lanes, rules) + pause - asked_ago)


def _longest_answer(claimed: ClaimedSite, lanes: Iterable[LaneState], rules: CrawlRules) -> Millis:
    """Return how long the dead owner can have waited for the answer to its last request.

    Without patience, and for what a user has ordered, that is as long as the site has taken at most so far: the limits
    are for what hardly ever happens.
    """
    longest = min(rules.patience, rules.timeout) if claimed.slowest_ms else rules.timeout
    if waits_for_slow_pages(lanes):
        longest = max(longest, rules.slow_timeout)
    return max(claimed.slowest_ms, int(longest * 1000))


def waits_for_slow_pages(lanes: Iterable[LaneState]) -> bool:
    """Whether a party had nothing left but slow pages, for which it waits longer."""
    left: defaultdict[int, list[LaneKey]] = defaultdict(list)
    for lane in lanes:
        key = lane_key(lane.kind)
        is_kept = key is LEFTOVER and lane.holder_id == lane.seed_id
        if lane.cursor < lane.length and not is_kept:
            left[lane.holder_id].append(key)
    return any(all(key.kind is LaneKind.SLOW for key in keys) for keys in left.values())
