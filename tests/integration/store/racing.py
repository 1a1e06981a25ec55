"""What the processes of the race tests do; see tests/together.py."""

from __future__ import annotations

import time
from collections.abc import Callable

from scrawler.store.engine import open_database
from tests.integration.store.crawling import Worker


def claim_all(
    number: int, ready: Callable[[], object], url: str, wanted: int, machines: int
) -> list[tuple[float, float, list[int]]]:
    """Claim until nothing comes; return when each claim began and ended (one clock for all), and the sites' ids."""
    database = open_database(url, create=False)
    worker = Worker.of(database, f"m{number}")
    worker.claims.work_left()  # has its connection
    calls: list[tuple[float, float, list[int]]] = []
    ready()
    while not calls or calls[-1][2]:
        began = time.monotonic()
        ids = [one.id for one in worker.claims.claim(wanted, 1, machines=machines)]
        calls.append((began, time.monotonic(), ids))
    database.close()
    return calls
