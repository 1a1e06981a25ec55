"""Machines take turns at hosts that they ask on behalf of others, whoever has these in work, and whoever dies."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from time import monotonic

import pytest
from sqlalchemy import func, select, update

from scrawler.model.claims import SiteState
from scrawler.model.errands import Asked, Errand
from scrawler.model.robots import RobotsRow
from scrawler.model.servers import Slot
from scrawler.model.terms import url_hash
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.errands import ErrandTurns
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import errand, machine, robots, site
from tests.integration.store.crawling import add

KEY, ORIGIN = "rules.example", "http://rules.example"
URL = f"{ORIGIN}/robots.txt"
WANTED = {KEY: Errand(URL, ORIGIN)}
OTHER = {KEY: Errand(f"{ORIGIN}/other.txt", f"{ORIGIN}/other.txt")}


class Machine:
    def __init__(self, database: Database, name: str) -> None:
        self.machines = Machines(database)
        self.id = self.machines.register(name, os.getpid(), 0).id
        self.turns = ErrandTurns(database, self.id)
        self.claims = Claims(database, self.id)

    def ask(self, wanted: Mapping[str, Errand] = WANTED) -> RobotsRow | Slot | float:
        return self.turns.ask(wanted)[KEY]

    def may_ask(self, wanted: Mapping[str, Errand] = WANTED) -> bool:
        return isinstance(self.ask(wanted), Slot)

    def hears(self) -> bool:
        return self.machines.beat(self.id).errands

    def lends(self, database: Database) -> bool:
        wished = self.turns.wished()
        at = {one.site_id: database.now() for one in wished if not (one.is_lent or one.is_over)}
        return bool(self.turns.lend(at))


@pytest.fixture
def machines(database: Database) -> list[Machine]:
    add(database)
    return [Machine(database, name) for name in "abc"]


def copy(at: int, name: str = ORIGIN) -> RobotsRow:
    return RobotsRow(url_hash(name), name, 0, at, 200, "", zlib.compress(b"text"))


def clock(database: Database) -> int:
    with database.read() as connection:
        return int(connection.scalar(select(site.c.next_due_at).where(site.c.site_key == KEY)) or 0)


def make_due(database: Database) -> None:
    """Let all times be over that a host has to be left alone for."""
    with database.begin() as connection:
        connection.execute(update(site).values(next_due_at=1))
        connection.execute(update(errand).values(ends_at=1))


def test_a_host_that_nobody_has_in_work_is_asked_by_one_and_its_copy_serves_all(
    database: Database, machines: list[Machine]
) -> None:
    first, second, third = machines
    slot = first.ask()
    assert isinstance(slot, Slot)
    assert slot.begin <= monotonic() <= slot.end
    wait = second.ask()
    assert isinstance(wait, float)
    assert 50 < wait <= 60, "if the first one were killed, so long"
    first.turns.over({KEY: Asked(2_000, copy(database.now()))})
    assert isinstance(third.ask(), RobotsRow)
    wait = second.ask(OTHER)
    assert isinstance(wait, float)
    assert 1 < wait <= 2, "the pause of the host"
    make_due(database)
    assert second.may_ask(OTHER)
    assert isinstance(third.ask(OTHER), float)


def test_a_killed_machine_keeps_nobody_waiting_for_ever(database: Database, machines: list[Machine]) -> None:
    first, second, third = machines
    assert first.may_ask()
    make_due(database)
    assert second.may_ask()
    first.turns.over({KEY: Asked(0, None)})
    assert isinstance(third.ask(), float), "its late word moves no clock of another one"


def test_whoever_claims_a_site_begins_after_what_was_asked_of_its_host(
    database: Database, machines: list[Machine]
) -> None:
    first, second, _ = machines
    assert first.may_ask()
    add(database, f"{ORIGIN}/")
    (claimed,) = second.claims.claim(10, 10)
    assert claimed.next_due_at > database.now() + 50_000
    assert claimed.fresh


def test_whoever_has_claimed_a_site_meanwhile_hears_that_its_host_was_asked(
    database: Database, machines: list[Machine]
) -> None:
    first, owner, third = machines
    assert first.may_ask()
    add(database, f"{ORIGIN}/")
    (claimed,) = owner.claims.claim(10, 10)
    first.turns.over({KEY: Asked(8_000, copy(database.now()))})
    assert owner.hears()
    (back,) = owner.turns.wished()
    assert (back.site_id, back.url, back.is_over) == (claimed.id, URL, True)
    assert 7 < back.left <= 8
    assert third.turns.wished() == [], "it is none of its business"
    make_due(database)
    assert owner.turns.wished() == []
    assert not owner.hears()


def test_a_site_that_was_made_for_its_clock_is_nothing_to_crawl(database: Database, machines: list[Machine]) -> None:
    first, second, _ = machines
    first.ask()
    with database.read() as connection:
        assert connection.scalars(select(site.c.state)).all() == [SiteState.DONE.value]
    assert second.claims.claim(10, 10) == []
    assert not any(Seeds(database).counts().values())


@pytest.mark.parametrize("dies", [False, True])
def test_a_machine_that_has_a_site_in_work_lends_its_host(
    database: Database, machines: list[Machine], dies: bool
) -> None:
    owner, first, second = machines
    add(database, f"{ORIGIN}/")
    (claimed,) = owner.claims.claim(10, 10)
    assert not owner.hears()
    assert isinstance(first.ask(), float)
    assert owner.hears()
    assert isinstance(second.ask(), float)
    assert isinstance(first.ask(), float), "the owner has to say when"
    assert owner.lends(database)
    assert not owner.lends(database), "it does so once"
    assert isinstance(second.ask(), float), "it was lent to another one"
    assert first.may_ask()
    if dies:
        make_due(database)
        assert owner.turns.wished() == []
    else:
        first.turns.over({KEY: Asked(1_500, copy(database.now()))})
        (back,) = owner.turns.wished()
        assert back.is_over
        assert 1.0 < back.left <= 1.5
        (kept,) = owner.turns.copies([ORIGIN]).values()
        assert kept.site_id == claimed.id
        make_due(database)
    assert isinstance(second.ask(OTHER), float)
    assert owner.lends(database)
    assert second.may_ask(OTHER)


def test_what_the_owner_knows_it_gives(database: Database, machines: list[Machine]) -> None:
    owner, first, second = machines
    add(database, f"{ORIGIN}/")
    (claimed,) = owner.claims.claim(10, 10)
    first.ask(OTHER)
    name = OTHER[KEY].copy
    owner.turns.give({claimed.id: copy(database.now(), name)})
    for one in (first, second):
        found = one.ask(OTHER)
        assert isinstance(found, RobotsRow)
        assert (found.origin, found.site_id) == (name, 0), "it is no robots.txt of the site"
    assert not owner.hears()


def test_a_site_is_lent_by_its_owner_alone(database: Database, machines: list[Machine]) -> None:
    owner, first, second = machines
    add(database, f"{ORIGIN}/")
    (claimed,) = owner.claims.claim(10, 10)
    first.ask()
    at = {claimed.id: database.now()}
    assert second.turns.lend(at) == []
    assert owner.turns.lend({claimed.id: database.now() - 9_000}) == [], "too late for the other one to begin"
    assert owner.turns.lend(at) == [claimed.id]
    assert clock(database) > database.now() + 50_000, "whoever takes the site over begins after that"


def test_of_a_machine_that_died_the_site_is_left_alone_as_long_as_it_may_have_asked(
    database: Database, machines: list[Machine]
) -> None:
    owner, first, _ = machines
    add(database, f"{ORIGIN}/")
    owner.claims.claim(10, 10)
    owner.machines.stop(owner.id)
    wait = first.ask()
    assert isinstance(wait, float)
    assert wait > 5
    with database.begin() as connection:
        connection.execute(update(machine).values(heartbeat_at=1))
    assert first.may_ask()


def test_old_copies_and_clocks_from_the_future_do_not_count(database: Database, machines: list[Machine]) -> None:
    first, second, _ = machines
    first.ask()
    first.turns.over({KEY: Asked(0, copy(database.now() - 25 * 3600 * 1000))})
    with database.begin() as connection:
        connection.execute(update(site).values(next_due_at=database.now() + 365 * 24 * 3600 * 1000))
    assert second.may_ask()
    with database.read() as connection:
        assert connection.scalar(select(func.count()).select_from(robots)) == 1
