"""What a machine is worth in a partition, where it is to find that out itself (paper 001, section 3.1.3)."""

from __future__ import annotations

_STORAGE = 10 << 30  # bytes of free storage for each unit
_BANDWIDTH = 1 << 20  # bytes a second for each unit
_MOST = 64


def capacity_of(free_bytes: int, bytes_per_second: float) -> int:
    """Return the capacity of a machine by its free storage and the best rate that it has reached so far.

    The smaller of both counts, rounded down to a power of two: each change of it moves sites, so it shall be rare.
    """
    units = min(free_bytes / _STORAGE, bytes_per_second / _BANDWIDTH, _MOST)
    capacity = 1
    while 2 * capacity <= units:
        capacity *= 2
    return capacity
