"""What the store costs: `python tests/bench/bench_store.py` from the top folder; CPU is the client's alone.

Prints seeds/s, microseconds a page row, and milliseconds a claim, on SQLite and on a MariaDB of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scrawler.model import ClaimedSite, LaneState, PageRow, SeedCounts, SeedDelta, SiteDelta, url_hash
from scrawler.store.checkpoints import Checkpoints
from scrawler.store.claims import Claims
from scrawler.store.engine import Database, open_database
from scrawler.store.machines import Machines
from scrawler.store.seeds import NewSeed, Seeds
from tests.mariadb import MariaDb, missing

_SEEDS = 60_000
_SITES = 200  # held at a time
_ROUNDS = 10  # checkpoints
_ROWS = 10  # page rows of a seed in a checkpoint


@contextmanager
def _measured(name: str, number: int, unit: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.thread_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    each = f"{wall / number * 1e6:9.1f} µs wall {cpu / number * 1e6:9.1f} µs CPU a {unit}"
    print(f"  {name:<12}{each:<55}{number / wall:12,.0f} {unit}s/s")


def _page(seed_id: int, number: int) -> PageRow:
    url = f"https://www.host-{seed_id}.example.org/some/folder/of/pages/page-{number}.html"
    where = ("fetched", 200, "text/html", 32_000, b"\x12" * 20, 1, 1_790_000_000_000, 30)
    return PageRow(seed_id, url_hash(url), url, 3, seed_id, number, *where, "c-1.warc.gz", number * 9_000, 8_900, 0, "")


def _delta(site: ClaimedSite, turn: int) -> SiteDelta:
    seed_id = site.seeds[0].id
    rows = tuple(_page(seed_id, turn * _ROWS + number) for number in range(_ROWS))
    lane = LaneState(seed_id, 0, seed_id, turn * _ROWS, 1_000)
    seed = SeedDelta(seed_id, rows, (lane,), (), (), SeedCounts(pages=turn), {"scope": 3}, 1)
    return SiteDelta(site.id, site.token, (seed,), 0)


def _bench(database: Database) -> None:
    print(database.dialect)
    hosts = [f"www.host-{number}.example.org" for number in range(_SEEDS)]
    new, seeds = [NewSeed(f"http://{host}/", host) for host in hosts], Seeds(database)
    with _measured("import", _SEEDS, "seed"):
        for start in range(0, _SEEDS, 20_000):
            seeds.add(new[start : start + 20_000])
    machine_id = Machines(database).register("bench", os.getpid(), database.now()).id
    claims, checkpoints = Claims(database, machine_id), Checkpoints(database, machine_id)
    with _measured("claim", _SITES, "site"):
        sites = claims.claim(_SITES, 10)
    rounds = [[_delta(site, turn) for site in sites] for turn in range(_ROUNDS)]
    with _measured("checkpoint", _ROUNDS * _SITES * _ROWS, "page row"):
        for deltas in rounds:
            checkpoints.commit(deltas)
    with _measured("work left", 10, "count"):
        for _ in range(10):
            claims.work_left()
    database.close()


def main() -> None:
    """Run the benchmark on both databases."""
    with tempfile.TemporaryDirectory() as folder:
        _bench(open_database(f"sqlite:///{folder}/crawl.db"))
        if missing():
            print(f"not measured on MariaDB: {missing()} not installed")
            return
        server = MariaDb(Path(folder))
        server.start()
        try:
            _bench(open_database(server.create("crawl_bench")))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
