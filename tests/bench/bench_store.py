"""What the store costs: `python tests/bench/bench_store.py` from the top folder.

Prints seeds/s, microseconds a page row and a claimed site (CPU of the client, and of the server), statements a claim
and a checkpoint, and claims/s of one and of eight processes, on SQLite and on servers of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlalchemy import Engine, event

from scrawler.model.claims import ClaimedSite
from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.lanes import LaneState
from scrawler.model.rows import PageRow
from scrawler.model.seeds import SeedCounts
from scrawler.model.terms import url_hash
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.engines.engine import open_database
from tests import mariadb, postgresql
from tests.integration.store.racing import claim_all
from tests.mariadb import running_mariadb
from tests.postgresql import running_postgresql
from tests.together import together

_SEEDS = 60_000
_BATCH = 20_000
_CLAIMED = 5_000
_IN_VAIN = 100  # claims that find nothing
_SITES = 200  # held at a time
_ROUNDS = 10  # checkpoints
_ROWS = 10  # page rows of a seed in a checkpoint


class _Meter:
    """Prints what a block took: time, CPU of this thread and of the server, statements."""

    def __init__(self, server_cpu: Callable[[], float]) -> None:
        self._server_cpu, self._statements = server_cpu, 0
        event.listen(Engine, "before_cursor_execute", self._count)

    def _count(self, *_: object) -> None:
        self._statements += 1

    @contextmanager
    def measured(self, name: str, number: int, unit: str, calls: int) -> Iterator[None]:
        before = time.perf_counter(), time.thread_time(), self._server_cpu(), self._statements
        yield
        after = time.perf_counter(), time.thread_time(), self._server_cpu(), self._statements
        wall, cpu, server, statements = (new - old for new, old in zip(after, before, strict=True))
        each = " ".join(f"{seconds / number * 1e6:8.1f} µs {what}" for seconds, what in ((wall, "wall"), (cpu, "CPU")))
        at_server = f"{server / number * 1e6:8.1f} µs server" if server else ""
        a_call = f"{statements / calls:6.1f} statements a call"
        print(f"  {name:<11}{each}{at_server:<19} a {unit:<9}{number / wall:10,.0f} {unit}s/s {a_call}")

    def close(self) -> None:
        event.remove(Engine, "before_cursor_execute", self._count)


def _cpu_of(pids: Iterable[int]) -> float:
    """Return the seconds of CPU that processes, and children of them that have ended, have used (Linux)."""
    stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum(sum(map(int, fields[11:15])) for fields in stats) / os.sysconf("SC_CLK_TCK")


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


def _bench(url: str, server_cpu: Callable[[], float]) -> None:
    database, meter = open_database(url), _Meter(server_cpu)
    print(database.dialect)
    hosts = [f"www.host-{number}.example.org" for number in range(_SEEDS)]
    new, seeds = [NewSeed(f"http://{host}/", host) for host in hosts], Seeds(database)
    with meter.measured("import", _SEEDS, "seed", _SEEDS // _BATCH):
        for start in range(0, _SEEDS, _BATCH):
            seeds.add(new[start : start + _BATCH])
    machine_id = Machines(database).register("bench", os.getpid(), database.now()).id
    claims, checkpoints = Claims(database, machine_id), Checkpoints(database, machine_id)
    with meter.measured("claim", _SITES, "site", 1):
        sites = claims.claim(_SITES, 10)
    rounds = [[_delta(site, turn) for site in sites] for turn in range(_ROUNDS)]
    with meter.measured("checkpoint", _ROUNDS * _SITES * _ROWS, "page row", _ROUNDS):
        for deltas in rounds:
            checkpoints.commit(deltas)
    with meter.measured("work left", 10, "count", 10):
        for _ in range(10):
            claims.work_left()
    meter.close()
    database.close()


def _bench_claims(url: str, processes: int) -> None:
    """Let processes claim ten sites at a time, all at once, until none is left."""
    database = open_database(url)
    Seeds(database).add([NewSeed(f"http://s{number}.org/", f"s{number}.org") for number in range(_CLAIMED)])
    calls = [call for of_one in together(claim_all, processes, url, 10, 1) for call in of_one]
    span = max(ended for _, ended, _ in calls) - min(began for began, _, _ in calls)
    who = f"{processes} process" + ("es" if processes > 1 else "")
    print(f"  {who:<12}{len(calls) / span:8,.0f} claims/s, of ten sites each, from {_CLAIMED:,}; {database.dialect}")
    claims = Claims(database, Machines(database).register("bench", os.getpid(), database.now()).id)
    while claims.claim(500, 1):  # what those have left who ended
        pass
    began = time.thread_time()
    for _ in range(_IN_VAIN):
        claims.claim(10, 1)
    print(f"  one that finds nothing: {(time.thread_time() - began) / _IN_VAIN * 1e6:,.0f} µs CPU")
    database.close()


def main() -> None:
    """Run the benchmark on all databases."""
    with tempfile.TemporaryDirectory() as folder:
        _bench(f"sqlite:///{folder}/crawl.db", lambda: 0.0)
        for processes in (1, 8):
            _bench_claims(f"sqlite:///{folder}/claims-{processes}.db", processes)
    if lacking := mariadb.missing():
        print(f"not measured on MariaDB: {lacking} not installed")
    else:
        with running_mariadb(on_disk=True) as server:
            _on_server(server.create, lambda: [server.pid])
    if lacking := postgresql.missing():
        print(f"not measured on PostgreSQL: {lacking} not installed")
    else:
        with running_postgresql(on_disk=True) as other:
            _on_server(other.create, other.pids)


def _on_server(create: Callable[[str], str], pids: Callable[[], list[int]]) -> None:
    _bench(create("crawl_bench"), lambda: _cpu_of(pids()))
    for processes in (1, 8):
        _bench_claims(create(f"crawl_claims_{processes}"), processes)


if __name__ == "__main__":
    main()
