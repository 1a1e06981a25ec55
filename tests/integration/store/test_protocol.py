"""The lease and checkpoint protocol under random interleavings: a model beside real machines on a real database.

Three machines claim, fetch, commit, die, are declared dead while they go on, wake up, let go. After each step the
database is compared with what the protocol promises; at the end one machine alone must be able to finish all.
To search for longer, with other interleavings each time: SCRAWLER_PROTOCOL_EXAMPLES=2000 pytest <this file>.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from scrawler.core.party import depth
from scrawler.core.party.entries import Entry, decode
from scrawler.errors import LeaseLostError
from scrawler.model.deltas import SiteDelta
from scrawler.model.lanes import NORMAL
from scrawler.model.seeds import SeedState
from scrawler.store.claims.machines import Machines
from scrawler.store.engines import locking
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists import frontier
from scrawler.store.lists.ahead import LISTED_IN
from scrawler.store.lists.frontier import Frontier
from scrawler.store.reading.pages import Pages
from scrawler.store.schema.whole import all_tables
from tests.dead import declare_dead
from tests.integration.store.crawling import add
from tests.integration.store.protocol import Machine, Web

_MACHINES = 3
_LONGER = os.environ.get("SCRAWLER_PROTOCOL_EXAMPLES")
_GONE = ("dead", "stopped")

slots = st.integers(0, _MACHINES - 1)
picks = st.integers(0, 99)  # which of those there are, whatever their number


@dataclass
class SiteRow:
    """A site as the database has it."""

    owner: int | None
    token: int
    state: str


class Protocol(RuleBasedStateMachine):
    """What the promises are about: machines in three slots, and what was committed so far."""

    opened: ClassVar[Callable[[], Database]]

    def __init__(self) -> None:
        super().__init__()
        self.database = type(self).opened()
        self.machines: list[Machine | None] = [None] * _MACHINES
        self.names = count()
        self.seeds: dict[int, SeedState] = {}
        self.cursors: dict[tuple[int, int], tuple[int, int]] = {}  # lane -> cursor, length
        self.owners: dict[int, SiteRow] = {}
        self.pages = 0
        self.changed = True

    @initialize(number=st.integers(0, 2**32))
    def begin(self, number: int) -> None:
        self.web = Web(random.Random(number), sites=3, pages=25)
        add(self.database, *self.web.seeds)
        self.seeds = {row[0]: SeedState.READY for row in self.rows("SELECT id FROM seed")}

    # -- what machines do ----------------------------------------------------------------------------------

    @rule(slot=slots, sites=st.integers(1, 3), seeds_per_site=st.integers(1, 2), machines=st.sampled_from([1, 3]))
    def claim(self, slot: int, sites: int, seeds_per_site: int, machines: int) -> None:
        machine, before, states = self.machine(slot), self.site_rows(), self.machine_states()
        claimed = machine.claim(sites, seeds_per_site, machines)
        assert not claimed or states[machine.id] == "running", "a dead machine claims"
        for one in claimed:
            owner = before[one.id].owner
            assert owner is None or states[owner] in _GONE, "a site was taken from a machine that lives"
            assert one.after_death == (owner is not None)
            assert one.token == before[one.id].token + 1
        self.changed = True

    @rule(slot=slots, moves=st.integers(4, 24), chance=st.integers(0, 2**16))
    def fetch(self, slot: int, moves: int, chance: int) -> None:
        """Start requests and answer some, in any order; some have to be repeated."""
        machine, dice = self.machine(slot), random.Random(chance)
        if not machine.sites:
            self.claim(slot, 2, 1, 3)
        with self.fenced(slot):
            for _ in range(moves):
                if machine.flights and dice.random() < 0.45:
                    machine.answer(dice.choice(machine.flights), again=dice.random() < 0.2)
                elif machine.sites:
                    machine.start(dice.choice(list(machine.sites.values())))

    @rule(slot=slots, pick=picks)
    def submit(self, slot: int, pick: int) -> None:
        """Hand over a site's delta, which waits for the next commit."""
        machine = self.machine(slot)
        if sites := list(machine.sites.values()):
            machine.submit(sites[pick % len(sites)])

    @rule(slot=slots)
    def checkpoint(self, slot: int) -> None:
        machine = self.machine(slot)
        for site in list(machine.sites.values()):
            machine.submit(site)
        with self.fenced(slot):
            machine.commit()

    @rule(slot=slots, pick=picks)
    def release(self, slot: int, pick: int) -> None:
        machine = self.machine(slot)
        if sites := list(machine.sites.values()):
            machine.release(sites[pick % len(sites)])

    # -- what happens to them ------------------------------------------------------------------------------

    @rule(slot=slots, what=st.sampled_from(["sleep past the lease", "crash", "crash past the lease", "stop", "beat"]))
    def disturb(self, slot: int, what: str) -> None:
        """A machine that slept goes on and does not know that it is dead, until its next heartbeat or commit."""
        machine = self.machine(slot)
        if what.endswith("past the lease"):
            self.declare_dead(machine.id)
        if what == "stop":
            self.stop(slot, machine)
        elif what.startswith("crash") or (what == "beat" and self.machine_states()[machine.id] == "dead"):
            self.machines[slot] = None

    def stop(self, slot: int, machine: Machine) -> None:
        for site in list(machine.sites.values()):
            machine.release(site)
        with self.fenced(slot):
            machine.commit()
            Machines(self.database).stop(machine.id)
            self.machines[slot] = None
            self.changed = True

    @rule(pick=picks)
    def expire(self, pick: int) -> None:
        """The lease of a machine is over that perhaps has crashed long ago."""
        running = [identity for identity, state in self.machine_states().items() if state == "running"]
        if running:
            self.declare_dead(running[pick % len(running)])

    # -- what must be so -----------------------------------------------------------------------------------

    def committing(self, machine: Machine, deltas: list[SiteDelta]) -> None:
        rows = self.site_rows()
        self.stale = frozenset(
            delta.site_id
            for delta in deltas
            if (rows[delta.site_id].owner, rows[delta.site_id].token) != (machine.id, delta.token)
        )
        self.pages = self.count("page")

    def committed(self, machine: Machine, deltas: list[SiteDelta], lost: frozenset[int]) -> None:
        assert lost == self.stale
        valid = [one for delta in deltas if delta.site_id not in lost for one in delta.seeds]
        assert self.count("page") == self.pages + sum(len(one.pages) for one in valid)
        for one in valid:
            if one.state is SeedState.DONE:
                self.seeds[one.seed_id] = SeedState.DONE
        self.changed = True

    @invariant()
    def promises(self) -> None:
        if not self.changed:
            return
        self.changed = False
        self.one_owner()
        self.cursors_go_forward()
        pages = Counter(row[0] for row in self.rows("SELECT url FROM page"))
        assert set(pages.values()) <= {1}, "a URL has two page rows"
        self.nothing_is_lost(set(pages))
        self.counters_are_sums()
        self.work_left()

    def one_owner(self) -> None:
        before, self.owners = self.owners, self.site_rows()
        for site_id, row in self.owners.items():
            if site_id in before:
                assert row.token >= before[site_id].token
                assert row.owner in (None, before[site_id].owner) or row.token > before[site_id].token
        acting = Counter(
            site.id
            for machine in self.machines
            if machine is not None
            for site in machine.sites.values()
            if (self.owners[site.id].owner, self.owners[site.id].token) == (machine.id, site.token)
        )
        assert set(acting.values()) <= {1}

    def cursors_go_forward(self) -> None:
        lanes = self.rows("SELECT seed_id, kind, cursor_position, length FROM lane")
        now = {(seed_id, kind): (cursor, length) for seed_id, kind, cursor, length in lanes}
        for key, (cursor, length) in self.cursors.items():
            assert now[key][0] >= cursor
            assert now[key][1] >= length
        assert all(cursor <= length for cursor, length in now.values())
        self.cursors = now

    def nothing_is_lost(self, fetched: set[str]) -> None:
        """Every URL listed is fetched, or stands in a list that the next owner will follow."""
        frontier = Frontier(self.database)
        open_sites = {row[0] for row in self.rows("SELECT DISTINCT site_id FROM seed WHERE state <> 'done'")}
        entries = self.entries()
        listed: dict[int, set[str]] = defaultdict(set)
        for seed_id, site_id in self.rows("SELECT id, site_id FROM seed"):
            listed[site_id] |= {entry.url for entry in entries.get((seed_id, NORMAL.number), [])}
        for site_id, urls in listed.items():
            waiting = {
                entries[lane.seed_id, lane.kind][index].url
                for lane in frontier.lanes(site_id)
                for index in range(lane.cursor, lane.length)
                if index not in lane.ahead
            }
            assert urls <= fetched | waiting, f"lost: {urls - fetched - waiting}"
            assert not waiting - fetched or site_id in open_sites, "what is left belongs to no seed"
            assert site_id not in open_sites or self.owners[site_id].state != "done", "nobody will claim it"

    def entries(self) -> dict[tuple[int, int], list[Entry]]:
        """Return all lists, put together from their chunks, which have no gaps.

        What is worked off of a list that repeats URLs may be gone: another entry stands in its place.
        """
        lists: dict[tuple[int, int], list[Entry]] = defaultdict(list)
        for seed_id, kind, first, number, data in self.rows(
            "SELECT seed_id, kind, first_position, entries, data FROM chunk ORDER BY seed_id, kind, seq"
        ):
            part = decode(data)
            if kind not in LISTED_IN and not lists[seed_id, kind]:
                lists[seed_id, kind] += part[:1] * min(first, self.cursors[seed_id, kind][0])
            assert (len(lists[seed_id, kind]), len(part)) == (first, number)
            lists[seed_id, kind] += part
        for key, (cursor, length) in self.cursors.items():
            is_gone = key[1] not in LISTED_IN and cursor == length and key not in lists
            assert is_gone or len(lists.get(key, [])) == length
        return lists

    def counters_are_sums(self) -> None:
        rows = Counter(row.seed_id for row in Pages(self.database).all())
        found = {row[0]: int(row[1]) for row in self.rows("SELECT seed_id, SUM(count) FROM candidate GROUP BY seed_id")}
        counts = "SELECT id, pages + redirects + http_errors + failures + denied, candidates, listed FROM seed"
        for seed_id, pages, candidates, _ in self.rows(counts):
            assert pages == rows[seed_id], "counters and page rows differ"
            assert candidates == found.get(seed_id, 0)
        assert sum(row[0] for row in self.rows("SELECT pages FROM machine")) == sum(rows.values())

    def work_left(self) -> None:
        states = Counter(row[0] for row in self.rows("SELECT state FROM seed"))
        done = sum(state is SeedState.DONE for state in self.seeds.values())
        left = next((machine for machine in self.machines if machine), self.machine(0)).worker.claims.work_left()
        assert (left.ready, left.active, left.done) == (states["ready"], states["active"], done)
        assert sum(states.values()) == len(self.seeds)

    def teardown(self) -> None:
        """Whatever has happened: one machine that takes all over comes to the end that there is."""
        try:
            if not hasattr(self, "web"):
                return
            for identity, state in self.machine_states().items():
                if state == "running":
                    self.declare_dead(identity)
            last = self.new_machine()
            self.machines = [last, None, None]
            while last.claim(2, 2, 1):
                while last.sites:
                    for site in list(last.sites.values()):
                        if not last.start(site):
                            for flight in list(last.flights):
                                last.answer(flight, again=False)
                last.commit()
                self.promises()
            assert {row[0] for row in self.rows("SELECT url FROM page")} == self.web.reachable()
            assert {row[0] for row in self.rows("SELECT state FROM seed")} == {"done"}
            covered = "SELECT COUNT(*) FROM seed WHERE end_reason = 'covered' AND id IN (SELECT seed_id FROM page)"
            assert self.rows(covered) == [(0,)], "a party that was begun ended as if another had fetched all of it"
            assert {(row.owner, row.state) for row in self.site_rows().values()} == {(None, "done")}
        finally:
            self.database.close()

    # -- means ---------------------------------------------------------------------------------------------

    def machine(self, slot: int) -> Machine:
        """Return the machine of a slot; one that is not there is started."""
        machine = self.machines[slot]
        if machine is None:
            machine = self.machines[slot] = self.new_machine()
        return machine

    def new_machine(self) -> Machine:
        return Machine(self.database, self.web, f"m{next(self.names)}", self.committing, self.committed)

    def rows(self, query: str) -> list[Any]:
        with self.database.read() as connection:
            return list(connection.exec_driver_sql(query))

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT COUNT(*) FROM {table}")[0][0])

    def site_rows(self) -> dict[int, SiteRow]:
        return {row[0]: SiteRow(*row[1:]) for row in self.rows("SELECT id, owner, token, state FROM site")}

    def machine_states(self) -> dict[int, str]:
        return {row[0]: row[1] for row in self.rows("SELECT id, state FROM machine")}

    @contextmanager
    def fenced(self, slot: int) -> Iterator[None]:
        """Let a machine that is refused give up; only a dead one may be, and nothing of it may be written."""
        machine = self.machine(slot)
        try:
            yield
        except LeaseLostError:
            assert self.machine_states()[machine.id] == "dead"
            assert self.count("page") == self.pages
            self.machines[slot] = None

    def declare_dead(self, machine_id: int) -> None:
        declare_dead(self.database, machine_id)
        self.changed = True


