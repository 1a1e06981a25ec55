"""The database's clock, which a machine knows only so well."""

from __future__ import annotations

import time

from scrawler.core.clock import DatabaseClock
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget


def test_an_answer_during_which_this_machines_clock_was_set_back_says_nothing() -> None:
    clock = DatabaseClock()
    clock.compare(time.time() + 3600, int(time.time() * 1000) + 5_000_000)
    assert abs(clock.now() - time.time() * 1000) < 1_000_000
    assert clock.doubt == 0


def test_a_site_is_not_asked_earlier_for_a_clock_that_is_not_well_known() -> None:
    """A heartbeat that took 200 ms leaves the machine's idea of the clock up to 100 ms off, here behind."""
    clock = DatabaseClock()
    clock.compare(time.time() - 0.2, int(time.time() * 1000) - 200)  # it was read at once, the answer took its time
    known = clock.now()
    site = SiteContext(1, "a.org", 1, ExactSeen(MemoryBudget(1 << 20)), False, clock=clock)
    now = time.monotonic()
    site.rest_until = now + 3.0
    delta = site.take_delta(now, released=True)
    assert delta is not None
    assert delta.next_due_at >= known + 100 + 3000
