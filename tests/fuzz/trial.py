"""One crawl of damaged answers, from its seeds to the verdict."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.forks import SCRAWLER, forks, plain_environment
from tests.fuzz.verify import verify
from tests.fuzz.web import FuzzWeb, served
from tests.torture.sql import PlainSql

_SECONDS_A_CASE = 0.05  # on a machine that has other things to do
_SECONDS = 120.0
_ASKED = 0.9  # share of the cases that must have gone out: a push-back, or robots.txt, keeps some back
_FLAGS = (
    "run", "--delay=0", "--per-ip=1000", "--allow-addresses=127.0.0.0/8", "--retries=1", "--retry-pause=0.02",
    "--timeout=60", "--connect-timeout=60", "--patience=0", "--max-retry-after=0.05", "--max-crawl-delay=0.05",
    "--max-failures=1000", "--max-pushbacks=3", "--trap-pages=10000", "--near-duplicates=all", "--sitemaps=also",
    "--max-decoded=4MiB", "--max-body=1MiB", "--max-depth=3", "--max-pages=400", "--checkpoint-interval=0.5",
    "--no-export", "--database-patience=10", "--user-agent=SCrawler-fuzz (+mailto:fuzz@localhost)",
)  # fmt: skip


class Way(NamedTuple):
    """Which parts of the crawler read the answers, and which share of them."""

    share: float
    flags: tuple[str, ...]


WAYS = {
    "curl": Way(0.55, ()),
    "assets": Way(0.2, ("--assets", "--extractor=lexbor", "--threads=3")),
    "two machines": Way(0.15, ("--machines=2",)),
    "classic": Way(0.1, ("--profile=classic",)),
}


@dataclass(frozen=True)
class Trial:
    """A fuzzed crawl: which web, and which parts of the crawler read it."""

    web: FuzzWeb
    flags: tuple[str, ...] = ()

    def run(self, folder: Path) -> str:
        """Crawl in a folder; return what came of it in a line. Raises AssertionError with all that is wrong."""
        with served(self.web):
            (folder / "scrawler.toml").write_text(f"resolve = {self.web.resolve()!r}\n")
            _call(folder, ["import", "-"], 60, "".join(f"{url}\n" for url in self.web.seed_urls()))
            done = _call(folder, [*_FLAGS, *self.flags], _SECONDS + _SECONDS_A_CASE * self.web.cases)
        url = f"sqlite:///{folder / 'scrawler.db'}"
        problems = verify(PlainSql(url), url, folder / "pages")
        if len(self.web.asked) < _ASKED * self.web.cases:
            problems.append(f"only {len(self.web.asked):,} of {self.web.cases:,} cases were asked for")
        if " ended after" not in done:
            problems.append(f"the crawl has not ended: {done}")
        assert not problems, "\n".join([*problems, f"all is kept in {folder}"])
        pairs = (line.split(maxsplit=1) for line in done.splitlines()[1:])
        told = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
        return f"{len(self.web.asked):,} of {self.web.cases:,} cases, {told['requests']} requests"


def _call(folder: Path, arguments: Iterable[str], seconds: float, given: str = "") -> str:
    """Run the command and return what it prints; AssertionError where it fails, or does not come to an end."""
    command = [SCRAWLER, *arguments]
    environment = plain_environment() | {"PYTHONFAULTHANDLER": "1"}
    pipe = subprocess.PIPE
    with forks().start(command, folder, environment, pipe, pipe, pipe) as process:
        try:
            out, err = process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # its threads tell where they are
            out, err = process.communicate()
            err = f"not ended after {seconds:g} s\n{err}"
    assert process.returncode == 0, f"exit code {process.returncode} of {' '.join(command)} in {folder}\n{out}\n{err}"
    return out
