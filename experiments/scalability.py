"""Pages a second of a thread with one to five machines: python -m experiments.scalability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from experiments.lab.command import experiment
from experiments.lab.crawls import Crawl, crawled
from experiments.lab.database import DatabaseServer, mariadb
from experiments.lab.extrapolation import Goal, Measured, extrapolated, measured_in, mix_of, said_of_mix
from experiments.lab.load import Carried, Mix, carried
from experiments.lab.meter import OTHERS, Counters, Meter, cpu_counters
from experiments.lab.plots import Line, Panel
from experiments.lab.process import fresh_folder
from experiments.lab.report import Plot, Report, Row, Value, number, row_text, write_report
from experiments.lab.scaling import STEADY, TOGETHER, claims, findings, lines_of
from experiments.lab.scrawler_command import DATABASE
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from tests.torture.sql import PlainSql

SEEDS_PER_THREAD = 10
WEB = WebSpec(
    sites=4_000, mean_pages=30, max_pages=100, page_bytes=6_000, alias_every=0, latency_ms=200, latency_spread=0.0
)
_TAIL = 0.5  # seconds at the end of a crawl that do not count
_OURS = ("crawler", "server", "database")
_STATUS = ("Questions", "Handler_write", "Handler_update", "Handler_delete")
_PROCESSES = 4  # that load a database


@dataclass(frozen=True)
class Sweep:
    """Crawls that differ in machines and threads; `delay` seconds between two requests to a site."""

    name: str
    database: str
    delay: float
    machines: Sequence[int]
    threads: Sequence[int]


@dataclass(frozen=True)
class Length:
    """Seconds of each crawl before its speed is steady, and that count; of the load; between two checkpoints."""

    ramp: float
    window: float
    load: float
    checkpoint: float = 5.0


@experiment
@click.option("--window", default=35.2, show_default=True, help="Seconds of each crawl that count.")
@click.option("--seeds", default=250_000, show_default=True, help="Seeds in the database that is loaded.")
def main(quick: bool, results: Path, window: float, seeds: int) -> None:
    """Does each thread do as much when there are more machines, and what would 50 of them ask of the database?"""
    web = replace(WEB, sites=200) if quick else WEB
    length = Length(2.5, 1.2, 0.6, checkpoint=0.5) if quick else Length(18.0, window, window / 2)
    with ExitStack() as stack:
        server = stack.enter_context(mariadb())
        rows, measured = _crawls(_sweeps(quick), server, web, length)
        mix = mix_of(measured, Goal(), WEB.mean_pages)
        loads = _loads(server, mix, 2_000 if quick else seeds, length.load, 2 if quick else _PROCESSES)
    report = Report(
        "scalability",
        "Machines and threads",
        "crawl",
        rows,
        [*_conditions(web, length), *findings(rows), said_of_mix(measured)],
        [*claims(rows), *extrapolated(Goal(), mix, loads)],
        _plots(rows),
        {"load": [_load_row(name, load) for name, load in loads.items()]},
    )
    write_report(report, results)


def _sweeps(quick: bool) -> list[Sweep]:
    if quick:
        return [Sweep("waiting", "mariadb", 0.2, (2,), (4,)), Sweep("waiting", "sqlite", 0.2, (1,), (4,))]
    machines = range(1, 6)
    return [
        Sweep("waiting", "mariadb", 2.0, machines, (10, 15, 20)),
        Sweep("waiting", "sqlite", 2.0, machines, (20,)),
        Sweep("busy", "mariadb", 0.2, machines, (20,)),
    ]


def _crawls(
    sweeps: Sequence[Sweep], server: DatabaseServer, web: WebSpec, length: Length
) -> tuple[list[Row], Measured]:
    """Make all crawls; what a page brings to the database is counted where most pages were fetched."""
    rows: list[Row] = []
    measured: list[Measured] = []
    for sweep in sweeps:
        for threads in sweep.threads:
            for machines in sweep.machines:
                row, of_database = _measure(sweep, server, web, machines, threads, length)
                rows.append(row)
                measured.append(of_database)
    return rows, max(measured, key=lambda one: one.pages)


def _measure(
    sweep: Sweep, server: DatabaseServer, web: WebSpec, machines: int, threads: int, length: Length
) -> tuple[Row, Measured]:
    with SynthServer(web) as served, _database(sweep.database, server) as (url, pids):
        counters = cpu_counters({"server": [served.pid], "database": pids})
        meter = Meter(_with_status(counters, url) if pids else counters)
        with crawled(
            served,
            served.web.seeds(),
            timeout=length.ramp + length.window + _TAIL,
            environment={"SCRAWLER_DB": url} if pids else None,
            sampler=meter.sampler,
            machines=machines,
            threads=threads,
            seeds_per_thread=SEEDS_PER_THREAD,
            delay=sweep.delay,
            checkpoint_interval=length.checkpoint,
        ) as crawl:
            of_database = measured_in(PlainSql(url or f"sqlite:///{crawl.folder / DATABASE}"))
            until = max((line.at for line in crawl.pages), default=0.0) - _TAIL
            since = until - length.window
    middle = (since + until) / 2
    halves = [_pages(crawl, since, middle), _pages(crawl, middle, until)]
    row = _speed(sweep, machines, threads, halves, length.window)
    row |= shares(meter, since, until, float(row["pages/s"]), _STATUS if pids else ())
    click.echo(row_text(row))
    return row, of_database


@contextmanager
def _database(kind: str, server: DatabaseServer) -> Iterator[tuple[str, list[int]]]:
    """Give the URL of an empty database, and its server's process; SQLite's is made in the crawl's folder."""
    if kind == "sqlite":
        yield "", []
    else:
        yield server.fresh(), server.pids()


