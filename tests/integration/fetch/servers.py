"""Servers on loopback that do what the worst of the web does, byte by byte."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from tests.limits import FAR

Script = Callable[["Visit"], None]


class Visit:
    """One connection, as a script sees it."""

    def __init__(self, sock: socket.socket, number: int, stopping: threading.Event, heads: list[bytes]) -> None:
        self.sock, self.number, self.stopping = sock, number, stopping
        self.heads = heads
        self._rest = b""

    def request(self) -> bytes:
        """Read one request head; empty when the client is gone."""
        while b"\r\n\r\n" not in self._rest:
            data = self.sock.recv(65536)
            if not data:
                return b""
            self._rest += data
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        self.heads.append(head + b"\r\n\r\n")
        return self.heads[-1]

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def hang(self, seconds: float = FAR) -> None:
        """Say nothing until the server stops."""
        self.stopping.wait(seconds)

    def reset(self) -> None:
        """Close so that the client gets a reset, not an end."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self.sock.close()


class RawServer:
    """Runs a script for every connection; `heads` keeps all requests, `connections` counts."""

    def __init__(self, script: Script, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.connections = 0
        self.heads: list[bytes] = []
        self.script, self._tls = script, tls
        self._stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=512)
        self.address, self.port = host, self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def url(self, path: str = "/", host: str = "") -> str:
        host = host or (f"[{self.address}]" if ":" in self.address else self.address)
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def stop(self) -> None:
        if self._stopping.is_set():
            return
        self._stopping.set()
        with socket.socket(self._listener.family) as knock:
            knock.connect((self.address, self.port))
        self._threads[0].join()
        self._listener.close()
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):  # closed by the script, or by the client
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def _accept(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            if self._stopping.is_set():
                sock.close()
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock, self.connections))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        try:
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
            with self._lock:
                self._open.add(sock)
            self.script(Visit(sock, number, self._stopping, self.heads))
        except OSError:
            pass  # the client went away, as some tests want it to
        finally:
            with self._lock:
                self._open.discard(sock)
            sock.close()


def path_of(head: bytes) -> str:
    """Return the path that a request is for."""
    return head.split(b" ", 2)[1].decode("latin-1")


def answer(body: bytes = b"hello", status: str = "200 OK", *headers: str) -> bytes:
    """Return a whole and correct answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def always(data: bytes) -> Script:
    """Answer every request with `data` and keep the connection."""

    def script(visit: Visit) -> None:
        while visit.request():
            visit.send(data)

    return script


def once(data: bytes) -> Script:
    """Answer the first request with `data` and close."""

    def script(visit: Visit) -> None:
        visit.request()
        visit.send(data)

    return script


# Python 3.13 and later believe no certificate that may sign others and does not say so in this way as well (RFC 5280).
USAGE = "keyUsage=critical,digitalSignature,keyCertSign"


class Certificates:
    """A certificate for localhost and *.example.test, signed by itself; made by the openssl program."""

    def __init__(self, folder: Path) -> None:
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", USAGE,
             "-addext", "subjectAltName=DNS:localhost,DNS:*.example.test,IP:127.0.0.1",
             "-keyout", str(self.key), "-out", str(self.certificate)],
            check=True, capture_output=True,
        )  # fmt: skip

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context
