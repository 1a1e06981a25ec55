"""Key files of IndexNow: who can put a file on a site may send its URLs.

What a file has said holds for a day, and that it does not have the key for ten minutes. A file that could not be had is
asked for again, later and later; its URLs wait in the database meanwhile, as they do while it is asked for.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from queue import Empty, Queue
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
_OF_A_SITE = 20  # proofs of one site that wait: who forges keys of one does not hold up the others
_BUSY = 0.2  # seconds after which a proof is looked at again whose site is being asked for another one
_THREADS = 4  # a server that is slow holds one of them up
_WAIT = 2.0  # seconds for which a sender waits for the file
_LATER = 2.0  # seconds after which a site is looked at again that a machine has in work
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
        self._by_site: Counter[str] = Counter()  # proofs that wait, by the keys of their sites
        self._reading: set[str] = set()  # keys of sites that are being asked

    def holds(self, proof: Proof) -> bool | None:
        """Return what is known of a proof; None: nothing, or not any more."""
        with self._lock:
            return self._fresh(proof)

    def _fresh(self, proof: Proof) -> bool | None:
        known = self._known.get(proof)
        return known[0] if known is not None and known[1] > time.monotonic() else None

    def prove(self, proof: Proof, site: KnownSite) -> bool:
        """Have a file read; False where too many wait already: what is in the database is asked for later."""
        with self._lock:
            if proof in self._queued:
                return True
            if len(self._queued) >= _QUEUE or self._by_site[site.key] >= _OF_A_SITE:
                return False
            self._queue.put_nowait(_Wanted(proof, site, 0))  # it has room for all that are queued
            self._queued.add(proof)
            self._by_site[site.key] += 1
            return True

    def has_room(self, proof: Proof, site: KnownSite) -> bool:
        """Whether a proof of a site would find room."""
        with self._lock:
            room = len(self._queued) < _QUEUE and self._by_site[site.key] < _OF_A_SITE
            return room or proof in self._queued

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
            with self._lock:
                busy = wanted.site.key in self._reading
                self._reading.add(wanted.site.key)
            if busy:
                self._put_off(wanted, _BUSY)
                continue
            try:
                self._read(wanted)
            finally:
                with self._lock:
                    self._reading.discard(wanted.site.key)

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
            answer = self._asker.get(proof.location)
        except StoreError:
            self._put_off(wanted, _PAUSES[0])
            return
        if answer.later:  # the crawl goes first, however long it takes
            self._put_off(wanted, _LATER)
            return
        holds = proof.is_shown_by(answer)
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
            self._by_site[wanted.site.key] -= 1
            if not self._by_site[wanted.site.key]:
                del self._by_site[wanted.site.key]
            self._lock.notify_all()
