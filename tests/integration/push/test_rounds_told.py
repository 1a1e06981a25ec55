"""Rounds with a feed and a webhook: what visits find is told while machines work, and after a kill."""

from __future__ import annotations

import json
import xml.etree.ElementTree as Xml
from collections.abc import Callable

import pytest

from scrawler.errors import SettingsError
from scrawler.features.push.telling.telling import Telling
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.crawl.rig import running
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of
from tests.integration.push.conftest import Receiver
from tests.limits import HANGS
from tests.torture.crawl import wait_for

Receive = Callable[..., Receiver]
ENTRY = "{http://www.w3.org/2005/Atom}entry"
SECRET = "0123456789abcdef"
WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"


class News:
    """A site whose page says something else in each round."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            pages = {"/": page("home", links=("/news",)), "/news": page(f"{WORDS} number{self.now}")}
            visit.send(pages.get(path_of(head), NOT_FOUND))


@pytest.fixture
def news(serve: Callable[..., RawServer], crawl: Crawl) -> tuple[News, str]:
    site = News()
    url = serve(site).url()
    crawl.add([url])
    crawl.run()
    return site, url


def flags(crawl: Crawl, receiver: Receiver) -> list[str]:
    file = crawl.folder / "secret"
    file.write_text(SECRET + "\n")
    told = ["--feed", str(crawl.folder / "feed.xml"), "--webhook", receiver.url, "--webhook-private"]
    return ["--again", *told, "--webhook-secret-file", str(file), "--checkpoint-interval", "0.1"]


def entries(crawl: Crawl) -> list[str]:
    feed = Xml.parse(crawl.folder / "feed.xml").getroot()
    return [one.findtext("{http://www.w3.org/2005/Atom}title") or "" for one in feed.findall(ENTRY)]


def test_a_round_is_told_before_it_ends_and_once(crawl: Crawl, news: tuple[News, str], receive: Receive) -> None:
    site, url = news
    receiver = receive()
    for site.now in (1, 2):
        with running(crawl, *flags(crawl, receiver)) as process:
            assert process.wait(HANGS) == 0
    assert [change["kind"] for body in receiver.bodies for change in json.loads(body)["data"]["changes"]] == [
        "changed", "changed"
    ]  # fmt: skip
    first = json.loads(receiver.bodies[0])["data"]["changes"][0]
    assert first["url"] == f"{url}news"
    assert 0 < first["distance"] < 32, "a word of seventeen is another one"
    assert entries(crawl) == [f"changed: {url}news"] * 2
    assert not list(crawl.folder.glob(".feed.xml*"))


def test_what_a_kill_has_left_is_sent_by_the_next_run(crawl: Crawl, news: tuple[News, str], receive: Receive) -> None:
    """The receiver has the message and does not answer: nobody knows that it was delivered."""
    site, _url = news
    receiver = receive(b"")
    site.now = 1
    with running(crawl, *flags(crawl, receiver)) as process:
        wait_for(lambda: bool(receiver.bodies), HANGS, "the message comes")
        process.kill()
        process.wait()
    with running(crawl, *flags(crawl, receiver)[1:]) as process:
        assert process.wait(HANGS) == 0
    assert len(receiver.bodies) == 2
    assert len(set(receiver.bodies)) == 1
    assert len({receiver.header(number, "webhook-id") for number in range(2)}) == 1
    assert json.loads(receiver.bodies[-1])["data"]["changes"][0]["kind"] == "changed"


def test_a_receiver_that_is_away_holds_up_nothing(crawl: Crawl, news: tuple[News, str], receive: Receive) -> None:
    site, _url = news
    receiver = receive(*[answer(b"", "503 Service Unavailable", "Retry-After: 4000")] * 10)
    site.now = 1
    with running(crawl, *flags(crawl, receiver)) as process:
        assert process.wait(HANGS) == 0
        said = process.stderr.read() if process.stderr else ""
    assert "it answers 503; the next run sends what waits" in said
    with crawl.opened() as opened:
        assert [change.kind.value for change in opened.changes()] == ["changed"]


def test_a_feed_is_written_over_nothing_else(crawl: Crawl) -> None:
    for name, why in (("there.txt", "no feed of this program"), ("missing/feed.xml", "no such folder")):
        (crawl.folder / "there.txt").write_text("mine")
        with pytest.raises(SettingsError, match=why):
            Telling(crawl.settings(feed=crawl.folder / name), print)
    assert (crawl.folder / "there.txt").read_text() == "mine"
