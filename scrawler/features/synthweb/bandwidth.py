"""The bandwidth between the synthetic web's server and its clients, where it is a narrow one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

_SLICE = 8 * 1024  # bytes of an answer that pass in one turn


class Bandwidth:
    """Lets `rate` bytes a second through, of all connections together: a slice of each waiting answer in turn.

    A slice is handed over when its last byte has passed. While answers wait, the rate is kept on the average: what a
    late timer has missed is made up for. Bandwidth for which nothing waits saves nothing up.
    """

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._waiting: deque[_Transfer] = deque()
        self._free_at = 0.0  # loop time at which all will have passed that was handed over so far
        self._timer: asyncio.TimerHandle | None = None

    def send(self, transport: asyncio.Transport, data: bytes, sent: Callable[[], None]) -> None:
        """Let data through to a transport; `sent` is called when all of it has passed, never before this returns.

        What a client does not wait for does not pass, and is not told of.
        """
        self._waiting.append(_Transfer(transport, data, sent))
        if self._timer is None:
            self._free_at = max(self._free_at, asyncio.get_running_loop().time())
            self._go_on()

    def _go_on(self) -> None:
        """Wait until the next slice has passed."""
        while self._waiting and self._waiting[0].transport.is_closing():
            self._waiting.popleft()
        self._timer = None
        if self._waiting:
            due = self._free_at + self._waiting[0].slice_length / self._rate
            self._timer = asyncio.get_running_loop().call_at(due, self._hand_over)

    def _hand_over(self) -> None:
        """Hand over all slices that have passed by now."""
        now = asyncio.get_running_loop().time()
        while self._waiting:
            transfer = self._waiting[0]
            passed_at = self._free_at + transfer.slice_length / self._rate
            if passed_at > now:
                break
            self._waiting.popleft()
            if transfer.transport.is_closing():
                continue
            self._free_at = passed_at
            if transfer.hand_over():
                self._waiting.append(transfer)
            else:
                transfer.sent()
        self._go_on()


class _Transfer:
    """An answer on its way."""

    def __init__(self, transport: asyncio.Transport, data: bytes, sent: Callable[[], None]) -> None:
        self.transport = transport
        self.sent = sent
        self._left = memoryview(data)

    @property
    def slice_length(self) -> int:
        """Bytes of the next slice."""
        return min(_SLICE, len(self._left))

    def hand_over(self) -> bool:
        """Hand the next slice over; return whether more is left."""
        self.transport.write(self._left[:_SLICE])
        self._left = self._left[_SLICE:]
        return bool(self._left)
