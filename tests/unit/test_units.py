from __future__ import annotations

import pytest

from scrawler.units import counted, format_bytes, format_seconds, human_bytes, parse_bytes, parse_seconds
from tests.tables import each


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("500000", 500_000),
        ("32MiB", 32 << 20),
        ("1GB", 10**9),
        ("1.5 kib", 1536),
        (" 2b ", 2),
        ("1TB", 10**12),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("5m", 300), ("2h", 7200), ("200ms", 0.2), ("1d", 86_400), ("0s", 0)],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@each("text", ["", "x", "-1", "1e3", "5 parsecs", "nan", "inf", "0.1B", "٣", "1.MB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|bytes"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["", "x", "-1", "1e3", "5y", "nan", "5MB"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="number"):
        parse_seconds(text)


@each("size", [0, 1, 999, 1000, 1024, 1536, 32 << 20, 10**9, 5 * 10**12])
def test_a_written_size_reads_back(size: int) -> None:
    assert parse_bytes(format_bytes(size)) == size


@each("seconds", [0.0, 0.5, 1.0, 59.0, 60.0, 90.0, 7200.0, 86_400.0])
def test_a_written_time_reads_back(seconds: float) -> None:
    assert parse_seconds(format_seconds(seconds)) == seconds


def test_sizes_for_reading() -> None:
    assert [human_bytes(size) for size in (0, 999, 1000, 1_234_567, 5 * 10**15)] == [
        "0 B",
        "999 B",
        "1.0 KB",
        "1.2 MB",
        "5000.0 TB",
    ]


def test_a_number_agrees_with_what_it_counts() -> None:
    assert [counted(number, "page") for number in (0, 1, 2, 2000)] == ["0 pages", "1 page", "2 pages", "2,000 pages"]
    assert [counted(number, "place is", "places are") for number in (0, 1, 2)] == [
        "0 places are",
        "1 place is",
        "2 places are",
    ]
