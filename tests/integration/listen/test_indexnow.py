"""IndexNow: what it says, and what is made of a key that is not there, of elsewhere, or not to be had."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.integration.crawl.hostile import page
from tests.integration.fetch.servers import RawServer
from tests.integration.listen.conftest import KEY, Rig, Site
from tests.limits import HANGS
from tests.torture.crawl import wait_for

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


def test_urls_with_a_key_in_its_file_are_accepted(rig: Rig, site: Site) -> None:
    with rig.listening():
        one = rig.get("/indexnow", url=rig.server.url("/one"), key=KEY)
        urls = [rig.server.url("/two"), rig.server.url("/three")]
        more = rig.post_json("/indexnow", {"host": rig.host, "key": KEY, "urlList": urls})
        assert (one.status, more.status, more.said["accepted"]) == (200, 200, 2)
        assert rig.pushed() == {"/one", "/two", "/three"}
    assert site.asked == ["/robots.txt", f"/{KEY}.txt"]  # and not a second time


def test_a_key_that_is_not_in_its_file_is_refused(rig: Rig, site: Site) -> None:
    site.paths["/other-key-12.txt"] = page("something else")
    with rig.listening():
        assert rig.get("/indexnow", url=rig.server.url("/one"), key="not-there-12").status == 403
        assert rig.get("/indexnow", url=rig.server.url("/one"), key="other-key-12").status == 403
        assert rig.get("/indexnow", url=rig.server.url("/one"), key="other-key-12").status == 403
        assert rig.pushed() == set()
    assert site.asked.count("/other-key-12.txt") == 1
    assert rig.sql("SELECT count(*) FROM pushed") == [(0,)]
    assert rig.sql("SELECT sum(refused) FROM push_tally")[0][0] >= 3


def test_a_key_file_speaks_for_its_own_folder(rig: Rig, site: Site) -> None:
    site.paths["/shop/key.txt"] = page(KEY)
    with rig.listening():
        location = rig.server.url("/shop/key.txt")
        inside = rig.get("/indexnow", url=rig.server.url("/shop/one"), key=KEY, keyLocation=location)
        outside = rig.get("/indexnow", url=rig.server.url("/one"), key=KEY, keyLocation=location)
        assert (inside.status, outside.status) == (200, 422)
        assert rig.pushed() == {"/shop/one"}


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ({"host": "HOST", "key": KEY}, 400),
        ({"key": KEY, "urlList": ["http://HOST/"]}, 400),
        ({"host": None, "key": KEY, "urlList": ["http://HOST/"]}, 400),
        ({"host": "HOST", "key": KEY, "urlList": []}, 400),
        ({"host": "HOST", "key": KEY, "urlList": [1]}, 400),
        ({"host": "HOST", "key": KEY, "urlList": ["no url"]}, 400),
        ({"host": "HOST", "key": KEY, "urlList": ["http://HOST/"] * 10_001}, 400),
        ({"host": "HOST", "key": 7, "urlList": ["http://HOST/"]}, 400),
        ({"host": "HOST", "key": "short", "urlList": ["http://HOST/"]}, 422),
        ({"host": "HOST", "key": "../../etc/passwd", "urlList": ["http://HOST/"]}, 422),
        ({"host": "other.example", "key": KEY, "urlList": ["http://HOST/"]}, 422),
        ({"host": "other.example", "key": KEY, "urlList": ["http://other.example/"]}, 422),
        ({"host": "HOST", "key": KEY, "urlList": ["http://HOST/", "http://other.example/"]}, 422),
        ([], 400),
        ("x", 400),
    ],
)
def test_what_is_no_message_of_the_protocol(rig: Rig, site: Site, message: object, status: int) -> None:
    text = str(message).replace("HOST", rig.host)
    with rig.listening(largest=1_000_000):
        assert rig.post_json("/indexnow", eval(text) if isinstance(message, dict) else message).status == status
        assert rig.sql("SELECT count(*) FROM pushed") == [(0,)]
    assert site.asked == []


def test_a_file_that_cannot_be_had_lets_urls_wait(rig: Rig, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrawler.features.push.proofs._PAUSES", (0.1,) * 4_000)
    monkeypatch.setattr("scrawler.features.push.proofs._WAIT", 0.2)
    site.paths[f"/{KEY}.txt"] = BUSY
    with rig.listening():
        assert rig.get("/indexnow", url=rig.server.url("/one"), key=KEY).status == 202
        assert rig.pushed() == set()
        assert rig.sql("SELECT count(*) FROM pushed") == [(1,)]
    with rig.listening():  # what was accepted is not lost with the listener
        site.paths[f"/{KEY}.txt"] = page(KEY)
        wait_for(lambda: rig.pushed() == {"/one"}, HANGS, "the URL that waited")


def test_what_somebody_else_could_not_prove_does_not_hold_up_who_can(
    rig: Rig, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrawler.features.push.proofs._WAIT", 0.0)
    site.paths["/forged-key-1.txt"] = BUSY
    with rig.listening():
        assert rig.get("/indexnow", url=rig.server.url("/one"), key="forged-key-1").status == 202
        rig.get("/indexnow", url=rig.server.url("/one"), key=KEY)
        wait_for(lambda: rig.get("/indexnow", url=rig.server.url("/one"), key=KEY).status == 200, HANGS, "the proof")
        assert rig.pushed() == {"/one"}


def test_who_forges_keys_of_a_site_does_not_fill_the_queue(
    rig: Rig, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrawler.features.push.proofs._WAIT", 0.0)
    monkeypatch.setattr("scrawler.features.push.proofs._OF_A_SITE", 3)
    site.paths.update({f"/forged-key-{number}.txt": BUSY for number in range(9)})
    site.held["/forged-key-0.txt"] = held = threading.Event()

    def send(number: int) -> int:
        return rig.get("/indexnow", url=rig.server.url(f"/x{number}"), key=f"forged-key-{number}").status

    with rig.listening():
        assert send(0) == 202
        wait_for(lambda: "/forged-key-0.txt" in site.asked, HANGS, "the first file is asked for")
        assert [send(number) for number in range(1, 9)] == [202] * 3 + [429] * 5
        held.set()
        wait_for(lambda: send(8) == 202, HANGS, "files that could not be had hold no places")
    assert rig.pushed() == set()


def test_a_url_that_waits_for_another_proof_is_not_acknowledged(
    rig: Rig, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrawler.features.push.proofs._WAIT", 0.0)
    site.paths["/forged-key-0.txt"] = BUSY
    site.held[f"/{KEY}.txt"] = held = threading.Event()
    url = rig.server.url("/one")
    with rig.listening():
        assert rig.get("/indexnow", url=url, key="forged-key-0").status == 202
        assert rig.get("/indexnow", url=url, key=KEY).status == 429  # it would be forgotten with the other one
        assert rig.get("/indexnow", url=rig.server.url("/two"), key=KEY).status == 202
        held.set()
        wait_for(lambda: rig.get("/indexnow", url=url, key=KEY).status == 200, HANGS, "the key is known")
        assert rig.pushed() == {"/one", "/two"}


def test_a_proof_needs_no_room_for_its_urls(rig: Rig, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrawler.features.push.store.pushes._UNPROVED", 3)
    site.paths["/forged-key-0.txt"] = BUSY
    with rig.listening():
        some = [rig.server.url(f"/{number}") for number in range(3)]
        message = {"host": rig.host, "key": "forged-key-0", "urlList": some}
        assert rig.post_json("/indexnow", message).status == 202
        assert rig.get("/indexnow", url=rig.server.url("/one"), key=KEY).status == 200
    assert rig.pushed() == {"/one"}


def test_a_site_has_a_quota(rig: Rig) -> None:
    with rig.listening(per_day=3):
        some = [rig.server.url(f"/{number}") for number in range(5)]
        first = rig.post_json("/indexnow", {"host": rig.host, "key": KEY, "urlList": some})
        assert (first.status, first.said["accepted"]) == (200, 3)
        assert rig.get("/indexnow", url=rig.server.url("/more"), key=KEY).status == 429
        known = next(iter(rig.pushed()))
        assert rig.get("/indexnow", url=rig.server.url(known), key=KEY).status == 200  # a replay costs nothing
    assert rig.sql("SELECT accepted FROM push_tally") == [(3,)]


def test_a_key_file_is_asked_for_as_robots_txt_allows_and_nowhere_else(
    rig: Rig, site: Site, serve: Callable[..., RawServer]
) -> None:
    elsewhere = Site()
    other = serve(elsewhere)
    site.paths["/robots.txt"] = page("User-agent: *\nDisallow: /a1b2\n")
    site.paths["/moved-key-12.txt"] = (
        f"HTTP/1.1 302 Found\r\nLocation: {other.url('/x')}\r\nContent-Length: 0\r\n\r\n".encode()
    )
    with rig.listening():
        rig.get("/indexnow", url=rig.server.url("/one"), key=KEY)
        rig.get("/indexnow", url=rig.server.url("/one"), key="moved-key-12")
        for location in (other.url("/key.txt"), "http://169.254.169.254/key.txt", "file:///etc/passwd"):
            assert rig.get("/indexnow", url=rig.server.url("/one"), key=KEY, keyLocation=location).status == 422
        assert rig.pushed() == set()
    assert f"/{KEY}.txt" not in site.asked
    assert elsewhere.asked == []


def test_a_key_file_is_asked_for_by_the_proxy_of_the_crawl(
    rig: Rig, site: Site, serve: Callable[..., RawServer]
) -> None:
    between = Site()
    between.paths[rig.server.url(f"/{KEY}.txt")] = page(KEY)
    with rig.listening(proxy=serve(between).url("").rstrip("/")):
        assert rig.get("/indexnow", url=rig.server.url("/one"), key=KEY).status == 200
    assert between.asked == [rig.server.url("/robots.txt"), rig.server.url(f"/{KEY}.txt")]
    assert site.asked == []


def test_a_private_address_is_not_asked_for_a_key_file(rig: Rig, site: Site) -> None:
    with rig.listening(allow_private=False):
        assert rig.get("/indexnow", url=rig.server.url("/one"), key=KEY).status == 202
        assert rig.pushed() == set()
    assert site.asked == []
