"""WebSub: subscribing, verifying, renewing and leaving; hubs that lie, forge, and send bombs."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from contextlib import closing
from urllib.parse import parse_qs

import pytest

from scrawler.features.push.feeds import NoFeedError, discovered, read_feed
from scrawler.features.push.store.subscriptions import Subscription, Subscriptions
from scrawler.features.push.websub import DiscoveryError, subscribe
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.hostile import page
from tests.integration.fetch.servers import RawServer, Visit
from tests.integration.listen.conftest import Answered, Rig, Site
from tests.limits import HANGS
from tests.torture.crawl import wait_for

ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><link rel="hub" href="{hub}"/><link rel="self" href="{topic}"/>'
    "<entry><link href='/new?a=1&amp;b=2'/></entry><entry><link rel='alternate' href='{topic}x'/></entry>"
    "<entry><link href='http://elsewhere.example/'/></entry></feed>"
)


class Hub:
    """A hub that keeps what it was sent, and accepts it."""

    def __init__(self) -> None:
        self.sent: list[dict[str, str]] = []
        self.answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            while len(visit._rest) < length:
                visit._rest += visit.sock.recv(65536)
            body, visit._rest = visit._rest[:length], visit._rest[length:]
            self.sent.append({name: values[0] for name, values in parse_qs(body.decode()).items()})
            visit.send(self.answer)
            return


@pytest.fixture
def hub() -> Hub:
    return Hub()


def want(rig: Rig, url: str) -> None:
    """Subscribe as the command does."""
    assert rig.listener is not None
    with closing(open_database(rig.url)) as database:
        subscribe(
            url, f"http://127.0.0.1:{rig.port}", rig.listener._asker, rig.listener._intake, Subscriptions(database)
        )


def subscription(rig: Rig) -> Subscription:
    with closing(open_database(rig.url)) as database:
        return Subscriptions(database).all()[0]


def leave(rig: Rig, topic: str) -> None:
    with closing(open_database(rig.url)) as database:
        assert Subscriptions(database).leave(topic)


def callback(rig: Rig, **query: str) -> Answered:
    """Ask a callback as the hub does; names have no dot here."""
    path = f"/websub/{subscription(rig).token}"
    return rig.get(path, **{f"hub.{name}": value for name, value in query.items()})


def deliver(rig: Rig, body: bytes, method: str = "sha256", secret: str | None = None) -> Answered:
    one = subscription(rig)
    digest = hmac.new((secret or one.secret).encode(), body, method).hexdigest()
    headers = {"X-Hub-Signature": f"{method}={digest}", "Content-Type": "application/atom+xml"}
    return rig.ask("POST", f"/websub/{one.token}", body, headers)


@pytest.fixture
def feed(site: Site, rig: Rig, hub: Hub, serve: Callable[..., RawServer]) -> str:
    """The URL of a feed that names a hub."""
    topic = rig.server.url("/feed")
    site.paths["/feed"] = page(ATOM.format(hub=serve(hub).url("/hub"), topic=topic))
    return topic


def test_a_subscription_from_its_discovery_to_its_end(rig: Rig, hub: Hub, feed: str) -> None:
    with rig.listening():
        want(rig, feed)
        wait_for(lambda: len(hub.sent) == 1, HANGS, "what the hub is asked for")
        asked, one = hub.sent[0], subscription(rig)
        assert (asked["hub.mode"], asked["hub.topic"], asked["hub.secret"]) == ("subscribe", feed, one.secret)
        assert asked["hub.callback"].endswith(f"/websub/{one.token}")
        verified = callback(rig, mode="subscribe", topic=feed, challenge="<b>12</b>", lease_seconds="600")
        assert (verified.status, verified.body, subscription(rig).state) == (200, b"<b>12</b>", "active")
        assert verified.headers["content-type"].startswith("text/plain")
        assert deliver(rig, ATOM.format(hub="/h", topic=feed).encode()).status == 202
        assert rig.pushed() == {"/new?a=1&b=2", "/feedx"}  # what is elsewhere is no matter of this topic
        leave(rig, feed)
        wait_for(lambda: len(hub.sent) == 2, HANGS, "that the hub is told of the end")
        assert hub.sent[1]["hub.mode"] == "unsubscribe"
        assert callback(rig, mode="unsubscribe", topic=feed, challenge="34").body == b"34"
        assert subscription(rig).state == "left"
        assert deliver(rig, b"<feed/>").status == 410


def test_a_lease_is_renewed_before_it_ends(rig: Rig, hub: Hub, feed: str) -> None:
    with rig.listening():
        want(rig, feed)
        wait_for(lambda: len(hub.sent) == 1, HANGS, "what the hub is asked for")
        callback(rig, mode="subscribe", topic=feed, challenge="1", lease_seconds="600")
        one = subscription(rig)
        assert one.next_at < one.lease_until
        with closing(open_database(rig.url)) as database, database.begin() as connection:  # most of the lease later
            connection.exec_driver_sql("UPDATE subscription SET next_at = 1")
        wait_for(lambda: len(hub.sent) == 2, HANGS, "the renewal")
        assert hub.sent[1] == hub.sent[0]
        assert callback(rig, mode="subscribe", topic=feed, challenge="2", lease_seconds="600").body == b"2"


def test_a_hub_that_denies_is_believed_and_one_that_fails_is_asked_again(rig: Rig, hub: Hub, feed: str) -> None:
    hub.answer = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with rig.listening():
        want(rig, feed)
        wait_for(lambda: subscription(rig).detail != "", HANGS, "the failure")
        assert subscription(rig).state == "asked"
        assert callback(rig, mode="denied", topic=feed, reason="no").status == 200
        assert (subscription(rig).state, subscription(rig).next_at) == ("denied", 0)
        assert callback(rig, mode="subscribe", topic=feed, challenge="1").status == 404  # nobody wants it any more


def test_forged_messages_are_not_believed_and_do_not_learn_that(rig: Rig, hub: Hub, feed: str) -> None:
    body = ATOM.format(hub="/h", topic=feed).encode()
    with rig.listening():
        want(rig, feed)
        assert callback(rig, mode="subscribe", topic="http://other.example/", challenge="1").status == 404
        assert callback(rig, mode="unsubscribe", topic=feed, challenge="1").status == 404
        assert callback(rig, mode="subscribe", topic=feed).status == 400
        assert rig.get("/websub/guessed", **{"hub.mode": "subscribe", "hub.topic": feed}).status == 404
        callback(rig, mode="subscribe", topic=feed, challenge="1", lease_seconds="-5")
        right = deliver(rig, b"<feed/>")
        wrong = [deliver(rig, body, secret="guess"), deliver(rig, body, method="sha1")]
        unsigned = rig.ask("POST", f"/websub/{subscription(rig).token}", body)
        assert {(one.status, one.body) for one in (right, unsigned, *wrong)} == {(202, right.body)}
        assert rig.pushed() == set()
        assert (subscription(rig).forged, subscription(rig).deliveries) == (3, 1)


@pytest.mark.parametrize("lease", ["", "0", "-1", "x", "9" * 30, "1e9", "٣"])
def test_a_lease_is_kept_within_bounds(rig: Rig, hub: Hub, feed: str, lease: str) -> None:
    with rig.listening():
        want(rig, feed)
        callback(rig, mode="subscribe", topic=feed, challenge="1", lease_seconds=lease)
        one = subscription(rig)
        seconds = (one.lease_until - rig.sql("SELECT max(heartbeat_at) FROM listener")[0][0]) / 1000
        assert 200 < seconds < 31 * 86_400
        assert 0 < one.next_at < one.lease_until


def test_a_hub_at_a_private_address_is_not_asked(rig: Rig, hub: Hub, site: Site, feed: str) -> None:
    with rig.listening():
        want(rig, feed)
        wait_for(lambda: len(hub.sent) == 1, HANGS, "what the hub is asked for")
    with closing(open_database(rig.url)) as database, database.begin() as connection:
        connection.exec_driver_sql("UPDATE subscription SET next_at = 1, state = 'asked', detail = ''")
    with rig.listening(allow_private=False):
        wait_for(lambda: "does not connect" in subscription(rig).detail, HANGS, "the refusal")
    assert len(hub.sent) == 1


def test_what_cannot_be_subscribed_to_is_told(rig: Rig, site: Site) -> None:
    site.paths["/plain"] = page("no hub")
    site.paths["/away"] = page(ATOM.format(hub="http://h.example/", topic="http://elsewhere.example/feed"))
    with rig.listening():
        for path, why in (("/plain", "names no hub"), ("/none", "404"), ("/away", "of no site")):
            with pytest.raises(DiscoveryError, match=why):
                want(rig, rig.server.url(path))
        with pytest.raises(DiscoveryError, match="of no site"):
            want(rig, "http://unknown.example/")


def test_hub_and_topic_stand_in_a_header_or_a_page_as_well() -> None:
    header = {"link": '</hub>; rel="hub", <http://a.example/f>; rel=self, </x>; rel="next"'}
    assert discovered("http://a.example/", header, b"") == ("http://a.example/hub", "http://a.example/f")
    html = b"<!doctype html><head><LINK rel='hub' href=/h><link href='/f' rel=self></head>"
    assert discovered("http://a.example/", {}, html) == ("http://a.example/h", "http://a.example/f")
    assert discovered("http://a.example/", {}, b"\x00\xff<<<link rel=hub") == ("", "")


@pytest.mark.parametrize(
    "bomb",
    [
        b'<!DOCTYPE feed [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><feed>&b;</feed>',
        b'<!DOCTYPE feed SYSTEM "http://127.0.0.1/x.dtd"><feed/>',
        b'<!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/passwd">]><feed><entry><link>&x;</link></entry></feed>',
        b"<feed>" + b"<a>" * 5_000,
        b"<feed",
        b"<html/>",
        b"",
        b"\xff\xfe<\x00",
        b"{" * 5_000,
        b'{"items": 7}',
        b'<?xml version="1.0" encoding="no-such"?><feed/>',
    ],
)
def test_a_feed_that_nobody_should_read_is_not_read(bomb: bytes) -> None:
    with pytest.raises(NoFeedError):
        read_feed(bomb)


def test_feeds_of_all_kinds_name_their_entries() -> None:
    items = b"<item><link>/a</link><guid isPermaLink='false'>x</guid></item><item><guid>/b</guid></item>"
    rss = b"<rss><channel><link>/home</link>" + items + b"</channel></rss>"
    assert read_feed(rss).entries == ("/a", "/b")
    json_feed = b'{"items": [{"url": "/a"}, {"url": 7}, 8], "hubs": [{"url": "/h"}], "feed_url": "/f"}'
    assert read_feed(json_feed) == (("/a",), ("/h",), "/f")
    assert read_feed(b'{"items": [], "hubs": 1}').hubs == ()
    many = b"<rss><channel>" + b"".join(b"<item><link>/%d</link></item>" % number for number in range(5_000))
    assert len(read_feed(many + b"</channel></rss>").entries) == 1_000
