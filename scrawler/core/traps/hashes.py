"""A few hundred hashes in the order in which they came: a dictionary took 80 bytes of each, 8 KB of a site."""

from __future__ import annotations

from typing import Final

_SIZE: Final = 8  # bytes of a hash


class PackedHashes:
    """Hashes of 64 bits, each there once, in as many bytes; they are looked for from the first one on."""

    __slots__ = ("_packed",)

    def __init__(self) -> None:
        self._packed = bytearray()

    def __len__(self) -> int:
        return len(self._packed) // _SIZE

    def append(self, number: int) -> None:
        """Add a hash that is not there."""
        self._packed += number.to_bytes(_SIZE, "little", signed=True)

    def remove(self, number: int) -> bool:
        """Take a hash out; returns whether it was there."""
        found = number.to_bytes(_SIZE, "little", signed=True)
        at = self._packed.find(found)
        while at % _SIZE and at > 0:  # these are the end of one and the begin of the next
            at = self._packed.find(found, at + 1)
        if at >= 0:
            del self._packed[at : at + _SIZE]
        return at >= 0

    def keep_first(self, count: int) -> None:
        """Forget all but so many that came first."""
        del self._packed[count * _SIZE :]
