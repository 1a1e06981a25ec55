"""A cache of bounded size: what was asked for last stays."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BoundedCache(Generic[Value]):
    """Keeps values whose sizes, as `size` tells them, come to no more than `most` together; for many threads."""

    def __init__(self, most: int, size: Callable[[Value], int]) -> None:
        self._most = most
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Value] = OrderedDict()
        self._total = 0
        self.hits = 0
        self.misses = 0

    def get(self, key: Hashable) -> Value | None:
        """Return what is kept for a key."""
        with self._lock:
            value = self._kept.get(key)
            if value is None:
                self.misses += 1
                return None
            self.hits += 1
            self._kept.move_to_end(key)
            return value

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a value; what was not asked for longest goes. One that is too large alone is not kept."""
        size = self._size(value)
        if size > self._most:
            return
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._total -= self._size(before)
            self._kept[key] = value
            self._total += size
            while self._total > self._most:
                _, gone = self._kept.popitem(last=False)
                self._total -= self._size(gone)

    @property
    def total(self) -> int:
        """The sizes of all that is kept, together."""
        return self._total
