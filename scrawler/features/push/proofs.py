"""Key files of IndexNow: who can put a file on a site may send its URLs.

What a file has said holds for a day, and that it does not have the key for ten minutes, as does that it could not be
had in several tries, later and later; its URLs wait in the database meanwhile, as they do while it is asked for. Which
file is read next says `proof_queue.py`.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from scrawler.errors import StoreError, message_of
from scrawler.features.push.asker import Answer, Asker
from scrawler.features.push.proof import Proof
from scrawler.features.push.proof_queue import ProofQueue, Wanted
from scrawler.features.push.store.pushes import KnownSite

_HOLDS = 86_400.0  # seconds
_FAILS = 600.0
_KEPT = 20_000  # proofs that are remembered
_OF_A_SITE = 20  # proofs of one site that wait: who forges keys of one does not hold up the others
_OF_A_SENDER = 5  # of them of one sender
_THREADS = 4  # a server that is slow holds one of them up
_LOOK_EVERY = 0.2  # seconds
_WAIT = 2.0  # seconds for which a sender waits for the file
_LATER = 2.0  # seconds after which a site is looked at again that a machine has in work
_STORE = 5.0  # seconds after which the database is asked again
_PAUSES = (5.0, 60.0, 600.0, 1_800.0)  # seconds after which a file that could not be had is asked for again
_NOT_THERE, _NOT_HAD = "the key is not in its file", "the file of the key could not be had"


class _Known(NamedTuple):
    """What is known of a proof."""

    holds: bool
    until: float  # monotonic
    why: str  # where it does not hold


class KeyFiles:
    """Reads key files; `told(proof, site, holds)` is called for what was to be proved."""

    def __init__(self, asker: Asker, stopping: threading.Event) -> None:
        self.threads = [threading.Thread(target=self._work, name=f"key-files-{number}") for number in range(_THREADS)]
        self._asker = asker
        self._halt = stopping
        self.told: Callable[[Proof, KnownSite, bool], None] = lambda proof, site, holds: None
        self.failed: Callable[[BaseException], None] = lambda error: None
        self._changed = threading.Condition()  # guards what follows
        self._known: OrderedDict[Proof, _Known] = OrderedDict()
        self._queue = ProofQueue(_OF_A_SITE, _OF_A_SENDER, _THREADS)

    def holds(self, proof: Proof) -> bool | None:
        """Return what is known of a proof; None: nothing, or not any more."""
        with self._changed:
            known = self._fresh(proof)
            return None if known is None else known.holds

    def why(self, proof: Proof) -> str:
        """Say why a proof does not hold."""
        with self._changed:
            known = self._fresh(proof)
            return _NOT_THERE if known is None else known.why

    def _fresh(self, proof: Proof) -> _Known | None:
        known = self._known.get(proof)
        return known if known is not None and known.until > time.monotonic() else None

    def prove(self, proof: Proof, site: KnownSite, sender: str = "") -> bool:
        """Have a file read; False where too many wait already: what is in the database is asked for later."""
        with self._changed:
            added = self._queue.add(proof, site, sender)
            self._changed.notify_all()
            return added

    def has_room(self, proof: Proof, site: KnownSite, sender: str = "") -> bool:
        """Whether a proof of a site would find room."""
        with self._changed:
            return self._queue.has_room(proof, site, sender)

    def wait_for(self, proof: Proof) -> bool | None:
        """Wait a little for what becomes of a proof that is queued, unless its file could not be had already."""

        def is_over() -> bool:
            waits = proof in self._queue and not self._queue.waits_for_another_try(proof)
            return not waits or self._halt.is_set()

        with self._changed:
            self._changed.wait_for(is_over, _WAIT)
            known = self._fresh(proof)
            return None if known is None else known.holds

    def _work(self) -> None:
        """Read files until stopped."""
        try:
            while not self._halt.is_set():
                with self._changed:
                    wanted = self._queue.next(time.monotonic())
                    if wanted is None:
                        self._changed.wait(_LOOK_EVERY)
                        continue
                self._read(wanted)
        except BaseException as error:
            self.failed(error)

    def _read(self, wanted: Wanted) -> None:
        try:
            answer = self._answer(wanted.proof)
            if answer.later:  # the crawl goes first, however long it takes
                self._put_back(wanted, _LATER)
                return
            holds = wanted.proof.is_shown_by(answer)
            if holds is None:
                self._not_had(wanted)
                return
            self.told(wanted.proof, wanted.site, holds)
        except StoreError:  # it stays unproved in the database, and the file is read once more
            self._put_back(wanted, _STORE)
            return
        with self._changed:
            self._queue.done(wanted)
            self._remember(wanted.proof, holds, _NOT_THERE)

    def _answer(self, proof: Proof) -> Answer:
        """Ask for a file. Raises StoreError; whatever else goes wrong, the thread goes on."""
        try:
            return self._asker.get(proof.location)
        except StoreError:
            raise
        except Exception as error:
            return Answer(0, problem=message_of(error))

    def _put_back(self, wanted: Wanted, pause: float) -> None:
        with self._changed:
            self._queue.put_back(wanted, time.monotonic() + pause)

    def _not_had(self, wanted: Wanted) -> None:
        """Have the file of a proof asked for again later, or give it up, or another one for it. Raises StoreError."""
        if wanted.tries >= len(_PAUSES):
            self.told(wanted.proof, wanted.site, False)
            with self._changed:
                self._queue.done(wanted, answered=False)
                self._remember(wanted.proof, False, _NOT_HAD)
            return
        with self._changed:
            gone = self._queue.failed(wanted, time.monotonic() + _PAUSES[wanted.tries])
            if gone is not None:
                self._remember(gone.proof, False, _NOT_HAD)
            self._changed.notify_all()
        if gone is not None:
            self._forget(gone)

    def _forget(self, gone: Wanted) -> None:
        """Forget what waits for a proof that was given up; while the database is away, it is only looked at anew."""
        try:
            self.told(gone.proof, gone.site, False)
        except StoreError:
            return

    def _remember(self, proof: Proof, holds: bool, why: str) -> None:
        self._known[proof] = _Known(holds, time.monotonic() + (_HOLDS if holds else _FAILS), why)
        self._known.move_to_end(proof)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        self._changed.notify_all()
