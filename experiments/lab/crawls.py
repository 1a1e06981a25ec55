"""Crawls of a synthetic web, seen from its access log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from experiments.lab.process import OUTPUT, Figures, Sampler, fresh_folder, run_measured
from experiments.lab.recording import Sample, between, read_recording
from experiments.lab.scrawler_command import import_command, recorded, run_command
from scrawler.features.synthweb.process import LoggedRequest, SynthServer

_IMPORT_SECONDS = 600.0
_ROBOTS = "/robots.txt"


@dataclass(frozen=True, slots=True)
class Crawl:
    """One finished crawl: what the process cost, its folder (database, WARC files), and what the server was asked.

    `requests` are in order of arrival, robots.txt not among them; `pages` those of them answered with 200.
    """

    figures: Figures
    folder: Path
    requests: list[LoggedRequest]

    @property
    def pages(self) -> list[LoggedRequest]:
        """Requests that were answered with a page or file."""
        return [line for line in self.requests if line.status == 200]

    @property
    def seconds(self) -> float:
        """Time from the first request to the last answer."""
        return max((line.at for line in self.requests), default=0.0) - min(
            (line.came for line in self.requests), default=0.0
        )

    @property
    def started(self) -> float:
        """When the first request came, in seconds since 1970."""
        return self.requests[0].came if self.requests else 0.0

    def recording(self) -> list[Sample]:
        """Return what its threads held from the first request to the last answer, if it was recorded."""
        return between(read_recording(self.folder), self.started, self.started + self.seconds)

    def pages_over_time(self, step: float) -> tuple[list[float], list[int]]:
        """Return times in seconds since the first request, every `step`, and the pages answered by then."""
        answered = sorted(line.at - self.started for line in self.pages)
        times, counts, done = [0.0], [0], 0
        while done < len(answered):
            until = times[-1] + step
            while done < len(answered) and answered[done] <= until:
                done += 1
            times.append(until)
            counts.append(done)
        return times, counts


@contextmanager
def crawled(
    web: SynthServer,
    seeds: Sequence[str],
    *,
    timeout: float,
    environment: Mapping[str, str] | None = None,
    sampler: Sampler | None = None,
    recording: bool = False,
    instead: Sequence[str] = (),
    **settings: object,
) -> Iterator[Crawl]:
    """Crawl seeds of a served web in a fresh folder, which is gone after the block; `settings` become flags.

    The delay is 0 unless it is given. After `timeout` seconds the crawl is killed, and is returned as it stands then.
    With `recording`, what its threads hold is written down ten times a second (one machine only); `instead` is a
    command that stands for `scrawler`.

    Raises:
        ClickException: the program failed; its folder is kept.
    """
    with fresh_folder("experiment") as folder:
        file = folder / "seeds.txt"
        file.write_text("".join(f"{url}\n" for url in seeds))
        import_seeds(folder, file, environment)
        mark = len(web.log())
        program, *options = run_command(**settings)
        command = [*(instead or [program]), *options]
        figures = run_measured(recorded(command) if recording else command, folder, timeout, environment, sampler)
        _succeed(figures, folder)
        requests = [line for line in web.log()[mark:] if not line.url.endswith(_ROBOTS)]
        yield Crawl(figures, folder, sorted(requests))


def import_seeds(folder: Path, seeds: Path, environment: Mapping[str, str] | None = None) -> None:
    """Import a seed file into the folder's database. Raises ClickException."""
    _succeed(run_measured(import_command(seeds), folder, _IMPORT_SECONDS, environment), folder)


def _succeed(figures: Figures, folder: Path) -> None:
    if figures.exit_code and not figures.timed_out:
        raise click.ClickException(f"scrawler ended with {figures.exit_code}, see {folder / OUTPUT}")
