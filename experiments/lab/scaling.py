"""What crawls with different numbers of machines and threads say of scaling, in words and beside the papers."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.lab.meter import ENOUGH, OTHERS, QUIET, others_at_work
from experiments.lab.report import Claim, Row, number

TOGETHER, STEADY = "these three %", "second half / first"  # columns
_UNSTEADY = 0.1


def findings(rows: Sequence[Row]) -> list[str]:
    """Say in words whether the threads were held up by the web alone, and where the cores became the limit."""
    waiting = [row for row in rows if row["sweep"] == "waiting"]
    ours = max(number(row, TOGETHER) for row in waiting)
    everybody = max(number(row, TOGETHER) + number(row, OTHERS) for row in waiting)
    drift = max(abs(number(row, STEADY) - 1) for row in rows)
    notes = [
        f"waiting: crawler, server and database used at most {ours:.0f} % of the cores, all programs {everybody:.0f} %"
        + (
            ", so that the web is the limit"
            if everybody <= ENOUGH
            else f": above the {ENOUGH} % that this sweep allows for, so that threads may have waited for the cores"
        ),
        f"the second half of each window went as fast as the first to within {drift:.0%}".replace("%", " %")
        + ("" if drift <= _UNSTEADY else ": too unsteady to compare machines by less than that"),
        others_at_work(rows),
    ]
    busy = [row for row in rows if row["sweep"] == "busy"]
    return [*notes, _where_cores_end(busy)] if busy else notes


def _where_cores_end(busy: Sequence[Row]) -> str:
    first = number(busy[0], "pages/s of a thread")
    less = next((row for row in busy if number(row, "pages/s of a thread") < 0.9 * first), None)
    if less is None:
        return "busy: the cores were no limit with any number of machines"
    said = (
        f"busy: from {less['machines']} machines on a thread does less than 90 % of what it does with one, "
        f"at {number(less, 'pages/s'):.0f} pages/s and {number(less, TOGETHER):.0f} % of the cores"
    )
    others = number(less, OTHERS)
    return (
        said
        if others <= QUIET
        else f"{said}; other programs had {others:.0f} %, so that this says nothing of the crawler"
    )


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Put the papers' scaling beside ours."""
    lines = lines_of([row for row in rows if (row["sweep"], row["database"]) == ("waiting", "mariadb")])
    level = [
        f"{threads} threads: {', '.join(f'{y:.2f}' for y in ys)} ({ys[-1] / ys[0] - 1:+.1%})"
        for threads, _, ys in lines
        if ys[0]
    ]
    speedup = [
        f"{threads} threads: " + ", ".join(f"{_speedup(xs, ys, m):.2f} ({m})" for m in (3, 4))
        for threads, xs, ys in lines
        if {2, 3, 4} <= set(xs) and all(ys)
    ]
    return [
        Claim(
            "pages/s of a thread with 1, 2, ... machines",
            "paper 004, Figure 9",
            "nearly level for 10, 15 and 20 threads, 1 to 5 machines; its values are in the picture alone",
            "; ".join(level),
        ),
        Claim(
            "pages/s of 3 and of 4 machines, as a multiple of those of 2",
            "paper 002, Table I",
            "1.13 (3), 1.38 (4); in proportion: 1.50, 2.00",
            "; ".join(speedup) or "not measured",
        ),
    ]


def _speedup(machines: Sequence[int], of_a_thread: Sequence[float], count: int) -> float:
    each = dict(zip(machines, of_a_thread, strict=True))
    return count * each[count] / (2 * each[2])


def lines_of(rows: Sequence[Row]) -> list[tuple[int, list[int], list[float]]]:
    """Return for each number of threads the numbers of machines, and the pages/s of a thread."""
    found = []
    for threads in sorted({int(row["threads"]) for row in rows}):
        mine = [row for row in rows if row["threads"] == threads]
        found.append((threads, [int(r["machines"]) for r in mine], [number(r, "pages/s of a thread") for r in mine]))
    return found
