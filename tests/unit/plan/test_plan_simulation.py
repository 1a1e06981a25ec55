"""Simulated crawls against what can be worked out by hand."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from math import exp

import pytest

from experiments.arms.scrawler_arms import HandCompetition, SingleCompetition
from scrawler.core.distribution import distributor
from scrawler.core.distribution.competition import FreeCompetition
from scrawler.features.plan.progress import Bound
from scrawler.features.plan.rules import COMPETITIONS, DISTRIBUTOR, PlannedSite, PlanRules, longer
from scrawler.features.plan.simulation import Run, simulate
from scrawler.settings.parts import PART_KINDS
from tests.tables import each

FREE_CPU = {"cpu_per_request": 0.0, "cpu_per_seed": 0.0, "database_rows": 1e12}


@pytest.fixture(autouse=True)
def _arms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ways of free competition that experiments compare are there as well."""
    monkeypatch.setitem(COMPETITIONS, "hands", HandCompetition)
    monkeypatch.setitem(COMPETITIONS, "one", SingleCompetition)


def crawl(*sites: PlannedSite, looks: Sequence[float] = (), **rules: object) -> Run:
    return simulate(sites, PlanRules(**{"robots": False, **FREE_CPU, **rules}), looks)  # type: ignore[arg-type]


def site(requests: int, response: float = 0.2, **more: float) -> PlannedSite:
    return PlannedSite((requests,), response, **more)


@each(
    ("planned", "rules", "seconds"),
    [
        (site(100), {"delay": 1.0}, 99 * 1.2 + 0.2),
        (site(100), {"delay": 1.0, "robots": True}, 100 * 1.2 + 0.2),
        (site(100, 0.8), {"delay": 1.0}, 99 * (0.8 + 1.6) + 0.8),  # twice the response time is longer than the delay
        (site(10, 60.0), {"delay": 1.0}, 9 * (60 + 30) + 60),  # but no longer than delay_cap
        (site(100), {"delay": 0.0}, 100 * 0.2),
        (site(100, crawl_delay=5.0), {"delay": 1.0}, 99 * 5.2 + 0.2),
        (site(1000), {"delay": 0.0, "per_site": 4}, 250 * 0.2),
        (site(100), {"delay": 1.0, "blocking": True}, 99 * 1.2 + 0.2),
        (site(100), {"delay": 0.0, "blocking": True, "per_site": 4}, 100 * 0.2),  # one at a time all the same
    ],
)
def test_one_site_takes_its_requests_and_the_pauses_between(
    planned: PlannedSite, rules: dict[str, object], seconds: float
) -> None:
    run = crawl(planned, **rules)
    assert run.seconds == pytest.approx(seconds, rel=0.01)
    assert run.points[-1].requests == pytest.approx(run.requests)
    assert list(run.ends) == [run.seconds]


def test_with_several_in_flight_starts_keep_the_delay_between_them() -> None:
    """Two at once: starts at 0 and 1, answers at 5 and 6, starts at 6 and 7, and so on."""
    run = crawl(site(1000, 5.0), delay=1.0, per_site=2, delay_factor=0.0)
    assert run.seconds == pytest.approx(500 * 6.0, rel=0.05)


def test_equal_sites_with_places_enough_take_as_long_as_one() -> None:
    assert crawl(*[site(50)] * 200).seconds == pytest.approx(crawl(site(50)).seconds)


def test_twice_as_many_sites_as_places_take_twice_as_long() -> None:
    run = crawl(*[site(50)] * 400)
    assert run.seconds == pytest.approx(2 * crawl(site(50)).seconds)
    assert run.bounds == {Bound.PLACES: pytest.approx(0.5), Bound.POLITENESS: pytest.approx(0.5)}
    assert run.tail_at == pytest.approx(run.seconds / 2)
    assert run.at_share(0.5) == pytest.approx(run.seconds / 2)
    assert (run.held_by(0.0), run.held_by(0.9 * run.seconds)) == (200, 200)


def test_classic_threads_serve_one_site_after_the_other() -> None:
    run = crawl(*[site(50)] * 10, blocking=True, threads=1, delay=0.0)
    assert run.seconds == pytest.approx(500 * 0.2, rel=0.01)
    assert run.bounds[Bound.THREADS] > 0.95


def test_a_classic_thread_with_time_to_spare_lets_nobody_wait() -> None:
    assert crawl(*[site(50)] * 5, blocking=True, threads=1).seconds == pytest.approx(49 * 1.2 + 0.2, rel=0.01)
    saturated = crawl(*[site(50)] * 10, blocking=True, threads=1).seconds  # 10 * 0.2 s are more than 1.2 s
    assert saturated == pytest.approx(50 * 2.0, rel=0.02)


