"""Agents without a common database: what that costs, and what a death costs: python -m experiments.agents."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

import click

from experiments.lab.command import experiment
from experiments.lab.plots import Line, Panel
from experiments.lab.process import OUTPUT, fresh_folder, uninterrupted
from experiments.lab.report import ROUND, Claim, Plot, Report, Row, row_text, write_report
from experiments.lab.scrawler_command import DATABASE, import_command, run_command
from scrawler.features.synthweb.process import LoggedRequest, SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import reachable

_NAMES = ("a", "b", "c")
_ONE, _SHARED, _AGENTS = "one machine", "3 machines, one database", "3 agents"
_KILLED, _BACK = "3 agents, one killed", "3 agents, one killed and started again"
_FROZEN = "3 agents, one frozen and thawed"
_OF_AGENTS = (_AGENTS, _KILLED, _BACK, _FROZEN)
_ARMS = (_ONE, _SHARED, *_OF_AGENTS)
_TIMEOUT = 300.0  # seconds
_TOLD = re.compile(r"agent \w+: ([0-9,]+) messages sent, ([0-9,]+) URLs given")


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the web is; times in seconds."""

    sites: int
    seeds: int
    mean_pages: int
    delay: float
    dead: float


FULL = Scale(sites=60, seeds=20, mean_pages=24, delay=0.5, dead=8.0)
QUICK = Scale(sites=12, seeds=4, mean_pages=6, delay=0.05, dead=3.0)


@experiment
@click.option("--rounds", default=2, show_default=True, help="Turns of each arm; not with --quick.")
def main(quick: bool, results: Path, rounds: int) -> None:
    """How fast are agents with databases of their own, and what is fetched again when one dies?"""
    scale, rounds = (QUICK, 1) if quick else (FULL, rounds)
    arms = (_SHARED, _AGENTS) if quick else _ARMS
    spec = WebSpec(
        seed=3,
        sites=scale.sites,
        mean_pages=scale.mean_pages,
        max_pages=4 * scale.mean_pages,
        page_bytes=1_000,
        links=8,
    )
    rows: list[Row] = []
    drawn: list[Line] = []
    with SynthServer(spec) as web:
        seeds = web.web.seeds()[: scale.seeds]
        expected = reachable(web.web, seeds)
        for turn, arm in product(range(1, rounds + 1), arms):
            row, line = _row(turn, arm, web, seeds, expected, scale)
            rows.append(row)
            if turn == 1:
                drawn.append(line)
            click.echo(row_text(row))
    write_report(report(rows, drawn, scale), results)


def _row(
    turn: int, arm: str, web: SynthServer, seeds: Sequence[str], expected: set[str], scale: Scale
) -> tuple[Row, Line]:
    mark = len(web.log())
    with fresh_folder("agents") as folder:
        _Arm(folder, arm, seeds, scale).run(lambda: len(web.log()) - mark, len(expected))
        messages, urls = _told(folder)
        of_dead = _pages_of(folder / "b") if arm in (_KILLED, _BACK, _FROZEN) else set()
    log = [line for line in web.log()[mark:] if not line.url.endswith("/robots.txt")]
    pages = Counter(line.url for line in log if line.status == 200)
    html = {url for url in pages if not url.endswith(".pdf")}
    began, ended = min(line.came for line in log), max(line.at for line in log)
    again = sum(pages.values()) - len(pages)
    row: Row = {
        "arm": arm, ROUND: turn, "pages": len(pages), "coverage, %": 100 * len(html & expected) / len(expected),
        "s": ended - began, "pages/s": len(pages) / (ended - began), "asked again": again,
        "of them of the dead": sum(times - 1 for url, times in pages.items() if url in of_dead),
        "messages a page": messages / len(pages), "URLs sent a page": urls / len(pages),
    }  # fmt: skip
    return row, _line(arm, log, began)


