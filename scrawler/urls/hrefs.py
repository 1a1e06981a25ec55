"""The links of a page as bytes: what the compiled parts hand on to each other, without a string for each link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, overload

# Characters; where a page's links have more, it mostly holds many copies of one long link.
_MOST_JOINED: Final = 1 << 24


class Hrefs(Sequence[str]):
    """A sequence of hrefs, held as UTF-8 with a NUL between two, for none of them holds one."""

    __slots__ = ("_count", "_texts", "joined")

    def __init__(self, joined: bytes, count: int) -> None:
        self.joined = joined
        self._count = count
        self._texts: list[str] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._as_list()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._as_list())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._as_list() == list(other)

    def __hash__(self) -> int:
        return hash(self.joined)

    def __repr__(self) -> str:
        return f"Hrefs({self._as_list()!r})"

    def _as_list(self) -> list[str]:
        if self._texts is None:
            self._texts = self.joined.decode().split("\0") if self._count else []
        return self._texts


def in_bytes(hrefs: Sequence[str]) -> bytes | None:
    """Return hrefs as `Hrefs` holds them; None where that cannot be, or would take much memory."""
    if type(hrefs) is Hrefs:
        return hrefs.joined
    if sum(map(len, hrefs)) > _MOST_JOINED:
        return None
    try:
        joined = "\0".join(hrefs).encode()
    except UnicodeEncodeError:  # halves of UTF-16 pairs cannot be encoded
        return None
    return joined if joined.count(0) == len(hrefs) - 1 else None
