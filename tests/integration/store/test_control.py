from __future__ import annotations

import os
import subprocess
import sys

import pytest
from sqlalchemy import update

from scrawler.errors import StoreError
from scrawler.model.machines import LEASE, Command, MachineState
from scrawler.model.scope import Scope
from scrawler.store.claims.control import Control
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Seeds
from scrawler.store.claims.starts import Starts
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import crawl, machine
from tests.dead import declare_dead
from tests.integration.store.crawling import Worker, add


@pytest.fixture
def control(database: Database) -> Control:
    Crawls(database).open("crawl", Scope.HOST)
    return Control(database)


def _register(database: Database, launched_at: int | None = None) -> int:
    return Machines(database).register("m", os.getpid(), database.now() if launched_at is None else launched_at).id


def _commands(database: Database, *ids: int) -> list[Command]:
    return [Machines(database).beat(one).command for one in ids]


def _let_lease_run_out(database: Database, machine_id: int) -> None:
    with database.begin() as connection:
        older = machine.c.heartbeat_at - LEASE - 1
        connection.execute(update(machine).where(machine.c.id == machine_id).values(heartbeat_at=older))


def test_nothing_is_ordered_at_first(database: Database, control: Control) -> None:
    orders = Machines(database).beat(_register(database))
    assert (orders.alive, orders.command, orders.settings, orders.revision) == (True, Command.RUN, {}, 0)
    assert (control.orders().paused, control.orders().settings) == (False, {})


def test_one_machine_is_paused_and_resumed(database: Database, control: Control) -> None:
    one, two = _register(database), _register(database)
    assert control.pause(["m-2"]) == ["m-2"]
    assert _commands(database, one, two) == [Command.RUN, Command.PAUSE]
    assert control.resume(["m-2"]) == ["m-2"]
    assert _commands(database, one, two) == [Command.RUN, Command.RUN]


def test_a_pause_of_the_crawl_holds_for_machines_that_come_later(database: Database, control: Control) -> None:
    one = _register(database)
    control.pause(["m-1"])
    assert control.pause() == ["m-1"]
    later = _register(database)
    assert control.orders().paused
    assert _commands(database, one, later) == [Command.PAUSE, Command.PAUSE]
    with pytest.raises(StoreError, match="the whole crawl is paused"):
        control.resume(["m-1"])
    assert control.resume() == ["m-1", "m-2"]
    assert not control.orders().paused
    assert _commands(database, one, later) == [Command.RUN, Command.RUN]


def test_a_stop_holds_for_what_was_launched_before_it(database: Database, control: Control) -> None:
    launched_at = database.now() - 1
    one = _register(database, launched_at)
    control.pause()
    control.pause(["m-1"])
    assert control.stop() == ["m-1"]
    restarted = _register(database, launched_at)
    control.resume()
    anew = _register(database)
    assert _commands(database, one, restarted, anew) == [Command.STOP, Command.STOP, Command.RUN]


def test_a_weaker_order_does_not_take_back_a_stronger_one(database: Database, control: Control) -> None:
    one = _register(database, 0)
    for order in (control.pause, control.stop, control.pause, control.resume):
        order(["m-1"])
    assert _commands(database, one) == [Command.STOP]
    control.drain("m-1")
    control.stop(["m-1"])
    control.stop()
    assert _commands(database, one) == [Command.DRAIN]
    assert control.remove("m-1") is False
    control.drain("m-1")
    assert _commands(database, one) == [Command.REMOVE]


def test_orders_of_a_stopped_crawl_beat_the_pause_of_a_machine(database: Database, control: Control) -> None:
    one = _register(database, 0)
    control.pause(["m-1"])
    control.stop()
    assert _commands(database, one) == [Command.STOP]


def test_a_silent_machine_is_removed_at_once(database: Database, control: Control) -> None:
    one = _register(database)
    add(database, "http://a.org/")
    Worker(database, one).claim_one()
    _let_lease_run_out(database, one)
    assert control.remove("m-1") is True
    assert Machines(database).gone() == [one]
    assert not Machines(database).beat(one).alive
    assert Worker.of(database, "two").claim_one().key == "a.org"


