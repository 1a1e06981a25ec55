"""The programs of the pages on the library and on page processors, as they stand there."""

from __future__ import annotations

import json
import re
import runpy
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.conftest import Scrawl
from tests.plugged import install

DOCS = Path(__file__).parents[2] / "docs"
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def root() -> Iterator[str]:
    made = runpy.run_path(str(DOCS / "examples/quotes/site.py"))
    with ThreadingHTTPServer(("127.0.0.1", 0), made["Handler"]) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        serving.join()


def _programs(page: str, root: str) -> list[str]:
    text = (DOCS / "how-to" / page).read_text(encoding="utf-8")
    assert "http://127.0.0.1:8700/" in text
    return [program.replace("http://127.0.0.1:8700/", root) for program in PROGRAM.findall(text)]


def _run(program: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a program as a script in the current folder; return what it says. A process for each would cost seconds."""
    exec(program, {"__name__": "__main__"})
    return capsys.readouterr().out


def test_the_programs_of_the_library_do_what_they_say(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    reading, keeping, asking, wrong = _programs("use-as-a-library.md", root)
    assert _run(reading, capsys).startswith(f"200 {root} Patience teaches more than rain, said number 0.\n")
    assert _run(keeping, capsys).endswith("\nended 20\n")
    assert _run(keeping, capsys) == "ended 0\n"
    said = _run(asking, capsys)
    assert said.startswith(f"{root} max-pages 20\n{root}nowhere: not-seen\n  scope ")
    assert "\nthe crawl\n\nCrawl\n  scope    host\n" in said
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "out.jsonl").exists()
    assert "dealy" in _run(wrong, capsys)


def test_the_programs_of_page_processors_do_what_they_say(
    root: str, scrawl: Scrawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    first, anew, package = _programs("write-a-page-processor.md", root)
    items = tmp_path / "quotes.jsonl"
    assert _run(first, capsys) == "__main__.quotes 50 pages 500 items 0 errors\n"
    assert items.read_text().splitlines()[0] in (DOCS / "how-to/write-a-page-processor.md").read_text()
    _run(anew, capsys)
    lines = [json.loads(line) for line in items.read_text().splitlines()]
    assert len(lines) == 500
    assert set(lines[0]) == {"author", "page", "_page"}

    parts = tmp_path / "installed"
    parts.mkdir()
    install(parts, "quotes-items", package, {"scrawler.page_processors:quotes": "make"})
    words = ["crawl", root, "--page-processors", "quotes", "-o", "of.jsonl", "--allow-private", "--delay", "0"]
    scrawl(tmp_path, *words, "--max-pages", "5", PYTHONPATH=str(parts))
    assert set(json.loads((tmp_path / "of.jsonl").read_text().splitlines()[0])) == {"author", "page", "_page"}