class _Arm:
    """The processes of one arm, in a folder; none of them outlives it."""

    def __init__(self, folder: Path, arm: str, seeds: Sequence[str], scale: Scale) -> None:
        self._folder = folder
        self._arm = arm
        self._scale = scale
        self._seeds = folder / "seeds.txt"
        self._seeds.write_text("".join(f"{url}\n" for url in seeds))

    def run(self, requests: Callable[[], int], pages: int) -> None:
        """Crawl to the end."""
        names = _NAMES if self._arm in _OF_AGENTS else _NAMES[:1]
        for name in names:
            (self._folder / name).mkdir()
            self._call(import_command(self._seeds), name).wait(_TIMEOUT)
        self._prepare()
        with ExitStack() as stack:
            running = {name: self._start(name, stack) for name in names}
            if self._arm in (_KILLED, _BACK):
                _wait_for(lambda: requests() > pages // 3)
                running["b"].send_signal(signal.SIGKILL)
                running.pop("b").wait()
            if self._arm == _BACK:
                time.sleep(self._scale.dead + 2)
                running["b"] = self._start("b", stack)
            if self._arm == _FROZEN:
                _wait_for(lambda: requests() > pages // 3)
                running["b"].send_signal(signal.SIGSTOP)
                time.sleep(1.5 * self._scale.dead)
                running["b"].send_signal(signal.SIGCONT)
            for name, process in running.items():
                if process.wait(_TIMEOUT):
                    raise click.ClickException(f"scrawler failed, see {self._folder / name / OUTPUT}")

    def _prepare(self) -> None:
        with ExitStack() as stack:
            ports = [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in _NAMES]
        lines = (f"{name} tcp://127.0.0.1:{port}\n" for name, port in zip(_NAMES, ports, strict=True))
        (self._folder / "agents.txt").write_text("".join(lines))
        (self._folder / "secret").write_text(os.urandom(16).hex())

    def _start(self, name: str, stack: ExitStack) -> subprocess.Popen[bytes]:
        scale = self._scale
        settings: dict[str, object] = {"delay": scale.delay, "mode": "exchange", "threads": 4, "per_ip": 300}
        settings |= {"delay_factor": 0, "export": False, "checkpoint_interval": 1}
        if self._arm == _SHARED:
            settings |= {"machines": 3}
        elif self._arm != _ONE:
            settings |= {"agents": self._folder / "agents.txt", "agent": name, "agents_dead": scale.dead}
            settings |= {"exchange_secret_file": self._folder / "secret", "agents_beat": 0.5, "agents_suspect": 2}
        process = self._call(run_command(**settings), name)
        stack.callback(_kill, process)
        return process

    def _call(self, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        folder = self._folder / name
        with (folder / OUTPUT).open("ab") as output, uninterrupted():
            return subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(seen: Callable[[], bool]) -> None:
    until = time.monotonic() + _TIMEOUT
    while not seen():
        if time.monotonic() > until:
            raise click.ClickException("the crawl stands still")
        time.sleep(0.1)


def _told(folder: Path) -> tuple[int, int]:
    """Return the messages and URLs that agents say they have sent."""
    texts = [file.read_text(errors="replace") for file in folder.glob(f"*/{OUTPUT}")]
    found = [match.groups() for text in texts for match in _TOLD.finditer(text)]
    return sum(_number(one[0]) for one in found), sum(_number(one[1]) for one in found)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _pages_of(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        return {row[0] for row in connection.execute("SELECT url FROM page WHERE result = 'fetched'")}


def _line(arm: str, log: Sequence[LoggedRequest], began: float) -> Line:
    """Return the different pages over time."""
    first: dict[str, float] = {}
    for one in sorted(log, key=lambda line: line.at):
        if one.status == 200:
            first.setdefault(one.url, one.at - began)
    times = sorted(first.values())
    return Line(arm, [0.0, *times], [0, *range(1, len(times) + 1)])


def report(rows: Sequence[Row], drawn: Sequence[Line], scale: Scale) -> Report:
    """Return the report of all crawls."""
    notes = [
        f"three processes of 4 threads, one for the first arm; delay {scale.delay:g} s, agents_dead {scale.dead:g} s",
        "asked again: requests for pages that had been answered before; of the dead: what its own database has (what it"
        " had fetched in its last second is not in it)",
        "messages: heartbeats, batches of URLs and askings about the end, of agents that lived to the end",
    ]
    panel = Panel("", "s since the first request", "different pages", list(drawn))
    plot = Plot("Different pages over time, first round", [panel])
    title = "Machines without a common database"
    return Report("agents", title, "arm", list(rows), notes, list(_claims(rows)), [plot])


def _claims(rows: Sequence[Row]) -> Iterator[Claim]:
    speeds = {(row["arm"], row[ROUND]): float(row["pages/s"]) for row in rows}
    turns = sorted({int(row[ROUND]) for row in rows})
    for arm in (_ONE, *_OF_AGENTS):
        found = [speeds[arm, turn] / speeds[_SHARED, turn] for turn in turns if (arm, turn) in speeds]
        if found:
            said = f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
            yield Claim(f"pages/s, {arm} over {_SHARED}", "paper 001", "-", said)
    lost = [row for row in rows if float(row["coverage, %"]) < 100]
    yield Claim("crawls that have missed a page", "paper 001, section 2", "0", str(len(lost)))


if __name__ == "__main__":
    main()
