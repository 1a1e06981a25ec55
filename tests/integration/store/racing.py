"""What the processes of the race tests do; see tests/together.py."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable

from scrawler.model.scope import Scope
from scrawler.model.seeds import SeedCounts
from scrawler.seeds.exporter import COLUMNS, Selection, UrlKind, export_urls
from scrawler.seeds.files import Format
from scrawler.seeds.promoter import promote
from scrawler.seeds.table_files import text_writer
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines import locking
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.candidates import Candidates
from scrawler.urls.boundary import BoundaryRule
from tests.integration.store.crawling import Worker, candidate, page, seed_delta, site_delta

WRITERS = 5


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


def claim_all_without_skip_locked(
    number: int, ready: Callable[[], object], url: str, wanted: int, machines: int
) -> list[tuple[float, float, list[int]]]:
    """Do what `claim_all` does as if the server had no SKIP LOCKED."""
    locking.knows_skip_locked = lambda version: False
    return claim_all(number, ready, url, wanted, machines)


def commit_shared(number: int, ready: Callable[[], object], url: str, rounds: int, shared: int) -> int:
    """Claim a machine's part of the sites and commit rounds of deltas that all find the same external URLs, shuffled.

    Returns how many times it found one.
    """
    database = open_database(url, create=False)
    worker = Worker.of(database, f"m{number}")
    sites = worker.claim(10, 10)
    dice = random.Random(number)
    found = 0
    ready()
    for turn in range(rounds):
        deltas = []
        for site in dice.sample(sites, len(sites)):
            seed = site.seeds[0]
            links = [candidate(seed.id, f"http://common{n}.org/", 2) for n in dice.sample(range(shared), shared // 2)]
            rows = tuple(page(seed.id, f"{seed.url}{turn}-{n}", position=n) for n in range(5))
            counts = SeedCounts(pages=5 * (turn + 1))
            deltas.append(site_delta(site, seed_delta(seed.id, pages=rows, externals=tuple(links), counts=counts)))
            found += sum(one.count for one in links)
        assert worker.commit(*deltas) == frozenset()
    database.close()
    return found


def write_or_promote(number: int, ready: Callable[[], object], url: str, rounds: int, shared: int) -> int:
    """Write as `commit_shared` does; the last process instead promotes and exports meanwhile."""
    if number < WRITERS:
        return commit_shared(number, ready, url, rounds, shared)
    database = open_database(url, create=False)
    seeds, candidates = Seeds(database), Candidates(database)
    selection = Selection(kinds=frozenset(UrlKind))
    promoted = 0
    ready()
    for _ in range(rounds):
        promoted += promote(candidates, seeds, Scope.HOST, BoundaryRule(), like="http://common1%").new
        out = text_writer(io.StringIO(), Format.TXT, COLUMNS)
        export_urls(database, selection, out, urls_alone=True)
    database.close()
    return promoted
