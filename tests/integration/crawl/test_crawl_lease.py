"""Leases: a machine that may have lost its own starts nothing, writes nothing, and begins anew."""

from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from scrawler.core.machine.lease import Lease
from scrawler.core.machine.machine import Machine
from scrawler.core.progress import Progress
from scrawler.errors import StoreBusyError
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.model.machines import MachineState
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from tests.dead import declare_dead
from tests.integration.crawl.rig import truth, watch

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

SPEC = WebSpec(seed=11, sites=5, equal=True, mean_pages=30, page_bytes=300)
CLOCK = 0.02  # seconds


def asked(server: SynthServer) -> int:
    return len(server.log())


def test_no_request_starts_once_the_lease_may_have_run_out(crawl: Crawl) -> None:
    """The heartbeats fail for a while, as when the database is away, and come back before anybody took over."""
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        away_at: list[float] = []
        back = threading.Event()
        silence: list[int] = []

        def look(machine: Machine) -> None:
            if not away_at and machine.crew.totals().pages > 10:
                away_at.append(time.monotonic())
            elif away_at and time.monotonic() > away_at[0] + 1.2 and not silence:
                silence.append(len(server.log()))
            elif silence and time.monotonic() > away_at[0] + 2.5 and not back.is_set():
                assert len(server.log()) == silence[0], "requests were started without a lease"
                assert not machine.permission.may_start()
                back.set()

        def refuse() -> None:
            if away_at and not back.is_set():
                raise StoreBusyError("away, for this test")

        assert watch(crawl.settings(delay=0.05, threads=2), look, before_beat=refuse, lease=Lease(1.0, 0.2)).ended
        assert back.is_set()
        assert crawl.html() == truth(server)
    crawl.check()


@pytest.mark.on_each_engine
def test_a_machine_taken_for_dead_begins_anew_and_nothing_is_lost_or_counted_twice(crawl_on_both: Crawl) -> None:
    crawl = crawl_on_both
    database = open_database(crawl.url)
    machines = Machines(database)
    declared: list[int] = []

    def look(progress: Progress) -> None:
        if progress.pages > 10 and not declared:
            declared.append(machines.machines()[0].id)
            declare_dead(database, declared[0])

    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        summary = crawl.run(look, delay=0.05, checkpoint_interval=0.3)
        first, second = machines.machines()
        asked = server.requests()
        assert crawl.html() == truth(server)
    database.close()
    crawl.check()
    assert summary.outcome == "ended"
    assert summary.pages == first.pages + second.pages == len(crawl.fetched())
    assert (first.state, second.state) == (MachineState.DEAD, MachineState.STOPPED)
    again = sum(times - 1 for url, times in asked.items() if not url.endswith("/robots.txt"))
    assert 0 < again <= first.refused + SPEC.sites, "what was refused, and what was in flight on each site"


@pytest.mark.heavy
def test_a_site_taken_over_from_a_dead_machine_rests_a_whole_pause(crawl: Crawl) -> None:
    """When it was asked last is known to nobody: it may have been a moment ago."""
    with SynthServer(WebSpec(seed=11, sites=1, equal=True, mean_pages=3, page_bytes=300)) as server:
        crawl.add(server.web.seeds())
        database = open_database(crawl.url)
        machines = Machines(database)
        other = machines.register(socket.gethostname(), 1, 0).id
        assert len(Claims(database, other).claim(10, 10, machines=1)) == 1
        declare_dead(database, other)
        began = time.time()
        crawl.run(delay=1.5)
        database.close()
        first = min(line.at for line in server.log())
        assert first - began >= 1.5 - CLOCK
        assert crawl.html() == truth(server)


def test_collectors_go_on_when_the_lease_ran_out_during_a_heartbeat_that_came_through(crawl: Crawl) -> None:
    """Two slow heartbeats: at the end of the second the lease is over for a moment, and good again with its answer."""
    lease = Lease(3.0, 0.2)
    slow: list[bool] = []

    def answer_late() -> None:
        if asked(server) and not slow:
            slow.append(threading.Event().wait(0.8))
        elif len(slow) == 1:
            while lease.good:
                threading.Event().wait(0.01)
            slow.append(threading.Event().wait(0.4))  # the collectors find that they may not start

    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        stop = threading.Event()
        overdue = threading.Timer(25, stop.set)
        overdue.start()
        try:
            assert watch(crawl.settings(delay=0.2), stop=stop, before_beat=answer_late, lease=lease).ended
        finally:
            overdue.cancel()
        assert len(slow) == 2
        assert crawl.html() == truth(server)
