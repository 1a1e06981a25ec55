"""How evenly partitions divide hosts, and what moves when a machine comes: python -m experiments.balance."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

import click
import numpy as np
from numpy.typing import NDArray

from experiments.lab.command import experiment
from experiments.lab.plots import Line, Panel
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, number, row_text, write_report
from scrawler.features.cluster.partition.maps import owner_map
from scrawler.features.cluster.partition.ring import Ring, replicas
from scrawler.features.cluster.partition.slots import LOGICAL_NODES, NOBODY, assigned
from scrawler.model.machines import Living, LivingMachine
from scrawler.model.partitions import PartitionKind
from scrawler.model.terms import url_hash

Owners: TypeAlias = NDArray[np.int64]  # of each host, the number of its machine
Places: TypeAlias = NDArray[np.uint64]  # of each host, its place on the circle

_HOSTS, _QUICK_HOSTS = 1_000_000, 20_000
_MACHINES, _QUICK_MACHINES = (2, 4, 8, 16, 32, 64), (2, 8)
_ROUNDS, _QUICK_ROUNDS = 20, 2  # sets of names
_REPLICAS = (100, 200)
_STATED = {100: "< 6 %", 200: "< 4.5 %"}  # of the paper, by replicas
_MEASURES = ("mean, %", "sd, %", "max, %")
_LOOK_UPS = 100_000


@experiment
def main(quick: bool, results: Path) -> None:
    """How far from an equal share are machines, and how many hosts change hands when one comes?"""
    hosts = [f"www{one}.site{one % 977}.example" for one in range(_QUICK_HOSTS if quick else _HOSTS)]
    places = np.fromiter((int.from_bytes(url_hash(host)[:8], "big") for host in hosts), np.uint64, len(hosts))
    slots = np.fromiter((int.from_bytes(url_hash(host)[8:], "big") % LOGICAL_NODES for host in hosts), np.int64)
    rows = list(_shown(_rows(places, slots, quick)))
    report = Report(
        "balance",
        "Deviation from balance, and what moves",
        "partition",
        rows,
        _notes(len(hosts)),
        _claims(rows, hosts[:_LOOK_UPS]),
        [Plot("deviation from an equal share by the number of machines", _panels(rows))],
    )
    write_report(report, results)


def _shown(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        click.echo(row_text(row))
        yield row


def _rows(places: Places, slots: Owners, quick: bool) -> Iterator[Row]:
    for machines in _QUICK_MACHINES if quick else _MACHINES:
        for turn in range(_QUICK_ROUNDS if quick else _ROUNDS):
            names = [f"agent-{turn}-{one}" for one in range(machines + 1)]  # the last one comes later
            for way, owners, theory in _ways(places, slots, names):
                before, after = owners(machines), owners(machines + 1)
                yield _row(way, machines, turn, before, after, theory(machines))


def _ways(
    places: Places, slots: Owners, names: Sequence[str]
) -> Iterator[tuple[str, Callable[[int], Owners], Callable[[int], float]]]:
    """Yield each way, the owners of all hosts for the first so many names, and the standard deviation in theory."""

    def sampled(machines: int) -> float:
        return sqrt((machines - 1) / len(places))

    for of_each in _REPLICAS:

        def nearest(machines: int, of_each: int = of_each) -> Owners:
            return by_nearest(places, names[:machines], of_each)

        def successor(machines: int, of_each: int = of_each) -> Owners:
            return by_successor(places, names[:machines], of_each)

        def half(machines: int, of_each: int = of_each) -> float:
            return sqrt((1 - 1 / machines) / (2 * of_each))

        def whole(machines: int, of_each: int = of_each) -> float:
            return sqrt((1 - 1 / machines) / of_each)

        yield f"consistent, nearest, k = {of_each}", nearest, half
        yield f"consistent, next, k = {of_each}", successor, whole
    yield "permutation", lambda machines: by_permutation(places, names[:machines]), sampled
    yield "modulo, one level", lambda machines: (places % np.uint64(machines)).astype(np.int64), sampled
    yield (
        "modulo, two levels",
        lambda machines: _two_levels(slots, machines),
        lambda machines: _of_slots(machines, len(slots)),
    )


def by_nearest(places: Places, names: Sequence[str], of_each: int) -> Owners:
    """Return the owners on the product's own ring."""
    borders, owners = Ring(dict.fromkeys(names, 1), of_each).borders()
    numbers = {name: number for number, name in enumerate(names)}
    table = np.array([numbers[name] for name in owners], np.int64)
    return table[np.searchsorted(np.array(borders, np.uint64), places, side="left")]


def by_successor(places: Places, names: Sequence[str], of_each: int) -> Owners:
    """Return the owners where the next replica counts, as in most other rings."""
    ring = sorted((place, one) for one, name in enumerate(names) for place in replicas(name, 1, of_each))
    table = np.array([one for _, one in ring], np.int64)
    found = np.searchsorted(np.array([place for place, _ in ring], np.uint64), places, side="left")
    return table[found % len(table)]


