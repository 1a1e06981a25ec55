"""A network between machines that hands messages on twice, late and in another order; which ones, chance decides."""

from __future__ import annotations

import heapq
import threading
import time
from random import Random
from types import TracebackType
from typing import Self

import zmq

_LOOK = 20  # milliseconds
_LINGER = 0
_TWICE, _LATE = 0.3, 0.5  # shares of messages


class MessyNetwork:
    """Stands in front of a member's address (`tcp://host:port`); others send to `address`. A context manager."""

    def __init__(self, target: str, seed: int, longest: float = 1.0, lost: float = 0.0) -> None:
        """Let a message be late by up to `longest` seconds, so that it overtakes others; lose so large a share."""
        self._chance = Random(seed)
        self._longest, self._lost = longest, lost
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._in = self._context.socket(zmq.PULL)
        self._in.setsockopt(zmq.LINGER, _LINGER)
        self.address = f"tcp://127.0.0.1:{self._in.bind_to_random_port('tcp://127.0.0.1')}"
        self._out = self._context.socket(zmq.PUSH)
        self._out.setsockopt(zmq.LINGER, _LINGER)
        self._out.connect(target)
        self._waiting: list[tuple[float, int, bytes]] = []  # (when, number, message)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="messy-network")
        self.came = self.twice = self.overtaken = self.dropped = 0  # messages

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()
        self._in.close()
        self._out.close()
        self._context.term()

    def _run(self) -> None:
        newest = 0
        while not self._closing.is_set():
            if self._in.poll(_LOOK):
                self._take(self._in.recv())
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, number, message = heapq.heappop(self._waiting)
                self.overtaken += number < newest
                newest = max(newest, number)
                self._hand_on(message)

    def _take(self, message: bytes) -> None:
        self.came += 1
        if self._chance.random() < self._lost:
            self.dropped += 1
            return
        copies = 2 if self._chance.random() < _TWICE else 1
        self.twice += copies - 1
        for _ in range(copies):
            late = self._chance.uniform(0, self._longest) if self._chance.random() < _LATE else 0.0
            heapq.heappush(self._waiting, (time.monotonic() + late, self.came, message))

    def _hand_on(self, message: bytes) -> None:
        try:
            self._out.send(message, zmq.DONTWAIT)
        except zmq.Again:  # nobody listens there: it is lost, as on the way
            self.dropped += 1
