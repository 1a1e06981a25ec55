"""A long list of unknown domains, by default settings: python -m experiments.bench.dead_bench."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click

from experiments.deadweb.kinds import MIXED, PARKING_ADDRESSES, Domain, Kind, domains, portals
from experiments.deadweb.server import Ports, serving
from experiments.lab.command import experiment
from experiments.lab.meter import OTHERS, all_cores, all_cpu, others_at_work
from experiments.lab.plots import Line, Panel
from experiments.lab.process import OUTPUT, Figures, Sampler, fresh_folder, run_measured
from experiments.lab.report import MIB, ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from experiments.lab.scrawler_command import CRAWL_AGENT, DATABASE, import_command
from experiments.lab.trees import OWN, Tree, tree_at

LISTS: Mapping[str, Mapping[Kind, int]] = {
    "refused": {Kind.REFUSED: 1},
    "mixed": MIXED,
    "hanging": {Kind.REFUSED: 1, Kind.SILENT: 1},
    "parked": {Kind.PARKED: 1},
}
_LONGEST = 3_600.0  # seconds
_RATE = 500  # seeds a second that are the goal, where none waits for politeness, or hangs
_POINTS = 200  # of a line
_FREE = "free/s"
_CPU = "CPU us/seed"
_WAITING = (Kind.PARKED, Kind.REAL, Kind.SILENT, Kind.MUTE)  # kinds that wait for politeness, or hang


@experiment
@click.option("--list", "names", multiple=True, type=click.Choice(list(LISTS)), default=("refused", "mixed"))
@click.option("--seeds", default=20_000, show_default=True, help="Domains of a list; 400 with --quick.")
@click.option("--rounds", default=1, show_default=True, help="Turns of each list.")
@click.option("--parking-seconds", default=0.2, show_default=True, help="Time that a parking host takes to answer.")
@click.option("--set", "flags", multiple=True, help="A further flag of `scrawler run`, as --retries=0.")
@click.option("--against", multiple=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(
    quick: bool,
    results: Path,
    names: Sequence[str],
    seeds: int,
    rounds: int,
    parking_seconds: float,
    flags: Sequence[str],
    against: Sequence[Path],
) -> None:
    """How many unknown domains a second come to their end, and what does one cost?"""
    if quick:
        seeds, flags = 400, (*flags, "--retry-pause=1", "--connect-timeout=2", "--timeout=2")
    rows: list[Row] = []
    lines: dict[str, Line] = {}
    with serving(parking_seconds) as ports:
        for turn in range(1, (1 if quick else rounds) + 1):
            for name in names:
                for tree in (OWN, *map(tree_at, against)):
                    row, times = _measure(turn, name, tree, domains(seeds, LISTS[name]), ports, flags)
                    rows.append(row)
                    lines[str(row["list"])] = _line(str(row["list"]), times)
                    click.echo(row_text(row))
    notes = [
        f"{seeds:,} domains, default settings but for `--allow-private` {' '.join(flags)}; each has an address of its"
        f" own, but parked ones share {PARKING_ADDRESSES}, where an answer takes {parking_seconds:g} s",
        "seeds/s: all seeds by the time until the last one is done; free/s: those that wait for no politeness, and do"
        " not hang, by the time until 99 % of them are done; CPU is that of the crawl alone",
        others_at_work(rows),
    ]
    plot = Plot("Seeds that are done", [Panel("lists", "seconds", "% done", list(lines.values()))])
    write_report(Report("dead", "A long list of unknown domains", "list", rows, notes, _claims(rows), [plot]), results)


def _claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the rates beside the goal; one processor, all of which a crawl has, gives no more than its CPU allows."""
    found = []
    for row in rows:
        if number(row, _FREE):
            rate = f"{number(row, _FREE):.0f}, at {number(row, _CPU):.0f} us of CPU a seed"
            found.append(Claim(f"seeds/s that wait for nothing, {row['list']}", "goal", f"{_RATE}", rate))
    return found or [Claim("seeds/s that wait for nothing", "goal", f"{_RATE}", "none of these lists has such seeds")]


