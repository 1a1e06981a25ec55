"""Secrets that a user gives, through a whole crawl of two machine processes and a real proxy: nobody else sees them."""

from __future__ import annotations

import gzip
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scrawler.model.proxy import basic
from tests.e2e.conftest import CRAWL, TIMEOUT, started
from tests.integration.crawl.hostile import page
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.limits import HANGS
from tests.real_proxies import PASSWORD, USER, RealProxy, tinyproxy

PIECES = ("s3cret-header", "s3cret-password", "s3cret-cookie", "s3cret-netrc", PASSWORD)


@pytest.fixture
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealProxy]:
    with tinyproxy(tmp_path_factory.mktemp("proxy")) as running:
        yield running


def _arguments() -> bytes:
    """The arguments of all processes of this computer."""
    found = b""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found += (process / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
    return found


def test_secrets_are_seen_by_nobody_but_their_site(tmp_path: Path, proxy: RealProxy) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def site(visit: Visit) -> None:
        while head := visit.request():
            if path_of(head) == "/2":
                asked.set()
                go_on.wait(HANGS)
            visit.send(page(path_of(head), links=("/2", "/3")))

    server = RawServer(site)
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    (tmp_path / "netrc").write_text(f"machine localhost login {USER} password {PIECES[3]}")
    (tmp_path / "cookies.txt").write_text(f"localhost\tFALSE\t/\tFALSE\t0\tlogin\t{PIECES[2]}\n")
    (tmp_path / "own.toml").write_text(
        f'proxy = "{proxy.url}"\ncookie_file = "{tmp_path}/cookies.txt"\nnetrc = "{tmp_path}/netrc"\n'
        f'[sites."http://localhost:{server.port}"]\nuser = "{USER}"\npassword = "{PIECES[1]}"\n'
    )
    seeds = crawl / "seeds.txt"
    seeds.write_text(f"http://localhost:{server.port}/\n")
    assert started(crawl, "import", "seeds.txt").wait(TIMEOUT) == 0
    said = ""
    own = ("--machines", "2", "--config", str(tmp_path / "own.toml"))
    run = started(crawl, *CRAWL, *own, by_script=True, SCRAWLER_HEADER=f"X-Key: {PIECES[0]}")
    try:
        assert asked.wait(HANGS)
        arguments = _arguments()
    finally:
        go_on.set()
        out, errors = run.communicate(timeout=TIMEOUT)
        server.stop()
    assert run.returncode == 0, errors
    assert f"http://{USER}:***@127.0.0.1:{proxy.proxy.port} (by the setting proxy)" in out
    heads = b"".join(server.heads).decode()
    assert f"X-Key: {PIECES[0]}" in heads
    assert f"login={PIECES[2]}" in heads
    assert "Authorization: Basic " in heads
    for command in (("status", "--json"), ("why", f"http://localhost:{server.port}/2")):
        shown = started(crawl, *command).communicate(timeout=TIMEOUT)
        said += "".join(shown)
    with closing(sqlite3.connect(crawl / "scrawler.db")) as database:
        stored = json.loads(database.execute("SELECT settings FROM run").fetchone()[0])
    assert stored["delay"] == 0
    files = [file for file in crawl.rglob("*") if file.is_file()]
    assert {".db", ".gz"} <= {file.suffix for file in files}
    data = b"".join(gzip.decompress(one.read_bytes()) if one.suffix == ".gz" else one.read_bytes() for one in files)
    for piece in (*PIECES, basic(USER, PIECES[1]).removeprefix("Basic ")):
        assert piece.encode() not in arguments + data
        assert piece not in out + errors + said
    assert b"scrawler" in arguments