def test_a_machine_whose_process_is_gone_is_told_nothing_and_removed_at_once(
    database: Database, control: Control
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        Machines(database).register("m", child.pid, database.now())
        assert control.pause() == ["m-1"]
        child.kill()
    assert control.pause() == []
    assert control.remove("m-1") is True
    assert [view.state for view in Machines(database).machines()] == [MachineState.DEAD]


def test_only_machines_that_live_can_be_told_anything(database: Database, control: Control) -> None:
    for order in (control.pause, control.resume, control.stop):
        assert order() == []
    for tell in (control.drain, control.remove):
        with pytest.raises(StoreError, match="there is no running machine m-1; no machine runs"):
            tell("m-1")
    silent, _ = _register(database), _register(database)
    _let_lease_run_out(database, silent)
    assert control.pause() == ["m-2"]
    for order in (control.pause, control.stop):
        with pytest.raises(StoreError, match="there is no running machine m-1, m-7; running are m-2"):
            order(["m-2", "m-7", "m-1"])
    Machines(database).stop(silent)
    with pytest.raises(StoreError, match="there is no running machine m-1; running are m-2"):
        control.remove("m-1")
    control.resume()
    assert [view.wanted for view in Machines(database).machines()] == [Command.RUN, Command.RUN]


def test_settings_are_merged_taken_back_and_come_with_the_next_beat(database: Database, control: Control) -> None:
    one = _register(database)
    assert control.set({"delay": 2.5, "max_pages": 500}) == {"delay": 2.5, "max_pages": 500}
    orders = Machines(database).beat(one)
    assert (orders.settings, orders.revision) == ({"delay": 2.5, "max_pages": 500}, 1)
    assert control.set({"delay": None, "threads": 30}) == {"max_pages": 500, "threads": 30}
    assert control.orders().settings == {"max_pages": 500, "threads": 30}
    assert control.set({"threads": None, "max_pages": None, "delay": None}) == {}
    orders = Machines(database).beat(one)
    assert (orders.settings, orders.revision) == ({}, 3)


def test_new_seeds_are_a_revision_and_known_ones_are_none(database: Database, control: Control) -> None:
    one = _register(database)
    revisions = []
    for urls in (["http://a.org/", "http://b.org/"], ["http://a.org/"], ["http://a.org/", "http://a.org/new"]):
        add(database, *urls)
        revisions.append(Machines(database).beat(one).revision)
    assert revisions == [1, 1, 2]


def test_sites_with_seeds_that_wait_are_found_among_those_held(database: Database, control: Control) -> None:
    add(database, "http://a.org/", "http://b.org/", "http://c.org/")
    held = [one.id for one in Worker(database, _register(database)).claim()]
    assert Seeds(database).sites_with_ready(held) == []
    add(database, "http://b.org/more", "http://d.org/")
    assert Seeds(database).sites_with_ready(held) == [held[1]]
    assert Seeds(database).sites_with_ready([]) == []


def test_a_machine_that_was_declared_dead_is_still_told_what_it_was_told(database: Database, control: Control) -> None:
    one = _register(database, 0)
    control.stop()
    declare_dead(database, one)
    orders = Machines(database).beat(one)
    assert (orders.alive, orders.command) == (False, Command.STOP)
    assert [view.state for view in Machines(database).machines()] == [MachineState.DEAD]


def test_orders_to_stop_and_launches_keep_their_order_though_the_clock_is_set_back(
    database: Database, control: Control
) -> None:
    """Times of before are in the future then."""
    later = database.now() + 10 * 24 * 3_600_000
    with database.begin() as connection:
        connection.execute(update(crawl).values(stopped_at=later))
    launched_at = Starts(database).begin(1)
    new = _register(database, launched_at)
    assert _commands(database, new) == [Command.RUN], "that order was for others"
    assert control.stop() == ["m-1"]
    assert _commands(database, new) == [Command.STOP]
    assert _commands(database, _register(database, launched_at)) == [Command.STOP], "of the same command"
    again = _register(database, Starts(database).begin(1))
    assert _commands(database, again) == [Command.RUN]
    control.stop()
    assert _commands(database, again) == [Command.STOP]
