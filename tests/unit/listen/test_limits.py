"""Buckets of tokens, and times of the day."""

from __future__ import annotations

import pytest

from scrawler.listen import limits
from scrawler.listen.limits import Buckets
from scrawler.model.windows import Window, read_window, until_open

HOUR = 3_600_000


def test_a_bucket_empties_and_fills() -> None:
    now = [0.0]
    buckets = Buckets(rate=2.0, burst=3.0, now=lambda: now[0])
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("b") == 0
    now[0] = 0.5
    assert buckets.take("a") == 0
    now[0] = 1_000.0
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_no_more_buckets_are_kept_than_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_KEPT", 2)
    buckets = Buckets(rate=0.001, burst=1.0, now=lambda: 0.0)
    assert [buckets.take(name) for name in "abc"] == [0, 0, 0]
    assert buckets.take("c") > 0
    assert buckets.take("a") == 0  # it was forgotten


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("02:00-05:00", Window(120, 300)),
        (" 2:00 - 5:30 ", Window(120, 330)),
        ("22:00-01:00", Window(1320, 60)),
        ("02:00-02:29", None),
        ("02:00-02:00", None),
        ("24:00-01:00", None),
        ("02:60-05:00", None),
        ("٠٢:00-05:00", None),
        ("", None),
    ],
)
def test_a_window_is_read(text: str, window: Window | None) -> None:
    assert read_window(text) == window


def test_a_window_is_open_or_will_be() -> None:
    night, over_midnight = Window(120, 300), Window(1320, 60)
    day = 1_000 * 24 * HOUR
    assert [until_open(night, day + hour * HOUR) // HOUR for hour in (0, 2, 4, 5, 23)] == [2, 0, 0, 21, 3]
    assert [until_open(over_midnight, day + hour * HOUR) // HOUR for hour in (0, 1, 21, 22, 23)] == [0, 21, 1, 0, 0]
    assert str(night) == "02:00-05:00"
