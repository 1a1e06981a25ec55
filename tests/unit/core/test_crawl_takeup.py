"""How long a site rests when it is taken up."""

from __future__ import annotations

import time
from functools import partial

import pytest

from scrawler.core.clock import DatabaseClock
from scrawler.core.party.after_death import rest_after_death
from scrawler.core.party.site import SiteContext
from scrawler.core.party.takeup import SiteTaker
from scrawler.core.rules import CrawlRules
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.model.claims import ClaimedSite
from scrawler.model.lanes import LEFTOVER, NORMAL, SLOW, WANTED, LaneState
from scrawler.settings import Settings
from scrawler.urls.analyzer import UrlAnalyzer

HOUR = 3_600_000


def make_taker(settings: Settings) -> tuple[SiteTaker, DatabaseClock]:
    """Make a taker that finds nothing in the database, and its clock."""
    clock, make_seen = DatabaseClock(), partial(ExactSeen, MemoryBudget(1 << 20))
    return SiteTaker(None, CrawlRules.of(settings), clock, make_seen, UrlAnalyzer), clock  # type: ignore[arg-type]


def taken_up(settings: Settings, *, silent_for: int = 0, due_in: int = -HOUR, **known: int | bool) -> SiteContext:
    """Return a site whose last owner asked nothing in the last `silent_for` milliseconds; see `rest`."""
    taker, clock = make_taker(settings)
    now = clock.now()
    times = {"next_due_at": now + due_in, "silent_since": now - silent_for}
    claimed = ClaimedSite(1, "a.org", 1, seeds=(), fresh=True, **times, **known)  # type: ignore[arg-type]
    return taker.take_up(claimed, 1)


def rest(settings: Settings, *, silent_for: int = 0, due_in: int = -HOUR, **known: int | bool) -> tuple[float, float]:
    """Return the seconds for which a site rests, at least and at most.

    Its last owner asked nothing in the last `silent_for` milliseconds, and left it alone for the next `due_in`.
    """
    before = time.monotonic()
    until = taken_up(settings, silent_for=silent_for, due_in=due_in, **known).rest_until
    return until - time.monotonic(), until - before


@pytest.mark.parametrize(
    ("known", "seconds"),
    [
        ({"pause_ms": 2000, "slowest_ms": 700}, 2.7),
        ({"pause_ms": 0, "slowest_ms": 700}, 1.2),  # the settings' delay is longer
        ({"pause_ms": 2000, "slowest_ms": 0}, 32),  # it has never answered
        ({"pause_ms": 2000, "slowest_ms": 5000, "silent_for": 3000}, 4),
        ({"pause_ms": 2000, "slowest_ms": 0, "silent_for": HOUR}, 2),  # clocks may have jumped: at least its pause
        ({"pause_ms": 2000, "slowest_ms": 700, "silent_for": -15_000}, 2.7),
    ],
)
def test_a_site_of_a_dead_machine_rests_as_long_as_its_slowest_answer_and_its_pause(
    known: dict[str, int], seconds: float
) -> None:
    settings = Settings(delay=0.5, timeout=30, patience=0)
    least, most = rest(settings, after_death=True, **known)
    assert least <= seconds <= most + 0.01  # of which times are rounded to milliseconds


def listed(kind: int, left: int, holder: int = 1) -> LaneState:
    """Return a lane of seed 1 in which so much is left to be asked for."""
    return LaneState(1, kind, holder, cursor=5, length=5 + left)


@pytest.mark.parametrize(
    ("slowest_ms", "lanes", "seconds"),
    [
        (700, [listed(NORMAL.number, 3)], 3.5),  # what it had asked for may be a slow page: it would be given up then
        (5000, [listed(NORMAL.number, 3)], 5.5),  # such a page was given up, or has come, after that time
        (700, [listed(NORMAL.number, 3), listed(SLOW.number, 2)], 3.5),
        (700, [listed(NORMAL.number, 0), listed(SLOW.number, 2)], 100.5),
        (700, [listed(LEFTOVER.number, 4), listed(SLOW.number, 2)], 100.5),  # leftovers are for the site's next seed
        (700, [listed(LEFTOVER.number, 4, holder=2), listed(SLOW.number, 2)], 100.5),
        (700, [listed(SLOW.number, 2), listed(WANTED.number, 1)], 3.5),  # what a user has ordered comes first
        (0, [listed(NORMAL.number, 3)], 30.5),
        (0, [listed(SLOW.number, 3)], 100.5),
    ],
)
def test_a_site_of_a_dead_machine_rests_until_what_it_had_asked_for_would_be_given_up(
    slowest_ms: int, lanes: list[LaneState], seconds: float
) -> None:
    rules = CrawlRules.of(Settings(delay=0.5, timeout=30, patience=3, slow_timeout=100))
    claimed = ClaimedSite(1, "a.org", 1, 0, (), False, slowest_ms=slowest_ms, after_death=True, silent_since=HOUR)
    assert rest_after_death(claimed, lanes, rules, now=HOUR) == 1000 * seconds
    assert rest_after_death(claimed, lanes, rules, now=2 * HOUR) == 500


