"""When what a machine has done is handed over to be committed, by a clock that the test sets."""

from __future__ import annotations

from math import inf

import pytest

from scrawler.core.durable import handover
from scrawler.core.durable.checkpointer import LINGER
from scrawler.core.durable.handover import GIVEN, Handover
from scrawler.core.party.context import SeedContext
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.model.deltas import Rehoming, SiteDelta
from scrawler.model.rows import PageRow
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, Seed, SeedState
from scrawler.urls.analyzer import UrlAnalyzer
from scrawler.urls.scope import scope_of
from tests.crawl_rules import crawl_rules

AGE = 15.0


class Desk:
    """A handover with sites of one party each, and what was handed over."""

    def __init__(self, **rules: object) -> None:
        self.deltas: list[SiteDelta] = []
        self.waits: list[float] = []  # for how long each of all deltas may wait to be committed
        self.handover = Handover(self._submit, crawl_rules(**{"checkpoint_interval": AGE} | rules))
        self.sites: list[SiteContext] = []

    def _submit(self, delta: SiteDelta, wait: float) -> None:
        self.deltas.append(delta)
        self.waits.append(wait)

    def site(self) -> SiteContext:
        number = len(self.sites) + 1
        url = f"http://h{number}.example/"
        site = SiteContext(number, f"h{number}.example", 1, ExactSeen(MemoryBudget(1 << 20)), more_seeds=False)
        seed = Seed(number, number, url, url, 0, 0)
        scope = scope_of(url, Scope.HOST)
        site.parties.append(SeedContext(seed, UrlAnalyzer(scope), scope, 0.0))
        self.sites.append(site)
        return site

    def answer(self, site: SiteContext, now: float, told: bool = False) -> None:
        party = site.parties[0]
        party.pages.add(page(party))
        party.touch()
        site.told = site.told or told
        self.handover.answered(site, party, now)

    def saved(self) -> list[int]:
        """Return the sites handed over since the last call."""
        found = [delta.site_id for delta in self.deltas]
        self.deltas.clear()
        return found


def page(party: SeedContext) -> PageRow:
    return PageRow(**dict.fromkeys(PageRow._fields, 0) | {"seed_id": party.seed.id, "result": "fetched", "url": "u"})


def test_a_machine_with_little_to_do_hands_over_soon() -> None:
    desk = Desk()
    assert desk.handover.next_at == inf
    site = desk.site()
    desk.answer(site, 100.0)
    desk.answer(site, 101.0)
    assert 101.0 < desk.handover.next_at < 102.0
    desk.handover.checkpoint(desk.handover.next_at)
    assert desk.saved() == [1]
    assert desk.handover.next_at == inf
    desk.handover.checkpoint(200.0)
    assert desk.saved() == []


@pytest.mark.parametrize(
    ("sites", "age", "pace"),
    [(60, 5.0, 2.5), (120, 10.0, 5.0), (200, AGE, 7.5), (400, AGE, 5.625), (2_000, AGE, 1.125), (5_000, AGE, 0.5)],
)
def test_many_are_handed_over_evenly_and_none_too_late(sites: int, age: float, pace: float) -> None:
    """All began at once; what is answered once a second is handed over again and again."""
    desk = Desk()
    now = 100.0
    for _ in range(sites):
        desk.answer(desk.site(), now)
    since, saved_at_once = dict.fromkeys(range(1, sites + 1), now), []
    while now < 100.0 + 4 * age:
        now = max(now, min(desk.handover.next_at, now + 1.0))
        if now >= desk.handover.next_at:
            desk.handover.checkpoint(now)
        saved = desk.saved()
        if saved:
            saved_at_once.append(len(saved))
        for number in saved:
            assert now - since[number] <= age
            desk.answer(desk.sites[number - 1], now)
            since[number] = now
    even = sites * pace / age
    assert max(saved_at_once) <= even + 1
    assert sum(saved_at_once) >= 3 * sites
    assert sum(saved_at_once) <= 5 * sites, "no more often than their age asks for"


def test_half_of_many_wait_for_their_turn_when_the_other_half_was_handed_over() -> None:
    """200 sites that answer every 2.4 s are handed over by hundreds, 7.5 s apart, and none of them in between."""
    desk = Desk()
    sites = [desk.site() for _ in range(200)]
    answers = sorted((100.0 + number / 1000 + 2.4 * turn, number) for number in range(200) for turn in range(25))
    saved: list[tuple[float, int]] = []
    for now, number in answers:
        if desk.handover.next_at <= now:
            desk.handover.checkpoint(now)
            saved.append((now, len(desk.saved())))
        desk.answer(sites[number], now)
    sizes = [size for _, size in saved if size]
    assert min(sizes[1:]) >= 90
    assert len(sizes) <= 60 / 7.5 + 2


