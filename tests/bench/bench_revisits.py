"""What URLs that are due cost: `python tests/bench/bench_revisits.py [URLS ...]` from the top folder.

For each number of URLs in a database (SQLite): the time and CPU of a look while nothing is due, of the look of a day in
which 1 % of them have become due (revisit_pause 1d: one round of each seed), and of a look at how a budget is divided.
The clock is a number, so that a day is over as soon as all that is due in it is listed.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scrawler.features.revisit.policies.demand import cell_of, demand_of
from scrawler.features.revisit.policies.due import Wishes
from scrawler.features.revisit.store.demand import Demands
from scrawler.features.revisit.store.rounds import Revisits
from scrawler.model.lanes import REVISIT
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import Database, open_database
from scrawler.upkeep import packed
from scrawler.urls.scope import is_reachable

_DAY = 86_400_000
_NOW = 1_800_000_000_000
_OF_A_SEED = 1_000
_SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
_DUE = 100  # one of so many a day

_STATES = """
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :urls)
INSERT INTO url_state (seed_id, url_hash, url, depth, position, flags, visit, visited_at, result, digest, payload_url,
    payload_at, length, etag, last_modified, known_since, changed_at, changes, missing, interval_ms, due_at)
SELECT i / :each + 1, randomblob(16), 'http://site' || (i / :each) || '.example/section/page' || i || '.html', 2, i, 0,
    3, :now, 'fetched', randomblob(20), '', :now, 20000, '"abc-' || i || '"', 'Tue, 20 May 2025 10:00:00 GMT', :now, 0,
    1, 0, :day, :now + (i % :due) * :day + abs(random()) % :day
FROM n
"""
_SEEDS = """
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :seeds)
INSERT INTO {table} SELECT {values} FROM n
"""


def main(sizes: Sequence[int]) -> None:
    """Measure for each number of URLs."""
    for urls in sizes:
        with tempfile.TemporaryDirectory() as folder:
            _measure(urls, Path(folder) / "crawl.db")


def _measure(urls: int, file: Path) -> None:
    with closing(open_database(f"sqlite:///{file}")) as database:
        Crawls(database).open("bench", Scope.HOST)
        began = time.perf_counter()
        _fill(urls, file)
        print(f"{urls:,} URLs of {urls // _OF_A_SEED:,} seeds: {file.stat().st_size / 1e9:.2f} GB,", end=" ")
        print(f"made in {time.perf_counter() - began:.0f} s")
        revisits = Revisits(
            database, packed, REVISIT.number, partial(is_reachable, scope=Scope.HOST),
            lambda key: Wishes("fixed", 100 * _DAY, _DAY, 100 * _DAY), lambda pages: iter(()),
        )  # fmt: skip
        _look(database, revisits, "first look, which finds when each seed is due", 0)
        _look(database, revisits, "a look while nothing is due", 0)
        due, wall, cpu = _timed(database, revisits, _DAY)
        print(f"  a day, {due:,} URLs due: {wall:.1f} s, {cpu:.1f} s of CPU, {cpu / max(due, 1) * 1e6:.0f} us a URL")
        _budget(database, urls)


def _look(database: Database, revisits: Revisits, what: str, at: int) -> None:
    _, wall, cpu = _timed(database, revisits, at)
    print(f"  {what}: {wall * 1000:.1f} ms, {cpu * 1000:.1f} ms of CPU")


def _timed(database: Database, revisits: Revisits, at: int) -> tuple[int, float, float]:
    database.clock = str(_NOW + at)
    before = time.perf_counter(), time.process_time()
    begun = revisits.begin_due(0)
    took = time.perf_counter() - before[0], time.process_time() - before[1]
    if begun.seeds:  # their rounds are over at once
        with database.begin() as connection:
            connection.exec_driver_sql("UPDATE seed SET state = 'done', ended_at = 1, end_reason = 'completed'")
            connection.exec_driver_sql("UPDATE site SET state = 'done'")
    return begun.urls, *took


def _budget(database: Database, urls: int) -> None:
    """Divide a budget among pages of 900 kinds, however many there are."""
    cells = {cell_of(1e-8 * 1.2**rate, 1.3**weight): urls // 900 + 1 for rate in range(45) for weight in range(20)}
    demands = Demands(database)
    with database.begin() as connection:
        demands.add(connection, 1, cells, own_budget=False)
    before = time.process_time()
    demand_of(demands.of_all(), urls / 30).multiplier()
    print(f"  how a budget is divided, {len(cells)} cells: {(time.process_time() - before) * 1000:.0f} ms of CPU")


def _fill(urls: int, file: Path) -> None:
    seeds = urls // _OF_A_SEED
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(
            _SEEDS.format(
                table="site (id, key_hash, site_key, state)",
                values="i + 1, randomblob(16), 'site' || i || '.example', 'done'",
            ),
            {"seeds": seeds},
        )
        connection.execute(
            _SEEDS.format(
                table="seed (id, site_id, url, url_hash, state, added_at, ended_at, end_reason, round)",
                values="i + 1, i + 1, 'http://site' || i || '.example/', randomblob(16), 'done', 1, 1, 'completed', 1",
            ),
            {"seeds": seeds},
        )
        given = {"urls": urls, "each": _OF_A_SEED, "now": _NOW, "day": _DAY, "due": _DUE}
        connection.execute(_STATES, given)
        connection.execute("ANALYZE")


if __name__ == "__main__":
    main([int(one) for one in sys.argv[1:]] or _SIZES)
