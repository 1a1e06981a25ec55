from __future__ import annotations

from scrawler.supervisor.restarts import Restarts


def test_pauses_grow_until_a_machine_is_given_up() -> None:
    restarts = Restarts()
    assert [restarts.pause(0.5, fetched=False) for _ in range(5)] == [1, 2, 4, 8, None]


def test_a_machine_that_ran_well_begins_anew() -> None:
    restarts = Restarts()
    assert [restarts.pause(ran, fetched=False) for ran in (0, 59.9, 0, 60, 0, 3600, 3600)] == [1, 2, 4, 1, 2, 1, 1]


def test_a_machine_that_fetched_a_page_begins_anew() -> None:
    restarts = Restarts()
    lives = (False, False, False, True, False, True, True, False, False, False, False)
    assert [restarts.pause(3, fetched) for fetched in lives] == [1, 2, 4, 1, 2, 1, 1, 2, 4, 8, None]
