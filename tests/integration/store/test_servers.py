"""Machines share an address, whoever comes, goes and dies, and in whatever order things happen."""

from __future__ import annotations

import os
import random
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from math import inf
from time import monotonic

import pytest
from sqlalchemy import event, func, select, update

from scrawler.core.asking.sharing import ServerSharing
from scrawler.core.party.site import SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.model.scope import Scope
from scrawler.model.servers import Standing
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.servers import Servers, share_of
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import server, server_place
from tests.crawl_rules import crawl_rules

PER_IP = 5
ADDRESSES = ("192.0.2.1", "192.0.2.2")
ACTS = ("meet", "visit", "finish", "work", "beat", "dismiss", "give_up", "end")
WEIGHTS = (25, 40, 8, 12, 12, 6, 1, 0.7)


class InterruptedServers(Servers):
    """Sites are visited while the database is asked."""

    meanwhile: Callable[[], None]

    def share(
        self, held: Mapping[str, int], left: Collection[str], per_ip: int, alone: bool
    ) -> Mapping[str, int] | None:
        self.meanwhile()
        return super().share(held, left, per_ip, alone)


class Crawler:
    """A machine that asks two servers, step by step; `jobs` wait for its store thread."""

    def __init__(self, database: Database, name: str) -> None:
        self._machines = Machines(database)
        self.id = self._machines.register(name, os.getpid(), 0).id
        rules = crawl_rules(per_ip=PER_IP)
        self.visits: dict[SiteContext, None] = {}
        self.jobs: deque[Callable[[], None]] = deque()
        self.in_flight: list[tuple[SiteContext, str]] = []
        self.goals: dict[SiteContext, str] = {}
        self.asked = 0
        self.restless = False  # answers come, and sites go, while the database is asked
        servers = InterruptedServers(database, self.id)
        servers.meanwhile = self.go_on
        self._sharing = ServerSharing(servers, rules, threading.RLock(), self.visits.setdefault, self.jobs.append)
        self.budget = self._sharing.budget

    def beat(self) -> None:
        orders = self._machines.beat(self.id)
        living = frozenset(one.id for one in orders.living.machines)
        self._sharing.beat(len(living), Standing(orders.shares, living, orders.now))

    def work(self) -> None:
        if self.jobs:
            self.jobs.popleft()()

    def meet(self, address: str) -> None:
        """A site comes that asks the address once."""
        site = SiteContext(0, "", 0, ExactSeen(MemoryBudget(1000)), more_seeds=False)
        self.goals[site] = address
        self.visits[site] = None

    def visit(self) -> None:
        if not self.visits:
            return
        site = next(iter(self.visits))
        del self.visits[site]
        address = self.goals.get(site)
        if address is not None and not self.budget.queue_up(site, address, inf):
            self.budget.began(site, address)
            self.in_flight.append((site, address))
            del self.goals[site]
            self.asked += 1

    def go_on(self) -> None:
        for _ in range(3):
            self.visit()
        if self.restless:
            self.finish()
            self.dismiss()

    def finish(self) -> None:
        if self.in_flight:
            self.budget.over(self.in_flight.pop(0)[1], 0.0)

    def dismiss(self) -> None:
        """Sites at the addresses are let go, as far as none asks there."""
        for address in ADDRESSES:
            self.budget.dismiss(address, 1.0, waited_for=True)

    def give_up(self) -> None:
        """A site is let go while it waits."""
        if self.goals:
            site = next(iter(self.goals))
            del self.goals[site]
            self.budget.leave(site)

    def end(self) -> None:
        self._machines.stop(self.id)


def most(crawlers: list[Crawler]) -> int:
    """Requests in flight at the busier address, of all machines that live."""
    flights = [address for one in crawlers for _, address in one.in_flight]
    return max(flights.count(address) for address in ADDRESSES)


@pytest.mark.parametrize("chance", range(2))
def test_together_they_never_have_more_in_flight_than_one_may(database: Database, chance: int) -> None:
    Crawls(database).open("crawl", Scope.HOST)
    pick = random.Random(chance)
    crawlers: list[Crawler] = []
    reached, came = 0, 0
    for step in range(400):
        if not crawlers or (len(crawlers) < 3 and step % 30 == 0):
            crawlers.append(Crawler(database, f"host{came}"))
            crawlers[-1].restless = pick.random() < 0.5
            came += 1
        one = pick.choice(crawlers)
        act = pick.choices(ACTS, WEIGHTS)[0]
        if act == "meet":
            one.meet(ADDRESSES[pick.random() < 0.2])
        elif act == "end":
            one.end()
            crawlers.remove(one)
        else:
            getattr(one, act)()
        reached = max(reached, most(crawlers))
        assert reached <= PER_IP
    assert reached == PER_IP
    for _ in range(300):  # nobody waits for ever
        for one in crawlers:
            for act in (one.finish, one.beat, one.work, one.work, one.visit, one.visit, one.visit):
                act()
                assert most(crawlers) <= PER_IP
        if not any(one.goals or one.in_flight for one in crawlers):
            break
    assert not any(one.goals or one.in_flight for one in crawlers)
    for one in crawlers * 6:  # what was let go is told with the fifth heartbeat at the latest
        one.beat()
        one.work()
    with database.read() as connection:
        theirs = server_place.c.machine_id.in_([one.id for one in crawlers]), server_place.c.address != ""
        assert connection.scalar(select(func.count()).where(*theirs)) == 0
    assert all(not server.queue and not server.in_flight for one in crawlers for server in one.budget.servers.values())


