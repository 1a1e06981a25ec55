"""`scrawler run`: crawl until no seed is left, then export."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import FrameType

import click

from scrawler.app import accept_losses as accept_what_is_lost
from scrawler.app import mark_losses_told, retry_lost, retry_seeds, run_crawl
from scrawler.cli.export import write_export
from scrawler.cli.hints import crawl_title, what_next
from scrawler.cli.losses import WHAT_TO_DO, lost_text
from scrawler.cli.options import with_settings
from scrawler.cli.progress import ProgressLine, crawl_text
from scrawler.cli.tables import print_pairs
from scrawler.core.progress import Progress, RunSummary
from scrawler.errors import RecordsLostError, ScrawlerError, SettingsError, StoreError
from scrawler.model.records import LossState
from scrawler.model.seeds import EndReason
from scrawler.settings import Settings
from scrawler.store.losses import LostSum
from scrawler.store.retries import RETRYABLE
from scrawler.supervisor.signals import heeds_hangups
from scrawler.supervisor.supervisor import Supervisor
from scrawler.units import human_bytes

_SECOND_SIGNAL_CODE = 130
_LOST = "lost"  # a word of --retry that is no end reason
_FILES_SHOWN = 5  # WARC files that are told by name: a long crawl has thousands
_SETTINGS = [key for key in Settings.model_fields if key not in ("db", "input_dir")]


@click.command()
@click.option("--export/--no-export", "exporting", default=True, help="Export when the crawl has ended. [default: yes]")
@click.option(
    "--retry",
    "again",
    multiple=True,
    metavar="REASON,...",
    help="First let seeds that ended so go on: " + ", ".join(RETRYABLE) + ". [may be repeated] "
    "`lost` fetches URLs again whose records are gone from the archive.",
)
@click.option("--accept-losses", is_flag=True, help="First accept that what is gone now of the archive stays so.")
@with_settings(*_SETTINGS)
def run(settings: Settings, exporting: bool, again: tuple[str, ...], accept_losses: bool) -> None:
    """Crawl until no seed is ready, then export.

    Ctrl-C (or SIGTERM, or a terminal that is closed) stops cleanly: work in hand is kept, and the next run goes on
    from there. A second one ends at once; the next run goes on from the last checkpoint. With nohup a closed
    terminal stops nothing.

    With --machines N, N processes of --threads each crawl together; one that dies is started again, and given up
    after five failures in a row without a page. Runs on other hosts with the same --db take part in the crawl.
    """
    reasons, lost = _reasons(again)
    _warn(settings)
    stop = threading.Event()
    with ProgressLine() as line:
        if accept_losses:
            accept_what_is_lost(settings, stop, line.message)
        if lost:
            retry_lost(settings, stop, line.message)
        if reasons:
            retry_seeds(settings, reasons, stop, line.message)

        def show(progress: Progress) -> None:
            line.show(crawl_text(progress, settings.machines))

        if settings.machines == 1:
            _stop_on_signals(stop, line)
            summary = run_crawl(settings, show, stop, say=line.message, own_process=True)
        else:
            supervisor = Supervisor(settings, show, line.message, stop, own_process=True)
            _stop_on_signals(stop, line, supervisor.kill)
            summary = supervisor.run()
    _print_summary(summary, settings.machines)
    if hint := what_next(summary):
        click.echo(f"scrawler: {hint}", err=True)
    if summary.given_up:
        raise ScrawlerError("; ".join(summary.given_up))
    if exporting and summary.outcome == "ended":
        write_export(settings)
    if summary.lost[0]:
        with suppress(StoreError):  # losses that could not be marked are told once more
            mark_losses_told(settings, summary)
        raise RecordsLostError(f"{LossState.GONE}: {lost_text(LostSum(*summary.lost))}; {WHAT_TO_DO}")


def _reasons(given: Iterable[str]) -> tuple[set[EndReason], bool]:
    """Read the values of --retry: end reasons, and whether lost records are among them. Raises SettingsError."""
    names = [name.strip() for value in given for name in value.split(",")]
    allowed = (*RETRYABLE, _LOST)
    for name in names:
        if name not in allowed:
            raise SettingsError(f"--retry {name or '(nothing)'} is not allowed, only {', '.join(allowed)}")
    return {EndReason(name) for name in names if name != _LOST}, _LOST in names


def _warn(settings: Settings) -> None:
    """Warn of settings that may do wrong to sites, or to readers of the archive."""
    if not has_contact(settings.user_agent):
        click.echo(
            f"scrawler: warning: the user agent {settings.user_agent!r} has no contact; "
            'give sites a URL or mail address: --user-agent "MyCrawler/1.0 (+https://example.org/crawler)"',
            err=True,
        )
    if settings.insecure:
        click.echo(
            "scrawler: warning: --insecure: certificates of https sites are not checked; "
            "pages may come from anybody, and are flagged as insecure",
            err=True,
        )


def has_contact(user_agent: str) -> bool:
    """Whether a user agent tells site owners where to turn: a URL or a mail address."""
    return any(mark in user_agent for mark in ("http://", "https://", "@"))


def _stop_on_signals(stop: threading.Event, line: ProgressLine, kill: Callable[[], None] = lambda: None) -> None:
    """Let the first signal set `stop`, and the second one `kill` what else runs and end this process."""

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            kill()
            os._exit(_SECOND_SIGNAL_CODE)  # no thread is waited for: the database is safe at any moment
        stop.set()
        line.message("stopping; what is in hand is finished and saved (once more: stop at once)")

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    if heeds_hangups():
        signal.signal(signal.SIGHUP, handle)


def _print_summary(summary: RunSummary, machines: int) -> None:
    print_pairs(
        f"{crawl_title(summary.crawl)} {summary.outcome} after {summary.elapsed_s:,.1f} s",
        {
            **_machines(machines, summary.restarts),
            "pages": f"{summary.pages:,} ({summary.pages_per_second:,.1f}/s)",
            "bytes": human_bytes(summary.bytes),
            "requests": f"{summary.requests:,}",
            "errors": f"{summary.errors:,}",
            **_faults(summary),
            "DNS look-ups": f"{summary.lookups:,}",
            **{f"seeds {name}": f"{count:,}" for name, count in summary.seeds.items()},
            "WARC files": _files(summary.warc_files),
            **_lost(summary),
        },
    )


def _faults(summary: RunSummary) -> dict[str, str]:
    if not summary.internal_errors:
        return {}
    where = f"; tracebacks are in {summary.fault_file}" if summary.fault_file else ""
    return {"internal errors": f"{summary.internal_errors:,} in the whole crawl{where}"}


def _lost(summary: RunSummary) -> dict[str, str]:
    lost = LostSum(*summary.lost)
    return {LossState.GONE.value: lost_text(lost)} if lost.files else {}


def _files(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_FILES_SHOWN]) or "none"
    more = len(names) - _FILES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def _machines(machines: int, restarts: int) -> dict[str, str]:
    if machines == 1:
        return {}
    return {"machines": f"{machines:,}", "restarts": f"{restarts:,}"}
