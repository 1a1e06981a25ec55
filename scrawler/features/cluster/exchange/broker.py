"""`amqp://...` and `redis://...`: machines send to each other by way of a broker, RabbitMQ or Redis, with kombu.

Each member has a queue, named after the crawl and the member. The broker is a pipe and no more: what it loses is sent
again, so queues need not be durable, and what is read is acknowledged to the broker at once. Two threads of this
module's own have a connection each, for kombu's are for one thread: one sends what is queued here, the other reads.
A broker that is away is tried again until this is closed.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from kombu import Connection, Consumer, Queue
from kombu.message import Message

from scrawler.backoff import Backoff
from scrawler.errors import StartError
from scrawler.features.cluster.exchange.communicator import MAX_MESSAGE, Arrival, Batch, Delivery, NoteBody
from scrawler.features.cluster.exchange.door import Door
from scrawler.threads import start

_QUEUED = 32  # messages that wait here to be sent, and that wait here to be judged
_AT_BROKER = 256  # messages that may wait in a member's queue; RabbitMQ drops the oldest of more
_EXPIRES = 3600.0  # seconds after which RabbitMQ removes the queue of a member that is gone
_POLL = 0.5  # seconds for which a read waits for a message
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds between two tries to reach the broker
_CONNECT = 5.0  # seconds for which a connection may take
_CLOSE = 10.0  # seconds for which a thread is waited for at the end
_SILENCE = 10.0  # seconds for which a broker may take nothing, or answer nothing


class _AsItCame(Message):  # type: ignore[misc]  # kombu has no types
    """A message that is not decompressed: whoever can write into a queue would decide how much memory that takes."""

    def __init__(self, *args: Any, headers: object = None, **others: Any) -> None:
        kept = dict(headers) if isinstance(headers, Mapping) else {}
        kept.pop("compression", None)
        super().__init__(*args, **{**others, "headers": kept})


class BrokerCommunicator:
    """A member whose messages go by way of a broker."""

    def __init__(self, url: str, door: Door, say: Callable[[str], None] = lambda line: None) -> None:
        """Use the broker at `url`; `say` is told when it is away, and when it is back."""
        self.name = door.name
        self.address = f"{url.partition(':')[0]}:{_queue_name(door, door.name)}"
        self._url = url
        self._door = door
        self._say = say
        self._outbound: queue.Queue[tuple[str, bytes]] = queue.Queue(_QUEUED)
        self._inbound: queue.Queue[bytes | None] = queue.Queue(_QUEUED)
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._keep, args=(self._send_all,), name="broker-out"),
            threading.Thread(target=self._keep, args=(self._read_all,), name="broker-in"),
        ]
        self._is_away = False
        started: list[threading.Thread] = []
        try:
            for thread in self._threads:
                start(thread)
                started.append(thread)
        except StartError:
            self._threads = started
            self.close()
            raise

    # -- the interface -------------------------------------------------------------------------------------

    def send(self, batch: Batch, to: str) -> bool:
        """Send a batch; False if that cannot be now."""
        return self._put(to, self._door.batch(batch, to))

    def tell(self, topic: str, body: NoteBody, to: str) -> bool:
        """Send a note that may be lost."""
        return self._put(to, self._door.note(topic, body, to))

    def acknowledge(self, delivery: Delivery, returned: frozenset[int] = frozenset()) -> bool:
        """Say that a batch is durable here, but for the items of these ids."""
        return self._put(delivery.sender, self._door.receipt(delivery, returned))

    def _put(self, to: str, data: bytes | None) -> bool:
        if data is None or self._closing.is_set():
            return False
        try:
            self._outbound.put_nowait((to, data))
        except queue.Full:
            return False
        return True

    def receive(self, timeout: float) -> Arrival | None:
        """Return the next message that is genuine; None after `timeout` seconds, or when somebody wakes it."""
        until = time.monotonic() + timeout
        while not self._closing.is_set():
            try:
                data = self._inbound.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if data is None:
                return None
            found = self._door.let_in(data)
            if found is not None or time.monotonic() >= until:
                return found
        return None

    def wake(self) -> None:
        """Let `receive` return; where its queue is full, it does that anyway."""
        with suppress(queue.Full):
            self._inbound.put_nowait(None)

    def dropped(self) -> Mapping[str, int]:
        """Return how many messages were not let in, by the reason."""
        return self._door.dropped()

    def close(self) -> None:
        """Send what is queued for a moment still, and let go of both connections."""
        until = time.monotonic() + _POLL
        while not self._closing.is_set() and not self._outbound.empty() and time.monotonic() < until:
            self._closing.wait(0.01)
        self._closing.set()
        for thread in self._threads:
            thread.join(_CLOSE)

    # -- the two threads -----------------------------------------------------------------------------------

    def _keep(self, work: Callable[[Connection], None]) -> None:
        """Do `work` with a connection until closed, with another one where that breaks."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        options = _options(self._url)
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                with Connection(self._url, connect_timeout=_CONNECT, heartbeat=0, transport_options=options) as broker:
                    work(broker)
            except Exception as error:  # each transport has errors of its own, and of its libraries
                self._away(error)
            if time.monotonic() - began > _LONGEST_PAUSE:
                backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
            self._closing.wait(backoff.pause())

    def _away(self, error: Exception) -> None:
        if not self._is_away and not self._closing.is_set():
            self._is_away = True
            self._say(f"the broker is away, and is tried again: {type(error).__name__}")

    def _is_back(self) -> None:
        if self._is_away:
            self._is_away = False
            self._say("the broker is back")

    def _send_all(self, broker: Connection) -> None:
        """Send what is queued; what is in hand when the broker goes away is lost, as on the way."""
        with broker.channel() as channel:
            producer = broker.Producer(channel, serializer=None)
            self._is_back()
            while not self._closing.is_set():
                try:
                    to, data = self._outbound.get(timeout=_POLL)
                except queue.Empty:
                    continue
                name = _queue_name(self._door, to)
                if not self._has_room(channel, name):
                    continue
                producer.publish(
                    data,
                    exchange="",
                    routing_key=name,
                    content_type="application/octet-stream",
                    content_encoding="binary",
                    delivery_mode=1,
                    retry=False,
                )
                self._let_expire(channel, name)

    def _has_room(self, channel: Any, name: str) -> bool:
        """Whether there is room in a member's queue at Redis, which bounds none; at RabbitMQ it bounds itself."""
        size = getattr(channel, "_size", None)
        return size is None or size(name) < _AT_BROKER

    def _let_expire(self, channel: Any, name: str) -> None:
        """Let Redis forget what a member has not read that is gone; RabbitMQ has been told with the queue."""
        if hasattr(channel, "_size"):
            with channel.conn_or_acquire() as client:
                client.expire(name, int(_EXPIRES))

    def _read_all(self, broker: Connection) -> None:
        own = Queue(
            _queue_name(self._door, self.name),
            durable=False,
            auto_delete=False,
            expires=_EXPIRES,
            max_length=_AT_BROKER,
            max_length_bytes=_AT_BROKER * MAX_MESSAGE // 4,
        )
        with broker.channel() as channel:
            channel.basic_qos(0, _QUEUED, False)
            channel.Message = type("AsItCame", (channel.Message, _AsItCame), {})
            with Consumer(channel, queues=[own], on_message=self._came, accept=None):
                self._is_back()
                while not self._closing.is_set():
                    with suppress(socket.timeout, TimeoutError):
                        broker.drain_events(timeout=_POLL)
            own(channel).delete()

    def _came(self, message: Message) -> None:
        """Take a message from the broker; waits for room, so that no more come than are judged."""
        body = message.body
        data = body.encode("utf-8", "surrogateescape") if isinstance(body, str) else bytes(body)
        message.ack()
        while not self._closing.is_set():
            try:
                self._inbound.put(data[: MAX_MESSAGE + 1], timeout=_POLL)
            except queue.Full:
                continue
            return


def _options(url: str) -> dict[str, Any]:
    """Return how long a broker may be silent, in its transport's own words; without, a frozen one is waited for."""
    if url.startswith("amqp"):
        return {"read_timeout": _SILENCE, "write_timeout": _SILENCE}
    return {
        "socket_connect_timeout": _CONNECT,
        "socket_timeout": _SILENCE,
        "socket_keepalive": True,
        "max_retries": 1,
    }


def _queue_name(door: Door, name: str) -> str:
    return f"scrawler.{door.crawl}.{name}"
