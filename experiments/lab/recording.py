"""What the threads of a crawl held over time, as `recorded.py` wrote it down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

RECORDING = "recording.txt"  # in the folder where SCrawler runs


class Sample(NamedTuple):
    """One moment of a machine; counts by thread."""

    at: float  # seconds since 1970
    moves: int  # seeds' sites moved between threads so far
    held: tuple[int, ...]  # seeds
    in_flight: tuple[int, ...]  # requests started and not over; with the classic downloader, one of them goes on


def read_recording(folder: Path) -> list[Sample]:
    """Read the recording of a crawl in a folder; moments at which not all threads lived are left out."""
    samples = [_sample(line) for line in (folder / RECORDING).read_text().splitlines(keepends=True) if line[-1] == "\n"]
    threads = max((len(sample.held) for sample in samples), default=0)
    return [sample for sample in samples if len(sample.held) == threads]


def between(samples: Sequence[Sample], since: float, until: float) -> list[Sample]:
    """Return the samples of a time, in seconds since 1970."""
    return [sample for sample in samples if since <= sample.at <= until]


def mean_over_time(samples: Sequence[Sample], of: Callable[[Sample], float]) -> float:
    """Return the mean of a figure, each sample holding until the next one; of a single sample, its figure.

    On a busy machine samples come late, when just more is going on: a mean of the samples alone would be wrong.
    """
    if not samples:
        return 0.0
    span = samples[-1].at - samples[0].at
    if span <= 0:
        return of(samples[0])
    return sum(of(sample) * (after.at - sample.at) for sample, after in pairwise(samples)) / span


def last_time(samples: Sequence[Sample], holds: Callable[[Sample], bool]) -> float:
    """Return when something held for the last time, in seconds since 1970; if never, when the first sample was made."""
    return max((sample.at for sample in samples if holds(sample)), default=samples[0].at if samples else 0.0)


def share(counts: Sequence[int]) -> float:
    """Return which share of the threads has any."""
    return sum(count > 0 for count in counts) / len(counts)


def thinned(points: Sequence[tuple[float, Sequence[float]]], number: int) -> list[tuple[float, list[float]]]:
    """Return the means of figures over about so many equal spans of time, at the middle of each; for plots."""
    if not points:
        return []
    first = points[0][0]
    span = max((points[-1][0] - first) / number, 1e-9)
    spans: dict[int, list[Sequence[float]]] = {}
    for at, values in points:
        spans.setdefault(int((at - first) / span), []).append(values)
    return [
        (first + (place + 0.5) * span, [fmean(one) for one in zip(*part, strict=True)]) for place, part in spans.items()
    ]


def _sample(line: str) -> Sample:
    at, moves, *threads = line.split()
    pairs = [thread.partition("/") for thread in threads]
    held, in_flight = (tuple(int(pair[place]) for pair in pairs) for place in (0, 2))
    return Sample(float(at), int(moves), held, in_flight)