def test_few_that_are_left_of_many_are_handed_over_soon_again() -> None:
    desk = Desk()
    sites = [desk.site() for _ in range(200)]
    for site in sites:
        desk.answer(site, 100.0)
    desk.handover.checkpoint(100.0)
    for site in sites[3:]:
        desk.handover.release(site, 101.0)
    desk.saved()
    for site in sites[:3]:
        desk.answer(site, 102.0)
    assert desk.handover.next_at == 107.5
    desk.handover.checkpoint(107.5)
    assert desk.saved() == [1, 2, 3]
    desk.answer(sites[0], 108.0)
    assert desk.handover.next_at == 109.5


def test_few_wait_for_each_other_until_the_oldest_is_old() -> None:
    desk = Desk()
    for _ in range(18):
        desk.answer(desk.site(), 100.0)
    assert desk.handover.next_at == 101.5
    desk.handover.checkpoint(101.5)
    assert desk.saved() == list(range(1, 19))


def test_each_is_handed_over_when_its_own_oldest_change_is_old() -> None:
    desk = Desk()
    one, two = desk.site(), desk.site()
    desk.answer(one, 100.0)
    desk.answer(two, 101.0)
    desk.answer(one, 101.4)
    desk.handover.checkpoint(101.5)
    assert desk.saved() == [1]
    desk.answer(one, 102.0)
    desk.handover.checkpoint(102.5)
    assert desk.saved() == [2]
    assert desk.handover.next_at == 103.5


def test_what_a_server_has_asked_for_and_what_is_much_does_not_wait() -> None:
    desk = Desk(checkpoint_pages=3)
    one, two = desk.site(), desk.site()
    desk.answer(one, 100.0, told=True)
    assert desk.saved() == [1]
    desk.answer(two, 100.0)
    desk.answer(two, 100.0)
    assert desk.saved() == []
    desk.answer(two, 100.0)
    assert desk.saved() == [2]
    desk.answer(one, 100.0)
    assert desk.saved() == []


def test_of_all_sites_no_more_than_so_many_answers_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "MOST_ANSWERS", 50)
    monkeypatch.setattr(handover, "_ANSWERS_AT_ONCE", 20)
    desk = Desk()
    sites = [desk.site() for _ in range(10)]
    waiting, at_once = 0, []
    for number in range(200):
        now = 100.0 + number / 1000
        desk.answer(sites[number % 10], now)
        if desk.handover.next_at <= now:
            desk.handover.checkpoint(now)
            at_once.append(desk.saved())
        waiting = max(waiting, sum(site.unsaved for site in sites))
    assert waiting <= 50
    assert len(at_once) == 7
    assert at_once[:3] == [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10]], "together, the oldest first"


