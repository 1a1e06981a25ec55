"""Figures for Prometheus while a crawl goes on."""

from __future__ import annotations

import re
import socket
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.e2e.conftest import CRAWL, TIMEOUT, Scrawler, error_line, started
from tests.e2e.gated import GatedSite
from tests.limits import HANGS

CONTRIB = Path(__file__).parents[2] / "contrib"
_OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def _asked(url: str, method: str = "GET") -> str:
    asked = urllib.request.Request(url, headers=_OPENMETRICS, method=method)
    with urllib.request.urlopen(asked, timeout=TIMEOUT) as answer:
        return str(answer.read().decode())


def _families_once_counted(url: str) -> dict[str, Metric]:
    """Return the families of metrics, once a machine has counted what its places wait for: it does so now and then."""
    limit = time.monotonic() + HANGS
    while True:
        families = {one.name: one for one in text_string_to_metric_families(_asked(url))}
        if any(one.value for one in families["scrawler_places_waiting"].samples):
            return families
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.mark.parametrize("machines", [1, 2])
def test_figures_are_served_while_machines_work(machines: int, scrawler: Scrawler, tmp_path: Path) -> None:
    with GatedSite(pages=5, answered_at_once=1) as site:
        scrawler("import", "-", given=f"{site.seed}\n")
        copies = ("--archive-to", (tmp_path / "copies").as_uri())
        run = (*CRAWL, "--machines", str(machines), "--metrics", "0", "-v", "--no-export", *copies)
        with started(tmp_path, *run) as running:
            assert running.stderr is not None
            told = next(line for line in running.stderr if line.startswith("metrics are at "))
            (base,) = re.findall(r"http://127\.0\.0\.1:\d+", told)
            assert site.held.wait(TIMEOUT)
            families = _families_once_counted(f"{base}/metrics")
            health = _asked(f"{base}/health")
            head = _asked(f"{base}/health", "HEAD")
            with pytest.raises(urllib.error.HTTPError, match="404"):
                _asked(f"{base}/nowhere")
            site.opened.set()
            _, said = running.communicate(timeout=TIMEOUT)
            assert (running.returncode, "Traceback" in said) == (0, False)
    up = families["scrawler_machine_up"].samples
    assert {one.value for one in up} == {1}
    assert 1 <= len(up) <= machines
    assert health in ("1 machine lives\n", "2 machines live\n")
    assert head == ""
    assert {one.labels["state"]: one.value for one in families["scrawler_seeds"].samples} == {"active": 1}
    assert families["scrawler_pages"].type == "counter"
    assert all(one.value > 0 for one in families["scrawler_memory_bytes"].samples)
    waiting = families["scrawler_places_waiting"].samples
    assert {one.labels["reason"]: one.value for one in waiting if one.value} == {"answer": 1}
    assert {one.labels["machine"] for one in waiting} <= {one.labels["machine"] for one in up}
    for name in ("seconds", "rows"):
        assert families[f"scrawler_checkpoint_{name}"].type == "histogram"
    used = {
        re.sub("_(total|bucket|sum|count)$", "", name)
        for file in CONTRIB.glob("scrawler-*")
        for name in re.findall(r"scrawler_[a-z_]+", file.read_text())
    }
    assert used == set(families), "the dashboard and the alert rules show what there is"


def test_who_never_ends_a_request_keeps_no_crawl_open(scrawler: Scrawler, tmp_path: Path) -> None:
    with GatedSite(pages=5, answered_at_once=1) as site:
        scrawler("import", "-", given=f"{site.seed}\n")
        with started(tmp_path, *CRAWL, "--metrics", "0", "-v", "--no-export") as running:
            assert running.stderr is not None
            told = next(line for line in running.stderr if line.startswith("metrics are at "))
            (port,) = re.findall(r"127\.0\.0\.1:(\d+)", told)
            assert site.held.wait(TIMEOUT)
            with socket.create_connection(("127.0.0.1", int(port)), TIMEOUT) as slow:
                slow.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
                site.opened.set()
                running.communicate(timeout=TIMEOUT)
                assert running.returncode == 0
                assert slow.recv(1) == b"", "it was cut off"


@pytest.mark.heavy
def test_what_cannot_be_served_is_an_error(scrawler: Scrawler) -> None:
    for address in ("metrics", ":9464", "127.0.0.1:66000"):
        said = error_line(scrawler(*CRAWL, "--metrics", address, code=2))
        assert said == f"--metrics {address}: write [HOST:]PORT, as 9464 or 0.0.0.0:9464"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for machines in ("1", "2"):
            said = error_line(scrawler(*CRAWL, "--machines", machines, "--metrics", str(port), code=1))
            assert said == f"metrics cannot be served at 127.0.0.1:{port}: Address already in use"