def _with_status(counters: Counters, url: str) -> Counters:
    """Add what the server counts of statements and rows, over all databases: one is used at a time."""
    query = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(", ".join(f"'{name}'" for name in _STATUS))
    sql = PlainSql(url)
    return lambda pid: {**counters(pid), **{name: float(value) for name, value in sql.rows(query)}}


def _pages(crawl: Crawl, since: float, until: float) -> int:
    return sum(since <= line.at < until for line in crawl.pages)


def _speed(sweep: Sweep, machines: int, threads: int, halves: Sequence[int], window: float) -> dict[str, Value]:
    rate = sum(halves) / window
    return {
        "crawl": f"{sweep.name}, {sweep.database}, {machines} x {threads}",
        "sweep": sweep.name,
        "database": sweep.database,
        "machines": machines,
        "threads": threads,
        "pages/s": rate,
        "pages/s of a thread": rate / machines / threads,
        STEADY: halves[1] / max(halves[0], 1),
    }


def shares(meter: Meter, since: float, until: float, rate: float, status: Sequence[str]) -> dict[str, Value]:
    """Return what crawler, server and database used of the cores, and what the database was asked a page.

    `status` names what the database's server counts; an SQLite file counts nothing.
    """
    used = meter.shares(since, until)
    asked = {name: meter.rate(name, since, until) / max(rate, 1) for name in status}
    return {
        **{f"{name} CPU %": used.get(f"{name} CPU %", 0.0) for name in _OURS},
        TOGETHER: sum(share for name, share in used.items() if name != OTHERS),
        OTHERS: used[OTHERS],
        "statements a page": asked.pop("Questions", ""),
        "rows a page": sum(asked.values()) if asked else "",
    }


def _loads(server: DatabaseServer, mix: Mix, seeds: int, seconds: float, processes: int) -> dict[str, Carried]:
    """Load both databases."""
    with fresh_folder("experiment-load") as folder:
        sqlite = carried(f"sqlite:///{folder / DATABASE}", mix, seeds, processes, seconds, None)
    return {"mariadb": carried(server.fresh(), mix, seeds, processes, seconds, *server.pids()), "sqlite": sqlite}


def _load_row(name: str, load: Carried) -> Row:
    numbers = {key: value for key, value in asdict(load).items() if key != "statements"}
    return {"database": name, **numbers, **{f"statements a {kind}": n for kind, n in load.statements.items()}}


def _conditions(web: WebSpec, length: Length) -> list[str]:
    return [
        f"machines of one supervisor, {SEEDS_PER_THREAD} seeds a thread; {web.sites:,} sites of {web.mean_pages} pages "
        f"on the average (Pareto, at most {web.max_pages}), {web.page_bytes:,} bytes each, answered after "
        f"{web.latency_ms:g} ms; pages answered with 200 in {length.window:g} s at the end of each crawl, by the "
        "server's log",
        "waiting: a pause that keeps the cores idle; busy: a shorter one; second half / first: 1 where the speed was "
        "steady; rows a page: inserted, updated and deleted",
        "the load: processes that live as machines in fast motion, with what a page brought in the crawl with most "
        f"pages, for {length.load:g} s, on the same cores; a core of the database: by its CPU time (SQLite: of its "
        "clients)",
    ]


def _plots(rows: Sequence[Row]) -> list[Plot]:
    names = list(dict.fromkeys((str(row["sweep"]), str(row["database"])) for row in rows))
    of = {name: [row for row in rows if (row["sweep"], row["database"]) == name] for name in names}
    panels = []
    for sweep in dict.fromkeys(name for name, _ in names):
        lines = [
            Line(f"{threads} threads, {database}", xs, ys, points=True, dashed=database == "sqlite")
            for (name, database), mine in of.items()
            if name == sweep
            for threads, xs, ys in lines_of(mine)
        ]
        panels.append(Panel(sweep, "machines", "pages/s of a thread", lines))
    shares = [
        Line(f"{name}, {database}, {threads} threads", xs, ys, points=True)
        for (name, database), mine in of.items()
        for threads in sorted({int(row["threads"]) for row in mine})[-1:]
        for xs, ys in [_series([row for row in mine if row["threads"] == threads], TOGETHER)]
    ]
    panels.append(Panel("crawler, server and database", "machines", "% of the cores", shares))
    return [Plot("Pages of a thread, by machines", panels)]


def _series(rows: Sequence[Row], column: str) -> tuple[list[int], list[float]]:
    return [int(row["machines"]) for row in rows], [number(row, column) for row in rows]


if __name__ == "__main__":
    main()
