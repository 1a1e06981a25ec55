from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import lru_cache
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from scrawler.errors import SettingsError
from scrawler.features.synthweb import process as processes
from scrawler.features.synthweb.pages import PageWriter
from scrawler.features.synthweb.process import ServerProcess, SynthServer
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.web import Kind, SyntheticWeb, Target
from tests import forks
from tests.limits import EARLY, HANGS
from tests.truth import home_pages

SPEC = WebSpec(sites=4, mean_pages=100, equal=True)
_TRIES = 10  # of what is timed, at most: the machine may be busy with other things, but not each time


@pytest.fixture(scope="module")
def server() -> Iterator[SynthServer]:
    with SynthServer(SPEC) as server:
        yield server


def connect(server: ServerProcess, host: str = "127.10.0.1") -> socket.socket:
    return socket.create_connection((host, server.web.port), timeout=HANGS)


def read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def exchange(server: ServerProcess, sent: bytes, host: str = "127.10.0.1") -> bytes:
    """Send, say that no more comes, and read until the server closes."""
    with connect(server, host) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return read_all(connection)


def request(path: str, *fields: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.10.0.1", *fields, "", ""]).encode()


@lru_cache(maxsize=1)
def writer(server: ServerProcess) -> PageWriter:
    return PageWriter(server.web)


def body_of(server: ServerProcess, site: int, number: int) -> bytes:
    return writer(server).page(server.web.site(site), number)


def test_keep_alive_serves_page_after_page(server: SynthServer) -> None:
    connection = HTTPConnection("127.10.0.2", server.web.port, timeout=HANGS)
    connection.connect()
    first = connection.sock
    for number in range(50):
        connection.request("GET", server.web.path(Target(1, Kind.PAGE, number)))
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, body_of(server, 1, number))
    assert connection.sock is first
    connection.close()


def test_pipelined_requests_are_answered_in_order(server: SynthServer) -> None:
    paths = [server.web.path(Target(0, Kind.PAGE, number)) for number in range(30)]
    bodies = [body_of(server, 0, number) for number in range(30)]
    answer = exchange(server, b"".join(map(request, paths)))
    places = [answer.index(body) for body in bodies]
    assert places == sorted(places)
    assert answer.count(b"HTTP/1.1 200 OK") == 30


def test_requests_may_come_in_pieces(server: SynthServer) -> None:
    with connect(server) as connection:
        for byte in request("/", "Connection: close"):
            connection.send(bytes([byte]))
        assert read_all(connection).endswith(body_of(server, 0, 0))


def test_a_slow_reader_gets_everything() -> None:
    # Answers larger than what the system buffers, so that the server has to wait for its client.
    with ServerProcess(WebSpec(sites=1, mean_pages=1, page_bytes=2_000_000)) as server, connect(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.sendall(request("/") * 9 + request("/", "Connection: close"))
        assert read_all(connection).count(b"HTTP/1.1 200 OK") == 10


def test_connection_close_is_honoured(server: SynthServer) -> None:
    with connect(server) as connection:
        connection.sendall(request("/", "Connection: close"))
        assert b"\r\nConnection: close\r\n" in read_all(connection)


def test_http_1_0_closes_unless_asked_to_stay(server: SynthServer) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert read_all(connection).endswith(body_of(server, 0, 0))
    answer = exchange(server, b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" * 2)
    assert answer.count(b"\r\nConnection: keep-alive\r\n") == 2


def test_head_has_no_body(server: SynthServer) -> None:
    connection = HTTPConnection("127.10.0.1", server.web.port, timeout=HANGS)
    connection.request("HEAD", "/")
    answer = connection.getresponse()
    assert int(answer.getheader("Content-Length") or 0) == len(body_of(server, 0, 0))
    assert answer.read() == b""
    connection.request("GET", "/")
    assert connection.getresponse().read() == body_of(server, 0, 0)
    connection.close()


@pytest.mark.parametrize(
    ("fields", "site"),
    [("Host: 127.10.0.3:8400", 2), ("hOsT:SITE3.synth.test", 3), ("Host: example.com", 1)],
)
def test_the_host_header_decides_and_then_the_address(server: SynthServer, fields: str, site: int) -> None:
    answer = exchange(server, f"GET / HTTP/1.1\r\n{fields}\r\n\r\n".encode(), "127.10.0.2")
    assert answer.endswith(body_of(server, site, 0))


def test_absolute_request_targets_name_the_host(server: SynthServer) -> None:
    answer = exchange(server, b"GET http://127.10.0.4/ HTTP/1.1\r\nHost: 127.10.0.1\r\n\r\n")
    assert answer.endswith(body_of(server, 3, 0))


def test_a_host_that_is_no_site_is_misdirected(server: SynthServer) -> None:
    answer = exchange(server, b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "127.0.0.1")
    assert answer.startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x00\xff\xfe\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET nowhere HTTP/1.1\r\nHost: 127.10.0.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.10.0.1\r\nContent-Length: 5\r\n\r\nhello", 400),
        (b"POST / HTTP/1.1\r\nHost: 127.10.0.1\r\nContent-Length: 5\r\n\r\nhello", 405),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000, 431),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
    ],
)
def test_bad_requests_are_refused_and_the_connection_closed(server: SynthServer, sent: bytes, status: int) -> None:
    with connect(server) as connection:
        connection.sendall(sent)
        assert read_all(connection).startswith(f"HTTP/1.1 {status} ".encode())


