"""The file in which people who mend this program find the tracebacks of its faults."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from scrawler.archive.record import warc_date
from scrawler.errors import escaped
from scrawler.faults import Fault

MOST_BYTES = 1_000_000  # of the file, whatever was in it before
_OF_A_KIND = 5  # tracebacks of one fault that a machine writes
_KINDS = 1_000  # faults that are told apart


class FaultLog:
    """Appends tracebacks to a file, which several machines may share: a few of each fault, up to a size."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written: Counter[str] = Counter()

    def tell(self, url: str, fault: Fault) -> None:
        """Keep the traceback of a fault that an answer has met; where that is refused, it is counted in its row."""
        kind = fault.text.rpartition(", at ")[2]
        if self._written[kind] >= _OF_A_KIND or len(self._written) > _KINDS:
            return
        self._written[kind] += 1
        text = f"{warc_date(time.time_ns() // 1_000_000)} {url}\n{fault.trace}\n"
        with suppress(OSError):
            self._append(_harmless(text).encode())

    def _append(self, text: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            room = MOST_BYTES - os.fstat(handle).st_size
            if len(text) <= room:
                os.write(handle, text)  # one write, between which those of others do not come
        finally:
            os.close(handle)


def _harmless(text: str) -> str:
    """Write what is no line of text as escapes: a server's words in a message may be orders to a terminal."""
    return "\n".join(map(escaped, text.split("\n")))