def _line(name: str, times: Sequence[float]) -> Line:
    """Return which part of a list is done, over time."""
    step = max(1, len(times) // _POINTS)
    xs = [times[at] for at in range(0, len(times), step)]
    return Line(name, xs, [100 * at / len(times) for at in range(0, len(times), step)])


def _measure(
    turn: int, name: str, tree: Tree, seeds: Sequence[Domain], ports: Ports, flags: Sequence[str]
) -> tuple[Row, Sequence[float]]:
    """Crawl a list; return its figures, and the seconds after which each of its seeds was done."""
    with fresh_folder("dead") as folder:
        _prepare(folder, tree, seeds, ports)
        peak = [0]
        before = all_cpu()
        command = ["scrawler", "run", "--allow-private", "--user-agent", CRAWL_AGENT, "--no-export", *flags]

        def look(pid: int) -> None:
            peak[0] = max(peak[0], _sockets(pid))

        sampler = Sampler(look, 0.5)
        figures = run_measured(tree.command(command), folder, _LONGEST, sampler=sampler)
        if figures.exit_code:
            raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
        others = all_cores(all_cpu() - before - figures.cpu, figures.wall)
        ends = _ends(folder)
        row = _row(turn, tree.label(name), seeds, figures, ends, peak[0], others)
        return row, sorted(at for times in ends.values() for at in times)


def _prepare(folder: Path, tree: Tree, seeds: Sequence[Domain], ports: Ports) -> None:
    """Import the list, and write down where its hosts are."""
    places = {**portals(), **{host: address for one in seeds for host, address in one.addresses.items()}}
    resolved = ", ".join(f'"{host}={address}"' for host, address in places.items())
    (folder / "scrawler.toml").write_text(f"resolve = [{resolved}]\n")
    file = folder / "seeds.txt"
    file.write_text("".join(f"{ports.seed(one)}\n" for one in seeds))
    figures = run_measured(tree.command(import_command(file)), folder, _LONGEST)
    if figures.exit_code:
        raise click.ClickException(f"import ended with {figures.exit_code}, see {folder / OUTPUT}")


def _sockets(pid: int) -> int:
    """Return how many files and sockets a process has open; 0 once it is gone."""
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def _ends(folder: Path) -> Mapping[Kind, Sequence[float]]:
    """Return when the seeds of each kind were done, in seconds since the first was begun; in order."""
    with closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)) as connection:
        began = connection.execute("SELECT MIN(started_at) FROM seed").fetchone()[0]
        found = connection.execute("SELECT url, ended_at FROM seed WHERE ended_at IS NOT NULL ORDER BY ended_at")
        ends: dict[Kind, list[float]] = {kind: [] for kind in Kind}
        for url, ended_at in found:
            name = url.removeprefix("http://")
            kind = next(kind for kind in Kind if name.startswith(kind))
            ends[kind].append((ended_at - began) / 1000)
    return ends


def _row(
    turn: int,
    name: str,
    seeds: Sequence[Domain],
    figures: Figures,
    ends: Mapping[Kind, Sequence[float]],
    files: int,
    others: float,
) -> Row:
    free = sorted(at for kind, times in ends.items() if kind not in _WAITING for at in times)
    done = sum(map(len, ends.values()))
    return {
        ROUND: turn,
        "list": name,
        "seeds": len(seeds),
        "done": done,
        "wall s": figures.wall,
        "seeds/s": done / figures.wall,
        _FREE: 0.99 * len(free) / free[int(0.99 * (len(free) - 1))] if free else 0.0,
        _CPU: 1e6 * figures.cpu / max(1, done),
        "RSS MiB": figures.peak_rss / MIB,
        "files": files,
        **{f"{kind} after s": times[-1] if times else 0.0 for kind, times in ends.items()},
        OTHERS: others,
    }


if __name__ == "__main__":
    main()
