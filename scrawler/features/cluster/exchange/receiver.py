"""Takes in what other machines send: the thread that listens at the communicator (paper 000, Listen()).

A URL that comes in is brought to its site as one out of its inbox is, and judged there as any link. Once a checkpoint
has made all of a batch durable that is for sites here, the batch is acknowledged; what is not for them goes back with
the receipt, to the inbox of its site. Nothing that comes in is believed: the site of a URL follows from the URL alone.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from scrawler.core.party.site import SiteContext
from scrawler.errors import StoreBusyError
from scrawler.features.cluster.exchange.communicator import Communicator, Delivery, Note, Receipt
from scrawler.model.exchange import WaitingUrl
from scrawler.model.scope import Scope
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import site_key

_LISTEN = 1.0  # seconds at most for which it waits for a message; less while something is to be looked at
_LOOK_EVERY = 0.1  # seconds between two looks at sites that have taken something in
_FORGET_AFTER = 120.0  # seconds after which a batch is forgotten that was not acknowledged: it is sent again
_MOST = 20_000  # URLs that are here and not durable yet; what comes then is not taken in, and sent again
_REMEMBERED = 2_000  # batches that were acknowledged: a receipt may have been lost
_RETURNED = 100_000  # ids that went back with these, of them all
_SENDERS = 1_000  # lives of senders whose addresses were looked up


@dataclass(eq=False, slots=True)
class _Open:
    """A batch that is not durable here yet."""

    delivery: Delivery
    since: float
    left: set[int] = field(default_factory=set)  # ids of its items that are not durable
    returned: set[int] = field(default_factory=set)


class UrlReceiver(threading.Thread):
    """Brings what others send to the sites that are held, until the machine stops."""

    def __init__(
        self,
        communicator: Communicator,
        held_sites: Callable[[], Iterable[SiteContext]],
        look_again: Callable[[SiteContext], None],
        receipt: Callable[[Receipt], None],
        alive: Callable[[Collection[str]], Collection[str]],
        failed: Callable[[BaseException], None],
        turn: threading.RLock,
        stop: threading.Event,
        scope: Scope,
        at_a_time: int,
        on_note: Callable[[Note], None] = lambda note: None,
    ) -> None:
        """`held_sites` and `look_again` are called under the turn; `alive` says who of some senders may be answered."""
        super().__init__(name="receiver")
        self._communicator = communicator
        self._held_sites = held_sites
        self._look_again = look_again
        self._receipt = receipt
        self._alive = alive
        self._failed = failed
        self._turn = turn
        self._halt = stop
        self._scope = scope
        self._at_a_time = at_a_time
        self._on_note = on_note
        self._durable: deque[int] = deque()  # what a checkpoint has made durable: as many as were brought, at most
        self._open: dict[tuple[str, str, int], _Open] = {}
        self._closed: OrderedDict[tuple[str, str, int], frozenset[int]] = OrderedDict()  # acknowledged: what went back
        self._gone_back = 0  # ids in these
        self._senders: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._items: dict[int, tuple[_Open, int]] = {}  # by the number that a URL has here
        self._queues: dict[str, deque[WaitingUrl]] = {}  # by site, until it listens
        self._brought: dict[SiteContext, list[int]] = {}  # what sites have taken in
        self._number = 0
        self._look_at = 0.0

    def durable(self, taken: Sequence[int]) -> None:
        """Note what is durable now of all that sites have taken; called by the checkpointer, never blocks."""
        ours = [number for number in taken if number < 0]
        if ours:
            self._durable.extend(ours)
            self._communicator.wake()

    def close(self) -> None:
        """Let it see that the machine stops."""
        self._communicator.wake()

    def run(self) -> None:
        """Listen until the machine stops."""
        try:
            while not self._halt.is_set():
                busy = bool(self._items)
                arrival = self._communicator.receive(_LOOK_EVERY if busy else _LISTEN)
                try:
                    self._take(arrival)
                except StoreBusyError:
                    continue  # it is sent again
                self._settle_durable()
                if busy and time.monotonic() >= self._look_at:
                    self._look_at = time.monotonic() + _LOOK_EVERY
                    self._look(time.monotonic())
        except BaseException as error:
            self._failed(error)

    def _take(self, arrival: Delivery | Receipt | Note | None) -> None:
        match arrival:
            case Receipt():
                self._receipt(arrival)
            case Note():
                self._on_note(arrival)
            case Delivery():
                self._take_in(arrival)

    def _take_in(self, delivery: Delivery) -> None:
        """Take a batch in, unless it is here already; one that was acknowledged has its receipt once more."""
        key = delivery.sender, delivery.run, delivery.batch.number
        if key in self._open:
            return
        self._introduce(delivery)
        if key in self._closed:
            self._communicator.acknowledge(delivery, self._closed[key])
            return
        if len(self._items) + len(delivery.batch.items) > _MOST:
            return
        one = self._open[key] = _Open(delivery, time.monotonic())
        for item in delivery.batch.items:
            url = normalise(item.url).url
            if item.id in one.left or not url:
                continue
            self._number -= 1
            one.left.add(item.id)
            self._items[self._number] = one, item.id
            waiting = WaitingUrl(self._number, url, item.depth, item.referrer)
            self._queues.setdefault(site_key(url, self._scope), deque()).append(waiting)
        self._look(time.monotonic())
        self._close_if_done(one)

    def _introduce(self, delivery: Delivery) -> None:
        """Let the communicator know where a sender is to be answered."""
        sender = delivery.sender, delivery.run
        if sender in self._senders:
            return
        if delivery.sender in self._alive([delivery.sender]):
            self._senders[sender] = None
            if len(self._senders) > _SENDERS:
                self._senders.popitem(last=False)

    # -- sites ---------------------------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        """Bring what waits to those sites that listen; find what is not for them; forget what takes too long."""
        back: list[int] = []
        with self._turn:
            held = {site.key: site for site in self._held_sites()} if self._queues else {}
            for key in list(self._queues):
                back += self._bring(key, held.get(key))
            for site, numbers in list(self._brought.items()):
                back += numbers if site.lost else site.left
                site.left.clear()
                self._brought[site] = [number for number in numbers if number in self._items]
                if site.lost or not self._brought[site]:
                    del self._brought[site]
        for number in back:
            self._settle(number, returned=True)
        for one in [one for one in self._open.values() if now - one.since > _FORGET_AFTER]:
            self._forget(one)

    def _bring(self, key: str, site: SiteContext | None) -> list[int]:
        """Bring URLs to their site; return those that are not for this machine."""
        queue = self._queues[key]
        if site is None or site.lost or site.going or site.leaves_inbox:
            del self._queues[key]
            return [one.id for one in queue]
        if site.collector is not None and not site.arrived:
            coming = [queue.popleft() for _ in range(min(len(queue), self._at_a_time))]
            site.bring(coming)
            self._brought.setdefault(site, []).extend(one.id for one in coming)
            self._look_again(site)
        if not queue:
            del self._queues[key]
        return []

    # -- receipts ------------------------------------------------------------------------------------------

    def _settle_durable(self) -> None:
        while self._durable:
            self._settle(self._durable.popleft())

    def _settle(self, number: int, returned: bool = False) -> None:
        """Note that a URL is durable here, or goes back."""
        one, item_id = self._items.pop(number, (None, 0))
        if one is None:
            return
        one.left.discard(item_id)
        if returned:
            one.returned.add(item_id)
        self._close_if_done(one)

    def _close_if_done(self, one: _Open) -> None:
        """Acknowledge a batch that is durable, but for what goes back."""
        key = one.delivery.sender, one.delivery.run, one.delivery.batch.number
        if one.left or key not in self._open:
            return
        del self._open[key]
        returned = self._closed[key] = frozenset(one.returned)
        self._gone_back += len(returned)
        while len(self._closed) > _REMEMBERED or self._gone_back > _RETURNED:
            self._gone_back -= len(self._closed.popitem(last=False)[1])
        self._communicator.acknowledge(one.delivery, returned)

    def _forget(self, one: _Open) -> None:
        """Forget a batch: what is durable of it will be known as such when it is sent again."""
        del self._open[one.delivery.sender, one.delivery.run, one.delivery.batch.number]
        for number in [number for number, (of, _) in self._items.items() if of is one]:
            del self._items[number]
