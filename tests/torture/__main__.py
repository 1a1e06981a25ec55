"""`make torture`: many crawls under all faults at once, each from a random seed of its own; SEED=... repeats one."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from random import Random, randrange
from typing import TypeAlias

from scrawler.features.synthweb.spec import WebSpec
from tests import mariadb, postgresql
from tests.mariadb import MariaDb, running_mariadb
from tests.postgresql import Postgresql, running_postgresql
from tests.torture.agents import AgentsOrdeal
from tests.torture.crawl import Pace
from tests.torture.damaged import DamagedOrdeal
from tests.torture.faults import Fault, FreezeMachine, KillDatabase, KillMachine, KillRun
from tests.torture.ordeal import Ordeal
from tests.torture.ports import PortsOrdeal

Server: TypeAlias = MariaDb | Postgresql

_ENGINES = ("sqlite", "mariadb", "postgresql")
_FAULTS_OF_AGENTS = 8
_ATTACKS = 100  # at ports, each by a crowd
_STRIKES = 15  # at the archive of an earlier crawl
_BLOCKS = 4  # of faults: each four killed machines, a frozen one and a killed database, in any order, and a killed run


def main() -> int:
    """Run rounds until one fails; returns an exit code."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--seed", type=int, default=randrange(1_000_000), help="random seed of the first round")
    parser.add_argument("--rounds", type=int, default=4, help="crawls on each database")
    parser.add_argument("--db", choices=_ENGINES, nargs="+", default=list(_ENGINES), help="databases; by default all")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        servers = [_server(engine, stack) for engine in chosen.db if not _missing(engine)]
        for number in range(chosen.seed, chosen.seed + chosen.rounds):
            for server in servers:
                if not _round(number, server):
                    return 1
            if not (_agents(number) and _damaged(number) and _ports(number)):
                return 1
    for engine in chosen.db:
        if lacking := _missing(engine):
            print(f"not tortured on {engine}: {lacking} not installed", file=sys.stderr)
    return 0


def _missing(engine: str) -> str:
    """Return which program of a server is not installed."""
    return {"sqlite": str, "mariadb": mariadb.missing, "postgresql": postgresql.missing}[engine]()


def _server(engine: str, stack: ExitStack) -> Server | None:
    """Start a server for as long as `stack` is open; SQLite has none."""
    if engine == "sqlite":
        return None
    return stack.enter_context(running_mariadb() if engine == "mariadb" else running_postgresql())


def _round(number: int, server: Server | None) -> bool:
    """Run one crawl; its folder is kept if anything was lost."""
    folder = Path(tempfile.mkdtemp(prefix="scrawler-torture-"))
    url = server.create(f"crawl_{number}") if server else f"sqlite:///{folder / 'crawl.db'}"
    ordeal = _ordeal(number, server)
    print(f"SEED={number} on {type(server).__name__ if server else 'SQLite'}: {ordeal.pace}", file=sys.stderr)
    try:
        ordeal.run(folder, url)
    except AssertionError as error:
        print(f"SEED={number} FAILED, all is kept in {folder}\n{error}", file=sys.stderr)
        return False
    shutil.rmtree(folder)
    if server:
        server.drop(f"crawl_{number}")
    return True


def _agents(number: int) -> bool:
    """Run one crawl of agents, which have no database in common."""
    return _kept_where_it_fails(number, "agents", AgentsOrdeal(number, faults=_FAULTS_OF_AGENTS, sites=120).run)


def _damaged(number: int) -> bool:
    """Run one crawl, or round, that refers to the archive of an earlier one, which is damaged meanwhile."""
    ordeal = DamagedOrdeal(number, strikes=_STRIKES, sites=120, again=number % 2 == 0)
    return _kept_where_it_fails(number, "an earlier archive that is damaged", ordeal.run)


def _ports(number: int) -> bool:
    """Run one crawl at whose ports there are strangers."""
    return _kept_where_it_fails(number, "strangers at ports", PortsOrdeal(number, attacks=_ATTACKS).run)


def _kept_where_it_fails(number: int, what: str, run: Callable[[Path], None]) -> bool:
    """Run an ordeal in a folder, which is kept if anything was lost."""
    folder = Path(tempfile.mkdtemp(prefix="scrawler-torture-"))
    print(f"SEED={number}, {what}", file=sys.stderr)
    try:
        run(folder)
    except AssertionError as error:
        print(f"SEED={number} FAILED, all is kept in {folder}\n{error}", file=sys.stderr)
        return False
    shutil.rmtree(folder)
    return True


def _ordeal(number: int, server: Server | None) -> Ordeal:
    chance = Random(number)
    spec = WebSpec(seed=number, sites=240, mean_pages=40, max_pages=150, page_bytes=2000, links=10, latency_ms=10)
    pace = Pace(runs=1, machines=3) if chance.random() < 0.5 else Pace()
    faults = _faults(chance, server)
    if chance.random() < 0.5:
        pace = replace(pace, moody=True, slow_pass=chance.choice(("party", "crawl")))
    return Ordeal(spec, 3, pace, faults, number)


def _faults(chance: Random, server: Server | None) -> Sequence[Fault]:
    faults: list[Fault] = []
    for _ in range(_BLOCKS):
        block: list[Fault] = [*[KillMachine()] * 4, FreezeMachine()]
        if server:
            block.append(KillDatabase(server))
        chance.shuffle(block)
        faults += [*block, KillRun()]  # a supervisor gives up a machine that has died five times in a row
    return faults


if __name__ == "__main__":
    sys.exit(main())
