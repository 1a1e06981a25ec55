"""The broad web on a real nginx, and a crawl of it that is watched and measured."""

from __future__ import annotations

import csv
import http.client
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from urllib.parse import urlsplit

import click
import pytest

from experiments.broadweb.crawl import Times, Watch
from experiments.broadweb.pages import Pages
from experiments.broadweb.server import BroadServer, address_of, library, serving, why_not
from tests.limits import HANGS
from tests.torture.crawl import runs, wait_for

_ROOT = Path(__file__).parents[2]
_LONGEST = 300  # seconds: for a program that hangs

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def _get(server: BroadServer, site: int, path: str) -> tuple[int, str]:
    parts = urlsplit(server.seed(site))
    host, port = str(parts.hostname), parts.port
    if parts.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            address_of(site), port, timeout=HANGS, context=context
        )
    else:
        connection = http.client.HTTPConnection(address_of(site), port, timeout=HANGS)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.mark.parametrize("https", [False, True], ids=["http", "https"])
def test_no_two_sites_have_a_page_in_common_and_the_log_tells_who_was_asked(https: bool) -> None:
    with library() as books, serving(books, Pages(3, 2_000), https) as server:
        pages = [_get(server, site, "/p2.html") for site in (0, 10, 501)]  # 0 and 10 have the same design
        assert [status for status, _ in pages] == [200, 200, 200]
        assert len({text for _, text in pages}) == 3
        assert "www.site501.example" in pages[2][1]
        assert _get(server, 0, "/robots.txt")[0] == 200
        assert _get(server, 0, "/p3.html")[0] == 404
        log, lines = server.log(), []

        def written() -> bool:
            lines.extend(log.new())
            return len(lines) == 5

        wait_for(written, HANGS, "five lines of the log")
    assert [(line.host, line.path, line.is_page) for line in lines[2:]] == [
        ("www.site501.example", "/p2.html", True),
        ("www.site0.example", "/robots.txt", False),
        ("www.site0.example", "/p3.html", False),
    ]


def test_nothing_is_left_when_it_ends_with_an_error(tmp_path: Path) -> None:
    left: list[int] = []

    def fail() -> None:
        with library() as books, serving(books, Pages(1, 1_000)) as server:
            left.extend(server.pids())
            folders.append(books.designs(server.pages))
            raise RuntimeError

    folders: list[Path] = []
    with pytest.raises(RuntimeError):
        fail()
    assert len(left) == 2
    assert not any(map(runs, left))
    assert not folders[0].parent.exists()


def test_two_can_be_served_at_a_time() -> None:
    with library() as books, serving(books, Pages(1, 1_000)) as first, serving(books, Pages(1, 1_000)) as second:
        assert first.seed(0) != second.seed(0)
        assert _get(first, 0, "/")[0] == _get(second, 0, "/")[0] == 200


def test_a_crawl_whose_server_has_ended_is_stopped() -> None:
    with (
        library() as books,
        serving(books, Pages(1, 1_000)) as server,
        subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); input()"], stdin=PIPE, stdout=PIPE, stderr=PIPE
        ) as crawl,
    ):
        assert crawl.stdout is not None
        crawl.stdout.readline()
        watch = Watch(server, 1, Times(1.0, 1.0))
        watch.look(crawl.pid)
        assert (watch.failure, len(watch.moments)) == (None, 1)
        master = server.pids()[0]
        os.kill(master, signal.SIGTERM)
        wait_for(lambda: not runs(master), HANGS, "nginx has ended")
        watch.look(crawl.pid)
        assert "nginx has ended" in str(watch.failure)
        assert crawl.wait(HANGS) != 0


def test_nginx_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.broadweb.server.HOST_MARK", '"; no such thing')
    with (
        library() as books,
        pytest.raises(click.ClickException, match="invalid number of arguments"),
        serving(books, Pages(1)),
    ):
        pass


@pytest.mark.experiments
def test_another_checkout_has_turns_as_well(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "experiments.bench.broad_bench", "--quick", "--no-set-up"]
    command += ["--arm", "places=8 delay=0.1 site-pages=20 page-kb=8 scheme=https", "--results", str(tmp_path)]
    command += ["--against", str(_environment(tmp_path / "older"))]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_LONGEST)
    assert done.returncode == 0, done.stdout + done.stderr
    with (tmp_path / "broad.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["arm"].endswith(" [older]") for row in rows] == [False, True]
    assert all(int(row["pages"]) > 0 and row["given up"] == "0" for row in rows)
    assert "here over [older]" in (tmp_path / "broad.md").read_text()


def _environment(folder: Path) -> Path:
    """Return a checkout whose SCrawler is this one's."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "scrawler").symlink_to(Path(sys.executable).with_name("scrawler"))
    return folder


@pytest.mark.experiments
def test_a_crawl_that_fails_is_told_with_its_words(tmp_path: Path) -> None:
    results, kept = tmp_path / "results", tmp_path / "kept"
    kept.mkdir()
    command = [sys.executable, "-m", "experiments.bench.broad_bench", "--quick", "--no-set-up"]
    command += ["--arm", "places=8 page-kb=8 site-pages=2 no-such-setting=1", "--results", str(results)]
    environment = {**os.environ, "TMPDIR": str(kept)}
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=_LONGEST)
    assert done.returncode == 1
    assert "scrawler ended with 2" in done.stderr
    assert "--no-such-setting" in done.stderr
    assert not results.exists()
    (folder,) = kept.iterdir()
    assert (folder / "output.txt").read_text() in done.stderr
