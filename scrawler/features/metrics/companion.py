"""Serves figures beside a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from scrawler.api.companions import Idle, MakeCompanion, Say
from scrawler.core.progress import Progress
from scrawler.features.metrics.server import MetricsAddress, metrics_address, metrics_served
from scrawler.settings import Settings


def metrics_at(text: str) -> MakeCompanion:
    """Return what makes a server at `[HOST:]PORT`. Raises SettingsError where that is no address."""
    return partial(_Metrics, metrics_address(text))


class _Metrics(Idle):
    def __init__(self, address: MetricsAddress, settings: Settings, _say: Say) -> None:
        self._address = address
        self._settings = settings
        self._newest: Progress | None = None

    @contextmanager
    def at_work(self, stop: threading.Event) -> Iterator[None]:
        with metrics_served(self._settings, stop, self._address, lambda: self._newest):
            yield

    def shown(self, progress: Progress) -> Progress:
        self._newest = progress
        return progress
