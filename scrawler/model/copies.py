"""How copies of the archive go elsewhere."""

from __future__ import annotations

import time
from dataclasses import dataclass

from scrawler.model.terms import Millis


@dataclass(slots=True)
class Copies:
    """How the copying of WARC files goes, on one host, since its command began."""

    files: int = 0  # WARC files that were copied, each with its index
    bytes: int = 0  # of these
    waiting: int = 0  # WARC files that are finished and not copied yet
    waiting_bytes: int = 0
    problem: str = ""  # why it does not go on; empty: it does
    last_error: str = ""  # the newest of the problems, which may be over
    failed_at: Millis = 0  # when that was met; 0: none was

    def met(self, problem: str) -> None:
        """Note why it does not go on."""
        self.problem = self.last_error = problem
        self.failed_at = time.time_ns() // 1_000_000