def test_who_lives_alone_asks_once_and_tells_before_another_one_begins(database: Database) -> None:
    Crawls(database).open("crawl", Scope.HOST)
    first = Crawler(database, "a")
    first.beat()
    first.work()
    for _ in range(7):
        first.meet(ADDRESSES[0])
        first.visit()
    first.beat()
    assert (len(first.in_flight), len(first.jobs)) == (5, 0)
    second = Crawler(database, "b")
    second.beat()
    second.work()
    for address in ADDRESSES:  # the first one may be anywhere
        second.meet(address)
        second.visit()
        second.work()
    assert second.asked == 0
    first.beat()
    first.work()
    second.beat()
    second.work()
    while second.visits:
        second.visit()
    assert [address for _, address in second.in_flight] == [ADDRESSES[1]]
    second.end()
    first.beat()
    first.work()
    assert first.budget.alone


def test_what_one_has_done_with_another_gets_without_a_heartbeat(database: Database) -> None:
    """Whether it asks after the first has let go or before; what the first one still uses it does not let go."""
    Crawls(database).open("crawl", Scope.HOST)
    first, second = crawlers = [Crawler(database, name) for name in "ab"]
    for one in crawlers:
        one.beat()
        one.work()
    for address in (*ADDRESSES, ADDRESSES[0]):
        first.meet(address)
        first.visit()
        first.work()
        first.visit()
    first.finish()
    first.finish()
    first.dismiss()
    assert list(first.budget.servers) == [ADDRESSES[0]], "there one is in flight"
    second.meet(ADDRESSES[0])
    second.visit()
    second.work()
    second.visit()
    assert not second.in_flight
    first.finish()
    first.dismiss()
    assert not first.budget.servers
    while first.jobs:
        first.work()
    assert second.jobs, "it asks again by itself"
    second.work()
    second.visit()
    assert [address for _, address in second.in_flight] == [ADDRESSES[0]]
    assert second.budget.servers[ADDRESSES[0]].share == PER_IP
    second.meet(ADDRESSES[1])
    second.visit()
    second.work()
    second.visit()
    assert second.budget.servers[ADDRESSES[1]].share == PER_IP


def test_what_nobody_has_changed_is_not_looked_up_again(database: Database) -> None:
    """Each heartbeat asks for all addresses, and most of them have one machine."""
    Crawls(database).open("crawl", Scope.HOST)
    numbers = [Machines(database).register(name, os.getpid(), 0).id for name in "ab"]
    first, second = (Servers(database, number) for number in numbers)
    held = {f"198.51.100.{number}": 0 for number in range(50)}
    while (shares := first.share(held, [], PER_IP, False)) != held:
        held = dict(shares or {})
    assert held == dict.fromkeys(held, PER_IP)
    seen = _statements(database)
    assert first.share(held, [], PER_IP, False) == held
    assert not any("198.51.100" in text for text in seen)
    elsewhere = {"198.51.100.200": 0}
    second.share(elsewhere, [], PER_IP, False)
    seen.clear()
    assert first.share(held, [], PER_IP, False) == held
    assert not any("198.51.100" in text for text in seen), "what others do elsewhere is none of its business"
    second.share({"198.51.100.7": 0}, [], PER_IP, False)
    shares = first.share(held, [], PER_IP, False) or {}
    assert 0 < shares["198.51.100.7"] < PER_IP
    first.share(held | shares, [], PER_IP, False)
    assert second.share({"198.51.100.7": 0}, [], PER_IP, False) == {"198.51.100.7": PER_IP - shares["198.51.100.7"]}
    seen.clear()
    more = first.share(held | shares, ["198.51.100.8"], PER_IP, False) or {}
    assert more["198.51.100.7"] == shares["198.51.100.7"]