def test_slow_sites_take_their_thread_from_fast_ones() -> None:
    """One cycle of a thread is the sum of its sites' response times, whatever those are."""
    run = crawl(site(10, 2.0), site(10, 0.1), blocking=True, threads=1, delay=0.0)
    assert run.ends[0] == pytest.approx(10 * 2.1, rel=0.1)
    assert run.seconds == pytest.approx(10 * 2.1, rel=0.05)


def test_the_processor_takes_so_many_requests_a_second() -> None:
    run = crawl(*[site(100, 0.002)] * 100, delay=0.0, cpu_per_request=0.001)
    assert run.seconds == pytest.approx(100 * 100 * 0.001, rel=0.03)
    assert run.bounds[Bound.PROCESSOR] > 0.95


def test_machines_share_the_cores_and_the_database() -> None:
    sites = [site(100, 0.002)] * 400
    alone = crawl(*sites, delay=0.0, cpu_per_request=0.001, cores=4)
    four = crawl(*sites, delay=0.0, cpu_per_request=0.001, cores=4, machines=4)
    crowded = crawl(*sites, delay=0.0, cpu_per_request=0.001, cores=2, machines=4)
    assert four.seconds == pytest.approx(alone.seconds / 4, rel=0.05)
    assert crowded.seconds == pytest.approx(alone.seconds / 2, rel=0.05)
    slow = crawl(*sites, delay=0.0, cpu_per_request=0.001, cores=4, machines=4, database_rows=1000.0)
    assert slow.seconds == pytest.approx(40_000 * 2 / 1000, rel=0.05)
    assert slow.bounds[Bound.DATABASE] > 0.9


def test_a_slow_site_is_hardly_held_up_by_a_full_processor() -> None:
    """Requests wait at the processor one after the other: that is short for who has long pauses."""
    run = crawl(site(20, 0.2), *[site(2_000, 0.002)] * 50, delay=0.0, cpu_per_request=0.001)
    assert run.ends[0] == pytest.approx(20 * (0.2 + 0.05), rel=0.1)


def test_seeds_of_a_site_take_turns_and_end_one_by_one() -> None:
    run = crawl(PlannedSite((10, 30, 20), 0.2))
    assert run.seconds == pytest.approx(59 * 1.2 + 0.2)
    assert list(run.ends) == pytest.approx([(n - 1) * 1.2 + 0.2 for n in (30, 50, 60)])


def test_500_seeds_of_one_site_leave_the_others_their_places() -> None:
    run = crawl(PlannedSite((2,) * 500, 0.2), *[site(50)] * 190)
    assert len(run.ends) == 690
    assert run.seconds == pytest.approx(999 * 1.2 + 0.2)
    assert run.at_share(190 / 690) < 150  # 190 places at other threads are enough for them


def test_the_same_crawl_is_the_same_each_time() -> None:
    sites = [site(1 + n * 7919 % 97, 0.05 + n % 11 / 20) for n in range(1000)]
    for distribution in (DISTRIBUTOR, *COMPETITIONS):
        runs = [crawl(*sites, blocking=True, distribution=distribution, delay=0.1) for _ in range(2)]
        assert runs[0] == runs[1]
        assert len(runs[0].ends) == 1000


def test_it_is_the_crawls_own_distributor_that_deals_and_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = [site(400 if n % 4 == 0 else 4) for n in range(20)]
    rules = {"threads": 4, "blocking": True, "delay": 0.0}
    run = crawl(*sites, **rules)
    free = crawl(*sites, **rules, distribution="free")
    assert run.moves > 0
    assert free.moves == 0
    assert run.seconds < 0.5 * free.seconds  # five large sites: all at one thread, or level
    monkeypatch.setattr(distributor, "choose_move", lambda counts, stuck=(): None)
    assert crawl(*sites, **rules).moves == 0


def test_every_distribution_of_ours_can_be_planned() -> None:
    assert {DISTRIBUTOR, *COMPETITIONS} >= set(PART_KINDS["distribution"].own)


