"""A crawl by a topic: what promises more is asked for first, a stop changes nothing, and only what fits is archived."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scrawler.core.machine.machine import Machine
from scrawler.errors import SettingsError
from scrawler.model.results import PageFlag
from tests.integration.crawl.hostile import Reply, by_path, page, redirect
from tests.integration.crawl.rig import running, watch
from tests.integration.fetch.servers import RawServer, answer, path_of
from tests.limits import HANGS
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

MANY = tuple(f"/other/{n}" for n in range(140))  # more than a chunk
WORDS = "nothing of interest is said here " * 20
ON_TOPIC = "a lock guards what a lock guards; the lock is held " * 5


def _link(path: str, text: str) -> str:
    return f"<a href='{path}'>{text}</a> "


def _site() -> dict[str, Reply]:
    return {
        "/": page(WORDS + _link("/far", "elsewhere") + _link("/in", "about a Lock") + _link("/hop", "the lock, moved")),
        "/far": page(WORDS, links=(*MANY, "/lock/of-all")),
        "/in": page(ON_TOPIC, links=("/deep",)),
        "/deep": page(ON_TOPIC, links=("/deeper", "/lock.pdf")),
        "/deeper": page(ON_TOPIC),
        "/hop": redirect("/there"),
        "/there": page(WORDS),
        "/lock/of-all": page(WORDS),
        "/lock.pdf": answer(b"\0\1\2", "200 OK", "Content-Type: application/pdf"),
        "/b.pdf": answer(b"\0\1\2\3", "200 OK", "Content-Type: application/pdf"),
        **{path: page(WORDS + path) for path in MANY},
        MANY[0]: page(WORDS, links=("/b.pdf",)),
    }


@pytest.fixture
def topic(tmp_path: Path) -> Path:
    file = tmp_path / "topic.txt"
    file.write_text("2 lock\n1 guards\n")
    return file


def _order(crawl: Crawl, server: RawServer) -> list[str]:
    base = server.url()[:-1]
    return [row.url.removeprefix(base) for row in sorted(crawl.pages(), key=lambda row: row.fetched_at)]


@pytest.mark.parametrize("stops", [False, True])
def test_what_promises_more_comes_first_and_a_stop_changes_nothing(
    crawl: Crawl, serve: Serve, topic: Path, stops: bool
) -> None:
    server = serve(by_path(_site()))

    def asked() -> list[str]:
        return [path_of(head) for head in list(server.heads)]

    def stop(machine: Machine) -> None:
        if stops and "/deep" in asked():
            machine.ending.stop()

    crawl.add([server.url()])
    settings = crawl.settings(
        order="focused", topic=str(topic), traps=False, robots=False, depth_buffer=128, delay=0.01
    )
    ended = watch(settings, stop).ended
    if not ended:
        assert watch(settings).ended
    crawl.check()
    order = list(dict.fromkeys(asked()))
    # The links of a page of the topic are worth something, whatever their words; those of others by their words alone.
    assert order[:7] == ["/", "/in", "/hop", "/there", "/deep", "/lock.pdf", "/deeper"]
    assert order[7:9] == ["/far", "/lock/of-all"]
    assert order[9:] == [*MANY, "/b.pdf"]
    assert len(crawl.pages()) == len(order)


def test_only_what_has_to_do_with_the_topic_is_archived_and_all_has_rows(
    crawl: Crawl, serve: Serve, topic: Path
) -> None:
    server = serve(by_path(_site()))
    crawl.add([server.url()])
    crawl.run(order="focused", topic=str(topic), store="relevant", traps=False, robots=False)
    rows = {row.url.removeprefix(server.url()[:-1]): row for row in crawl.pages()}
    assert rows.keys() == _site().keys()
    relevant = {path for path, row in rows.items() if row.flags & PageFlag.RELEVANT}
    assert relevant == {"/", "/in", "/deep", "/deeper"}
    assert {path for path, row in rows.items() if row.warc_file} == relevant | {"/hop", "/lock.pdf"}
    assert all(row.digest for row in rows.values())


def test_in_breadth_first_order_a_topic_flags_pages_and_changes_no_order(
    crawl: Crawl, serve: Serve, topic: Path
) -> None:
    server = serve(by_path(_site()))
    crawl.add([server.url()])
    crawl.run(topic=str(topic), traps=False, robots=False)
    assert _order(crawl, server)[:4] == ["/", "/far", "/in", "/hop"]
    assert sum(bool(row.flags & PageFlag.RELEVANT) for row in crawl.pages()) == 4


def test_a_focused_crawl_needs_a_topic_that_can_be_read(crawl: Crawl, topic: Path) -> None:
    with pytest.raises(SettingsError, match="order = focused needs a topic: --topic FILE"):
        crawl.run(order="focused")
    with pytest.raises(SettingsError, match=r"topic .*nowhere: No such file"):
        crawl.run(topic=str(topic.with_name("nowhere")))
    topic.write_text("1 lock\n2 lock\n")
    with pytest.raises(SettingsError, match=r"topic .*topic.txt: line 2: the term 'lock' is there twice"):
        crawl.run(topic=str(topic))


def test_a_kill_loses_no_url_of_any_lane(crawl: Crawl, serve: Serve, topic: Path) -> None:
    server = serve(by_path(_site()))
    crawl.add([server.url()])
    flags = ["--order", "focused", "--topic", str(topic), "--no-traps", "--no-robots", "--checkpoint-interval", "0.1"]
    with running(crawl, *flags) as process:
        wait_for(lambda: process.poll() is not None or len(server.heads) > 20, HANGS, "the midst of the crawl")
    settings = {"order": "focused", "topic": str(topic), "traps": False, "robots": False}
    crawl.run(**settings)  # type: ignore[arg-type]
    crawl.check()
    assert {row.url.removeprefix(server.url()[:-1]) for row in crawl.pages()} == _site().keys()
