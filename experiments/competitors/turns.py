"""One crawler on one web: what it cost, and what the server's log says it did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import click

from experiments.competitors.peer import Peer, Task
from experiments.competitors.webs import Answer, Web, pages_of
from experiments.lab.process import OUTPUT, Figures, PeakMemory, Sampler, cpu_seconds, fresh_folder, run_measured
from experiments.lab.report import MIB, ROUND, Row, number
from tests import spans

CRAWL = "crawl"  # column that names web and crawler
_SAMPLE_SECONDS = 0.2
_PIECES = 20  # of a crawl, in each of which its speed is taken
_FEWEST = 5  # pages of a piece
_SHORTEST = 0.001  # seconds, to which the logs are exact


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished crawl; `peak` in bytes, `served` the server's CPU in seconds, `failure` empty when all went well."""

    number: int
    web: str
    peer: str
    figures: Figures
    peak: int
    served: float
    answers: Sequence[Answer]
    failure: str
    keeps: str = ""  # what the crawler leaves on disk

    def pages_per_second(self) -> tuple[list[float], list[float]]:
        """Return the crawl's speed over time: seconds after its first page, and pages/s until then.

        Each figure is of a run of equally many pages, so that it is never 0; a crawl of a few pages has none.
        """
        times = sorted(answer.at for answer in self.answers if answer.is_page)
        pieces = min(_PIECES, len(times) // _FEWEST)
        marks = [times[piece * (len(times) - 1) // pieces] for piece in range(pieces + 1)] if pieces else []
        pages = (len(times) - 1) / max(pieces, 1)
        lasted = [(end - times[0], max(end - begin, _SHORTEST)) for begin, end in pairwise(marks)]
        return [at for at, _ in lasted], [pages / seconds for _, seconds in lasted]


def take_turn(number: int, web: Web, peer: Peer, timeout: float, folders: ExitStack) -> Turn:
    """Let a crawler crawl a web in a fresh folder; after `timeout` seconds it is killed.

    The folder goes with `folders`, when all have had their turns: for minutes after ten thousand files were removed,
    ext4 is slow to make others (wget2 took four times as long).
    """
    with fresh_folder(f"peers-{peer.name.replace(' ', '-')}", folders) as folder:
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"{url}\n" for url in web.seeds))
        task = Task(folder, seeds, web.gentle, web.delay)
        peer.prepare(task)
        peak = PeakMemory()
        mark, before = web.mark(), cpu_seconds(web.pids())
        sampler = Sampler(peak.sample, _SAMPLE_SECONDS)
        figures = run_measured(peer.command(task), folder, timeout, peer.environment(task), sampler)
        served, answers = cpu_seconds(web.pids()) - before, web.answers(mark)
        failure = _failure(peer, figures)
        if failure:
            click.echo(f"{peer.name} {failure}; its last lines:\n{_tail(folder / OUTPUT)}", err=True)
    return Turn(
        number=number,
        web=web.name,
        peer=peer.name,
        figures=figures,
        peak=peak.bytes or figures.peak_rss,
        served=served,
        answers=answers,
        failure=failure,
        keeps=peer.habits.keeps,
    )


def _failure(peer: Peer, figures: Figures) -> str:
    if figures.timed_out:
        return f"was killed after {figures.wall:.0f} s"
    return "" if figures.exit_code in peer.exits else f"ended with {figures.exit_code}"


def _tail(output: Path) -> str:
    return "\n".join(output.read_text(errors="replace").splitlines()[-10:])


def rows_of(turns: Iterable[Turn], truths: Mapping[str, frozenset[str] | None]) -> list[Row]:
    """Return the table's rows; the truth of a web that has none is what all crawlers found there together."""
    turns = list(turns)
    found = {name: truth or _union(turns, name) for name, truth in truths.items()}
    return [_row(turn, found[turn.web]) for turn in turns]


def _union(turns: Iterable[Turn], web: str) -> frozenset[str]:
    return frozenset().union(*(pages_of(turn.answers) for turn in turns if turn.web == web))


def _row(turn: Turn, truth: frozenset[str]) -> Row:
    asked = Counter(answer.url for answer in turn.answers)
    pages = pages_of(turn.answers)
    count, figures = len(pages & truth), turn.figures
    times = [answer.at for answer in turn.answers]
    return {
        ROUND: turn.number,
        CRAWL: f"{turn.web}: {turn.peer}",
        "pages": count,
        "pages/s": count / figures.wall,
        "pages/s at work": count / max(max(times, default=0.0) - min(times, default=0.0), 0.001),
        "CPU us/page": figures.cpu / max(count, 1) * 1e6,
        "pages/CPU s": count / max(figures.cpu, 0.01),
        "server us/page": turn.served / max(count, 1) * 1e6,
        "peak RSS MiB": turn.peak / MIB,
        "missed": len(truth - pages),
        "forbidden": len(pages - truth),
        "fetched twice": sum(times > 1 for times in asked.values()),
        "at a site at once": most_at_once(turn.answers) or "",
        "s between two at a site": pause_at_sites(turn.answers),
        "keeps": turn.keeps,
        "requests": asked.total(),
        "wall s": figures.wall,
        "complete": f"no: {turn.failure}" if turn.failure else "yes",
    }


def most_at_once(answers: Iterable[Answer]) -> int:
    """Return the most requests that one site had at a time; 0 where the log does not say."""
    at_sites: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for answer in answers:
        if not isnan(answer.came):
            at_sites[urlsplit(answer.url).netloc].append((answer.came, answer.at))
    return max(map(spans.most_at_once, at_sites.values()), default=0)


def pause_at_sites(answers: Iterable[Answer]) -> float:
    """Return the seconds from one answer of a site to its next, the median of all; 0 where there are no two."""
    at_sites: defaultdict[str, list[float]] = defaultdict(list)
    for answer in answers:
        at_sites[urlsplit(answer.url).netloc].append(answer.at)
    pauses = [after - before for times in at_sites.values() for before, after in pairwise(sorted(times))]
    return median(pauses) if pauses else 0.0


def ratios(rows: Iterable[Row], web: str, one: str, other: str, column: str) -> list[float]:
    """Return how many times as much a crawler has in a column as another, within each round that both ran."""
    of = {(row[CRAWL], row[ROUND]): number(row, column) for row in rows}
    rounds = sorted({turn for _, turn in of}, key=int)
    pairs = [(of.get((f"{web}: {one}", turn)), of.get((f"{web}: {other}", turn))) for turn in rounds]
    return [first / second for first, second in pairs if first is not None and second]


def ratio_text(values: Sequence[float]) -> str:
    """Say a ratio: the median of the rounds, and their range."""
    if len(values) == 1:
        return f"{values[0]:.2f} (one round)"
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f}, {len(values)} rounds)"


def in_turn(peers: Sequence[Peer], turn: int) -> list[Peer]:
    """Return who crawls in a round, in order: every second one goes backwards, as the machine may get busier.

    Slow ones crawl in the first round alone.
    """
    return [peer for peer in peers[:: 1 if turn % 2 else -1] if turn == 1 or not peer.slow]
