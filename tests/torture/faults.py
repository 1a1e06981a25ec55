"""What befalls a crawl under torture; each fault strikes once and returns when the crawl has felt it."""

from __future__ import annotations

import os
import signal
from random import Random
from typing import Protocol

from tests.limits import HANGS
from tests.mariadb import MariaDb
from tests.postgresql import Postgresql
from tests.torture.crawl import CrawlUnderTest, freeze_between_transactions, wait_for

_EARLY = 2  # machines that may be killed before they have fetched a page
_NOTICED = HANGS  # seconds until the others have taken over from a machine, at most


class Fault(Protocol):
    """Something that happens to a crawl."""

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        """Let it happen, and say what was done."""

    def machines_lost(self, crawl: CrawlUnderTest) -> int:
        """How many machines lose at most what they did since their last checkpoint."""


class KillMachine:
    """SIGKILL for a random machine; another is started in its place.

    On a busy machine it may hit those that have only just been started, again and again, and a supervisor gives up what
    ends five times in a row without a page. So only the first of these are hit, then those that have fetched something.
    """

    def __init__(self) -> None:
        self._early = 0  # kills of machines without a page

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        wait_for(lambda: bool(crawl.machines()), _NOTICED, "a machine")
        pid = chance.choice(crawl.machines())
        if pid not in self._with_pages(crawl):
            self._early += 1
            if self._early > _EARLY:
                wait_for(lambda: bool(self._with_pages(crawl)), _NOTICED, "a machine that has fetched a page")
                pid = chance.choice(self._with_pages(crawl))
        crawl.kill_machine(pid)
        return f"machine {pid} killed"

    @staticmethod
    def _with_pages(crawl: CrawlUnderTest) -> list[int]:
        running = crawl.machines()
        found = crawl.sql.rows("SELECT pid FROM machine WHERE pages > 0 ORDER BY id")
        return [pid for (pid,) in found if pid in running]

    def machines_lost(self, crawl: CrawlUnderTest) -> int:
        return 1


class FreezeMachine:
    """SIGSTOP for a random machine at work, past its lease; it thaws when others have taken sites over from it."""

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        wait_for(lambda: bool(self._at_work(crawl)), _NOTICED, "a machine that has sites")
        number, pid = chance.choice(self._at_work(crawl))
        freeze_between_transactions(pid, crawl.sql)
        try:
            before = dict(crawl.sql.rows(f"SELECT id, token FROM site WHERE owner = {number}"))
            now = f"SELECT id, token FROM site WHERE id IN ({', '.join(map(str, before))})"

            def taken_over() -> bool:
                taken = sum(token != before[site] for site, token in crawl.sql.rows(now))
                return taken >= min(len(before), crawl.pace.places)

            # They first go on with what they have, which takes long on a busy machine.
            def pages() -> object:
                return crawl.sql.rows("SELECT SUM(pages) FROM machine")

            wait_for(taken_over, _NOTICED, f"others have taken over from the frozen machine {pid}", pages)
        finally:
            os.kill(pid, signal.SIGCONT)
        return f"machine {pid} frozen, and thawed when others had its sites"

    @staticmethod
    def _at_work(crawl: CrawlUnderTest) -> list[tuple[int, int]]:
        """Return id and process id of the machines that run and own sites."""
        held = "SELECT DISTINCT machine.id, pid FROM machine JOIN site ON site.owner = machine.id ORDER BY machine.id"
        running = crawl.machines()
        return [(number, pid) for number, pid in crawl.sql.rows(held) if pid in running]

    def machines_lost(self, crawl: CrawlUnderTest) -> int:
        return 1


class KillDatabase:
    """SIGKILL for the database server, which is then started again; returns when all machines at work have committed.

    Else those that were killed next would lose more than the work since a checkpoint.
    """

    def __init__(self, server: MariaDb | Postgresql) -> None:
        self._server = server

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        self._server.kill()
        self._server.start_again()
        before = self._checkpoints(crawl)

        def committed() -> bool:
            now = self._checkpoints(crawl)
            return all(now[machine] > before.get(machine, -1) for machine in now)

        wait_for(committed, _NOTICED, "a checkpoint of each machine after the restart")
        return "database killed and restarted"

    @staticmethod
    def _checkpoints(crawl: CrawlUnderTest) -> dict[int, int]:
        owners = "SELECT owner FROM site WHERE state = 'active'"
        return dict(crawl.sql.rows(f"SELECT id, checkpoints FROM machine WHERE id IN ({owners})"))

    def machines_lost(self, crawl: CrawlUnderTest) -> int:
        return 0  # machines keep what they have until it is committed


class KillRun:
    """SIGKILL for a random `scrawler run`: with several machines, for their supervisor."""

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        pid = chance.choice(crawl.runs())
        crawl.kill_run(pid)
        return f"run {pid} killed"

    def machines_lost(self, crawl: CrawlUnderTest) -> int:
        return crawl.pace.machines
