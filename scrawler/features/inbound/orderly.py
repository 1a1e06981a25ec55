"""The server that ends in order: a signal is no failure, so that a service manager counts none."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn


class OrderlyServer(uvicorn.Server):
    """Ends in order when it is told to, and at once when it is told twice."""

    heeds_hangups = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed signals while it serves, and none of them afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield  # whoever runs it there stops it
            return
        names = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if self.heeds_hangups else [])]
        before = {name: signal.signal(name, self._told) for name in names}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)

    def _told(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
