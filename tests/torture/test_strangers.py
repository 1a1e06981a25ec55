"""Strangers at the ports of machines that send to each other, all the time, and machines that freeze meanwhile."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.integration.cluster.strangers import ATTACKS, crowd
from tests.torture.crawl import CrawlUnderTest, Pace, freeze_between_transactions, wait_for
from tests.torture.test_undurable import A, B, TwoSites, judge

TIMEOUT = 200  # seconds
CROWD = 200  # connections of an attack
SECONDS = 60.0
FREEZES = 6  # in this time
LONGEST = 20.0  # seconds of a freeze; a lease is shorter
MOST_MEMORY = 400_000_000  # bytes of a machine

pytestmark = pytest.mark.heavy


class Strangers:
    """Attack all machines that have ports, one after the other."""

    def __init__(self, crawl: CrawlUnderTest, chance: Random) -> None:
        self._crawl = crawl
        self._chance = chance
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="strangers")
        self.attacks: Counter[str] = Counter()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Attack in the block."""
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            for (address,) in self._crawl.sql.rows(
                "SELECT address FROM machine WHERE state = 'running' AND address <> ''"
            ):
                try:
                    self._attack(address)
                except OSError:  # the machine has ended, or is frozen
                    self._over.wait(0.1)

    def _attack(self, address: str) -> None:
        attack = self._chance.choice([*ATTACKS])
        with crowd(address, CROWD, 2.0) as strangers:
            self.attacks[attack.__name__] += 1
            for one in strangers:
                try:
                    attack(address, one)
                except OSError:
                    one.close()
            self._over.wait(self._chance.choice((0.0, 0.5, 6.0)))


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def _freeze(crawl: CrawlUnderTest, seconds: float, chance: Random) -> None:
    """Freeze a machine for a while; the others may take it for dead, and it begins anew."""
    pid = chance.choice(crawl.machines())
    freeze_between_transactions(pid, crawl.sql)
    time.sleep(seconds)
    os.kill(pid, signal.SIGCONT)


def _crawl(url: str, folder: Path) -> CrawlUnderTest:
    (folder / "secret").write_text("a secret that is long enough")
    more = (
        *("--communicator=tcp://127.0.0.1:0", "--send-wait=0.1", "--send-list-max=1", "--max-depth=60000"),
        *("--no-traps", f"--exchange-secret-file={folder / 'secret'}"),
        *(f"--resolve={A}=127.0.0.1", f"--resolve={B}=127.0.0.2"),
    )
    pace = Pace(runs=3, threads=1, seeds_per_thread=1, delay=0.3, mode="exchange", more=more)
    return CrawlUnderTest(folder, url, pace)


def ordeal(url: str, folder: Path, seconds: float, freezes: int, longest: float) -> str:
    """Attack a crawl for so many seconds, and freeze its machines so often; return what there was to see."""
    crawl = _crawl(url, folder)
    sites = TwoSites()
    chance = Random(3)
    strangers = Strangers(crawl, chance)
    largest = 0
    try:
        crawl.add_seeds(sites.seeds())
        crawl.start()
        wait_for(lambda: crawl.sql.one("SELECT COUNT(*) FROM machine") == 3, TIMEOUT, "all machines")
        pids = crawl.machines()
        until = time.monotonic() + seconds
        with strangers.at_work():
            for number in range(freezes):
                _freeze(crawl, longest * (number + 1) / freezes, chance)
                largest = max(largest, *map(_resident, pids))
                assert crawl.machines() == pids
                time.sleep(max(0.0, (until - time.monotonic()) / (freezes - number) - longest / 2))
            before = len(sites.told)
            wait_for(lambda: len(sites.told) > before + 3, TIMEOUT, "that all goes on")
        sites.enough.set()
        wait_for(lambda: not crawl.runs(), TIMEOUT, "the end of the crawl")
    finally:
        sites.stop()
        crawl.stop()
    judge(crawl, sites)
    assert largest < MOST_MEMORY
    machines = crawl.sql.one("SELECT COUNT(*) FROM machine")
    return f"{len(sites.told)} URLs sent, {machines} lives, {largest:,} bytes, attacks: {dict(strangers.attacks)}"


def test_strangers_and_freezes_end_no_machine_and_cost_no_url(sqlite_url: str, tmp_path: Path) -> None:
    print(ordeal(sqlite_url, tmp_path, SECONDS, FREEZES, LONGEST))
