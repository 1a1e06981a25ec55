"""How downloaders wait: woken from outside, given up, many at a time, without spinning."""

from __future__ import annotations

import os
import select
import threading
import time

import pytest

from scrawler.fetch.curl import CurlDownloader
from scrawler.fetch.descriptors import raise_file_limit
from scrawler.fetch.downloader import Request
from scrawler.fetch.poller import READ, WRITE, Poller, SelectorPoll
from scrawler.model.results import Result
from tests.integration.fetch.conftest import LIMITS, drive
from tests.integration.fetch.servers import Visit, always, answer, once
from tests.limits import EARLY, FAR, HANGS


def hanging(visit: Visit) -> None:
    visit.request()
    visit.hang()


def test_wake_ends_the_wait_of_now(make):
    downloader = make()
    began = time.monotonic()
    thread = threading.Thread(target=downloader.wake)
    thread.start()
    downloader.wait(FAR)
    thread.join()
    assert time.monotonic() - began < EARLY
    assert downloader.completed() == []


def test_wake_ends_the_next_wait_once(make):
    downloader = make()
    downloader.wake()
    downloader.wake()
    began = time.monotonic()
    downloader.wait(FAR)
    assert time.monotonic() - began < EARLY
    began = time.monotonic()
    downloader.wait(0.2)
    assert time.monotonic() - began >= 0.15


def test_a_thread_that_has_nothing_in_flight_for_long_closes_its_connections(serve, make_curl, monkeypatch):
    ended = threading.Event()

    def keeps_open(visit: Visit) -> None:
        while visit.request():
            visit.send(answer(b"here"))
        ended.set()

    downloader, server = make_curl(), serve(keeps_open)
    drive(downloader, Request(server.url("/a"), "127.0.0.1"))
    drive(downloader, Request(server.url("/b"), "127.0.0.1"))
    assert not ended.is_set()
    assert server.connections == 1
    monkeypatch.setattr("scrawler.fetch.curl._KEPT_IDLE", 0.01)
    began = time.monotonic()
    downloader.wait(FAR)  # it ends when it is time to look, and the next one closes them
    assert time.monotonic() - began < EARLY
    while not ended.is_set() and time.monotonic() - began < HANGS:
        downloader.wait(0.1)  # it may have been woken by something else before
    assert downloader.completed() == []
    assert ended.is_set()
    assert drive(downloader, Request(server.url("/c"), "127.0.0.1"))[0].body == b"here"
    assert server.connections == 2
    downloader.wait(0)


def test_wake_ends_a_wait_for_an_answer(serve, make_curl):
    downloader = make_curl(timeout=2 * FAR)
    server = serve(hanging)
    downloader.start(Request(server.url(), "127.0.0.1"))
    while not server.heads:  # then nothing but the answer is waited for
        downloader.wait(0.05)
        assert downloader.completed() == []
    thread = threading.Thread(target=downloader.wake)
    began = time.monotonic()
    thread.start()
    downloader.wait(FAR)
    thread.join()
    assert time.monotonic() - began < EARLY
    assert downloader.completed() == []


def test_wake_after_close_is_harmless(make):
    downloader = make()
    downloader.close()
    downloader.wake()


def test_nothing_to_wait_for_waits(make):
    began = time.monotonic()
    make().wait(0.2)
    assert time.monotonic() - began > 0.15


def test_cancel_returns_what_is_not_done(serve, make):
    server = serve(hanging)
    downloader = make()
    requests = [Request(server.url(f"/{n}"), "127.0.0.1", n) for n in range(5)]
    for request in requests:
        downloader.start(request)
    assert sorted(request.tag for request in downloader.cancel()) == [0, 1, 2, 3, 4]
    assert downloader.completed() == []
    assert downloader.cancel() == []
    good = serve(always(answer()))
    assert drive(downloader, Request(good.url(), "127.0.0.1"))[0].result is Result.FETCHED


def test_close_in_the_middle_of_downloads_is_prompt(serve, make_curl):
    server = serve(hanging)
    downloader = make_curl(timeout=FAR)
    for number in range(50):
        downloader.start(Request(server.url(f"/{number}"), "127.0.0.1"))
    downloader.wait(0.1)
    downloader.completed()
    began = time.monotonic()
    downloader.close()
    assert time.monotonic() - began < EARLY


def test_slow_servers_do_not_hold_up_fast_ones(serve, make_curl):
    slow, fast = serve(hanging), serve(always(answer()))
    downloader = make_curl(timeout=FAR)
    for number in range(20):
        downloader.start(Request(slow.url(f"/{number}"), "127.0.0.1"))
    began = time.monotonic()
    for number in range(50):
        assert drive(downloader, Request(fast.url(f"/{number}"), "127.0.0.1"))[0].result is Result.FETCHED
    assert time.monotonic() - began < EARLY
    assert len(downloader.cancel()) == 20


def test_many_at_a_time_each_with_its_own_answer(serve, make_curl):
    def script(visit: Visit) -> None:
        while head := visit.request():
            visit.send(answer(head.split()[1] * 1000))

    server = serve(script)
    requests = [Request(server.url(f"/{number}"), "127.0.0.1", number) for number in range(300)]
    responses = drive(make_curl(), *requests)
    assert sorted(response.request.tag for response in responses) == list(range(300))
    assert all(response.body == b"/%d" % response.request.tag * 1000 for response in responses)


