"""The example of a feature that another package brings: three files, and the crawler is as it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.limits import HANGS

EXAMPLE = Path(__file__).parents[2] / "docs/examples/languages"
PAGES = {"/": ("en", "/de /fr"), "/de": ("DE", "/de2"), "/de2": ("de", ""), "/fr": ("fr", ""), "/none": ("", "")}


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path not in PAGES:
            self.send_error(404)
            return
        language, links = PAGES[self.path]
        hrefs = "".join(f"<a href={link}>{link}</a>" for link in links.split())
        body = f'<!doctype html><html lang="{language}"><p>page {self.path}</p>{hrefs}'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def root() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        serving.join()


def test_a_feature_of_another_package_is_three_files(root: str, tmp_path: Path) -> None:
    files = [file for file in EXAMPLE.iterdir() if file.is_file()]
    assert len(files) == 3
    assert sum(len(file.read_text().splitlines()) for file in files) <= 150
    page = (EXAMPLE.parents[1] / "how-to/write-a-feature.md").read_text()
    assert all(file.read_text().strip() in page for file in EXAMPLE.glob("*.py")), (
        "the page shows the programs as they are"
    )
    package = tmp_path / "installed"
    package.mkdir()
    for file in EXAMPLE.glob("*.py"):
        shutil.copy(file, package)
    info = package / "scrawler_languages-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scrawler-languages\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scrawler.features]\nlanguages = scrawler_languages:FEATURE\n")
    with_it, without = {"PYTHONPATH": str(package)}, dict[str, str]()

    def scrawler(more: dict[str, str], *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "scrawler", *words],
            capture_output=True, text=True, cwd=tmp_path, env=os.environ | more, timeout=HANGS,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    (tmp_path / "seeds.txt").write_text("\n".join(root[:-1] + path for path in PAGES))
    (tmp_path / "scrawler.toml").write_text("[languages]\nlanguages = true\n")
    scrawler(with_it, "import", "seeds.txt")
    run = ["run", "--allow-private", "--delay", "0", "--no-robots"]
    scrawler(with_it, *run)
    listed = json.loads(scrawler(with_it, "plugins", "--features", "--format", "json").splitlines()[-1])
    assert (listed["name"], listed["package"]) == ("languages", "scrawler-languages 1.0")
    assert scrawler(with_it, "languages") == "2\tde\n1\ten\n1\tfr\n"
    facts = json.loads(scrawler(with_it, "why", "--json", f"{root}de2"))["facts"]
    assert [one["language"] for one in facts if one["kind"] == "language"] == ["de"]
    (tmp_path / "scrawler.toml").unlink()
    assert "No such command 'languages'" in scrawler(without, "languages", code=2)
    refused = scrawler(without, *run, code=4)
    assert "has rows of the feature languages, which is not installed" in refused
    listed = scrawler(without, "pages", "--format", "csv")
    assert "rows of the feature languages, which is not installed here, are left out" in listed
    assert f"{root}de2" in listed