def test_hands_leave_places_empty_although_seeds_wait_and_the_others_do_not() -> None:
    """One thread, hands of four: three sites end after 2 s, the fourth after 20 s, and only then come the next four."""
    sites = [site(200 if n % 4 == 3 else 20, 0.1) for n in range(8)]
    rules = {"threads": 1, "seeds_per_thread": 4, "delay": 0.0, "together": True}
    hands = crawl(*sites, **rules, distribution="hands", looks=[1.0, 10.0, 19.0, 21.0, 99.0])
    assert hands.seconds == pytest.approx(2 * 20.0)
    assert [look.held for look in hands.looks] == [(4,), (1,), (1,), (4,), (0,)]
    for name in ("distributor", "free", "one"):
        filled = crawl(*sites, **rules, distribution=name, looks=[10.0])
        assert filled.seconds == pytest.approx(2.0 + 2.0 + 20.0)
        assert [look.held for look in filled.looks] == [(2,)]


def test_it_is_the_crawls_own_competition_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    sites = [site(200 if n % 4 == 3 else 20, 0.1) for n in range(8)]
    rules = {"threads": 1, "seeds_per_thread": 4, "delay": 0.0, "together": True}
    monkeypatch.setattr(HandCompetition, "_takes", FreeCompetition._takes)
    assert crawl(*sites, **rules, distribution="hands") == crawl(*sites, **rules, distribution="free")


def test_one_at_a_time_gives_each_thread_its_seeds_where_free_competition_fills_the_first() -> None:
    held = {
        name: crawl(
            *[site(100)] * 10, distribution=name, threads=4, blocking=True, delay=0.0, together=True, looks=[0.1]
        )
        for name in ("one", "free", "hands")
    }
    assert held["one"].looks[0].held == (3, 3, 2, 2)
    assert held["free"].looks[0].held == held["hands"].looks[0].held == (10, 0, 0, 0)
    assert held["one"].seconds == pytest.approx(3 * 20.0)
    assert held["free"].seconds == pytest.approx(10 * 20.0)


def test_seeds_that_become_known_one_by_one_are_crawled_as_they_come() -> None:
    run = crawl(*[site(1)] * 50, delay=1.0, supply=2.0)
    assert run.seconds == pytest.approx(49 / 2.0 + 0.2)
    assert list(run.ends) == pytest.approx([number / 2.0 + 0.2 for number in range(50)])
    assert run.drained_at == pytest.approx(49 / 2.0)


def test_a_host_that_never_answers_takes_its_thread_and_counts_no_request() -> None:
    dead = PlannedSite((1,), 60.0, answers=False)
    run = crawl(dead, site(10, 0.1), threads=1, blocking=True, delay=0.0)
    assert run.requests == 10
    assert run.points[-1].requests == pytest.approx(10)
    assert run.seconds >= 60.0
    assert run.at_requests(1.0) <= run.seconds
    beside = crawl(dead, site(10, 0.1), threads=2, blocking=True, delay=0.0)
    assert beside.at_requests(1.0) == pytest.approx(1.0)


def test_moves_wait_for_an_answer_but_are_made() -> None:
    """Without pauses a site is never inactive but at the moment of an answer."""
    sites = [site(1_000 if n % 2 == 0 else 2, 0.1) for n in range(8)]
    run = crawl(*sites, threads=2, blocking=True, delay=0.0)
    assert run.moves in (2, 3)  # once more if one thread is done before the other
    assert run.seconds == pytest.approx(2_000 * 0.1, rel=0.02)


def test_response_times_that_vary_make_longer_pauses() -> None:
    """Half of them are longer than the delay; the mean of exp(N(0, 1)) above 1 is by the formula of Black."""
    sigma_one = (exp(1) - 1) ** 0.5 * exp(0.5)
    assert longer(exp(0.5), sigma_one, 1.0, 1.0) == pytest.approx(exp(0.5) * 0.841345 - 0.5, rel=1e-4)
    rules = PlanRules(delay=1.0)
    assert rules.pause(site(1, 0.5)) == 1.0
    assert rules.pause(PlannedSite((1,), 0.5, deviation=0.5)) > 1.2
    assert rules.pause(PlannedSite((1,), 50.0, deviation=1.0)) == pytest.approx(30.0, rel=0.01)
    assert PlanRules(delay=0.0).pause(PlannedSite((1,), 0.5, deviation=0.5)) == 0.0


def test_events_do_not_grow_with_pages_nor_memory_with_seeds() -> None:
    """A million sites take a hundred times as long."""
    sites = [site(10_000 if n % 100 == 0 else 10) for n in range(10_000)]
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    run = simulate(sites, PlanRules(threads=100))
    assert len(run.ends) == 10_000
    assert len(run.points) <= 2_001
    assert time.thread_time() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # KiB
    assert run.seconds > 10_000 * 110 * 1.2 / 1_000  # places
