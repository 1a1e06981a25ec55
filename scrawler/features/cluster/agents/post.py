"""What is to be sent, and to whom: URLs in the own database whose sites are other agents'.

A URL stays in the database until its owner says that it has it in its own. What is not acknowledged is sent again, and
to whoever owns the site by then: where another view is, all begins anew.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

from scrawler.features.cluster.exchange.communicator import Batch, Communicator, Item, Receipt
from scrawler.features.cluster.store.agents import Mail

_IN_HAND = 20_000  # URLs that are in memory, at most
_READ = 1_000  # rows that one query reads
_BYTES = 400_000  # of the URLs of a batch
_AGAIN = 3.0  # seconds after which a batch is sent again
_LAP = 0.3  # seconds between two laps through what waits ...
_REST = 20  # ... which are followed by a rest of so many times what they took


@dataclass(slots=True)
class _Pending:
    """A batch that is on its way."""

    batch: Batch
    sent_at: float


class Post:
    """The sender of one agent; used by its thread."""

    def __init__(self, name: str, mail: Mail, communicator: Communicator, at_a_time: int) -> None:
        """Send up to `at_a_time` URLs in a batch."""
        self._name = name
        self._mail = mail
        self._communicator = communicator
        self._at_a_time = at_a_time
        self._owner: Callable[[str], str] = lambda key: name
        self._outgoing: defaultdict[str, deque[Item]] = defaultdict(deque)
        self._pending: dict[str, _Pending] = {}
        self._in_hand: set[int] = set()
        self._after = 0  # rows up to this id have been read in this lap
        self._lap_took = 0.0
        self._read_at = 0.0
        self._number = 0
        self.batches = 0  # sent
        self.urls = 0  # that others have in their databases
        self.returned = 0  # URLs that came back: their receivers do not own them

    def begin_anew(self, owner: Callable[[str], str]) -> None:
        """Go by another view: `owner` names the agent of a site, by its key."""
        self._owner = owner
        self._outgoing.clear()
        self._pending.clear()
        self._in_hand.clear()
        self._after, self._lap_took, self._read_at = 0, 0.0, 0.0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in hand."""
        return not self._in_hand

    def due_in(self, now: float) -> float:
        """Return the seconds until there is something to do."""
        return _LAP if len(self._in_hand) >= _IN_HAND else max(0.0, self._read_at - now)

    def step(self, now: float, silent: Collection[str]) -> None:
        """Read what is to be sent, and send it, but not to those who are silent."""
        if now >= self._read_at and len(self._in_hand) < _IN_HAND:
            self._read(now)
        for name, pending in self._pending.items():
            if now - pending.sent_at >= _AGAIN and name not in silent:
                self._send(name, pending, now)
        for name in [name for name in self._outgoing if name not in self._pending and name not in silent]:
            self._number += 1
            pending = _Pending(Batch(self._number, self._next_items(self._outgoing[name])), now)
            if not self._outgoing[name]:
                del self._outgoing[name]
            self._pending[name] = pending
            self._send(name, pending, now)

    def _read(self, now: float) -> None:
        began = time.monotonic()
        letters = self._mail.letters(self._after, _READ)
        for one in letters:
            if one.id in self._in_hand:
                continue
            owner = self._owner(self._mail.key_of(one.url))
            if owner != self._name:
                self._outgoing[owner].append(Item(one.id, one.url, one.depth, one.hops, one.referrer))
                self._in_hand.add(one.id)
        self._lap_took += time.monotonic() - began
        if len(letters) == _READ:
            self._after = letters[-1].id
            self._read_at = now
            return
        self._after = 0
        self._read_at = now + max(_LAP, _REST * self._lap_took)
        self._lap_took = 0.0

    def _next_items(self, waiting: deque[Item]) -> tuple[Item, ...]:
        items: list[Item] = []
        size = 0
        while waiting and len(items) < self._at_a_time and size < _BYTES:
            items.append(waiting.popleft())
            size += len(items[-1].url) + 100
        return tuple(items)

    def _send(self, name: str, pending: _Pending, now: float) -> None:
        pending.sent_at = now
        if self._communicator.send(pending.batch, name):
            self.batches += 1

    def receipt(self, receipt: Receipt) -> None:
        """Strike out what its owner has by now; what came back is sent again, to whoever owns it then."""
        pending = self._pending.get(receipt.sender)
        if pending is None or pending.batch.number != receipt.number:
            return  # of another view, or a second one
        ids = [one.id for one in pending.batch.items]
        done = [one for one in ids if one not in receipt.returned]
        self._mail.strike(done)
        del self._pending[receipt.sender]
        self._in_hand.difference_update(ids)
        self.urls += len(done)
        self.returned += len(ids) - len(done)