def run(opened: Callable[[], Database], examples: int, steps: int) -> None:
    """Run the model; by default always the same way, so that it passes or fails for the code's sake alone."""

    class Opened(Protocol):
        pass

    Opened.opened = staticmethod(opened)  # type: ignore[method-assign]
    given = settings(
        max_examples=int(_LONGER or examples),
        stateful_step_count=steps if not _LONGER else 3 * steps,
        derandomize=not _LONGER,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Opened, settings=given)


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lists of a few entries have several chunks."""
    for module in (depth, frontier):
        monkeypatch.setattr(module, "CHUNK_ENTRIES", 3)


@pytest.mark.heavy
def test_the_protocol_keeps_its_promises_on_sqlite(tmp_path: Path) -> None:
    empty, numbers = tmp_path / "empty.db", count()
    open_database(f"sqlite:///{empty}").close()

    def opened() -> Database:
        path = tmp_path / f"{next(numbers)}.db"
        shutil.copy(empty, path)
        return open_database(f"sqlite:///{path}")

    run(opened, examples=50, steps=40)


def _emptied(url: str) -> Database:
    database = open_database(url)
    with database.begin() as connection:
        for table in all_tables():
            if table.name not in ("schema_version", "crawl"):
                connection.execute(table.delete())
    return database


@pytest.mark.heavy
def test_the_protocol_keeps_its_promises_on_servers(server_url: str) -> None:
    run(partial(_emptied, server_url), examples=10, steps=40)


@pytest.mark.heavy
def test_the_protocol_keeps_its_promises_without_skip_locked(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "knows_skip_locked", lambda version: False)
    run(partial(_emptied, mariadb_url), examples=10, steps=40)