@pytest.mark.parametrize(
    ("due_in", "known", "settings", "seconds"),
    [
        (HOUR // 2, {}, {}, 1800),  # max_retry_after is an hour
        (24 * HOUR, {}, {}, 3600),  # it was written before the clock was set back
        (24 * HOUR, {}, {"max_retry_after": 7200}, 7200),
        (24 * HOUR, {}, {"max_retry_after": 0, "max_crawl_delay": 100}, 100),
        (24 * HOUR, {}, {"max_retry_after": 0, "max_crawl_delay": 0, "retries": 3, "retry_pause": 50}, 400),
        (24 * HOUR, {"pause_ms": 2 * HOUR}, {}, 7200),  # its last owner had other settings
        (24 * HOUR, {"after_death": True, "slowest_ms": 700}, {}, 3600),
    ],
)
def test_no_site_rests_longer_than_anything_can_ask_for(
    due_in: int, known: dict[str, int], settings: dict[str, float], seconds: float
) -> None:
    least, most = rest(Settings(**settings), due_in=due_in, **known)  # type: ignore[arg-type]
    assert least <= seconds <= most + 0.01


@pytest.mark.parametrize(
    ("known", "gives_up"),
    [
        ({"after_death": True}, True),  # it has never answered, and rests as long as an answer may take
        ({"after_death": True, "slowest_ms": 700}, False),
        ({"due_in": 32_000}, False),
        ({"due_in": 90_000}, True),
    ],
)
def test_what_a_dead_machine_left_keeps_no_place_while_it_rests(known: dict[str, int], gives_up: bool) -> None:
    """A crawl that was killed has thousands of ready sites behind those that it had just begun."""
    site = taken_up(Settings(delay=0.5, timeout=30), **known)
    assert site.rests_long(site.rest_until, time.monotonic()) is gives_up
    site.health.rests["a.org"] = site.rest_until + 30  # a server asks for time, later
    assert site.rests_long(site.rest_until + 30, site.rest_until) is False


def test_a_site_that_was_given_back_need_not_wait_for_answers() -> None:
    assert rest(Settings(delay=0.5), pause_ms=2000, slowest_ms=9000)[1] < 0


@pytest.mark.parametrize(("after_death", "seconds"), [(True, 5), (False, 0)])
def test_a_site_that_is_not_taken_up_goes_back_as_it_came_and_rests_after_a_death(
    after_death: bool, seconds: float
) -> None:
    taker, clock = make_taker(Settings(delay=0.5))
    before = clock.now()
    claimed = ClaimedSite(
        1, "a.org", 5, before, (), True, pause_ms=2000, pushbacks=3, slowest_ms=700,
        after_death=after_death, silent_since=before,
    )  # fmt: skip
    back = taker.untaken(claimed)
    assert (back.site_id, back.token, back.seeds, back.released) == (1, 5, (), True)
    assert (back.pause_ms, back.pushbacks, back.slowest_ms) == (2000, 3, 700)
    assert before + seconds * 1000 <= back.next_due_at + 1  # times are rounded to milliseconds
    assert after_death or back.next_due_at == before


def test_a_site_that_is_given_back_unasked_keeps_the_pause_of_its_last_owner() -> None:
    taker, clock = make_taker(Settings(delay=0.5))
    claimed = ClaimedSite(1, "a.org", 5, clock.now(), (), True, pause_ms=10_000, slowest_ms=700)
    back = taker.take_up(claimed, 1).take_delta(time.monotonic(), released=True)
    assert back is not None
    assert (back.pause_ms, back.slowest_ms) == (10_000, 700)
