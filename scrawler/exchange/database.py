"""`db`: the inboxes of sites, in the common database, carry what machines send; it is the way back for all others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from threading import Condition

from scrawler.exchange.communicator import Arrival, Batch, Delivery, NoteBody, Receipt


class DatabaseCommunicator:
    """Puts batches into the inboxes of their sites: then they are durable there, whoever owns these sites.

    With `--communicator db` pages' transactions put URLs there themselves, and nothing is left for anybody to send.
    """

    address = ""

    def __init__(self, name: str, to_inboxes: Callable[[Collection[int]], None]) -> None:
        """`to_inboxes` moves items of the outbox, by their ids, to the inboxes of their sites, in one transaction."""
        self.name = name
        self._to_inboxes = to_inboxes
        self._changed = Condition()
        self._arrivals: deque[Arrival] = deque()
        self._woken = False

    def send(self, batch: Batch, to: str) -> bool:
        """Put a batch into the inboxes of its sites; its receipt is there at once. Raises what the database does."""
        self._to_inboxes([one.id for one in batch.items])
        with self._changed:
            self._arrivals.append(Receipt(to, batch.number))
            self._changed.notify()
        return True

    def tell(self, topic: str, body: NoteBody, to: str) -> bool:
        """Machines with a common database have its rows for what they tell each other."""
        return False

    def acknowledge(self, delivery: Delivery, returned: frozenset[int] = frozenset()) -> bool:
        """Nothing is delivered: an owner reads its inboxes, and its checkpoint takes out what it has listed."""
        return False

    def receive(self, timeout: float) -> Arrival | None:
        """Return the next receipt."""
        with self._changed:
            self._changed.wait_for(lambda: self._arrivals or self._woken, timeout)
            self._woken = False
            return self._arrivals.popleft() if self._arrivals else None

    def wake(self) -> None:
        """Let `receive` return."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def dropped(self) -> Mapping[str, int]:
        """Nothing comes from the network."""
        return {}

    def close(self) -> None:
        """Nothing is held."""
