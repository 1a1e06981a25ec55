"""The sender: makes batches of what is in the outbox, and keeps them until they are acknowledged (paper 000, Send()).

Each receiver has a list. One that is full (SEND_LIST_MAX) is sent as a batch, one that is not when its first URL has
waited for some seconds; that is looked at ten times a second. A receiver has a few batches at a time that it has not
acknowledged: more would only wait there. What a receiver does not want, does not acknowledge, or cannot be sent goes
the way of the database.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from scrawler.errors import StoreBusyError
from scrawler.features.cluster.exchange.communicator import MAX_ITEMS, MAX_MESSAGE, Batch, Communicator, Item, Receipt

LOOK_EVERY = 0.1  # seconds between two looks at the lists
SEND_WAIT = 5.0  # seconds for which a list may wait to be full
SEND_AGAIN = 30.0  # seconds after which a batch that is not acknowledged is sent again; twice as many the next time
_TRIES = 3  # times that a batch is sent to one receiver
_READ_EVERY = 5.0  # seconds between two looks into the outbox, where nobody says that there is something new
_ALIVE_EVERY = 2.0  # seconds between two looks at who of those is still there that owe receipts or have a list
_UNSENT = 30.0  # seconds for which a receiver may refuse what it is sent
_WINDOW = 4  # batches to a receiver that it has not acknowledged
_ROOM = 40  # so many full lists are an outbox that is full
_BYTES = MAX_MESSAGE - 4096  # of a batch
_BYTES_OF_ITEM = 128  # of a URL's numbers and referrer, at most
_RECEIPTS = 10_000  # that wait to be looked at; further ones are lost, as on the way


class OutgoingUrl(Protocol):
    """A URL in the outbox."""

    @property
    def id(self) -> int:
        """Its number there."""

    @property
    def key_hash(self) -> bytes:
        """Hash of its site's key."""

    @property
    def url(self) -> str:
        """Where it leads."""

    @property
    def depth(self) -> int:
        """Links from a user's seed."""

    @property
    def hops(self) -> int:
        """Sites from there."""

    @property
    def referrer(self) -> bytes:
        """Hash of the URL of the page on which it stands."""


class Outbox(Protocol):
    """What is durable of all that is to be sent."""

    def first(self, limit: int, after: int) -> Sequence[OutgoingUrl]:
        """Return the URLs that have waited longest of those with an id above `after`, in the order of their ids."""

    def number(self) -> int:
        """Return how many there are."""

    def receivers(self, key_hashes: Collection[bytes]) -> Mapping[bytes, str]:
        """Return by whose names these sites are to be had; of others nobody knows."""

    def alive(self, names: Collection[str]) -> Collection[str]:
        """Return those of some receivers that are still there."""

    def acknowledged(self, ids: Collection[int]) -> None:
        """Take out what is durable with its receivers."""

    def to_inboxes(self, ids: Collection[int]) -> None:
        """Take out what nobody is to be sent, and leave it to the database."""

    def all_to_inboxes(self) -> None:
        """Leave all to the database."""


@dataclass(slots=True)
class _Sent:
    """A batch that is not acknowledged."""

    batch: Batch
    rows: dict[int, OutgoingUrl]
    to: str
    at: float  # monotonic time, when it was last sent
    tries: int = 1


class _List:
    """What waits for one receiver, the oldest first."""

    __slots__ = ("refused_since", "rows")

    def __init__(self) -> None:
        self.rows: OrderedDict[int, tuple[OutgoingUrl, float]] = OrderedDict()  # by id; since when
        self.refused_since = 0.0  # monotonic time since which the communicator takes nothing for it; 0: it does

    def since(self) -> float:
        """Return when the oldest one came, monotonic time."""
        return next(iter(self.rows.values()))[1]


