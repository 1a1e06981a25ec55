"""The capacity of this machine, as it was given or as it is measured."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from scrawler.partition.capacity import capacity_of

_WINDOW = 10.0  # seconds over which a rate is taken


class MachineCapacity:
    """How much of the crawl a machine takes; `auto` measures free storage, and the best rate of ten seconds."""

    def __init__(self, given: str, folder: Path) -> None:
        """Measure where `given` is "auto", else it is the capacity; `folder` is where pages are written."""
        self._given = None if given == "auto" else int(given)
        self._folder = folder
        self._since = time.monotonic()
        self._bytes = 0
        self._best = 0.0

    def now(self, fetched: int) -> int:
        """Return the capacity of a machine that has fetched so many bytes since it started."""
        if self._given is not None:
            return self._given
        now = time.monotonic()
        if now - self._since >= _WINDOW:
            self._best = max(self._best, (fetched - self._bytes) / (now - self._since))
            self._since, self._bytes = now, fetched
        return capacity_of(self._free(), self._best)

    def _free(self) -> int:
        try:
            return shutil.disk_usage(self._folder).free
        except OSError:  # it is made with the first file
            return 0
