"""Politeness as the servers see it: pauses and requests in flight by host and by address, whoever asks."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from scrawler.model.seeds import SeedState
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.rig import running, watch
from tests.integration.crawl.watchful import CLOCK, WatchfulServer, by, most_at_once, smallest_gap
from tests.limits import HANGS
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    from scrawler.core.machine.machine import Machine
    from tests.integration.crawl.conftest import Crawl

HERE, THERE = "127.0.0.1", "127.0.0.2"


def names(number: int, address: str = HERE) -> dict[str, str]:
    """Host -> address."""
    return {f"{'abc'[int(address[-1])]}{index}.example": address for index in range(number)}


def table(hosts: dict[str, str]) -> list[str]:
    return [f"{host}={address}" for host, address in hosts.items()]


def nothing_is_left(machine: Machine) -> None:
    """Nothing is in flight, and nobody queues, once a machine has ended."""
    assert all(not (server.in_flight or server.queue) for server in machine.sharing.budget.servers.values())


def whole(crawl: Crawl, server: WatchfulServer, hosts: int, pages: int) -> None:
    """Every page of every host was asked for once, and all seeds are done."""
    asked = Counter((one.host, one.path) for one in server.seen() if not one.path.endswith(".txt"))
    assert len(asked) == hosts * pages
    assert all(seed.state is SeedState.DONE for seed in crawl.seeds())
    crawl.check()


def test_an_address_has_all_the_requests_that_it_may_have_and_holds_nobody_else_up(crawl: Crawl) -> None:
    here, there = names(50), names(5, THERE)
    machines: list[Machine] = []
    with WatchfulServer(crawl.folder, (HERE, THERE), pages=4, latency=0.02) as server:
        crawl.add(server.urls([*there, *here]))
        settings = crawl.settings(threads=6, seeds_per_thread=10, per_ip=8, resolve=table(here | there))
        watched = watch(settings, lambda machine: machines.append(machine) if not machines else None)
        whole(crawl, server, 55, 4)
        seen = by(lambda one: one.address, server.seen())
    assert watched.ended
    assert most_at_once(seen[HERE]) == 8
    assert max(most_at_once(of_host) for of_host in by(lambda one: one.host, seen[HERE]).values()) == 1
    assert max(one.at for one in seen[THERE]) < sorted(one.at for one in seen[HERE])[200]
    in_turn = [one.host for one in seen[HERE] if one.path == "/"]
    assert sorted(in_turn) == sorted(here)
    nothing_is_left(machines[0])


def test_requests_that_queue_in_the_downloader_do_not_go_out_without_a_pause(crawl: Crawl) -> None:
    """A thread that downloads one after the other is held up by a slow site while the pause of another one goes by."""
    quick, slow = names(1), names(1, THERE)
    (crawl.folder / "slow").mkdir()
    with (
        WatchfulServer(crawl.folder, (HERE,), pages=6) as server,
        WatchfulServer(crawl.folder / "slow", (THERE,), pages=6, latency=0.25) as behind,
    ):
        crawl.add([*server.urls(quick), *behind.urls(slow)])
        classic = {"downloader": "requests", "threads": 1, "seeds_per_thread": 2}
        watched = watch(crawl.settings(**classic, per_site=3, delay=0.1, delay_factor=0, resolve=table(quick | slow)))
        seen = server.seen()
    assert watched.ended
    assert len(seen) == 7
    assert smallest_gap(seen) >= 0.1 - CLOCK


def test_robots_txt_counts_as_well_wherever_it_is(crawl: Crawl) -> None:
    """Those of sites at one address redirect to as many other hosts, at another one."""
    hosts = names(12, THERE)
    with WatchfulServer(crawl.folder, (HERE, THERE), pages=1, latency=0.05) as rules:
        (crawl.folder / "sites").mkdir()
        away = f"http://{{host}}.rules.example:{rules.port}/r.txt"
        with WatchfulServer(crawl.folder / "sites", (THERE,), pages=1, robots_at=away) as s:
            crawl.add(s.urls(hosts))
            elsewhere = {f"{host}.rules.example": HERE for host in hosts}
            watch(crawl.settings(threads=3, per_ip=2, resolve=table(hosts | elsewhere)))
        seen = rules.seen()
    assert len(seen) == 12
    assert most_at_once(seen) == 2


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_a_pause_lies_between_two_requests_to_an_address(crawl: Crawl, profile: str) -> None:
    hosts = names(6)
    with WatchfulServer(crawl.folder, pages=2) as server:
        crawl.add(server.urls(hosts))
        watch(crawl.settings(threads=3, delay_per_ip=0.1, resolve=table(hosts), profile=profile))
        whole(crawl, server, 6, 2)
        assert smallest_gap(server.seen()) >= 0.1 - CLOCK


def test_that_pause_outlives_a_stop(crawl: Crawl) -> None:
    """The next run begins with other sites, which have not been asked before."""
    hosts = names(4)
    with WatchfulServer(crawl.folder, pages=1) as server:
        crawl.add(server.urls(hosts))
        for _ in range(2):
            stop = threading.Event()
            crawl.run(lambda p, s=stop: s.set() if p.requests else None, stop, delay_per_ip=1.5, threads=1,
                      seeds_per_thread=1, resolve=table(hosts), robots=False)  # fmt: skip
        seen = server.seen()
    assert len(seen) >= 2
    assert smallest_gap(seen) >= 1.5 - CLOCK


def test_pauses_follow_what_the_server_says_and_how_fast_it_answers(crawl: Crawl) -> None:
    """Each gap is measured from the arrival of a request: the server takes 0.1 s to answer it."""
    with WatchfulServer(crawl.folder, ("127.0.0.3", "127.0.0.4"), pages=4, latency=0.1) as server:
        crawl.add(server.urls(["127.0.0.3"]))
        crawl.run(delay=0.05, delay_factor=3)
        slow = [one for one in server.seen() if one.address == "127.0.0.3"]
        crawl.add(server.urls(["127.0.0.4"]))
        crawl.run(delay=0.05, delay_factor=3, delay_cap=0.2)
        capped = [one for one in server.seen() if one.address == "127.0.0.4"]
    assert len(slow) == len(capped) == 5
    assert smallest_gap(slow) >= 0.4 - CLOCK
    assert 0.3 - CLOCK <= smallest_gap(capped) < 0.4 - CLOCK
    (counts, _) = (seed.counts for seed in crawl.seeds())
    assert 4 * 290 <= counts.wait_ms <= crawl.seeds()[0].elapsed_ms


def test_a_crawl_delay_is_kept(crawl: Crawl) -> None:
    rules = "User-agent: *\nCrawl-delay: 0.5\n"
    with WatchfulServer(crawl.folder, pages=4, robots=rules) as server:
        crawl.add(server.urls([HERE]))
        crawl.run(delay=0.1, delay_factor=2, per_site=3)
        whole(crawl, server, 1, 4)
        assert smallest_gap(server.seen()) >= 0.5 - CLOCK


def test_without_a_delay_a_slow_server_is_asked_as_fast_as_it_answers(crawl: Crawl) -> None:
    with WatchfulServer(crawl.folder, pages=4, latency=0.1) as server:
        crawl.add(server.urls([HERE]))
        crawl.run(delay=0, delay_factor=100)
        whole(crawl, server, 1, 4)
    (seed,) = crawl.seeds()
    assert seed.counts.wait_ms < 10_000, "one pause would be that long"


@pytest.mark.parametrize("change", ["moved", "fewer threads", "stopped"])
def test_nothing_is_lost_of_a_share_and_no_site_forgotten(crawl: Crawl, change: str) -> None:
    """Sites that queue go to other collectors; then their collector comes to its end, or the machine does."""
    hosts = names(24)
    stop = threading.Event()
    machines: list[Machine] = []

    def look(machine: Machine) -> None:
        machines[:] = [machine]
        if machine.crew.totals().pages > 20 and change == "fewer threads" and machine.threads > 1:
            machine.set_threads(1)
        if machine.crew.totals().pages > 20 and change == "stopped":
            stop.set()

    with WatchfulServer(crawl.folder, pages=4, latency=0.01) as server:
        crawl.add(server.urls(hosts))
        crawl.add(f"http://{host}:{server.port}/{n}" for host in list(hosts)[:6] for n in (1, 2))
        settings = crawl.settings(
            threads=4, seeds_per_thread=20, per_ip=2, resolve=table(hosts),
            stop_timeout=0 if change == "stopped" else 30,
        )  # fmt: skip
        watched = watch(settings, look, stop)
        nothing_is_left(machines[0])
        assert watched.moves > 0 or change != "moved"
        if change == "stopped":
            assert not watched.ended
            watched = watch(settings)
        assert watched.ended
        assert most_at_once(server.seen()) <= (3 if change == "stopped" else 2)
        assert all(seed.state is SeedState.DONE for seed in crawl.seeds())


def test_the_share_of_an_address_is_let_go_with_the_last_site_there(crawl: Crawl) -> None:
    """Another machine lives, and asks nothing; the sites come one after the other."""
    hosts = names(1) | names(1, THERE)
    seen: list[tuple[bool, frozenset[str]]] = []
    with WatchfulServer(crawl.folder, (HERE, THERE), pages=6, latency=0.02) as server:
        crawl.add(server.urls(hosts))
        database = open_database(crawl.url)
        Machines(database).register("another", os.getpid(), database.now())
        database.close()
        watch(
            crawl.settings(resolve=table(hosts)),
            lambda machine: seen.append((machine.sharing.budget.alone, frozenset(machine.sharing.budget.servers))),
        )
        whole(crawl, server, 2, 6)
    assert {held for alone, held in seen if not alone} >= {frozenset({HERE}), frozenset({THERE})}
    assert all(len(held) < 2 for _, held in seen)


def test_machines_share_an_address(crawl_on_both: Crawl) -> None:
    """One of three is killed on the way; the others take its sites over, and its share."""
    crawl, hosts = crawl_on_both, names(16)
    resolve = [part for entry in table(hosts) for part in ("--resolve", entry)]
    with WatchfulServer(crawl.folder, pages=8, latency=0.05) as server:
        crawl.add(server.urls(hosts))
        pace = ("--machines", "3", "--per-ip", "5", "--delay", "0.1", "--timeout", "5")
        with running(crawl, *pace, *resolve) as command:
            wait_for(lambda: len(server.seen()) > 50, HANGS, "requests")
            kill_one(crawl)
            _, said = command.communicate(timeout=HANGS)
        assert command.returncode == 0, said
        seen = server.seen()
    assert {(one.host, one.path) for one in seen} >= {(host, f"/{n}") for host in hosts for n in range(1, 8)}
    assert most_at_once(seen) in (3, 4, 5), "three machines have two requests in flight at most"
    assert min(smallest_gap(of_host) for of_host in by(lambda one: one.host, seen).values()) >= 0.1 - CLOCK
    crawl.check()


def test_the_pause_at_an_address_holds_between_machines(crawl: Crawl) -> None:
    hosts = names(6)
    resolve = [part for entry in table(hosts) for part in ("--resolve", entry)]
    with WatchfulServer(crawl.folder, pages=2) as server:
        crawl.add(server.urls(hosts))
        with running(crawl, "--machines", "2", "--delay-per-ip", "0.2", "--timeout", "5", *resolve) as command:
            wait_for(lambda: len(server.seen()) > 6, HANGS, "requests")
            kill_one(crawl)
            _, said = command.communicate(timeout=HANGS)
        assert command.returncode == 0, said
        seen = server.seen()
    assert len({(one.host, one.path) for one in seen}) == 18
    assert smallest_gap(seen) >= 0.2 - CLOCK
    crawl.check()


def kill_one(crawl: Crawl) -> None:
    """Kill the machine that came first."""
    database = open_database(crawl.url)
    os.kill(next(one.pid for one in Machines(database).machines() if one.state == "running"), signal.SIGKILL)
    database.close()
