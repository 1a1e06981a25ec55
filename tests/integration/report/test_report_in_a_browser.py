"""The report as a browser lays it out: nothing is wider than a telephone's screen but what scrolls by itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scrawler.features.report.html import html_page
from scrawler.insight.sections import Report, Section, Table

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
WIDTH = 400  # CSS pixels
# Measured from outside: the report's own policy lets no script run in it.
MEASURE = """<!DOCTYPE html><body style="margin:0">
<iframe src="report.html" width="__WIDTH__" height="900" frameborder="0"></iframe><script>
onload = () => {
  const inside = document.querySelector("iframe").contentDocument;
  const shown = [...inside.querySelectorAll("figcaption")].every(title => title.getBoundingClientRect().height > 5);
  const cells = [...inside.querySelectorAll(".rows td, h1, dd, figure text")];
  document.body.dataset.over = cells.filter(one => one.getBoundingClientRect().right > __WIDTH__).length;
  document.body.dataset.cells = cells.length;
  document.body.dataset.width = inside.documentElement.scrollWidth;
  document.body.dataset.titles = inside.querySelectorAll("figcaption").length;
  document.body.dataset.shown = shown;
}
</script>""".replace("__WIDTH__", str(WIDTH))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Serves the test's folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


TITLE = "عنوان \u202e 日本語のページタイトル <script>"


def _report() -> Report:
    url = "https://" + "long-name." * 12 + "example/" + "folder/" * 20
    columns = ("site", "pages", "bytes", "http_errors", "failures", "candidates", "wait_ms", "answers_ms")
    rows = [(url, *(10**number for number in range(2, 9))) for _ in range(5)]
    tables = (
        Table("sites", "Largest sites", columns, rows, "pages"),
        Table("sizes", "Sizes of pages", columns, rows, "bytes", ordered=True),
        Table("urls", "URLs \u202e and pages", ("url", "pages", "links"), [(url, f"{url}\n{TITLE}", 1)] * 3),
    )
    return Report(f"crawl {url}", 1_790_000_000_000, (Section("all", "All", {"database_where": url}, tables),))


def test_a_report_is_no_wider_than_a_telephone_and_its_plots_have_titles(served: str, tmp_path: Path) -> None:
    if BROWSER is None:
        pytest.skip("no browser: not installed (Debian: chromium)")
    (tmp_path / "report.html").write_text("".join(html_page(_report())), encoding="utf-8")
    (tmp_path / "measure.html").write_text(MEASURE, encoding="utf-8")
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--user-data-dir={tmp_path / 'profile'}",
         "--virtual-time-budget=10000", "--dump-dom", f"{served}/measure.html"],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    told = dict(re.findall(r'data-(\w+)="(\w+)"', done.stdout))
    assert int(told["width"]) <= WIDTH
    assert told["titles"] == "2"
    assert told["shown"] == "true"
    assert told["over"] == "0"
    assert int(told["cells"]) > 20
