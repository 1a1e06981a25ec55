"""What this machine is called where sites are divided, and what it takes of the crawl beside others."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from scrawler.features.cluster.partition.capacity import capacity_of
from scrawler.features.cluster.partition.identifiers import free_identifier
from scrawler.features.cluster.settings import ClusterSettings
from scrawler.settings import Settings

_WINDOW = 10.0  # seconds over which a rate is taken


class NamedMachine:
    """A machine by the name that its user gives it, and its capacity.

    The capacity `auto` is measured by free storage, and by the best rate of ten seconds.
    """

    def __init__(self, agent: str | None = None, capacity: str = "1", folder: Path = Path()) -> None:
        """Without `agent` it is called as its row is; `folder` is where pages are written."""
        self._agent = agent
        self._capacity = None if capacity == "auto" else int(capacity)
        self._folder = folder
        self._since = time.monotonic()
        self._bytes = 0
        self._best = 0.0

    def identifier(self, name: str, taken: Mapping[str, int]) -> str:
        """Return what a machine of this name is called beside those that live (identifier -> weight)."""
        return free_identifier(self._agent or name, self.weight(0), taken)

    def weight(self, fetched: int) -> int:
        """Return the capacity of a machine that has fetched so many bytes since it started."""
        if self._capacity is not None:
            return self._capacity
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


def identity(settings: Settings) -> NamedMachine:
    """Return what the settings call this machine."""
    own = ClusterSettings.of(settings)
    return NamedMachine(own.agent, own.capacity, settings.pages_dir)