class UrlSender(threading.Thread):
    """Sends what is in an outbox, until it is closed."""

    def __init__(
        self,
        outbox: Outbox,
        communicator: Communicator,
        failed: Callable[[BaseException], None],
        on_full: Callable[[bool], None] = lambda full: None,
        list_max: int = 500,
        wait: float = SEND_WAIT,
        send_again: float = SEND_AGAIN,
    ) -> None:
        """Send to whom the outbox says. `on_full` is told, without any lock, when it is full, and when no more."""
        super().__init__(name="sender")
        self._outbox = outbox
        self._communicator = communicator
        self._failed = failed
        self._on_full = on_full
        self._list_max = min(list_max, MAX_ITEMS)
        self._wait = wait
        self._send_again_after = send_again
        self._room = max(_ROOM * self._list_max, 20_000)
        self._lists: dict[str, _List] = {}
        self._sent: dict[int, _Sent] = {}
        self._owed: dict[str, int] = {}  # batches by receiver that it has not acknowledged
        self._known: set[int] = set()  # ids of all that is in lists and batches
        self._receipts: deque[Receipt] = deque(maxlen=_RECEIPTS)
        self._closing = threading.Event()
        self._news = threading.Event()  # there is something new in the outbox
        self._news.set()
        self._number = 0  # batches that were made
        self._read_at = 0.0
        self._alive_at = 0.0
        self._full = False

    def news(self) -> None:
        """Note that there may be more in the outbox; never blocks."""
        self._news.set()

    def durable(self, taken: Sequence[int]) -> None:
        """Note a checkpoint, which may have brought something."""
        self.news()

    def receipt(self, receipt: Receipt) -> None:
        """Take a receipt; never blocks."""
        self._receipts.append(receipt)

    def close(self) -> None:
        """Let it come to its end: what is not acknowledged by then is left to the database."""
        self._closing.set()

    def run(self) -> None:
        """Look at the lists until closed; a database that is busy is asked again with the next look."""
        try:
            while not self._closing.wait(LOOK_EVERY):
                try:
                    self._look(time.monotonic())
                except StoreBusyError:
                    self._news.set()
            self._outbox.all_to_inboxes()
        except StoreBusyError:
            return  # whoever crawls on finds what this machine has left
        except BaseException as error:
            self._failed(error)

    def _look(self, now: float) -> None:
        self._take_receipts()
        if self._news.is_set() or now >= self._read_at:
            self._news.clear()
            self._read_at = now + _READ_EVERY
            self._read(now)
        if (self._sent or self._lists) and now >= self._alive_at:
            self._alive_at = now + _ALIVE_EVERY
            self._leave_those_gone(now)
        self._send_again(now)
        for to in [to for to, waiting in self._lists.items() if waiting.rows]:
            self._send(to, now)

    # -- what comes into the lists, and out of them --------------------------------------------------------

    def _read(self, now: float) -> None:
        """Take what is new in the outbox into the lists, as far as there is room."""
        room = self._room - len(self._known)
        if room > 0:
            rows = self._outbox.first(room, max(self._known, default=0))
            self._sort(rows, now)
            if len(rows) == room:
                self._news.set()
        self._look_at_room()

    def _look_at_room(self) -> None:
        waiting = self._outbox.number()
        full = waiting > (self._room // 2 if self._full else self._room)
        if full is not self._full:
            self._full = full
            self._on_full(full)

    def _sort(self, rows: Collection[OutgoingUrl], since: float) -> None:
        """Put rows into the lists of their receivers; those that have none are left to the database."""
        if not rows:
            return
        receivers = self._outbox.receivers({row.key_hash for row in rows})
        self._give_up([row.id for row in rows if row.key_hash not in receivers])
        for row in rows:
            if row.key_hash in receivers:
                self._lists.setdefault(receivers[row.key_hash], _List()).rows[row.id] = row, since
                self._known.add(row.id)

    def _give_up(self, ids: Collection[int]) -> None:
        """Leave rows to the database."""
        if ids:
            self._outbox.to_inboxes(ids)
            self._known.difference_update(ids)

    def _take_receipts(self) -> None:
        done: set[int] = set()
        returned: set[int] = set()
        numbers: list[int] = []
        taken: list[Receipt] = []
        while self._receipts:
            receipt = self._receipts.popleft()
            taken.append(receipt)
            sent = self._sent.get(receipt.number)
            if sent is not None and sent.to == receipt.sender and receipt.number not in numbers:
                back = receipt.returned & sent.rows.keys()
                returned |= back
                done |= sent.rows.keys() - back
                numbers.append(receipt.number)
        if not numbers:
            return
        try:
            self._outbox.acknowledged(done)
            self._outbox.to_inboxes(returned)
        except StoreBusyError:
            self._receipts.extendleft(taken)
            raise
        for number in numbers:
            self._forget(number)
        self._known -= done | returned
        self._look_at_room()
        if len(self._known) < self._room:
            self._news.set()

    def _forget(self, number: int) -> _Sent:
        sent = self._sent.pop(number)
        self._owed[sent.to] -= 1
        if not self._owed[sent.to]:
            del self._owed[sent.to]
        return sent

    # -- sending -------------------------------------------------------------------------------------------

    def _send(self, to: str, now: float) -> None:
        """Send a receiver what is due, as far as it has acknowledged what it was sent before."""
        waiting = self._lists[to]
        while waiting.rows and self._owed.get(to, 0) < _WINDOW:
            if len(waiting.rows) < self._list_max and now - waiting.since() < self._wait:
                return
            rows = dict(self._next(waiting))
            self._number += 1
            batch = _batch(self._number, rows)
            if not self._communicator.send(batch, to):
                self._refused(waiting, now)
                return
            waiting.refused_since = 0.0
            for number in rows:
                del waiting.rows[number]
            self._sent[self._number] = _Sent(batch, rows, to, now)
            self._owed[to] = self._owed.get(to, 0) + 1
        if not waiting.rows:
            del self._lists[to]

    def _next(self, waiting: _List) -> Iterator[tuple[int, OutgoingUrl]]:
        """Yield what goes into the next batch: so many URLs, and so many bytes; one at least."""
        size = 0
        for number, (row, _) in islice(waiting.rows.items(), self._list_max):
            size += 2 * len(row.url) + _BYTES_OF_ITEM  # URLs are ASCII; a quote is two bytes in JSON
            if size > _BYTES and row is not next(iter(waiting.rows.values()))[0]:
                return
            yield number, row

    def _refused(self, waiting: _List, now: float) -> None:
        """Note that a receiver could not be sent anything; where that lasts, leave its list to the database."""
        waiting.refused_since = waiting.refused_since or now
        if now - waiting.refused_since > _UNSENT:
            self._give_up(list(waiting.rows))
            waiting.rows.clear()

    def _leave_those_gone(self, now: float) -> None:
        """Find other receivers for what was sent to some that are not there any more, or waits for them."""
        there = {*self._owed, *self._lists}
        gone = there.difference(self._outbox.alive(there))
        for to in gone & self._lists.keys():
            self._deal_out(to, now)
        for number in [number for number, sent in self._sent.items() if sent.to in gone]:
            self._sort_again(number, now)

    def _deal_out(self, to: str, now: float) -> None:
        """Take the list of a receiver apart; where the database is busy, it stays as it was."""
        waiting = self._lists.pop(to)
        try:
            self._sort([row for row, _ in waiting.rows.values()], now - self._wait)
        except StoreBusyError:
            self._lists[to] = waiting
            raise

    def _sort_again(self, number: int, now: float) -> None:
        self._sort(self._sent[number].rows.values(), now - self._wait)
        self._forget(number)

    def _send_again(self, now: float) -> None:
        """Send batches again that were not acknowledged; those that were sent often are left to the database."""
        late = [
            number
            for number, sent in self._sent.items()
            if now - sent.at >= self._send_again_after * 2 ** (sent.tries - 1)
        ]
        for number in late:
            sent = self._sent[number]
            if sent.tries >= _TRIES:
                self._give_up(list(sent.rows))
                self._forget(number)
                continue
            receivers = self._outbox.receivers({row.key_hash for row in sent.rows.values()})
            if any(receivers.get(row.key_hash) != sent.to for row in sent.rows.values()):
                self._sort_again(number, now)
                continue
            sent.at = now
            sent.tries += 1
            self._communicator.send(sent.batch, sent.to)


def _batch(number: int, rows: Mapping[int, OutgoingUrl]) -> Batch:
    items = (Item(row.id, row.url, row.depth, row.hops, row.referrer) for row in rows.values())
    return Batch(number, tuple(items))
