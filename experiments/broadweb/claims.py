"""What the rows of a broad crawl say of the goals; ratios are taken within a round, and stand as their median."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import inf
from statistics import median

from experiments.broadweb.arms import Arm
from experiments.competitors.turns import ratio_text
from experiments.lab.report import ROUND, Claim, Row, Value, medians, number

ARM = "arm"
CPU = "CPU us/page"
SPEED = "of allowed %"
CORE = "core %"
TAKEN_UP = "sites/s taken up"
FILLED_AFTER = "98 % full after s"
FILLED = "full %"
MEMORY = "RSS MiB"
MEMORY_OF_SITE = "RSS KiB/site"
HELD = "sites held"
STOP = "stop s"
NEVER = "not in time"

_NEAR = "near-duplicates"
_CORE_FULL = 95.0  # per cent of a core, of which a crawler under the interpreter lock has one
_KIB_OF_MIB = 1024


def claims(rows: Sequence[Row], arms: Sequence[Arm], trees: Sequence[str]) -> list[Claim]:
    """Return the goals that these arms can tell of; `trees` are the marks behind the names of other checkouts' arms."""
    found: list[Claim] = []
    for tree in trees:
        found += _near_duplicates(rows, arms, tree)
        found += _threads(rows, arms, tree)
        found += _memory(rows, arms, tree)
    for tree in trees[1:]:
        found += _against(rows, arms, tree)
    return [*found, *_bounds(rows)]


def ratios(rows: Iterable[Row], one: str, other: str, column: str) -> list[float]:
    """Return how many times as much one arm has in a column as another, within each round that both had."""
    of = {(row[ARM], row[ROUND]): number(row, column) for row in rows}
    rounds = sorted({turn for _, turn in of}, key=int)
    pairs = [(of.get((one, turn)), of.get((other, turn))) for turn in rounds]
    return [first / second for first, second in pairs if first is not None and second]


def _near_duplicates(rows: Sequence[Row], arms: Sequence[Arm], tree: str) -> Iterator[Claim]:
    for arm in arms:
        usual = arm.without(_NEAR)
        if dict(arm.options).get(_NEAR) == "off" and usual in arms:
            found = ratios(rows, usual.name + tree, arm.name + tree, CPU)
            yield _claim(f"CPU a page with near duplicates looked for, over without: {usual.name}{tree}", 1.08, found)


def _threads(rows: Sequence[Row], arms: Sequence[Arm], tree: str) -> Iterator[Claim]:
    for few, many in combinations(sorted(arms, key=lambda arm: arm.threads), 2):
        if few.threads < many.threads and few.with_threads(many.threads) == many:
            found = ratios(rows, many.name + tree, few.name + tree, CPU)
            yield _claim(f"CPU a page, {many.threads} threads over {few.threads}: {few.name}{tree}", 1.08, found)


def _memory(rows: Sequence[Row], arms: Sequence[Arm], tree: str) -> Iterator[Claim]:
    """Yield what memory grows by for each site more, between arms that differ in their places alone."""
    for few, many in combinations(sorted(arms, key=lambda arm: arm.places), 2):
        if few.places < many.places and few.with_places(many.places) == many:
            sizes = [_median(rows, arm.name + tree, MEMORY) for arm in (few, many)]
            held = [_median(rows, arm.name + tree, HELD) for arm in (few, many)]
            if held[1] > held[0]:
                grown = (sizes[1] - sizes[0]) * _KIB_OF_MIB / (held[1] - held[0])
                what = f"KiB a site, {many.name}{tree} against {few.places:,} places"
                yield Claim(what, "goal", "at most 40", f"{grown:.1f}")


def _against(rows: Sequence[Row], arms: Sequence[Arm], tree: str) -> Iterator[Claim]:
    for arm in arms:
        if found := ratios(rows, arm.name, arm.name + tree, CPU):
            yield Claim(f"CPU a page, here over{tree}: {arm.name}", "no goal", "-", ratio_text(found))


def _bounds(rows: Sequence[Row]) -> list[Claim]:
    middle = medians(ARM, rows)
    with_room = [row for row in middle if number(row, CORE) < _CORE_FULL]
    return [
        Claim("98 % of the places full after, s", "goal", "at most 60", span_text(middle, FILLED_AFTER)),
        Claim("places full after that, %", "goal", "at least 98", span_text(middle, FILLED)),
        Claim("sites taken up a second while places fill", "goal", "at least 300", span_text(middle, TAKEN_UP)),
        Claim(
            "pages/s of what politeness allows, %, where no core is full",
            "goal",
            "at least 95",
            span_text(with_room, SPEED) or "a core is full in each",
        ),
        Claim("from Ctrl-C to the end, s", "goal", "at most 3", span_text(middle, STOP)),
    ]


def span_text(rows: Sequence[Row], column: str) -> str:
    """Say the least and the most of a column, and whose they are; a word stands for more than any number."""

    def size(row: Row) -> float:
        value = row[column]
        return inf if isinstance(value, str) else value

    ordered = sorted(rows, key=size)
    ends = ordered[:1] + ordered[1:][-1:]
    return " to ".join(f"{_said(row[column])} ({row[ARM]})" for row in ends)


def _claim(what: str, most: float, found: Sequence[float]) -> Claim:
    return Claim(what, "goal", f"at most {most:g}", ratio_text(found) if found else "not measured")


def _said(value: Value) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def _median(rows: Sequence[Row], name: str, column: str) -> float:
    return median(number(row, column) for row in rows if row[ARM] == name)
