"""Servers whose TLS is older than RFC 5746 are asked where certificates are not checked; else a message says how."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.limits import HANGS

_REFUSED = 21  # an alert
_SUITES = (b"\xc0\x2f", b"\xc0\x30", b"\x00\x9c", b"\x00\x2f")
# libcurl is told of a default for the whole process, so each case has one of its own.
_ASK = """
import sys
from scrawler.fetch.downloader import FetchLimits, Request
from scrawler.fetch.old_tls import accept_old_servers

made, url, insecure = sys.argv[1], sys.argv[2], sys.argv[3] == "insecure"
if insecure:
    accept_old_servers()
module, _, name = ("scrawler." + made).partition(":")
limits = FetchLimits("test", 5.0, 20.0, 1000, 1, not insecure)
downloader = getattr(__import__(module, fromlist=[name]), name)(limits)
downloader.start(Request(url, "127.0.0.1"))
answers = []
while not answers:
    downloader.wait(1.0)
    answers = list(downloader.completed())
print(answers[0].result, answers[0].detail)
"""


def _took(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (part := connection.recv(count - len(data))):
        data += part
    return data


def _serve(listener: socket.socket) -> bool:
    """Answer one ClientHello as a server of before 2010 does; return whether the client went on then."""
    connection, _ = listener.accept()
    with connection:
        head = _took(connection, 5)
        hello = _took(connection, int.from_bytes(head[3:5], "big"))
        at = 39 + hello[38]
        offered = hello[at + 2 : at + 2 + int.from_bytes(hello[at : at + 2], "big")]
        suite = next(one for one in _SUITES if one in [offered[n : n + 2] for n in range(0, len(offered), 2)])
        body = b"\x03\x03" + os.urandom(32) + b"\x00" + suite + b"\x00"  # no extension, so no renegotiation_info
        message = b"\x02" + len(body).to_bytes(3, "big") + body
        connection.sendall(b"\x16\x03\x03" + len(message).to_bytes(2, "big") + message)
        connection.shutdown(socket.SHUT_WR)
        answer = _took(connection, 7)
        return not (answer[:1] == bytes([_REFUSED]) and answer[6:7] == b"\x28")  # handshake_failure


@pytest.mark.parametrize("downloader", ["fetch.curl:CurlDownloader", "features.classic.blocking:RequestsDownloader"])
@pytest.mark.parametrize("how", ["insecure", "checked"])
def test_an_old_server_is_asked_where_certificates_are_not_checked(downloader: str, how: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        serving = pool.submit(_serve, listener)
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        done = subprocess.run(
            [sys.executable, "-c", _ASK, downloader, url, how], capture_output=True, text=True, timeout=HANGS
        )
        assert done.stdout.startswith("tls-failed "), done.stderr
        assert ("RFC 5746; the setting `insecure`" in done.stdout) == (how == "checked")
        assert serving.result(HANGS) == (how == "insecure")
