"""What befalls a crawl under torture; each fault strikes once and returns when the crawl has felt it."""

from __future__ import annotations

import os
import signal
from random import Random
from typing import Protocol

from tests.mariadb import MariaDb
from tests.torture.crawl import CrawlUnderTest, wait_for

_COMMITTED = "SELECT SUM(checkpoints) FROM machine"
_NOTICED = 60  # seconds until the others have taken over from a machine, at most


class Fault(Protocol):
    """Something that happens to a crawl."""

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        """Let it happen, and say what was done."""

    def machines_lost(self, crawl: CrawlUnderTest) -> int:
        """How many machines lose at most what they did since their last checkpoint."""


class KillMachine:
    """SIGKILL for a random machine; another is started in its place."""

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        pid = chance.choice(crawl.machines())
        crawl.kill_machine(pid)
        return f"machine {pid} killed"

    def machines_lost(self, crawl: CrawlUnderTest) -> int:
        return 1


class FreezeMachine:
    """SIGSTOP for a random machine with sites, past its lease; it thaws when others have all of them."""

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        held = "SELECT DISTINCT machine.id, pid FROM machine JOIN site ON site.owner = machine.id"
        running = crawl.machines()
        number, pid = chance.choice([one for one in crawl.sql.rows(held) if one[1] in running])
        os.kill(pid, signal.SIGSTOP)
        try:
            left = f"SELECT COUNT(*) FROM site WHERE owner = {number}"
            wait_for(lambda: crawl.sql.one(left) == 0, _NOTICED, f"others own the sites of the frozen machine {pid}")
        finally:
            os.kill(pid, signal.SIGCONT)
        return f"machine {pid} frozen and thawed"

    def machines_lost(self, crawl: CrawlUnderTest) -> int:
        return 1


class KillDatabase:
    """SIGKILL for the database server, which is then started again; returns when the crawl commits again."""

    def __init__(self, server: MariaDb) -> None:
        self._server = server

    def strike(self, crawl: CrawlUnderTest, chance: Random) -> str:
        self._server.kill()
        self._server.start_again()
        committed = crawl.sql.one(_COMMITTED)
        wait_for(lambda: crawl.sql.one(_COMMITTED) > committed, _NOTICED, "a checkpoint after the restart")
        return "database killed and restarted"

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