def test_a_heartbeat_that_has_heard_of_no_change_asks_nothing(database: Database) -> None:
    Crawls(database).open("crawl", Scope.HOST)
    first, second = crawlers = [Crawler(database, name) for name in "ab"]
    for one in crawlers * 2:  # the first one lives alone until it has heard of the second
        one.beat()
        one.work()
    first.meet(ADDRESSES[0])
    first.visit()
    first.work()
    first.beat()
    seen = _statements(database)
    first.work()
    assert seen == []
    second.meet(ADDRESSES[0])
    second.visit()
    second.work()
    first.beat()
    while first.jobs:  # it hears that it has less, and tells that it keeps to it
        first.work()
    assert first.budget.servers[ADDRESSES[0]].share < PER_IP, "it has heard that another one is there"
    second.beat()
    second.work()
    assert second.budget.servers[ADDRESSES[0]].share > 0
    second.end()
    first.beat()
    first.work()
    assert first.budget.alone, "it has heard that the other one is gone"


def test_what_was_let_go_is_told_with_other_questions_or_to_who_asks_for_it(database: Database) -> None:
    Crawls(database).open("crawl", Scope.HOST)
    first, second = crawlers = [Crawler(database, name) for name in "ab"]
    for one in crawlers * 2:
        one.beat()
        one.work()
    for address in ADDRESSES:
        first.meet(address)
        first.visit()
        first.work()
        first.visit()
    assert len(first.in_flight) == 2
    for _, address in first.in_flight:
        first.budget.over(address, 0.0)
        first.budget.dismiss(address, 1.0, waited_for=False)
    assert not first.budget.servers
    seen = _statements(database)
    first.beat()
    seen.clear()
    first.work()
    assert seen == [], "nobody has asked for it"
    second.meet(ADDRESSES[0])
    second.visit()
    second.work()
    first.beat()  # it hears that somebody has
    while first.jobs:
        first.work()
    second.beat()
    while second.jobs:
        second.work()
    assert second.budget.servers[ADDRESSES[0]].share == PER_IP
    with database.read() as connection:
        mine = server_place.c.machine_id == first.id
        assert connection.scalar(select(func.count()).where(mine)) == 0, "all that was let go is told with it"


def _statements(database: Database) -> list[str]:
    """Note all statements from now on, with their parameters."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, text: str, parameters: object, *_rest: object) -> None:
        seen.append(f"{text} {parameters}")

    event.listen(database._engine, "before_cursor_execute", note)
    return seen


def test_times_are_reserved_apart_from_each_other(database: Database) -> None:
    numbers = [Machines(database).register(name, os.getpid(), 0).id for name in "ab"]
    first, second = (Servers(database, number) for number in numbers)
    slots, longest = [], 0.0
    for who in (first, second, first, second):
        asked = monotonic()
        slots.append(who.reserve(dict.fromkeys(ADDRESSES, 0), 500, 100))
        longest = max(longest, monotonic() - asked)
    for address in ADDRESSES:
        at = [slot[address] for slot in slots]
        assert all(after.begin - before.end >= 0.498 for before, after in pairwise(at))
        assert all(0.0999 - longest <= slot.end - slot.begin <= 0.1 for slot in at), "shorter by what the asking took"
    mine = [second.reserve({ADDRESSES[0]: wait}, 500, 100)[ADDRESSES[0]] for wait in (0, 5000)]
    assert mine[0].begin < slots[-1][ADDRESSES[0]].begin, "what it has asked last it knows itself"
    assert mine[1].begin >= mine[0].begin + 4.9


def test_a_time_that_was_reserved_before_the_clock_was_set_back_is_near(database: Database) -> None:
    """Whoever has asked last: as many turns before as there can be are waited for, and not a day."""
    numbers = [Machines(database).register(name, os.getpid(), 0).id for name in "ab"]
    first, second = (Servers(database, number) for number in numbers)
    first.reserve(dict.fromkeys(ADDRESSES, 0), 500, 100)
    with database.begin() as connection:
        mine = update(server).where(server.c.address == ADDRESSES[0])
        connection.execute(mine.values(next_due_at=server.c.next_due_at + 24 * 3_600_000))
    now = monotonic()
    slots = second.reserve(dict.fromkeys(ADDRESSES, 0), 500, 100)
    assert now + 3 * 0.6 - 0.01 <= slots[ADDRESSES[0]].begin < now + 60
    assert slots[ADDRESSES[1]].begin < now + 60
    assert first.reserve({ADDRESSES[0]: 0}, 500, 100)[ADDRESSES[0]].begin >= slots[ADDRESSES[0]].end + 0.498


def test_what_cannot_be_divided_goes_round() -> None:
    assert [share_of(number, {other: 0 for other in (1, 2, 3) if other != number}, 8, 0) for number in (1, 2, 3)] == [
        3, 3, 2,
    ]  # fmt: skip
    for turn in range(3):
        ones = [share_of(number, {other: 0 for other in (4, 7, 9) if other != number}, 1, turn) for number in (4, 7, 9)]
        assert sorted(ones) == [0, 0, 1]
        assert ones[turn] == 1
    assert share_of(1, {2: 8}, 8, 0) == 0
    assert share_of(1, {2: 6}, 8, 0) == 2
    assert share_of(1, {}, 8, 5) == 8
