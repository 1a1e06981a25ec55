"""Times of the day at which owners want their sites to be asked."""

from __future__ import annotations

from scrawler.model.windows import Window, read_window, until_open
from tests.tables import each

HOUR = 3_600_000


@each(
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
