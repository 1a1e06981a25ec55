"""What a download costs: CPU of the client per request, from a server in another process on loopback.

python tests/bench/bench_fetch.py [requests]

A bare socket loop (send, receive 32 KB, nothing else) in the same run is the floor: compare ratios, not microseconds.
"""

from __future__ import annotations

import multiprocessing
import selectors
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from scrawler.features.classic.blocking import RequestsDownloader
from scrawler.fetch.curl import CurlDownloader
from scrawler.fetch.downloader import Downloader, FetchLimits, Request
from scrawler.fetch.robots import RobotsRules

BODY = bytes(range(256)) * 128
ANSWER = (
    b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Fri, 21 Nov 2025 03:33:00 GMT\r\nContent-Type: text/html\r\n"
    b"Content-Length: %d\r\nLast-Modified: Fri, 21 Nov 2025 03:33:00 GMT\r\nConnection: keep-alive\r\n"
    b'ETag: "691fe"\r\nAccept-Ranges: bytes\r\n\r\n' % len(BODY)
) + BODY
LIMITS = FetchLimits("bench", 5.0, 30.0, 10_000_000, 100)


def serve(pipe: Connection) -> None:
    """Answer every request head with the same page, until the process is ended."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    pipe.send(listener.getsockname()[1])
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _mask in selector.select():
                if key.fileobj is listener:
                    selector.register(listener.accept()[0], selectors.EVENT_READ)
                    continue
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock.recv(65536):
                    sock.sendall(ANSWER)
                else:
                    selector.unregister(sock)
                    sock.close()


def floor(port: int, count: int) -> None:
    buffer = bytearray(65536)
    with socket.create_connection(("127.0.0.1", port)) as sock:
        for _ in range(count):
            sock.sendall(b"GET / HTTP/1.1\r\nHost: bench\r\nAccept: text/html\r\n\r\n")
            left = len(ANSWER)
            while left:
                left -= sock.recv_into(buffer)


def drive(downloader: Downloader, port: int, count: int, at_once: int) -> None:
    requests = iter([Request(f"http://127.0.0.1:{port}/page/{number}", "127.0.0.1") for number in range(count)])
    for _, request in zip(range(at_once), requests, strict=False):
        downloader.start(request)
    done = 0
    while done < count:
        downloader.wait(5.0)
        for response in downloader.completed():
            assert response.body == BODY, response.detail
            done += 1
            if request := next(requests, None):
                downloader.start(request)
    downloader.close()


def measure(name: str, run: Callable[[], None], count: int) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{name:32} {cpu / count * 1e6:7.1f} us CPU {wall / count * 1e6:7.1f} us elapsed")


def main(count: int) -> None:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    measure("floor: socket", lambda: floor(port, count), count)
    for at_once in (1, 10, 50):
        curl = CurlDownloader(LIMITS)
        measure(f"curl, {at_once} at once", lambda d=curl, n=at_once: drive(d, port, count, n), count)
    few = count // 10
    measure("requests", lambda: drive(RequestsDownloader(LIMITS), port, few, 1), few)
    server.terminate()
    lines = "".join(f"Disallow: /p{number}/\n" for number in range(30)) + "Disallow: /*?sort=\nDisallow: /*.pdf$\n"
    rules = RobotsRules.parse(200, b"User-agent: *\n" + lines.encode(), "SCrawler")
    for url in ("http://www.example.com/docs/library/abc.html", "http://www.example.com/docs/lib?x=1&y=%41"):
        measure(f"robots: {url[22:]}", lambda u=url: [rules.allows(u) for _ in range(count)] and None, count)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
