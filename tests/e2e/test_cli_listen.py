"""`scrawler listen`, as its user has it: keys, pings, kills between acceptance and request, and its end."""

from __future__ import annotations

import http.server
import json
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import CRAWL, Rows, Scrawler, error_line, started
from tests.limits import HANGS
from tests.torture.crawl import wait_for

_KEPT = (*CRAWL, "--keep", "--quiet")


class Site:
    """A site on loopback; `asked` are its paths, each with the time at which it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append((self.path, time.time()))
                robots = self.path == "/robots.txt"
                self.send_response(404 if robots else 200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(f"<title>{self.path}</title>text of {self.path}".encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def times(self, path: str) -> int:
        return sum(one == path for one, _ in self.asked)


@pytest.fixture
def site() -> Iterator[Site]:
    one = Site()
    thread = threading.Thread(target=one.server.serve_forever)
    thread.start()
    yield one
    one.server.shutdown()
    thread.join()
    one.server.server_close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def listening(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """Listen in the block, which ends the process if it still runs."""
    with started(folder, "listen", "--port", str(port), "--allow-private", "--delay", "0") as process:
        assert process.stderr is not None
        try:
            assert process.stderr.readline() == f"listening at http://127.0.0.1:{port}\n"
            wait_for(lambda: _answers(port), HANGS, "a listener that answers")
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=HANGS) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def ping(port: int, key: str, *urls: str) -> int:
    """Ping; return how many URLs were accepted."""
    body = json.dumps({"urls": urls}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/ping", body, headers)
    with urllib.request.urlopen(asked, timeout=HANGS) as answer:
        return int(json.loads(answer.read())["accepted"])


@pytest.mark.heavy
def test_what_was_acknowledged_survives_kills_of_listener_and_machine(
    scrawler: Scrawler, rows: Rows, tmp_path: Path, site: Site
) -> None:
    port = _free_port()
    scrawler("import", "-", given=f"{site.url}/\n")
    scrawler(*CRAWL, "--no-export", "-q")
    key = scrawler("listen", "keys", "add", site.url).stdout.strip()
    with listening(tmp_path, port) as listener:
        assert ping(port, key, f"{site.url}/", f"{site.url}/killed") == 2
        listener.kill()
        listener.wait()
    with listening(tmp_path, port) as listener, started(tmp_path, *_KEPT) as machine:
        wait_for(lambda: site.times("/killed") == 1, HANGS, "what was sent before the kill")
        ping(port, key, f"{site.url}/again")
        machine.kill()  # whatever it has just taken
        machine.wait()
        listener.send_signal(signal.SIGTERM)
        assert listener.wait(HANGS) == 0
    assert scrawler("status").stdout.count("stopped") >= 1
    with started(tmp_path, *_KEPT) as machine:
        try:
            wait_for(lambda: site.times("/again") >= 1, HANGS, "what was sent before the machine was killed")
            wait_for(lambda: _listed(scrawler) == 3, HANGS, "the last checkpoint")
        finally:
            machine.send_signal(signal.SIGINT)
            assert machine.wait(HANGS) == 0
    assert {row["url"].removeprefix(site.url) for row in rows("pages")} == {"/", "/again", "/killed"}
    assert site.times("/") >= 2


def _listed(scrawler: Scrawler) -> int:
    told = json.loads(scrawler("status", "--json").stdout)
    return int(told["pushed"]["ping"]["listed"])


def test_a_ping_is_asked_for_by_a_machine_that_is_at_rest(scrawler: Scrawler, tmp_path: Path, site: Site) -> None:
    port = _free_port()
    scrawler("import", "-", given=f"{site.url}/\n")
    scrawler(*CRAWL, "--no-export", "-q")
    key = scrawler("listen", "keys", "add", site.url).stdout.strip()
    with listening(tmp_path, port), started(tmp_path, *_KEPT) as machine:
        try:
            for path in ("/warm", "/one"):
                before = time.time()
                ping(port, key, site.url + path)
                wait_for(lambda path=path: site.times(path) == 1, HANGS, path)  # type: ignore[misc]
            at = next(at for path, at in site.asked if path == "/one")
            assert at > before  # how long it took is measured elsewhere: a test may run on a busy machine
            assert [path for path, _ in site.asked].index("/warm") < [path for path, _ in site.asked].index("/one")
        finally:
            machine.send_signal(signal.SIGINT)
            assert machine.wait(HANGS) == 0


def test_wrong_uses_are_told_in_a_line(scrawler: Scrawler, tmp_path: Path, site: Site) -> None:
    scrawler("import", "-", given=f"{site.url}/\n")

    def refused(*arguments: str, code: int = 2) -> str:
        return error_line(scrawler("listen", *arguments, code=code))

    assert "--port 8080" in refused()
    assert "both" in refused("--port", "8080", "--tls-certificate", "scrawler.db")
    assert "no certificate" in refused(
        "--port", str(_free_port()), "--tls-certificate", "scrawler.db", "--tls-key", "scrawler.db"
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen" in refused("--port", str(taken.getsockname()[1]))
    assert "no seeds there" in refused("keys", "add", "unknown.example", code=1)
    assert "no such key" in refused("keys", "remove", "unknown.example", code=1)
    assert "no such subscription" in refused("unsubscribe", "http://unknown.example/", code=1)
    assert "--public" in refused("subscribe", site.url, "--public", "crawler.example")
    assert "scrawler listen" in error_line(scrawler("run", "--keep", code=2))
    key = scrawler("listen", "keys", "add", site.url).stdout.strip()
    listed = scrawler("listen", "keys", "list").stdout
    assert "127.0.0.1" in listed
    assert key not in listed
    assert scrawler("listen", "keys", "remove", site.url.removeprefix("http://")).stdout == "removed: 1 key\n"
