"""Looks after WARC files while the machine crawls: finishes those of machines that are gone, indexes full ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from scrawler.archive.archive import ClosedFile
from scrawler.core.records.records import Records
from scrawler.errors import StoreBusyError


class Indexer(threading.Thread):
    """Finishes first what others left, then indexes the full files of its machine, until `stopping` is set.

    What is not indexed by then (records may have been refused) is left to `Records.finish_own`. `failed` gets the
    error of a disk or a database that refuses.
    """

    def __init__(
        self,
        records: Records,
        finish_gone: Callable[[], None],
        closed_files: Callable[[], Sequence[ClosedFile]],
        stopping: threading.Event,
        failed: Callable[[BaseException], None],
        every: float,
    ) -> None:
        super().__init__(name="indexer")
        self._records = records
        self._finish_gone = finish_gone
        self._closed_files = closed_files
        self._stopping = stopping
        self._failed = failed
        self._every = every
        self._indexed: set[str] = set()

    def run(self) -> None:
        """Index one file after the other; a database that is away for now is asked again."""
        try:
            with suppress(StoreBusyError):
                self._finish_gone()
            while not self._stopping.wait(self._every):
                with suppress(StoreBusyError):
                    self._index()
        except BaseException as error:
            self._failed(error)

    def _index(self) -> None:
        for file in self._closed_files():
            if self._stopping.is_set():
                return
            if file.name not in self._indexed and self._records.index_whole(file):
                self._indexed.add(file.name)