def test_descriptors_above_1024_do_not_spin(serve):
    if raise_file_limit(4096) < 2048:
        pytest.skip("the system allows too few open files")
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    downloader = CurlDownloader(LIMITS)
    try:
        server = serve(hanging)
        for number in range(5):
            downloader.start(Request(server.url(f"/{number}"), "127.0.0.1"))
        cpu, end = time.process_time(), time.monotonic() + 0.5
        turns = 0
        while (left := end - time.monotonic()) > 0:
            downloader.wait(left)
            assert downloader.completed() == []
            turns += 1
        assert turns < 50
        assert time.process_time() - cpu < 0.25
        good = serve(always(answer()))
        assert drive(downloader, Request(good.url(), "127.0.0.1"))[-1].result is Result.FETCHED
    finally:
        downloader.close()
        for fd in held:
            os.close(fd)


def test_descriptors_are_given_back(serve):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("/proc is not mounted")
    server = serve(always(answer()))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        downloader = CurlDownloader(LIMITS)
        drive(downloader, *(Request(server.url(f"/{n}"), "127.0.0.1") for n in range(5)))
        downloader.close()
    server.stop()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("poll", [None, SelectorPoll], ids=["best", "selectors"])
def test_poller(poll):
    poller = Poller(poll() if poll else None)
    reader, writer = os.pipe()
    try:
        poller.watch(reader, READ)
        assert poller.wait(0) == []
        os.write(writer, b"x")
        assert poller.wait(HANGS) == [(reader, READ)]
        poller.watch(writer, WRITE)
        assert sorted(poller.wait(HANGS)) == sorted([(reader, READ), (writer, WRITE)])
        poller.watch(writer, READ)
        poller.forget(reader)
        poller.forget(reader)
        assert poller.wait(0) == []
        poller.wake()
        assert poller.wait(HANGS) == []
    finally:
        poller.close()
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("poll", [None, SelectorPoll], ids=["best", "selectors"])
def test_poller_forgets_until_it_watches_again(poll):
    poller = Poller(poll() if poll else None)
    reader, writer = os.pipe()
    try:
        poller.watch(reader, READ)
        poller.forget(reader)
        os.write(writer, b"x")
        assert poller.wait(0.2) == []
        began = time.monotonic()
        assert poller.wait(0.2) == []  # and does not return at once for ever
        assert time.monotonic() - began >= 0.15
        poller.watch(reader, READ)
        assert poller.wait(HANGS) == [(reader, READ)]
    finally:
        poller.close()
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("poll", [None, SelectorPoll], ids=["best", "selectors"])
def test_poller_watches_a_new_socket_that_has_the_number_of_a_closed_one(poll):
    poller = Poller(poll() if poll else None)
    (number, old_writer), (reader, writer) = os.pipe(), os.pipe()
    try:
        poller.watch(number, READ)
        poller.forget(number)
        os.dup2(reader, number)  # closes the old one
        poller.opened(number)
        poller.watch(number, READ)
        os.write(writer, b"x")
        assert poller.wait(HANGS) == [(number, READ)]
    finally:
        poller.close()
        for fd in (number, old_writer, reader, writer):
            os.close(fd)


def test_a_server_that_closes_each_connection_is_waited_for_each_time(serve, make_curl):
    server = serve(once(answer(b"hello", "200 OK", "Connection: close")))
    downloader = make_curl()
    for number in range(5):  # a new socket each, mostly of the same number
        assert drive(downloader, Request(server.url(f"/{number}"), "127.0.0.1"))[0].result is Result.FETCHED


def test_a_connection_closed_while_nobody_uses_it_does_not_spin(serve, make_curl):
    server = serve(once(answer()))
    downloader = make_curl()
    drive(downloader, Request(server.url(), "127.0.0.1"))
    turns, end = 0, time.monotonic() + 0.5
    while (left := end - time.monotonic()) > 0:
        downloader.wait(left)
        assert downloader.completed() == []
        turns += 1
    assert turns < 5


def test_what_a_request_costs_does_not_grow_with_the_addresses_that_were_asked_before(serve, make_curl):
    refused = serve(once(answer()))
    refused.stop()
    downloader = make_curl()

    def cpu_of(addresses: range) -> float:
        began = time.thread_time()
        for number in addresses:
            url = refused.url(host=f"www{number}.example")
            (response,) = drive(downloader, Request(url, f"127.1.{number // 250}.{number % 250 + 1}"))
            assert response.result is Result.CONNECT_FAILED
        return time.thread_time() - began

    few = min(cpu_of(range(at, at + 1_000)) for at in (0, 1_000))
    cpu_of(range(2_000, 14_000))
    many = min(cpu_of(range(at, at + 1_000)) for at in (14_000, 15_000))
    assert many < 2 * few


def test_file_limit_is_never_lowered():
    now = raise_file_limit(0)
    assert now > 0
    assert raise_file_limit(now) == now
    assert raise_file_limit(1) == now


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="where all are asked in turn each time, all are told")
def test_of_many_sockets_that_are_ready_some_are_told_at_a_time_and_all_in_turn():
    poller, pipes = Poller(), [os.pipe() for _ in range(100)]
    try:
        for reader, writer in pipes:
            poller.watch(reader, READ)
            os.write(writer, b"x")
        told = [[fd for fd, _ in poller.wait(HANGS)] for _ in range(4)]
        assert max(map(len, told)) <= 32
        assert {fd for some in told for fd in some} == {reader for reader, _ in pipes}
    finally:
        poller.close()
        for pipe in pipes:
            for fd in pipe:
                os.close(fd)