def by_permutation(places: Places, names: Sequence[str]) -> Owners:
    """Return the owners where each host orders all machines at random, and the first one counts."""
    best = np.zeros(len(places), np.uint64)
    owners = np.zeros(len(places), np.int64)
    for one, name in enumerate(names):
        draws = _mixed(places ^ np.uint64(int.from_bytes(url_hash(name)[:8], "big")))
        owners[draws > best] = one
        best = np.maximum(best, draws)
    return owners


def _mixed(values: Places) -> Places:
    """Return the output of SplitMix64 (Steele, Lea, Flood 2014) for each value."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _two_levels(slots: Owners, machines: int) -> Owners:
    """Return the owners by the table that has grown with the machines, one after the other."""
    table: tuple[int, ...] = (NOBODY,) * LOGICAL_NODES
    for there in range(1, machines + 1):
        table = assigned(table, dict.fromkeys(range(1, there + 1), 1))
    return np.array(table, np.int64)[slots] - 1


def _of_slots(machines: int, hosts: int) -> float:
    """Return the deviation of a table whose shares are as equal as can be, but not how many hosts a slot has."""
    return sqrt((machines - 1) / hosts)


def _row(way: str, machines: int, turn: int, before: Owners, after: Owners, theory: float) -> Row:
    deviations = np.bincount(before, minlength=machines) * machines / len(before) - 1
    moved = before != after
    return {
        "partition": f"{way}, {machines} machines",
        "way": way,
        "machines": machines,
        ROUND: turn,
        "mean, %": 100 * float(np.abs(deviations).mean()),
        "sd, %": 100 * float(np.sqrt((deviations**2).mean())),
        "max, %": 100 * float(np.abs(deviations).max()),
        "sd in theory, %": 100 * theory,
        "moved by one more, %": 100 * float(moved.mean()),
        "must move, %": 100 / (machines + 1),
        "moved between old ones, %": 100 * float((moved & (after != machines)).mean()),
    }


def _claims(rows: Sequence[Row], hosts: Sequence[str]) -> list[Claim]:
    claims = []
    for of_each in _REPLICAS:
        for rule in ("nearest", "next"):
            own = [row for row in rows if row["way"] == f"consistent, {rule}, k = {of_each}"]
            told = "; ".join(
                f"{one.partition(',')[0]} {fmean(number(row, one) for row in own):.1f} %" for one in _MEASURES
            )
            theory = fmean(number(row, "sd in theory, %") for row in own)
            claims.append(
                Claim(
                    f"deviation from balance, {of_each} replicas, {rule} replica, mean of all numbers of machines",
                    "paper 001, section 4.1.5",
                    _STATED[of_each],
                    f"{told}; sd in theory {theory:.1f} %",
                )
            )
    consistent = owner_map(PartitionKind.CONSISTENT, _living(64))
    modulo = owner_map(PartitionKind.MODULO, _living(64), tuple(one % 64 + 1 for one in range(LOGICAL_NODES)))
    for name, owner in (("consistent", consistent.owner), ("modulo", modulo.owner)):
        claims.append(
            Claim(f"owner of a host among 64 machines, {name}, µs", "goal", "< 2", f"{_cost(owner, hosts):.2f}")
        )
    return claims


def _living(machines: int) -> Living:
    return Living(tuple(LivingMachine(one, 10, f"agent-{one}") for one in range(1, machines + 1)))


def _cost(owner: Callable[[str], int | None], hosts: Sequence[str]) -> float:
    """Return the microseconds of processor time of one look-up, the hash included."""
    began = time.process_time()
    for host in hosts:
        owner(host)
    return (time.process_time() - began) / len(hosts) * 1e6


def _panels(rows: Sequence[Row]) -> list[Panel]:
    ways = list(dict.fromkeys(str(row["way"]) for row in rows))
    machines = sorted({int(number(row, "machines")) for row in rows})

    def line(way: str, column: str) -> Line:
        ys = [
            fmean(number(row, column) for row in rows if (row["way"], row["machines"]) == (way, one))
            for one in machines
        ]
        return Line(way, machines, ys, points=True)

    return [
        Panel("standard deviation of a share", "machines", "% of an equal share", [line(w, "sd, %") for w in ways]),
        Panel("hosts that move when one more comes", "machines", "%", [line(w, "moved by one more, %") for w in ways]),
    ]


def _notes(hosts: int) -> list[str]:
    return [
        f"{hosts:,} hosts, divided by hashes of their names; each machine has another name in each round. A deviation"
        " is share / equal share - 1: mean and maximum are of its absolute values, sd is its root mean square, over"
        " the machines. In a table all are medians of the rounds.",
        "Theory: replicas that are placed at random on a circle give a share of standard deviation sqrt((1 - 1/n) / k)"
        " where the next replica counts, and of sqrt((1 - 1/n) / 2k) where the nearest one does, for then each replica"
        " has half of two gaps. The paper writes of the nearest. The mean of absolute values is about 0.8 of that.",
        "permutation: each host orders all machines at random, and the first that lives has it; one look-up costs"
        " as much as there are machines. Modulo with two levels is 4,096 logical nodes in a table that has grown"
        " machine by machine.",
    ]


if __name__ == "__main__":
    main()
