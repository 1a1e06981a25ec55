"""Agents without a common database: what that costs, and what each fault costs: python -m experiments.agents."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise, product
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
from tests.proxy import Proxy

_NAMES = ("a", "b", "c")
_STRUCK = "b"
_ONE, _SHARED, _AGENTS = "one machine", "3 machines, one database", "3 agents"
_TIMEOUT = 300.0  # seconds
_SAME_PAUSE = 0.9  # of the delay: the server's clock is not the crawler's
_TOLD = re.compile(r"agent \w+: ([0-9,]+) messages sent, ([0-9,]+) URLs given")


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the web is; times in seconds."""

    sites: int
    seeds: int
    mean_pages: int
    delay: float
    dead: float
    beat: float
    suspect: float


FULL = Scale(sites=60, seeds=20, mean_pages=24, delay=0.5, dead=20.0, beat=1.0, suspect=5.0)  # three are the defaults
QUICK = Scale(sites=12, seeds=4, mean_pages=6, delay=0.05, dead=3.0, beat=0.5, suspect=2.0)


@experiment
@click.option("--rounds", default=2, show_default=True, help="Turns of each arm; not with --quick.")
@click.option("--arm", "chosen", multiple=True, help="An arm, by a part of its name; may be repeated. [default: all]")
def main(quick: bool, results: Path, rounds: int, chosen: tuple[str, ...]) -> None:
    """How fast are agents with databases of their own, and what is fetched again after which fault?"""
    scale, rounds = (QUICK, 1) if quick else (FULL, rounds)
    faults = _faults(scale)
    arms = [arm for arm in (_ONE, _SHARED, _AGENTS, *faults) if any(one in arm for one in chosen or ("",))]
    if quick and not chosen:
        arms = [_SHARED, _AGENTS]
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
        of_struck = _pages_of(folder / _STRUCK) if arm in _faults(scale) else set()
    log = [line for line in web.log()[mark:] if not line.url.endswith("/robots.txt")]
    pages = Counter(line.url for line in log if line.status == 200)
    html = {url for url in pages if not url.endswith(".pdf")}
    began, ended = min(line.came for line in log), max(line.at for line in log)
    again = sum(pages.values()) - len(pages)
    row: Row = {
        "arm": arm, ROUND: turn, "pages": len(pages), "coverage, %": 100 * len(html & expected) / len(expected),
        "s": ended - began, "pages/s": len(pages) / (ended - began), "asked again": again,
        "again, %": 100 * again / len(pages),
        "of them b's": sum(times - 1 for url, times in pages.items() if url in of_struck),
        "too soon": _too_soon(log, scale.delay),
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
        self._stack = ExitStack()
        self._links: list[Proxy] = []
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, requests: Callable[[], int], pages: int) -> None:
        """Crawl to the end; a fault strikes when a third of the pages was asked for."""
        names = _NAMES[:1] if self._arm in (_ONE, _SHARED) else _NAMES
        for name in names:
            (self._folder / name).mkdir()
            self._call(import_command(self._seeds), name).wait(_TIMEOUT)
        with self._stack:
            self._prepare()
            self._running = {name: self._start(name) for name in names}
            if fault := _faults(self._scale).get(self._arm):
                _wait_for(lambda: requests() > pages // 3)
                fault(self)
            for name in list(self._running):
                self._wait_for_end(name)

    def kill(self, back_after: float | None) -> None:
        """Kill an agent, and start it again so many seconds later, or never."""
        dead = self._running.pop(_STRUCK)
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        if back_after is not None:
            time.sleep(back_after)
            self._running[_STRUCK] = self._start(_STRUCK)

    def freeze(self, seconds: float | None) -> None:
        """Freeze an agent for so many seconds, or until the others have ended."""
        self._running[_STRUCK].send_signal(signal.SIGSTOP)
        if seconds is None:
            for name in _NAMES:
                if name != _STRUCK:
                    self._wait_for_end(name)
        else:
            time.sleep(seconds)
        self._running[_STRUCK].send_signal(signal.SIGCONT)

    def cut(self, seconds: float) -> None:
        """Cut the links between an agent and the others: nothing comes through, and no error tells of it."""
        for link in self._links:
            link.swallow()
        time.sleep(seconds)
        for link in self._links:
            link.accept()

    def _wait_for_end(self, name: str) -> None:
        if self._running[name].wait(_TIMEOUT):
            raise click.ClickException(f"scrawler failed, see {self._folder / name / OUTPUT}")

    def _prepare(self) -> None:
        """Write each agent's list of all; all that goes from or to the agent that is struck goes through links."""
        with ExitStack() as taken:
            ports = [taken.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in _NAMES]
        own = dict(zip(_NAMES, ports, strict=True))
        behind = {name: self._link(port) for name, port in own.items()}
        for name in _NAMES:
            lines = []
            for other, port in own.items():
                is_direct = other == name or _STRUCK not in (name, other)
                lines.append(f"{other} tcp://127.0.0.1:{port if is_direct else behind[other]}\n")
            (self._folder / f"agents-{name}.txt").write_text("".join(lines))
        (self._folder / "secret").write_text(os.urandom(16).hex())

    def _link(self, port: int) -> int:
        self._links.append(self._stack.enter_context(Proxy(port)))
        return self._links[-1].port

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        scale = self._scale
        settings: dict[str, object] = {"delay": scale.delay, "mode": "exchange", "threads": 4, "per_ip": 300}
        settings |= {"delay_factor": 0, "export": False, "checkpoint_interval": 1}
        if self._arm == _SHARED:
            settings |= {"machines": 3}
        elif self._arm != _ONE:
            settings |= {"agents": self._folder / f"agents-{name}.txt", "agent": name, "agents_dead": scale.dead}
            settings |= {"exchange_secret_file": self._folder / "secret"}
            settings |= {"agents_beat": scale.beat, "agents_suspect": scale.suspect}
        process = self._call(run_command(**settings), name)
        self._stack.callback(_kill, process)
        return process

    def _call(self, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        folder = self._folder / name
        with (folder / OUTPUT).open("ab") as output, uninterrupted():
            return subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )


def _faults(scale: Scale) -> dict[str, Callable[[_Arm], None]]:
    """Return what can befall one of three agents, by the arm: faults shorter and longer than the time-out."""
    short, late, frozen, cut = (share * scale.dead for share in (0.5, 1.3, 1.5, 1.6))
    befalls: dict[str, Callable[[_Arm], None]] = {
        "one killed": partial(_Arm.kill, back_after=None),
        "one killed and started again at once": partial(_Arm.kill, back_after=0.0),
        f"one killed and started again after {late:g} s": partial(_Arm.kill, back_after=late),
        f"one frozen for {short:g} s": partial(_Arm.freeze, seconds=short),
        f"one frozen for {frozen:g} s": partial(_Arm.freeze, seconds=frozen),
        "one frozen until the others have ended": partial(_Arm.freeze, seconds=None),
        f"one cut off for {short:g} s": partial(_Arm.cut, seconds=short),
        f"one cut off for {cut:g} s": partial(_Arm.cut, seconds=cut),
    }
    return {f"{_AGENTS}, {what}": fault for what, fault in befalls.items()}


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


def _too_soon(log: Sequence[LoggedRequest], delay: float) -> int:
    """Count the requests that came to a host sooner than the pause allows, one agent's beside another's."""
    by_host: defaultdict[str, list[float]] = defaultdict(list)
    for line in log:
        by_host[line.url.split("/")[2]].append(line.came)
    gaps = chain.from_iterable(pairwise(sorted(times)) for times in by_host.values())
    return sum(later - earlier < _SAME_PAUSE * delay for earlier, later in gaps)


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
        f"three processes of 4 threads, one for the first arm; delay {scale.delay:g} s, agents_dead {scale.dead:g} s,"
        f" agents_suspect {scale.suspect:g} s; the fault comes when a third of the pages was asked for",
        "asked again: requests for pages that had been answered before; b's: pages that the struck agent's own database"
        " has in the end; too soon: requests that came to a host sooner than the delay after the one before",
        "cut off: nothing comes through between b and the others, and no error tells of it",
        "messages: heartbeats, batches of URLs and askings about the end, of agents that lived to the end",
    ]
    panel = Panel("", "s since the first request", "different pages", list(drawn))
    plot = Plot("Different pages over time, first round", [panel])
    title = "Machines without a common database"
    return Report("agents", title, "arm", list(rows), notes, list(_claims(rows, scale)), [plot])


def _claims(rows: Sequence[Row], scale: Scale) -> Iterator[Claim]:
    speeds = {(row["arm"], row[ROUND]): float(row["pages/s"]) for row in rows}
    turns = sorted({int(row[ROUND]) for row in rows})
    for arm in (_ONE, _AGENTS, *_faults(scale)):
        found = [speeds[arm, turn] / speeds[_SHARED, turn] for turn in turns if (arm, turn) in speeds]
        if found:
            said = f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
            yield Claim(f"pages/s, {arm} over {_SHARED}", "paper 001", "-", said)
    lost = [row for row in rows if float(row["coverage, %"]) < 100]
    yield Claim("crawls that have missed a page", "paper 001, section 2", "0", str(len(lost)))


if __name__ == "__main__":
    main()
