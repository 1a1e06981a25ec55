"""Messages to webhooks, their pauses, and Atom feeds, as text."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as Xml

import pytest

from scrawler.errors import SettingsError
from scrawler.features.push.telling.hooks import pause_ms, shown_url
from scrawler.features.push.telling.message import fitting, message_body, signed_headers, signing_key
from scrawler.features.revisit.atom import feed_lines
from scrawler.features.revisit.log import ChangeView
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawl

CRAWL = Crawl(1, "news & <more>", Scope.HOST, 1_700_000_000_000)
ATOM = "{http://www.w3.org/2005/Atom}"


def change(number: int, url: str = "http://a.example/", kind: str = "changed", **values: object) -> ChangeView:
    given = ChangeView(number, 1_700_000_000_000 + number, kind, url, "http://a.example/", 1, "", 12)
    return given._replace(**values)  # type: ignore[arg-type]


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The vector that its receivers' libraries are tested with."""
    key = signing_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signed_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', key)
    assert "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" in headers
    assert "webhook-timestamp: 1614265330" in headers
    assert "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek" in headers


def test_a_secret_is_taken_as_it_is_unless_it_says_that_it_is_base64() -> None:
    assert signing_key("0123456789abcdef") == b"0123456789abcdef"
    assert signing_key("whsec_" + base64.b64encode(b"key").decode()) == b"key"
    with pytest.raises(SettingsError, match="no base64"):
        signing_key("whsec_?")


def test_a_message_says_all_of_its_changes() -> None:
    body = json.loads(message_body("crawl", [change(1), change(2, kind="moved", detail="http://b/", distance=-1)]))
    assert body["type"] == "scrawler.changes"
    assert body["data"]["crawl"] == "crawl"
    one, other = body["data"]["changes"]
    assert (one["id"], one["kind"], one["url"], one["distance"]) == (1, "changed", "http://a.example/", 12)
    assert (other["detail"], other["distance"]) == ("http://b/", None)
    assert body["timestamp"] == other["found_at"]


def test_a_message_is_bounded_in_bytes_and_never_empty() -> None:
    long = [change(number, "http://a.example/" + "x" * 10_000) for number in range(100)]
    assert 20 <= fitting(long) < 30
    assert fitting([change(1, "http://a.example/" + "x" * 1_000_000)]) == 1
    assert fitting([change(number) for number in range(500)]) == 500


def test_pauses_grow_and_heed_what_the_receiver_asks_for() -> None:
    assert 2_500 <= pause_ms(0) <= 5_000
    assert 40_000 <= pause_ms(4) <= 80_000
    assert pause_ms(60) <= 3_600_000
    assert pause_ms(0, 120.0) == 120_000
    assert pause_ms(0, 1e9) == 86_400_000
    assert pause_ms(10, 1.0) >= 1_800_000


def test_what_may_be_a_secret_in_a_url_is_not_shown() -> None:
    assert shown_url("https://hooks.example/T1?token=secret") == "https://hooks.example/T1?..."
    assert shown_url("https://hooks.example/changes") == "https://hooks.example/changes"


def test_a_feed_is_valid_whatever_urls_are_like() -> None:
    """RFC 4287: 4.1.1 (what a feed has), 4.1.2 (what an entry has), 4.2.6 (ids)."""
    changes = [
        change(3, 'http://a.example/?q="<&>\x00\u200b|{}^`', kind="new"),
        change(2, "http://a.example/b", kind="moved", detail="http://b.example/<>&"),
        change(1, "http://a.example/b"),
    ]
    text = "\n".join(feed_lines(CRAWL, changes))
    feed = Xml.fromstring(text)
    assert [len(feed.findall(ATOM + name)) for name in ("id", "title", "updated", "author")] == [1, 1, 1, 1]
    entries = feed.findall(ATOM + "entry")
    assert len(entries) == 3
    for entry in entries:
        assert [len(entry.findall(ATOM + name)) for name in ("id", "title", "updated")] == [1, 1, 1]
        link = entry.find(ATOM + "link")
        assert link is not None
        assert not set(link.attrib["href"]) & set('"<>^`{|}\\ \x00')
    ids = [entry.findtext(ATOM + "id") for entry in entries]
    assert len(set(ids)) == 3
    assert all(one and one.startswith("urn:uuid:") for one in ids)
    assert feed.findtext(ATOM + "updated") == entries[0].findtext(ATOM + "updated")
    assert feed.findtext(ATOM + "title") == "Changes of crawl news & <more>"
    again = Xml.fromstring("\n".join(feed_lines(CRAWL, changes[1:])))
    assert [entry.findtext(ATOM + "id") for entry in again.findall(ATOM + "entry")] == ids[1:]
    other = Crawl(1, CRAWL.name, Scope.HOST, CRAWL.created_at + 1)
    theirs = Xml.fromstring("\n".join(feed_lines(other, changes)))
    assert not {entry.findtext(ATOM + "id") for entry in theirs.findall(ATOM + "entry")} & set(ids)


def test_a_feed_without_changes_is_one_nevertheless() -> None:
    feed = Xml.fromstring("\n".join(feed_lines(CRAWL, [])))
    assert feed.findtext(ATOM + "updated") == "2023-11-14T22:13:20.000Z"
