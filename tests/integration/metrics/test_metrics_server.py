"""Figures are served to who asks, whoever else is connected and says nothing."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import scrawler
from scrawler.features.metrics import server as metrics
from scrawler.settings import Settings
from tests.limits import FAR, HANGS


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server that waits for ever for who does not ask."""
    monkeypatch.setattr(metrics, "_PATIENCE", FAR)
    monkeypatch.setattr(metrics._Handler, "timeout", FAR)
    settings = Settings(db=f"sqlite:///{tmp_path / 'crawl.db'}")
    with scrawler.Crawl(settings=settings):
        pass
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = int(free.getsockname()[1])
    with metrics.metrics_served(settings, threading.Event(), metrics.MetricsAddress("127.0.0.1", number)):
        yield number


def _health(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=HANGS) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:  # no machine lives
        return str(error.read().decode())


@pytest.mark.parametrize("silent", [3, 3 * metrics._MOST_CONNECTIONS])
def test_silent_connections_keep_nobody_waiting(port: int, silent: int) -> None:
    with ExitStack() as closed:
        for number in range(silent):
            one = closed.enter_context(socket.create_connection(("127.0.0.1", port), HANGS))
            one.sendall(b"GET /metrics HTTP/1.1\r\nX: "[: number % 20])
        for _ in range(3):
            assert _health(port) == "0 machines live\n"
        assert threading.active_count() < silent + 2 * metrics._MOST_CONNECTIONS
