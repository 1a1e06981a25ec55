"""Key files of IndexNow: who can put a file on a site may send its URLs.

What a file has said holds for a day, and that it does not have the key for ten minutes. A file that could not be had is
asked for again, later and later; its URLs wait in the database meanwhile, as they do while it is asked for.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from queue import Empty, Full, Queue
from typing import Any, NamedTuple

from scrawler.errors import StoreError
from scrawler.listen.asker import Answer, Asker
from scrawler.store.pushes import KnownSite
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import authority, folder_of, origin

_HOLDS = 86_400.0  # seconds
_FAILS = 600.0
_KEPT = 20_000  # proofs that are remembered
_QUEUE = 1_000
_THREADS = 4  # a server that is slow holds one of them up
_WAIT = 2.0  # seconds for which a sender waits for the file
_PAUSES = (5.0, 60.0, 600.0, 1_800.0)  # seconds after which a file that could not be had is asked for again
_LONGEST_FILE = 4_096


class Proof(NamedTuple):
    """A key, and where its file is."""

    key: str
    location: str

    @classmethod
    def of(cls, url: str, key: str, location: Any) -> Proof | None:
        """Return the proof for a URL; `location` is as it was sent, None where it was not. None: it is no proof."""
        if location is None or location == "":
            return cls(key, f"{origin(url)}/{key}.txt")
        where = normalise(location).url if isinstance(location, str) else ""
        return cls(key, where) if where and authority(where) == authority(url) else None

    def covers(self, url: str) -> bool:
        """Whether the file stands where it may speak for a URL: in a folder above it."""

        def bare(text: str) -> str:
            return text.partition("://")[2]

        return bare(url).startswith(bare(folder_of(self.location)))

    def text(self) -> str:
        """Return it as the database keeps it."""
        return json.dumps([self.key, self.location])

    @classmethod
    def read(cls, text: str) -> Proof | None:
        """Read what `text` has written."""
        try:
            key, location = json.loads(text)
        except ValueError:
            return None
        return cls(key, location)

    def is_shown_by(self, answer: Answer) -> bool | None:
        """Whether an answer shows the key; None: it does not tell, as the server may be out of order."""
        if not answer.status or answer.status >= 500 or answer.status == 429:
            return None
        if answer.status != 200:
            return False
        text = answer.body[:_LONGEST_FILE].strip().removeprefix(b"\xef\xbb\xbf").strip()
        return any(hmac.compare_digest(line.strip(), self.key.encode()) for line in text.splitlines())


class _Wanted(NamedTuple):
    proof: Proof
    site: KnownSite
    tries: int


class KeyFiles:
    """Reads key files; `told(proof, site, holds)` is called for what was to be proved."""

    def __init__(self, asker: Asker, stopping: threading.Event) -> None:
        self.threads = [threading.Thread(target=self._work, name=f"key-files-{number}") for number in range(_THREADS)]
        self._asker = asker
        self._halt = stopping
        self.told: Callable[[Proof, KnownSite, bool], None] = lambda proof, site, holds: None
        self._lock = threading.Condition()
        self._known: OrderedDict[Proof, tuple[bool, float]] = OrderedDict()
        self._queue: Queue[_Wanted] = Queue(_QUEUE)
        self._queued: set[Proof] = set()
        self._later: list[tuple[float, _Wanted]] = []

    def holds(self, proof: Proof) -> bool | None:
        """Return what is known of a proof; None: nothing, or not any more."""
        with self._lock:
            return self._fresh(proof)

    def _fresh(self, proof: Proof) -> bool | None:
        known = self._known.get(proof)
        return known[0] if known is not None and known[1] > time.monotonic() else None

    def prove(self, proof: Proof, site: KnownSite) -> None:
        """Have a file read; what does not find room is read when the listener is started again."""
        with self._lock:
            if proof in self._queued or len(self._queued) >= _QUEUE:
                return
            try:
                self._queue.put_nowait(_Wanted(proof, site, 0))
            except Full:
                return
            self._queued.add(proof)

    def wait_for(self, proof: Proof) -> bool | None:
        """Wait a little for what becomes of a proof that is queued."""
        with self._lock:
            self._lock.wait_for(lambda: proof not in self._queued or self._halt.is_set(), _WAIT)
            return self._fresh(proof)

    def _work(self) -> None:
        """Read files until stopped."""
        while not self._halt.is_set():
            wanted = self._next_later()
            if wanted is None:
                try:
                    wanted = self._queue.get(timeout=0.2)
                except Empty:
                    continue
            self._read(wanted)

    def _next_later(self) -> _Wanted | None:
        now = time.monotonic()
        with self._lock:
            for number, (at, wanted) in enumerate(self._later):
                if at <= now:
                    del self._later[number]
                    return wanted
        return None

    def _put_off(self, wanted: _Wanted, pause: float) -> None:
        with self._lock:
            self._later.append((time.monotonic() + pause, wanted))

    def _read(self, wanted: _Wanted) -> None:
        proof = wanted.proof
        try:
            holds = proof.is_shown_by(self._asker.get(proof.location))
        except StoreError:
            self._put_off(wanted, _PAUSES[0])
            return
        if holds is None and wanted.tries < len(_PAUSES):
            self._put_off(wanted._replace(tries=wanted.tries + 1), _PAUSES[wanted.tries])
            return
        holds = bool(holds)
        try:
            self.told(proof, wanted.site, holds)
        except StoreError:  # it stays unproved in the database, and the file is read once more
            self._put_off(wanted, _PAUSES[0])
            return
        with self._lock:
            self._known[proof] = holds, time.monotonic() + (_HOLDS if holds else _FAILS)
            self._known.move_to_end(proof)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
            self._queued.discard(proof)
            self._lock.notify_all()
