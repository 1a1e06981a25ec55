"""What is sent to webhooks, and when: at least once, in order, with pauses that grow while a receiver fails."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from scrawler.features.push.telling.message import MOST_CHANGES, fitting, message_body, signed_headers
from scrawler.features.push.telling.sender import Sender, Sent
from scrawler.features.push.webhooks import Hook, SettledChanges, Webhooks
from scrawler.features.revisit.log import Changes
from scrawler.model.terms import Millis, url_hash

TRY_SECONDS = 30.0  # of one try; less than a sender's lease
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 3600.0  # seconds between two tries
_LONGEST_WISH = 86_400.0  # seconds that a receiver may ask for
_DOUBLINGS = 16


@dataclass(slots=True)
class Step:
    """What one step of a webhook came to."""

    delivered: int = 0  # changes
    error: str = ""  # what went wrong
    more: bool = False  # whether another step may deliver at once


class HookSender:
    """Sends changes to one webhook; used by one thread."""

    def __init__(
        self,
        url: str,
        key: bytes,
        crawl: str,
        identity: str,
        webhooks: Webhooks,
        changes: Changes,
        settled: SettledChanges,
        sender: Sender,
        holder: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Send to `url` in the name of `crawl`, whose `identity` goes into the ids of messages."""
        self.shown = shown_url(url)
        self._url = url
        self._key = key
        self._crawl = crawl
        self._identity = identity
        self._hash = url_hash(url)
        self._webhooks = webhooks
        self._changes = changes
        self._settled = settled
        self._sender = sender
        self._holder = holder
        self._clock = clock

    def add(self) -> None:
        """Note that there is such a webhook. Raises StoreError."""
        self._webhooks.add(self._hash, self.shown)

    def release(self) -> None:
        """Leave the webhook to other processes. Raises StoreError."""
        self._webhooks.release(self._hash, self._holder)

    def step(self, seconds: float = TRY_SECONDS, at_once: bool = False) -> Step:
        """Send one message, if there is one and it is time; `at_once`: also within a pause. Raises StoreError."""
        hook = self._webhooks.take(self._hash, self._holder)
        if hook is None:
            return Step()
        now = self._webhooks.now()
        if hook.next_at > now and not at_once:
            return Step()
        noted = hook if hook.batch_to else self._note_message(hook)
        if noted is None:
            return Step()
        found = self._changes.of_ids(noted.cursor_change + 1, noted.batch_to)
        sent = Sent()
        if found:  # else they are thinned
            body = message_body(self._crawl, found)
            headers = signed_headers(noted.message_id, int(self._clock()), body, self._key)
            sent = self._sender.send(self._url, headers, body, seconds)
        if sent.error:
            self._note_failure(noted, sent)
            return Step(error=sent.error)
        self._note_delivery(noted, len(found))
        return Step(delivered=len(found), more=True)

    def _note_message(self, hook: Hook) -> Hook | None:
        """Note what goes into the next message, before it is sent; None where nothing waits."""
        ids = self._settled.after(hook.cursor_change, MOST_CHANGES)
        if not ids:
            return None
        found = self._changes.of_ids(ids[0], ids[-1])
        last = found[fitting(found) - 1].id if found else ids[-1]
        message_id = f"msg_{self._identity}_{hook.cursor_change + 1}_{last}"
        values = {"batch_to": last, "message_id": message_id, "tries": 0}
        if not self._webhooks.change(hook, values):
            return None
        return hook._replace(batch_to=last, message_id=message_id, tries=0)

    def _note_failure(self, hook: Hook, sent: Sent) -> None:
        now = self._webhooks.now()
        values = {
            "tries": hook.tries + 1,
            "next_at": now + pause_ms(hook.tries, sent.wait),
            "error": sent.error,
            "error_at": now,
        }
        self._webhooks.change(hook, values)

    def _note_delivery(self, hook: Hook, number: int) -> None:
        values = {
            "cursor_change": hook.batch_to,
            "batch_to": 0,
            "message_id": "",
            "tries": 0,
            "next_at": 0,
            "delivered": hook.delivered + number,
            "messages": hook.messages + (number > 0),
            "delivered_at": self._webhooks.now(),
            "error": "",
        }
        self._webhooks.change(hook, values)


def pause_ms(tries: int, wish: float | None = None) -> Millis:
    """Return how long the next try waits after so many that had failed before this one: from half a bound to the bound.

    The bound doubles from 5 s to an hour. Where the receiver asks for more (Retry-After), that counts, up to a day.
    """
    bound = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(tries, _DOUBLINGS))
    pause = random.uniform(bound / 2, bound)
    if wish is not None:
        pause = max(pause, min(wish, _LONGEST_WISH))
    return int(pause * 1000)


def shown_url(url: str) -> str:
    """Return a webhook's URL as it is shown and stored: without its query, which may be a secret."""
    parts = urlsplit(url)
    return parts._replace(query="...", fragment="").geturl() if parts.query else url
