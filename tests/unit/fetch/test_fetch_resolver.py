from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scrawler.fetch.resolver import Resolution, Resolver
from scrawler.model.results import Result
from tests.limits import HANGS
from tests.torture.crawl import wait_for


class Names:
    """A name service of our own: a table, counted, that can be held up."""

    def __init__(self, table: dict[str, list[str]]) -> None:
        self.table, self.asked = table, []
        self.begun, self.open = threading.Event(), threading.Event()
        self.open.set()

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        self.begun.set()
        assert self.open.wait(HANGS)
        if host not in self.table:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self.table[host]


@pytest.fixture
def make() -> Iterator[Callable[..., Resolver]]:
    made: list[Resolver] = []

    def build(threads: int = 2, **options) -> Resolver:
        made.append(Resolver(threads, **options))
        return made[-1]

    yield build
    for resolver in made:
        assert resolver.close()


def ask(resolver: Resolver, host: str) -> Resolution:
    answers: list[tuple[str, Resolution]] = []
    there = threading.Event()
    assert resolver.resolve(host, lambda *answer: (answers.append(answer), there.set()))
    assert there.wait(HANGS)
    assert answers[0][0] == host
    return answers[0][1]


def test_a_name_is_asked_for_once(make):
    names = Names({"a.test": ["8.8.8.8"]})
    resolver = make(look_up=names)
    assert resolver.lookup("a.test") is None
    first = ask(resolver, "a.test")
    assert (first.address, first.result) == ("8.8.8.8", None)
    assert ask(resolver, "a.test") == first == resolver.lookup("a.test")
    assert names.asked == ["a.test"]
    assert resolver.lookups == 1


def test_a_cached_answer_comes_in_the_callers_thread(make):
    resolver = make(look_up=Names({"a.test": ["8.8.8.8"]}))
    ask(resolver, "a.test")
    threads: list[threading.Thread] = []
    assert resolver.resolve("a.test", lambda *_: threads.append(threading.current_thread()))
    assert threads == [threading.current_thread()]


def test_ipv4_first_and_only_what_the_guard_lets_pass(make):
    table = {
        "both.test": ["2606:4700::1", "8.8.8.8"],
        "six.test": ["2606:4700::1"],
        "mixed.test": ["10.0.0.1", "2606:4700::1"],
        "inside.test": ["127.0.0.1", "::1"],
        "empty.test": [],
    }
    resolver = make(look_up=Names(table))
    assert ask(resolver, "both.test").address == "8.8.8.8"
    assert ask(resolver, "six.test").address == "2606:4700::1"
    assert ask(resolver, "mixed.test").address == "2606:4700::1"
    inside = ask(resolver, "inside.test")
    assert (inside.address, inside.result) == (None, Result.PRIVATE_ADDRESS)
    assert "127.0.0.1" in inside.detail
    assert ask(resolver, "empty.test").result is Result.NO_ADDRESS
    assert ask(make(look_up=Names(table), allow_private=True), "inside.test").address == "127.0.0.1"


def test_literals_and_static_names_ask_nobody(make):
    names = Names({})
    resolver = make(look_up=names, static={"site.test": "8.8.4.4", "in.test": "127.0.0.9"})
    found = {host: resolver.lookup(host) for host in ("8.8.8.8", "[2606:4700::1]", "2606:4700::1", "site.test")}
    assert [entry.address for entry in found.values()] == ["8.8.8.8", "2606:4700::1", "2606:4700::1", "8.8.4.4"]
    assert ask(resolver, "in.test").result is Result.PRIVATE_ADDRESS
    literal = ask(resolver, "[::1]")
    assert (literal.result, literal.detail) == (Result.PRIVATE_ADDRESS, "this crawler does not connect to [::1]")
    assert names.asked == []
    assert resolver.lookups == 0


def test_answers_go_stale(make):
    names = Names({"a.test": ["8.8.8.8"]})
    resolver = make(look_up=names, ttl=0.05)
    first = ask(resolver, "a.test")
    names.table.clear()
    assert threading.Event().wait(first.expires_at - time.monotonic() + 0.01) is False
    assert resolver.lookup("a.test") is None
    failed = ask(resolver, "a.test")
    assert (failed.address, failed.result) == (None, Result.NO_ADDRESS)
    assert "a.test: Name or service not known" in failed.detail
    assert names.asked == ["a.test", "a.test"]


def test_failures_are_kept_for_less_long(make):
    resolver = make(look_up=Names({"a.test": ["8.8.8.8"]}), ttl=3000)
    now = time.monotonic()
    assert 2900 < ask(resolver, "a.test").expires_at - now < 3100
    assert 50 < ask(resolver, "b.test").expires_at - now < 70
    assert resolver.lookup("b.test") is not None


def test_who_asks_meanwhile_joins(make):
    names = Names({"a.test": ["8.8.8.8"]})
    names.open.clear()
    resolver = make(look_up=names)
    answered = threading.Semaphore(0)
    for _ in range(10):
        assert resolver.resolve("a.test", lambda *_: answered.release())
    names.open.set()
    for _ in range(10):
        assert answered.acquire(timeout=HANGS)
    assert names.asked == ["a.test"]


def test_a_full_queue_says_so_and_blocks_nobody(make):
    names = Names({})
    names.open.clear()
    resolver = make(threads=1, look_up=names)
    taken = [resolver.resolve(f"{number}.test", lambda *_: None) for number in range(100)]
    assert True in taken
    assert taken[-1] is False
    assert 8 <= taken.count(True) <= 9
    names.open.set()


def test_close_ends_idle_threads_and_refuses(make):
    resolver = make(threads=8, look_up=Names({}))
    assert resolver.close(HANGS)
    assert resolver.resolve("a.test", lambda *_: None) is False
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dns-")]


def test_close_does_not_wait_for_a_hanging_look_up():
    names = Names({"a.test": ["8.8.8.8"]})
    names.open.clear()
    resolver = Resolver(1, look_up=names)
    called: list[str] = []
    resolver.resolve("a.test", lambda host, _: called.append(host))
    assert names.begun.wait(HANGS)
    assert resolver.close(timeout=0.1) is False
    names.open.set()
    assert resolver.close(HANGS)
    assert called == []


@pytest.mark.parametrize("host", ["a" * 70 + ".test", "a..test", "n\u00e4me.test", "no_such-name.invalid"])
def test_names_that_cannot_be(make, host):
    assert ask(make(), host).result is Result.NO_ADDRESS


def test_the_systems_own_names(make):
    if not Path("/etc/hosts").exists():
        pytest.skip("there is no /etc/hosts, which names localhost")
    assert ask(make(allow_private=True), "localhost").address == "127.0.0.1"


def test_name_servers_that_never_answer_keep_no_other_name_waiting(make):
    released, answered = threading.Event(), threading.Event()

    def look_up(host: str) -> list[str]:
        if host.startswith("hangs"):
            assert released.wait(HANGS)
        return ["8.8.8.8"]

    resolver = make(threads=2, look_up=look_up, queue=100)
    for number in range(5):
        assert resolver.resolve(f"hangs-{number}.test", lambda *_: None)
    assert resolver.resolve("a.test", lambda *_: answered.set())
    wait_for(lambda: resolver.keep_up() or answered.is_set(), HANGS, "the other name is found")
    released.set()
    wait_for(lambda: _dns_threads() == 2, HANGS, "no more threads are left than are usual")


def _dns_threads() -> int:
    return sum(thread.name.startswith("dns-") for thread in threading.enumerate())
