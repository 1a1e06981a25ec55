"""What threads held over time: the recording of a crawl, and its means."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.lab.recording import (
    RECORDING,
    Sample,
    between,
    last_time,
    mean_over_time,
    read_recording,
    share,
    thinned,
)

SAMPLES = [
    Sample(10.0, 0, (2, 0), (1, 0)),
    Sample(10.1, 0, (2, 2), (1, 1)),
    Sample(10.4, 1, (0, 2), (0, 1)),
    Sample(10.5, 1, (0, 0), (0, 0)),
]


def test_moments_without_all_threads_and_a_broken_last_line_are_left_out(tmp_path: Path) -> None:
    (tmp_path / RECORDING).write_text("9.900 0 1/1\n10.000 0 2/1 0/0\n10.100 3 2/1 2/1\n10.200 3 2/")
    assert read_recording(tmp_path) == [Sample(10.0, 0, (2, 0), (1, 0)), Sample(10.1, 3, (2, 2), (1, 1))]


def test_a_sample_holds_until_the_next() -> None:
    assert mean_over_time(SAMPLES, lambda sample: sum(sample.held)) == pytest.approx(
        (2 * 0.1 + 4 * 0.3 + 2 * 0.1) / 0.5
    )
    assert mean_over_time(SAMPLES[:1], lambda sample: sum(sample.held)) == 2
    assert mean_over_time([], lambda sample: sum(sample.held)) == 0


def test_times_and_shares() -> None:
    assert between(SAMPLES, 10.1, 10.4) == SAMPLES[1:3]
    assert last_time(SAMPLES, lambda sample: min(sample.held) > 0) == 10.1
    assert last_time(SAMPLES, lambda sample: min(sample.held) > 5) == 10.0
    assert last_time([], lambda sample: True) == 0
    assert share((0, 3, 1, 0)) == 0.5


def test_a_line_of_few_points() -> None:
    assert thinned([(2.0, (1, 8)), (3.0, (3, 8)), (6.0, (5, 0))], 2) == [(3.0, [2, 8]), (7.0, [5, 0])]
    assert thinned([], 2) == []
