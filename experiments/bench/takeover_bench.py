"""The take-over of a large party from a dead machine: python -m experiments.bench.takeover_bench."""

from __future__ import annotations

import gc
import os
import socket
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import click

from experiments.lab.database import mariadb
from experiments.lab.report import MIB, ROUND, Report, Row, row_text, write_report
from scrawler.assembly.sites import make_taker
from scrawler.core.clock import DatabaseClock
from scrawler.core.machine.heartbeat import resident_bytes
from scrawler.core.party.depth import Lane
from scrawler.core.rules import CrawlRules
from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.lanes import CHUNK_ENTRIES, LaneState
from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.frontier import Frontier

_SEED = "http://www.large.example/"
_CHUNKS_A_CHECKPOINT = 64


@click.command()
@click.option("--urls", default=1_000_000, show_default=True, help="URLs that the party has listed.")
@click.option("--rounds", default=1, show_default=True, help="Turns of each database.")
def main(urls: int, rounds: int) -> None:
    """List a party's URLs as one machine, let it die, and take the site up as another."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="bench-takeover-") as name, mariadb() as server:
        for number in range(1, rounds + 1):
            sqlite = f"sqlite:///{Path(name) / f'{number}.db'}"
            for database, url in (("sqlite", sqlite), ("mariadb", server.fresh())):
                rows.append(_measure(number, database, url, urls))
                click.echo(row_text(rows[-1]))
    notes = ["half of the list was finished; claimed, lanes read, the default seen filter rebuilt"]
    write_report(Report("takeover", f"Take-over of a party of {urls:,} URLs", "database", rows, notes))


def _measure(number: int, name: str, url: str, urls: int) -> Row:
    database = open_database(url)
    Crawls(database).open("crawl", Scope.HOST)
    Seeds(database).add([NewSeed(_SEED, "www.large.example", 0)])
    machines = Machines(database)
    first = machines.register(socket.gethostname(), os.getpid(), 0).id
    _list(database, first, urls)
    machines.stop(first)
    second = machines.register(socket.gethostname(), os.getpid(), 0).id
    gc.collect()
    before, began = resident_bytes(), time.perf_counter()
    (claimed,) = Claims(database, second).claim(1, 1, machines=1)
    claimed_at = time.perf_counter()
    settings = Settings.model_validate({})
    taker = make_taker(settings, Frontier(database), CrawlRules.of(settings), DatabaseClock())
    site = taker.take_up(claimed, 1)
    took_up = time.perf_counter()
    assert site.set_aside[0].lanes[0].length == urls
    database.close()
    return {
        ROUND: number,
        "database": name,
        "URLs": urls,
        "claim s": claimed_at - began,
        "take up s": took_up - claimed_at,
        "URLs/s": urls / (took_up - claimed_at),
        "memory MiB": (resident_bytes() - before) / MIB,
    }


def _list(database: Database, machine: int, urls: int) -> None:
    """Commit a lane of so many URLs in the name of a machine, as a crawl does."""
    checkpoints = Checkpoints(database, machine)
    (claimed,) = Claims(database, machine).claim(1, 1, machines=1)
    seed = claimed.seeds[0]
    lane = Lane(LaneState(seed.id, 0, seed.id, 0, 0))
    for position in range(urls):
        lane.append(f"{_SEED}a/section-{position % 977}/page-{position}.html" if position else _SEED, 1)
        if position < urls // 2:
            lane.finish(lane.take())
        if (position + 1) % (CHUNK_ENTRIES * _CHUNKS_A_CHECKPOINT) == 0 or position == urls - 1:
            states, chunks = lane.take_delta() or (None, ())
            assert states is not None
            counts = replace(seed.counts, listed=position + 1)
            delta = SeedDelta(seed.id, (), (states,), chunks, (), counts, {}, 0)
            checkpoints.commit([SiteDelta(claimed.id, claimed.token, (delta,), 0)])


if __name__ == "__main__":
    main()
