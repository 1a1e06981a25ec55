"""Hosts that no site of a machine asks: the database is asked before, and other machines hear what came of it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing

import pytest

from scrawler.core.asking.budget import AddressBudget
from scrawler.core.asking.elsewhere import Elsewhere, copy_name
from scrawler.core.asking.origins import Origins
from scrawler.core.clock import DatabaseClock
from scrawler.core.party.site import Origin, SiteContext
from scrawler.core.seen import ExactSeen, MemoryBudget
from scrawler.errors import StoreBusyError
from scrawler.fetch.downloader import Request, Response
from scrawler.fetch.resolver import Resolver
from scrawler.model.errands import Asked, Errand, Wished
from scrawler.model.results import Result
from scrawler.model.robots import RobotsRow
from scrawler.model.scope import Scope
from scrawler.model.servers import Slot
from scrawler.model.terms import Millis, url_hash
from tests.crawl_rules import crawl_rules
from tests.unit.core.test_errands import Holder

HOST = "rules.example"
URL, SHARED = f"http://{HOST}/robots.txt", f"http://{HOST}/shared.txt"
SITE_ID = 7


class Database:
    """What machines say to each other, as a test wants it."""

    def __init__(self) -> None:
        self.says: RobotsRow | Slot | float = 1.0
        self.wishes: list[Wished] = []
        self.rows: dict[str, RobotsRow] = {}
        self.asked: list[Mapping[str, Errand]] = []
        self.told: list[Mapping[str, Asked]] = []
        self.kept: list[RobotsRow] = []
        self.given: dict[int, RobotsRow] = {}
        self.lent: list[int] = []
        self.lends = True
        self.is_busy = False

    def ask(self, wanted: Mapping[str, Errand]) -> Mapping[str, RobotsRow | Slot | float]:
        if self.is_busy:
            raise StoreBusyError("busy")
        self.asked.append(wanted)
        return dict.fromkeys(wanted, self.says)

    def over(self, asked: Mapping[str, Asked]) -> None:
        self.told.append(asked)

    def keep(self, copies: Sequence[RobotsRow]) -> None:
        self.kept += copies

    def wished(self) -> Sequence[Wished]:
        return self.wishes

    def lend(self, at: Mapping[int, Millis]) -> Collection[int]:
        self.lent += at
        return list(at) if self.lends else []

    def give(self, copies: Mapping[int, RobotsRow]) -> None:
        self.given.update(copies)

    def copies(self, names: Iterable[str]) -> Mapping[str, RobotsRow]:
        return {name: self.rows[name] for name in names if name in self.rows}


class Bench:
    def __init__(self, resolver: Resolver) -> None:
        self.database = Database()
        self.jobs: deque[Callable[[], None]] = deque()
        self.called: list[SiteContext] = []
        rules = crawl_rules()
        turn = threading.RLock()
        self.budget = AddressBudget(rules, self.called.append)
        self.origins = Origins(turn, resolver, "test", True, rules, self.called.append)
        self.errands = self.origins.errands
        self.elsewhere = Elsewhere(
            self.database, self.origins, self.budget, Scope.HOST, DatabaseClock(), turn, self.called.append,
            self.jobs.append,
        )  # fmt: skip
        self.errands.others = self.elsewhere
        self.site = self.new_site("here.example")

    def new_site(self, key: str) -> SiteContext:
        made = SiteContext(SITE_ID, key, 1, ExactSeen(MemoryBudget(1_000)), False)
        made.collector = Holder()
        return made

    def own(self) -> SiteContext:
        """Make a site of the host come here."""
        made = self.new_site(HOST)
        made.origins[f"http://{HOST}"] = Origin(f"http://{HOST}", HOST)
        self.errands.meet(made, URL, HOST)
        return made

    def wait(self, url: str = URL) -> float:
        now = time.monotonic()
        at = self.errands.wait_for(self.site, url, now) or self.errands.wait_for_others(self.site, url, now)
        return max(0.0, at - now)

    def work(self) -> None:
        while self.jobs:
            self.jobs.popleft()()

    def ask(self, url: str = URL) -> None:
        """Ask a host in a slot, and have an answer."""
        self.database.says = Slot(0.0, time.monotonic() + 60)
        self.wait(url)
        self.work()
        assert self.wait(url) == 0.0
        now = time.monotonic()
        self.errands.began(self.site, url, now)
        self.errands.over(self.site, url, now + 2, now)
        self.elsewhere.answered(url, answer())
        self.work()


@pytest.fixture
def bench() -> Iterable[Bench]:
    with closing(_Closing(Resolver(threads=1, static={}))) as running:
        yield Bench(running.resolver)


class _Closing:
    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver

    def close(self) -> None:
        self.resolver.close(1.0)


def answer(body: bytes = b"User-agent: *") -> Response:
    return Response(Request(URL, "127.0.0.1"), Result.FETCHED, 200, body=body)


def row(url: str) -> RobotsRow:
    name = copy_name(url)
    return RobotsRow(url_hash(name), name, SITE_ID, 0, 404, "", b"")


def wish(url: str = URL, *, is_lent: bool = False, is_over: bool = False, left: float = 5.0) -> Wished:
    return Wished(SITE_ID, url, is_lent, is_over, left, 0.0)


def test_nobody_is_asked_where_there_is_no_need(bench: Bench) -> None:
    own = bench.new_site(HOST)
    assert bench.elsewhere.wait(own, URL, 1.0) == 0.0, "it is its own host"
    bench.elsewhere.beat(False)
    bench.budget.alone = True
    assert bench.wait() == 0.0
    bench.elsewhere.answered(SHARED, answer())
    assert not bench.jobs


def test_a_host_is_asked_in_the_slot_that_the_database_gives_and_given_back_with_a_copy(bench: Bench) -> None:
    assert bench.wait() > 0
    bench.work()
    assert bench.called == [bench.site]
    assert 0 < bench.wait() <= 1.0
    assert not bench.jobs, "it is asked again a second later"
    bench = Bench(bench.origins._resolver)
    bench.ask()
    (told,) = bench.database.told
    assert 1_900 <= told[HOST].pause <= 2_000
    copy = told[HOST].copy
    assert copy is not None
    assert copy.origin == f"http://{HOST}"
    assert bench.database.asked == [{HOST: Errand(URL, f"http://{HOST}")}]


def test_a_copy_in_the_database_serves(bench: Bench) -> None:
    bench.database.says = row(URL)
    bench.wait()
    bench.work()
    found = bench.errands.answer(URL, time.monotonic())
    assert found is not None
    assert (found.status, found.result) == (404, Result.HTTP_ERROR)
    assert bench.called == [bench.site]


def test_a_slot_in_which_nothing_was_begun_is_given_back(bench: Bench) -> None:
    bench.database.says = Slot(0.0, 0.0)
    bench.wait()
    bench.work()
    bench.elsewhere.beat(False)
    bench.work()
    (told,) = bench.database.told
    assert told[HOST] == Asked(0, None)


def test_a_database_that_is_busy_is_asked_once_more(bench: Bench) -> None:
    bench.database.is_busy = True
    bench.wait()
    job = bench.jobs.popleft()
    with pytest.raises(StoreBusyError):
        job()
    bench.database.is_busy = False
    job()
    assert bench.called == [bench.site]


def test_what_a_machine_is_told_at_a_host_of_its_own_goes_to_others(bench: Bench) -> None:
    """Its sites keep their own robots.txt by themselves."""
    bench.elsewhere.answered(URL, answer())
    bench.elsewhere.answered(SHARED, answer())
    bench.elsewhere.answered(SHARED, Response(Request(SHARED, ""), Result.REDIRECT, 302))
    bench.work()
    assert [copy.origin for copy in bench.database.kept] == [SHARED]


def test_a_host_is_lent_and_comes_back(bench: Bench) -> None:
    owner = bench.own()
    bench.database.wishes = [wish(SHARED)]
    bench.elsewhere.beat(True)
    bench.work()
    assert bench.database.lent == [SITE_ID]
    assert owner.due_at(HOST) > time.monotonic() + 50
    bench.database.wishes = [wish(SHARED, is_lent=True)]
    bench.elsewhere.beat(True)
    bench.work()
    assert owner.due_at(HOST) > time.monotonic() + 50
    bench.database.wishes = [wish(SHARED, is_lent=True, is_over=True, left=3.0)]
    bench.database.rows = {SHARED: row(SHARED)}
    bench.elsewhere.beat(True)
    bench.work()
    assert 2 < owner.due_at(HOST) - time.monotonic() <= 3
    assert bench.errands.answer(SHARED, time.monotonic()) is not None
    bench.database.wishes = []
    bench.elsewhere.beat(False)
    assert not bench.jobs, "nothing is lent any more"


def test_what_is_known_is_given_and_nothing_lent_for_it(bench: Bench) -> None:
    bench.own()
    bench.errands.answered(SHARED, answer(), True, time.monotonic())
    bench.database.wishes = [wish(SHARED)]
    bench.elsewhere.beat(True)
    bench.work()
    assert [copy.origin for copy in bench.database.given.values()] == [SHARED]
    assert bench.database.lent == []


@pytest.mark.parametrize("why", ["refused", "gone"])
def test_a_host_that_could_not_be_lent_or_whose_borrower_is_gone_goes_on(bench: Bench, why: str) -> None:
    owner = bench.own()
    bench.database.lends = why != "refused"
    bench.database.wishes = [wish()]
    bench.elsewhere.beat(True)
    bench.work()
    bench.database.wishes = []
    bench.elsewhere.beat(False)
    bench.work()
    assert owner.due_at(HOST) <= time.monotonic()
