"""Who is let in: messages are signed where they leave, and judged where they come in.

What comes from the network is hostile until its signature holds. Then it may still be a copy of one that came before
(each message of a sender's life has a number, and comes once), too old, for somebody else, or one of too many.
Whatever is refused is counted by its reason, told once for each, and forgotten.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from scrawler.features.cluster.exchange.communicator import (
    MAX_MESSAGE,
    Arrival,
    Batch,
    Delivery,
    Note,
    NoteBody,
    Receipt,
)
from scrawler.features.cluster.exchange.envelope import (
    SECRET_LENGTH,
    NotAMessage,
    batch_of,
    number,
    opened,
    read_batch,
    read_body,
    read_returned,
    sealed,
    text,
    topic,
)

MAX_AGE = 300.0  # seconds between the clocks of sender and receiver, with the time on the way
_WINDOW = 4096  # how far behind the newest message of a sender another one may come
_LIVES = 1_000  # lives of senders that are remembered; of one that is not, nothing was heard for long
_A_SECOND, _AT_ONCE = 500.0, 5_000.0  # messages of a sender


class _Life:
    """What has come of one life of a sender."""

    __slots__ = ("_credit", "_newest", "_seen", "_since")

    def __init__(self, now: float) -> None:
        self._newest = 0
        self._seen = 0  # bit n: the message that is n before the newest has come
        self._credit = _AT_ONCE
        self._since = now

    def check(self, sequence: int, now: float) -> None:
        """Note a message. Raises NotAMessage where it came before, may have come, or is one of too many."""
        self._credit = min(_AT_ONCE, self._credit + (now - self._since) * _A_SECOND)
        self._since = now
        if self._credit < 1:
            raise NotAMessage("flood")
        behind = self._newest - sequence
        if behind >= _WINDOW or (behind >= 0 and self._seen >> behind & 1):
            raise NotAMessage("replayed")
        if behind < 0:
            self._seen = (self._seen << min(-behind, _WINDOW) | 1) & ((1 << _WINDOW) - 1)
            self._newest = sequence
        else:
            self._seen |= 1 << behind
        self._credit -= 1


class Door:
    """Signs what a member sends, and judges what comes in; may be called by any thread."""

    def __init__(
        self,
        crawl: str,
        name: str,
        secret: bytes,
        longest_url: int = 2048,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Let in what is signed by `secret` for this member of the crawl; `say` is told of each reason once."""
        if len(secret) < SECRET_LENGTH:
            raise ValueError(f"a secret has {SECRET_LENGTH} bytes at least")
        self.crawl = crawl
        self.name = name
        self.run = secrets.token_hex(8)
        self._secret = secret
        self._longest_url = longest_url
        self._say = say
        self._clock = clock
        self._lock = threading.Lock()
        self._sequence = 0
        self._lives: OrderedDict[tuple[str, str], _Life] = OrderedDict()
        self._newest: OrderedDict[str, tuple[str, int]] = OrderedDict()  # sender -> its newest life, and when it spoke
        self._dropped: Counter[str] = Counter()

    def batch(self, batch: Batch, to: str) -> bytes | None:
        """Return a batch as it travels; None if it is larger than what travels."""
        return self._signed(batch_of(batch), to)

    def receipt(self, delivery: Delivery, returned: frozenset[int]) -> bytes | None:
        """Return a receipt, likewise; it is for that life of the sender alone."""
        said = {"receipt": delivery.batch.number, "of": delivery.run, "returned": sorted(returned)}
        return self._signed(said, delivery.sender)

    def note(self, what: str, body: NoteBody, to: str) -> bytes | None:
        """Return a note, likewise."""
        return self._signed({"note": what, "body": dict(body)}, to)

    def proof(self, said: bytes) -> bytes:
        """Return what only those can say to these bytes who know the secret; no message begins as they do."""
        return hmac.digest(self._secret, said, "sha256")

    def _signed(self, what: dict[str, Any], to: str) -> bytes | None:
        with self._lock:
            self._sequence += 1
            sequence = self._sequence
        frame = {"crawl": self.crawl, "from": self.name, "run": self.run, "to": to, "seq": sequence}
        data = sealed(self._secret, frame | {"at": int(self._clock() * 1000)} | what)
        return data if len(data) <= MAX_MESSAGE else None

    def let_in(self, data: bytes) -> Arrival | None:
        """Return what a message says; None if it is not to be listened to."""
        try:
            if len(data) > MAX_MESSAGE:
                raise NotAMessage("huge")
            return self._judged(opened(self._secret, data))
        except NotAMessage as reason:
            self.drop(str(reason))
            return None

    def _judged(self, said: dict[str, Any]) -> Arrival | None:
        if said.get("crawl") != self.crawl:
            raise NotAMessage("another-crawl")
        if said.get("to") != self.name:
            raise NotAMessage("another-receiver")
        sender, run, at = text(said, "from"), text(said, "run"), number(said, "at")
        if abs(self._clock() * 1000 - at) > MAX_AGE * 1000:
            raise NotAMessage("too-old")
        self._check(sender, run, number(said, "seq"), at)
        if "batch" in said:
            batch, bad = read_batch(said, self._longest_url)
            if bad:
                self.drop("bad-url", bad)
            return Delivery(sender, run, batch)
        if "receipt" in said:
            if said.get("of") != self.run:
                raise NotAMessage("another-receiver")
            return Receipt(sender, number(said, "receipt"), read_returned(said))
        return Note(sender, run, topic(said), read_body(said))

    def _check(self, sender: str, run: str, sequence: int, at: int) -> None:
        now = time.monotonic()
        with self._lock:
            self._follow(sender, run, at)
            life = self._lives.setdefault((sender, run), _Life(now))
            self._lives.move_to_end((sender, run))
            if len(self._lives) > _LIVES:
                self._lives.popitem(last=False)
            life.check(sequence, now)

    def _follow(self, sender: str, run: str, at: int) -> None:
        """Note who speaks. Raises NotAMessage for a life before the newest: that is over, and what it said may be."""
        newest, spoke = self._newest.get(sender, (run, at))
        if newest != run and at < spoke:
            raise NotAMessage("another-life")
        self._newest[sender] = run, at if newest != run else max(at, spoke)
        self._newest.move_to_end(sender)
        if len(self._newest) > _LIVES:
            self._newest.popitem(last=False)

    def drop(self, reason: str, times: int = 1) -> None:
        """Count something that was refused; the first one of its kind is told."""
        with self._lock:
            is_first = reason not in self._dropped
            self._dropped[reason] += times
        if is_first:
            self._say(f"a message from another machine was dropped, as all like it will be: {reason}")

    def dropped(self) -> Mapping[str, int]:
        """Return what was refused so far, by the reason."""
        with self._lock:
            return dict(self._dropped)