def test_disconnects_harm_nobody(server: SynthServer) -> None:
    for sent in (b"", b"GET / HT", request("/") * 50):
        for _ in range(20):
            connection = connect(server)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # close with a reset
            connection.sendall(sent)
            connection.close()
    assert exchange(server, request("/")).endswith(body_of(server, 0, 0))


def test_connections_from_outside_are_cut(server: SynthServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; tells the address of this machine
        except OSError:
            pytest.skip("this machine has no address but loopback")
        address = probe.getsockname()[0]
    with connect(server, address) as connection, suppress(ConnectionResetError):
        connection.sendall(request("/"))
        assert read_all(connection) == b""


def test_log_counts_requests_at_any_time() -> None:
    with SynthServer(SPEC) as server:
        exchange(server, request("/") * 2 + request("/nowhere"))
        home = f"http://127.10.0.1:{server.web.port}/"
        expected = Counter({home: 2, f"{home}nowhere": 1})
        assert server.requests() == expected
        assert [(line.status, line.method) for line in server.log()] == [(200, "GET"), (200, "GET"), (404, "GET")]
    assert server.requests() == expected


def test_latency_delays_answers_but_not_other_connections() -> None:
    spec = WebSpec(sites=3, latency_ms=200, mean_pages=5)
    with SynthServer(spec) as server:
        slow = server.web.site(0).latency_s
        begun = time.monotonic()
        connections = [connect(server) for _ in range(20)]
        for connection in connections:
            connection.sendall(request("/robots.txt", "Connection: close"))
        for connection in connections:
            assert read_all(connection).startswith(b"HTTP/1.1 200 ")
            connection.close()
        took = time.monotonic() - begun
        assert took >= slow
        assert took < 20 * slow, "one waited for the other"
        answer = exchange(server, request("/") + request("/robots.txt"))
        assert answer.count(b"HTTP/1.1 200 ") == 2
        assert time.monotonic() - begun - took >= 2 * slow


def test_log_tells_when_a_request_came_and_was_answered_and_those_nobody_waited_for() -> None:
    with SynthServer(WebSpec(sites=3, latency_ms=200, mean_pages=5)) as server:
        slow = server.web.site(0).latency_s
        with connect(server) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closes with a reset
            connection.sendall(request("/gone"))
        exchange(server, request("/"))
        log = server.log()
    assert [line.url.rpartition("/")[2] for line in log] == ["gone", ""]
    assert all(line.at - line.came > 0.9 * slow for line in log)


def test_slow_pages_take_their_time() -> None:
    spec = WebSpec(sites=1, mean_pages=200, slow_share=0.5, slow_sites=1, slow_ms=400)
    with SynthServer(spec) as server:
        paths = [server.web.path(Target(0, Kind.PAGE, number)) for number in range(10)]
        expected = [server.web.wait_s(Target(0, Kind.PAGE, number)) for number in range(10)] + [0.0]
        assert 0 < sum(map(bool, expected)) < 10
        shortest = [float("inf")] * len(expected)
        for _ in range(_TRIES):
            exchange(server, b"".join(map(request, paths)) + request("/robots.txt"))
            took = [line.at - line.came for line in server.log()[-len(expected) :]]
            shortest = list(map(min, shortest, took))
            if shortest == pytest.approx(expected, abs=0.1):
                break
    assert shortest == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("connections", [1, 8])
def test_a_bandwidth_is_shared_by_all_connections(connections: int) -> None:
    rate, answers = 2_000_000, 16
    spec = WebSpec(sites=1, mean_pages=answers, equal=True, page_bytes=60_000, hidden=0, bandwidth=rate)

    def times_as_long(server: ServerProcess, paths: list[str]) -> float:
        """Ask for all pages; return the time that this took, as times that which the bandwidth alone takes."""
        with ExitStack() as stack:
            begun = time.monotonic()
            lines = [stack.enter_context(connect(server)) for _ in range(connections)]
            for number, line in enumerate(lines):
                line.sendall(b"".join(map(request, paths[number::connections])))
                line.shutdown(socket.SHUT_WR)
            received = [read_all(line) for line in lines]
            took = time.monotonic() - begun
        assert sum(answer.count(b"HTTP/1.1 200 OK") for answer in received) == answers
        return took / (sum(map(len, received)) / rate)

    with ServerProcess(spec) as server:
        paths = [server.web.path(Target(0, Kind.PAGE, number)) for number in range(answers)]
        for _ in range(_TRIES):
            found = times_as_long(server, paths)
            assert found >= 1.0
            if found < 1.3:
                break
    assert found < 1.3


def test_answers_take_turns_on_a_narrow_line() -> None:
    spec = WebSpec(sites=2, mean_pages=1, page_bytes=2_000_000, bandwidth=1_000_000)
    with SynthServer(spec) as server, connect(server) as long, connect(server) as short:
        long.sendall(request("/", "Connection: close"))
        assert long.recv(1)
        short.sendall(request("/robots.txt", "Connection: close"))
        received: list[int] = []
        with ThreadPoolExecutor(1) as reader:
            rest = reader.submit(lambda: received.extend(map(len, iter(lambda: long.recv(65_536), b""))))
            assert read_all(short)
            before = sum(received)
            rest.result()
    assert before < sum(received) / 2, "it has not waited for what is left of the long one"


def test_who_hangs_up_frees_the_line() -> None:
    spec = WebSpec(sites=1, mean_pages=1, page_bytes=10_000_000, bandwidth=20_000)
    with ServerProcess(spec) as server:
        with connect(server) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closes with a reset
            connection.sendall(request("/"))
            assert connection.recv(1)
        begun = time.monotonic()
        assert exchange(server, request("/robots.txt")).startswith(b"HTTP/1.1 ")
        assert time.monotonic() - begun < EARLY


def test_a_bandwidth_is_one_process_s() -> None:
    with pytest.raises(SettingsError, match="did not start"), ServerProcess(WebSpec(bandwidth=1_000), workers=2):
        pass


def test_workers_share_a_port() -> None:
    with SynthServer(SPEC, workers=2) as server:
        for _ in range(30):
            assert exchange(server, request("/")).endswith(body_of(server, 0, 0))
        assert sum(server.requests().values()) == 30


def free_ports(count: int) -> int:
    """Find adjacent free ports below those that the system gives to outgoing connections."""
    for first in range(18_000 + os.getpid() % 1_000 * 10, 32_000, count):
        with ExitStack() as stack, suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
    raise RuntimeError("no free ports")


def test_one_port_a_site() -> None:
    port = free_ports(3)
    with SynthServer(WebSpec(sites=3, mean_pages=10, equal=True, hosts=Hosts.PORTS), port) as server:
        connection = HTTPConnection("127.0.0.1", port + 2, timeout=HANGS)
        connection.request("GET", "/")
        assert connection.getresponse().read() == body_of(server, 2, 0)
        connection.close()


def test_a_site_of_a_million_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_started", forks.start_web_by_command)
    spec = WebSpec(sites=1, mean_pages=1_000_000, page_bytes=1_000, hidden=0)
    with SynthServer(spec) as server:
        body = fetch(server, Target(0, Kind.PAGE, 999_999)).read()
        assert body == body_of(server, 0, 999_999)
        assert home_pages(server.web, 0, robots=False) == 1_000_000
        if os.path.isdir("/proc"):  # else nobody tells
            assert rss_mb(server.pid) < 100


def fetch(server: ServerProcess, target: Target) -> HTTPResponse:
    connection = HTTPConnection("127.10.0.1", server.web.port, timeout=HANGS)
    connection.request("GET", server.web.path(target), headers={"Connection": "close"})
    return connection.getresponse()


def rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_says_where_it_serves_and_stops_cleanly(tmp_path: Path, number: int) -> None:
    seeds = tmp_path / "seeds.txt"
    command = [sys.executable, "-m", "scrawler.features.synthweb", "--port=0", "--sites=5", f"--seeds-file={seeds}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("synthetic web of 5 sites at port ")
        assert str(seeds) in line
        port = int(line.split(" at port ")[1].split(",")[0])
        assert seeds.read_text().split() == SyntheticWeb(WebSpec(sites=5), port).seeds()
        with socket.create_connection(("127.10.0.1", port), timeout=HANGS):
            process.send_signal(number)
            out, err = process.communicate(timeout=HANGS)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_taken_port_is_one_clear_error(server: SynthServer, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match="did not start"), SynthServer(SPEC, server.web.port):
        pass
    assert capfd.readouterr().err == (
        f"synthetic web: cannot serve at port {server.web.port}: Address already in use\n"
    )
