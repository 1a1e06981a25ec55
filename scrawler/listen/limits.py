"""How often somebody may ask: a bucket of tokens for each address, of a bounded number of them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

_KEPT = 50_000  # buckets that are remembered; the one that was used longest ago is forgotten, full by then as a rule


class Buckets:
    """A bucket for each key, which holds `burst` tokens and gains `rate` a second; any thread may use it."""

    def __init__(self, rate: float, burst: float, now: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._now = now
        self._lock = threading.Lock()
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def take(self, key: Hashable) -> float:
        """Take a token; return 0.0, or after how many seconds there is one."""
        now = self._now()
        with self._lock:
            tokens, at = self._buckets.pop(key, (self._burst, now))
            tokens = min(self._burst, tokens + (now - at) * self._rate)
            wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate
            self._buckets[key] = (tokens - 1 if not wait else tokens), now
            if len(self._buckets) > _KEPT:
                self._buckets.popitem(last=False)
        return wait
