"""What an installed wheel must do, without the development tools: crawl a synthetic web. `python tests/wheel.py`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

WEB = ("synthweb", "--port", "0", "--sites", "3", "--mean-pages", "5", "--seeds-file", "seeds.txt", "--stop-with-stdin")
RUN = ("run", "--allow-private", "--delay", "0.01", "--user-agent", "wheel-test (+mailto:test@localhost)")


def main() -> None:
    """Crawl in an empty folder; ends with an error where no page came."""
    with tempfile.TemporaryDirectory() as folder:
        crawl(Path(folder))


def crawl(folder: Path) -> None:
    """Serve a small web, crawl it, and count its pages."""
    command = [sys.executable, "-m", "scrawler"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *WEB], cwd=folder, stdin=pipe, stdout=pipe, text=True) as web:
        assert web.stdout is not None
        print(web.stdout.readline().strip())  # it serves now
        for arguments in (("import", "seeds.txt"), RUN, ("status",)):
            subprocess.run([*command, *arguments], cwd=folder, check=True, timeout=300)
        assert web.stdin is not None
        web.stdin.close()
    pages = subprocess.run(
        [*command, "pages", "--result", "fetched"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert len(pages.stdout.splitlines()) > 5, pages.stdout


if __name__ == "__main__":
    main()
