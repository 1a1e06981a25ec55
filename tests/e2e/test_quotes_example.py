"""The job of the page that compares Scrapy's way with ours: the programs that stand there do what it says."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.limits import HANGS

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples/quotes"
PAGE = DOCS / "coming-from/scrapy-quotes.md"


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The URL of the site, and what stands there."""
    made = runpy.run_path(str(EXAMPLE / "site.py"))
    with ThreadingHTTPServer(("127.0.0.1", 0), made["Handler"]) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/", [one._asdict() for one in made["QUOTES"]]
        server.shutdown()
        serving.join()


def _items(program: str, command: list[str], root: str, folder: Path, file: str) -> list[dict[str, Any]]:
    text = (EXAMPLE / program).read_text()
    assert text.strip() in PAGE.read_text(), "the page shows the program as it is"
    (folder / program).write_text(text.replace("http://127.0.0.1:8700/", root))
    done = subprocess.run([*command, program], cwd=folder, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / file).read_text().splitlines()]


def test_our_program_finds_all_quotes(site: tuple[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    root, quotes = site
    items = _items("quotes_scrawler.py", [sys.executable], root, tmp_path, "quotes.jsonl")
    assert len({item.pop("_page") for item in items}) == 50
    assert items == quotes


def test_scrapy_s_program_finds_the_same(site: tuple[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    scrapy = shutil.which("scrapy")
    if scrapy is None:
        pytest.skip("scrapy is not installed")
    root, quotes = site
    command = [scrapy, "runspider", "-O", "quotes.jsonl", "-L", "ERROR"]
    assert _items("quotes_scrapy.py", command, root, tmp_path, "quotes.jsonl") == quotes
