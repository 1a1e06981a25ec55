"""Subscribes to topics of WebSub hubs, renews what was leased, and takes what they distribute (W3C WebSub, 2018).

A hub is believed in what it has signed with the secret that it alone was given, and of that only in which URLs of the
topic's own site are new or have changed: these are fetched from the site itself. Its lease is kept within bounds.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from scrawler.errors import StoreError
from scrawler.features.push.asker import Asker
from scrawler.features.push.feeds import NoFeedError, discovered, read_feed, resolved
from scrawler.features.push.intake import Intake, Reply, new_key
from scrawler.features.push.store.subscriptions import (
    ACTIVE,
    ASKED,
    DENIED,
    FAILED,
    LEAVING,
    LEFT,
    Subscription,
    Subscriptions,
)
from scrawler.urls.normalise import normalise

_LEASE = 10 * 86_400  # seconds that are asked for
_SHORTEST, _LONGEST = 300, 30 * 86_400  # of a lease that a hub gives
_RENEW_AT = 0.8  # of a lease that are over when it is renewed
_ANSWER = 600_000  # milliseconds in which a hub is to verify what was asked of it
_PAUSES = (10_000, 60_000, 600_000, 3_600_000, 21_600_000)  # milliseconds after which a hub is asked again
_METHODS = {"sha256": "sha256", "sha384": "sha384", "sha512": "sha512"}  # sha1 is not believed any more
_LOOK_EVERY = 0.5  # seconds
_LONGEST_DETAIL = 500


class DiscoveryError(Exception):
    """Nothing to subscribe to was found; the text says why."""


def subscribe(url: str, public: str, asker: Asker, intake: Intake, subscriptions: Subscriptions) -> tuple[str, str]:
    """Find hub and topic of a URL, and note that it is wanted; return topic and hub. Raises DiscoveryError."""
    normal = normalise(url).url
    if not normal:
        raise DiscoveryError(f"{url} is no URL")
    if intake.site_of(normal) is None:
        raise DiscoveryError(f"{url} is of no site of which this crawl has seeds")
    answer = asker.get(normal)
    if answer.status != 200:
        raise DiscoveryError(f"{url}: {answer.problem or f'HTTP status {answer.status}'}")
    found = discovered(answer.url, answer.headers, answer.body)
    if not found.hub:
        raise DiscoveryError(f"{url} names no hub, neither in a Link header nor in a feed or page")
    site = intake.site_of(found.topic)
    if site is None:
        raise DiscoveryError(f"the topic {found.topic} is of no site of which this crawl has seeds")
    token = new_key()
    callback = f"{public.rstrip('/')}/websub/{token}"
    subscriptions.want(site.id, found.topic, found.hub, callback, token, new_key())
    return found.topic, found.hub


class Hubs(threading.Thread):
    """Asks hubs for what is wanted, and again before a lease ends."""

    def __init__(self, subscriptions: Subscriptions, asker: Asker, stopping: threading.Event) -> None:
        super().__init__(name="hubs")
        self._subscriptions = subscriptions
        self._asker = asker
        self._halt = stopping
        self.failed: Callable[[BaseException], None] = lambda error: None

    def run(self) -> None:
        """Ask until stopped; a database that is away is asked again."""
        try:
            while not self._halt.wait(_LOOK_EVERY):
                try:
                    for one in self._subscriptions.due():
                        if self._halt.is_set():
                            return
                        self._ask(one)
                except StoreError:
                    self._halt.wait(_PAUSES[0] / 1000)
        except BaseException as error:
            self.failed(error)

    def _ask(self, one: Subscription) -> None:
        leaves = one.state == LEAVING
        if one.failures >= len(_PAUSES):
            state = LEFT if leaves else FAILED
            self._subscriptions.change(one, {"state": state, "next_at": 0})
            return
        # Before it is asked, for it may verify at once; and a hub that never does is asked again after a while.
        failures = {"failures": one.failures + 1}
        wait = max(_ANSWER, _PAUSES[one.failures])
        if not self._subscriptions.change(one, failures, after={"next_at": wait, "asked_at": 0}):
            return
        fields = {
            "hub.mode": "unsubscribe" if leaves else "subscribe",
            "hub.topic": one.topic,
            "hub.callback": one.callback,
        }
        if not leaves:
            fields |= {"hub.secret": one.secret, "hub.lease_seconds": str(_LEASE)}
        answer = self._asker.post(one.hub, fields)
        if 200 <= answer.status < 300:
            return
        text = answer.problem or f"HTTP status {answer.status}: {answer.body[:200].decode('utf-8', 'replace')}"
        detail = " ".join(text.split())[:_LONGEST_DETAIL]
        self._subscriptions.change(one, {"detail": detail}, after={"next_at": _PAUSES[one.failures]})


class Callbacks:
    """What hubs say to the callbacks."""

    def __init__(self, subscriptions: Subscriptions, intake: Intake) -> None:
        self._subscriptions = subscriptions
        self._intake = intake

    def verify(self, token: str, query: Mapping[str, str]) -> Reply:
        """Answer whether a subscription, or its end, is wanted; the text of a 200 is the hub's challenge."""
        one = self._subscriptions.by_token(token)
        mode, topic = query.get("hub.mode", ""), query.get("hub.topic", "")
        if one is None or not hmac.compare_digest(topic.encode(), one.topic.encode()):
            return Reply(404, "no such subscription")
        if mode == "denied":
            if one.state in (ASKED, ACTIVE):
                detail = f"the hub: {query.get('hub.reason', '')[:_LONGEST_DETAIL]}"
                self._subscriptions.change(one, {"state": DENIED, "next_at": 0, "lease_until": 0, "detail": detail})
            return Reply(200, "")
        challenge = query.get("hub.challenge", "")
        if not challenge or len(challenge) > 1_000:
            return Reply(400, "no challenge")
        if mode == "subscribe" and one.state in (ASKED, ACTIVE):
            lease = _lease(query.get("hub.lease_seconds", ""))
            values = {"state": ACTIVE, "failures": 0, "detail": ""}
            renew = int(lease * _RENEW_AT * 1000)
            wanted = self._subscriptions.change(one, values, after={"lease_until": lease * 1000, "next_at": renew})
        elif mode == "unsubscribe" and one.state == LEAVING:
            wanted = self._subscriptions.change(one, {"state": LEFT, "next_at": 0, "lease_until": 0})
        else:
            wanted = False
        return Reply(200, challenge) if wanted else Reply(404, "that is not wanted")

    def deliver(self, token: str, signature: str, content_type: str, body: bytes) -> Reply:
        """Take what a hub distributes. Whether its signature was right is not told: nobody shall try which one is."""
        one = self._subscriptions.by_token(token)
        if one is None:
            return Reply(404, "no such subscription")
        if one.state != ACTIVE:
            return Reply(410, "that is not wanted any more")
        if not is_signed(one.secret, signature, body):
            self._subscriptions.count(one, forged=True)
            self._intake.refused("websub", one.site_id)
            return Reply(202, "taken")
        try:
            feed = read_feed(body)
            urls = [url for entry in feed.entries if (url := resolved(entry, one.topic))]
        except NoFeedError:
            urls = [] if _is_xml(content_type) else [one.topic]  # a page, which has changed itself
        self._subscriptions.count(one, forged=False)
        site = self._intake.site_of(one.topic)
        if site is None or site.id != one.site_id or not urls:
            return Reply(202, "taken")
        reply = self._intake.take(site, urls, "websub")
        return Reply(202, "taken", reply.accepted) if reply.status != 429 else reply


def is_signed(secret: str, signature: str, body: bytes) -> bool:
    """Whether X-Hub-Signature is that of a body, by SHA-256 or a longer hash of its family."""
    method, _, given = signature.strip().partition("=")
    name = _METHODS.get(method.strip().lower())
    if name is None:
        return False
    expected = hmac.new(secret.encode(), body, name).hexdigest()
    return hmac.compare_digest(expected.encode(), given.strip().lower().encode("utf-8", "replace"))


def _lease(text: str) -> int:
    """Return for how many seconds a lease is taken to hold, whatever the hub says."""
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else _LEASE
    return min(max(seconds, _SHORTEST), _LONGEST)


def _is_xml(content_type: str) -> bool:
    return "xml" in content_type.partition(";")[0].lower()


def is_public_url(text: str) -> bool:
    """Whether a text can be the beginning of callbacks."""
    parts = urlsplit(text)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