def test_many_answers_are_handed_over_in_parts_that_are_committed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 sites, 100 would be handed over every 7.5 s; that is done in parts, each as long after the last one."""
    monkeypatch.setattr(handover, "_ANSWERS_AT_ONCE", 80)
    desk = Desk()
    for _ in range(200):
        site = desk.site()
        for _ in range(4):
            desk.answer(site, 100.0)
    desk.handover.checkpoint(100.01)
    assert desk.saved() == list(range(1, 21))
    assert desk.handover.next_at == pytest.approx(101.51)
    desk.handover.checkpoint(101.51)
    assert len(desk.saved()) == 20
    desk.handover.checkpoint(114.9)
    assert len(desk.saved()) == 160, "however many answers they have: they are old"


def test_a_page_that_is_listed_in_part_waits_for_its_end_and_holds_up_no_other() -> None:
    desk = Desk()
    long, other = desk.site(), desk.site()
    long.listing = True
    desk.answer(long, 100.0, told=True)
    desk.answer(other, 100.0)
    desk.handover.checkpoint(102.0)
    assert desk.saved() == [2]
    assert desk.handover.next_at > 102.0
    long.listing = False
    desk.handover.checkpoint(desk.handover.next_at)
    assert desk.saved() == [1]


@pytest.mark.parametrize("interval", [0.1, 0.25, 0.3])
def test_a_page_that_is_listed_in_part_does_not_come_round_for_ever(interval: float) -> None:
    desk = Desk(checkpoint_interval=interval)
    long, other = desk.site(), desk.site()
    long.listing = True
    desk.answer(long, 100.0)
    desk.answer(other, 100.0)
    desk.handover.checkpoint(100.5)
    assert desk.saved() == [2]
    assert desk.handover.next_at == 100.5 + interval


def test_nothing_is_written_of_a_site_that_was_given_back() -> None:
    desk = Desk()
    site = desk.site()
    desk.answer(site, 100.0)
    desk.handover.release(site, 100.0)
    assert [delta.released for delta in desk.deltas] == [True]
    desk.saved()
    desk.answer(site, 101.0)
    desk.handover.checkpoint(200.0)
    assert desk.saved() == []


@pytest.mark.parametrize("released", [True, False])
def test_what_is_over_waits_until_others_are_handed_over_where_many_are(released: bool) -> None:
    """At 120 sites, each is handed over within 10 s, and half of them every 5 s; what is over comes with these."""
    desk = Desk()
    for _ in range(120):
        desk.answer(desk.site(), 100.0)
    desk.handover.checkpoint(100.0)
    for site, now, wait in ((desk.sites[-1], 101.0, 4.25), (desk.sites[-2], 105.2, LINGER)):
        desk.waits.clear()
        if released:
            desk.handover.release(site, now)
        else:
            desk.handover.ends(site, now)
        assert desk.waits == [pytest.approx(wait)]


def test_what_is_over_waits_for_no_longer_than_its_oldest_change_may() -> None:
    desk = Desk(checkpoint_interval=6.0)
    for _ in range(120):
        desk.answer(desk.site(), 100.0)
    desk.handover.checkpoint(103.0)  # the next ones are handed over at 106.0, and what is over by 106.25 otherwise
    desk.waits.clear()
    desk.handover.ends(desk.sites[-1], 103.5)
    assert desk.waits == [pytest.approx(2.5)]


def test_what_is_over_does_not_wait_where_little_is_done_or_a_server_has_asked_for_something() -> None:
    desk = Desk()
    for _ in range(10):
        desk.answer(desk.site(), 100.0)
    desk.handover.ends(desk.sites[0], 100.1)
    desk.handover.release(desk.sites[1], 100.1)
    for _ in range(110):
        desk.answer(desk.site(), 100.2)
    desk.handover.checkpoint(100.2)
    desk.sites[-1].told = True
    desk.handover.ends(desk.sites[-1], 100.3)
    assert set(desk.waits) == {LINGER}


def test_of_a_site_that_has_never_answered_its_end_alone_is_handed_over() -> None:
    desk = Desk()
    site = desk.site()
    for tries in range(3):
        desk.handover.changed(site, 100.0 + tries)
        desk.handover.answered(site, None, 100.5 + tries)
    assert desk.handover.next_at == inf, "there is nothing to keep: whoever takes it over begins it anew"
    site.parties[0].finish(EndReason.DEAD)
    desk.handover.release(site, 130.0)
    (delta,) = desk.deltas
    assert delta.released
    assert [one.state for one in delta.seeds] == [SeedState.DONE]


def test_a_site_that_has_said_something_is_handed_over_with_its_list() -> None:
    desk = Desk()
    site = desk.site()
    site.parties[0].list_new(site.seen, [site.parties[0].seed.home_url], 0)
    desk.handover.changed(site, 100.0)
    site.told = True
    site.count_push_back(None)
    desk.handover.answered(site, None, 101.0)
    (delta,) = desk.deltas
    assert [len(one.lanes) for one in delta.seeds] == [1]


def test_ends_that_come_all_the_time_are_committed_twice_a_second() -> None:
    desk = Desk()
    ends = [100.0 + number / 100 for number in range(300)]
    for now in ends:
        desk.handover.release(desk.site(), now)
    # A batch is committed when the first of its deltas is due.
    commits, due = 0, -inf
    for now, wait in zip(ends, desk.waits, strict=True):
        if now > due:
            commits += 1
            due = now + wait
    assert commits <= 8
    assert max(desk.waits) <= 0.5


def test_what_goes_to_another_machine_waits_even_less() -> None:
    desk = Desk()
    for _ in range(120):
        desk.answer(desk.site(), 100.0)
    desk.sites[-2].going = True
    desk.handover.release(desk.sites[-2], 100.3)
    assert desk.waits == [GIVEN]


@pytest.mark.parametrize("released", [True, False])
def test_a_seed_that_moves_to_another_site_does_not_wait(released: bool) -> None:
    desk = Desk()
    for _ in range(120):
        desk.answer(desk.site(), 100.0)
    desk.handover.checkpoint(100.0)
    desk.waits.clear()
    party = desk.sites[-1].parties[0]
    party.finish(Rehoming("http://other.example/", "other.example", 1))
    if released:
        desk.handover.release(desk.sites[-1], 100.3)
    else:
        desk.handover.ends(desk.sites[-1], 100.3)
    assert desk.waits == [LINGER]


def test_the_end_of_a_sites_only_party_is_handed_over_with_the_site() -> None:
    desk = Desk()
    site = desk.site()
    assert not site.is_over
    site.parties[0].finish(EndReason.COMPLETED)
    assert site.is_over
    desk.handover.release(site, 100.0)
    (delta,) = desk.deltas
    assert delta.released
    assert [one.state for one in delta.seeds] == [SeedState.DONE]


def test_a_site_is_not_over_while_more_may_come_of_it() -> None:
    site = Desk().site()
    site.parties[0].finish(EndReason.COMPLETED)
    for hold, value, free in (
        ("more_seeds", True, False),
        ("set_aside", list(site.parties), []),
        ("listing", True, False),
        ("in_flight", 1, 0),
        ("waiting", 1, 0),
    ):
        setattr(site, hold, value)
        assert not site.is_over
        setattr(site, hold, free)
    assert site.is_over
