"""`scrawler run`: crawl until no seed is left, then export."""

from __future__ import annotations

import functools
import os
import shlex
import signal
import threading
from _thread import start_new_thread
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

import click

from scrawler import __version__
from scrawler.api.companions import Companions, MakeCompanion
from scrawler.api.keeping import keep_clear
from scrawler.api.log import LOG
from scrawler.api.running import LOST, URLS, Before, GivenUpError, before, cautions
from scrawler.api.seeding import SeededCrawl
from scrawler.app import mark_losses_told, patiently_opened, run_crawl
from scrawler.assembly.proxies import proxies_told
from scrawler.cli.database import opened
from scrawler.cli.export import write_export
from scrawler.cli.hints import what_next
from scrawler.cli.keeping import config_file
from scrawler.cli.left_out import left_out_text
from scrawler.cli.log import LogOptions, logged, with_log
from scrawler.cli.losses import WHAT_TO_DO, lost_text
from scrawler.cli.options import FILLED, Command, FileName, InGroups, with_settings
from scrawler.cli.progress import ProgressLine
from scrawler.cli.proxies import deaths_text, proxies_text
from scrawler.cli.streams import output_is_closed
from scrawler.cli.tables import print_pairs
from scrawler.cli.watching import Watched
from scrawler.core.progress import Progress, RunSummary
from scrawler.errors import ArchiveError, NoPageError, RecordsLostError, ScrawlerError, SettingsError, StoreError
from scrawler.feature import Option, feature_options, hooked, is_hooked
from scrawler.model.records import LossState
from scrawler.model.results import WANTED_AGAIN
from scrawler.references import load_object
from scrawler.settings import HOST_ONLY, Settings, crawl_title, in_groups
from scrawler.store.lists.losses import LostSum
from scrawler.store.lists.retries import RETRYABLE
from scrawler.supervisor.signals import heeds_hangups
from scrawler.threads import share_heap
from scrawler.units import counted, human_bytes

if TYPE_CHECKING:
    pass

_SECOND_SIGNAL_CODE = 130
_STOPPING = "stopping; what is in hand is finished and saved (once more: stop at once)"
_ALL = "\0"  # as a value of --again: it has none
_NO_PAGE = "no-page"  # a value of --fail-if
_FILES_SHOWN = 5  # WARC files that are told by name: a long crawl has thousands
RUN_SETTINGS = [key for key in in_groups() if key not in ("db", "input_dir", *HOST_ONLY)]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a user wants of a run beside its settings."""

    words: tuple[str, ...]  # of --retry
    results: tuple[str, ...]  # of --result
    first: Before
    given: Mapping[str, Any]  # options of features, by name
    makers: Sequence[MakeCompanion]  # of what works beside the run
    fails_without_page: bool = False


def with_run_options(command: Command) -> Command:
    """Give a command the settings and the options of a run; it gets `settings`, `options` and `log`."""

    @click.option(
        "--retry",
        "reasons",
        multiple=True,
        metavar="REASON,...",
        help="First let seeds that ended so go on: " + ", ".join(RETRYABLE) + ". [may be repeated] "
        f"`{LOST}` fetches URLs again whose records are gone from the archive, `{URLS}` those with a --result.",
    )
    @click.option(
        "--result",
        "results",
        multiple=True,
        metavar="RESULT,...",
        help=f"With --retry {URLS}, ask for the URLs alone that had this result: "
        + ", ".join(sorted(WANTED_AGAIN))
        + ". [may be repeated]",
    )
    @click.option(
        "--again",
        multiple=True,
        is_flag=False,
        flag_value=_ALL,
        metavar="[URL|FILE]",
        help="First let seeds that have ended begin another round, in which their pages are visited again: all, or a"
        " URL, or those of a seed file. [may be repeated]",
    )
    @click.option(
        "--older-than",
        type=FILLED,
        default="0",
        metavar="TIME",
        help="With --again, leave out pages that were visited less than this ago, such as 7d.",
    )
    @click.option("--accept-losses", is_flag=True, help="First accept that what is gone now of the archive stays so.")
    @click.option(
        "--fail-if",
        type=click.Choice([_NO_PAGE]),
        help="End with exit code 10 where this run brought no page of any seed.",
    )
    @_with_feature_options
    @functools.wraps(command)
    def running(
        *arguments: Any,
        reasons: tuple[str, ...],
        results: tuple[str, ...],
        again: tuple[str, ...],
        older_than: str,
        accept_losses: bool,
        fail_if: str | None,
        **values: Any,
    ) -> None:
        words, named = _words(reasons), _words(results)
        first = before(words, accept_losses, "--retry", _again(again), older_than, named)
        no_page = fail_if == _NO_PAGE
        given = {name: value for name in feature_options() if (value := values.pop(name))}
        makers = [maker for name, value in given.items() for maker in _makers(name, value)]
        options = RunOptions(words, named, first, given, makers, fails_without_page=no_page)
        command(*arguments, options=options, **values)

    with_options: Command = running
    return with_options


def _with_feature_options(command: Command) -> Command:
    """Give a command the options that features bring."""
    for name, option in reversed(feature_options().items()):
        command = _feature_option(name, option)(command)
    return command


def _feature_option(name: str, option: Option) -> Callable[[Command], Command]:
    """Return what gives a command an option that a feature brings."""
    flag = f"--{name.replace('_', '-')}"
    if not option.metavar:
        return click.option(flag, name, is_flag=True, help=option.help)
    kind = FileName(dir_okay=False, path_type=Path) if option.is_file else FILLED
    return click.option(flag, name, type=kind, metavar=option.metavar, help=option.help)


def _makers(name: str, value: Any) -> Iterator[MakeCompanion]:
    """Yield what makes the companion that an option wants, if it wants one. Raises SettingsError."""
    reference = feature_options()[name].companion
    if reference:
        yield load_object(reference)(value)


def _words(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(","))


def _again(seeds: tuple[str, ...]) -> bool | tuple[str, ...]:
    if not seeds:
        return False
    return True if _ALL in seeds else seeds


class TakeOutput(Protocol):
    """Takes what `crawl -o` is to write, as a feature offers it at the place "output"."""

    def __call__(self, settings: Settings, output: str, given: Mapping[str, Any], /) -> Mapping[str, Any] | None:
        """Return the options of features with which it writes that; None where it does not. Raises SettingsError."""
        ...


class _Run(InGroups):
    """Says what to type where somebody gives it a seed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options. Raises SettingsError for whatever else there is."""
        rest = super().parse_args(ctx, args)
        if ctx.args:
            given = shlex.join(ctx.args)
            raise SettingsError(f"`scrawler run` crawls the seeds that were imported; type: scrawler crawl {given}")
        return rest


@click.command(cls=_Run, context_settings={"allow_extra_args": True})
@click.option("--export/--no-export", "exporting", default=True, help="Export when the crawl has ended. [default: yes]")
@with_run_options
@with_settings(*RUN_SETTINGS)
@with_log
def run(settings: Settings, exporting: bool, options: RunOptions, log: LogOptions) -> None:
    """Crawl until no seed is ready, then export.

    Ctrl-C (or SIGTERM, or a terminal that is closed) stops cleanly: work in hand is kept, and the next run goes on
    from there. A second one ends at once; the next run goes on from the last checkpoint. With nohup a closed
    terminal stops nothing.

    With --machines N, N processes of --threads each crawl together; one that dies is started again, and given up
    after five failures in a row without a page. Runs on other hosts with the same --db take part in the crawl.
    """

    def finish(summary: RunSummary) -> None:
        if exporting and summary.outcome == "ended":
            with opened(settings, SeededCrawl) as crawl:
                write_export(crawl, quiet=log.quiet)

    run_and_tell(settings, options, log, finish)


def run_and_tell(
    settings: Settings,
    options: RunOptions,
    log: LogOptions,
    finish: Callable[[RunSummary], None],
    *,
    keeps_output: bool = False,
) -> None:
    """Crawl, tell what was done, and let `finish` write what is to be written. Raises ScrawlerError.

    With `keeps_output` standard output is left to `finish`.
    """
    watched = Watched(log, settings, options.makers)
    if log.file is not None:
        with patiently_opened(settings, threading.Event(), partial(click.echo, err=True)) as database:
            keep_clear(database, settings, log.file, config_file())
    with ProgressLine(log.quiet) as line, logged(log, line.message):
        show = partial(watched.show, line, settings.machines)
        LOG.info("scrawler %s: %s", __version__, counted(settings.machines, "machine"))
        summary = _crawled(settings, options, log, watched, show)
        LOG.info("%s", _in_a_line(summary))
        line.close()
        if not (log.quiet or output_is_closed()):  # closed: what was crawled is there, and nobody wants to know
            _print_summary(summary, settings, err=keeps_output)
        if hint := what_next(summary):
            LOG.warning("scrawler: %s", hint)
        if summary.given_up:
            raise ScrawlerError("; ".join(summary.given_up))
        finish(summary)
        for warning in summary.warnings:
            LOG.warning("scrawler: %s", warning)
        if summary.lost[0]:
            with suppress(StoreError):  # losses that could not be marked are told once more
                mark_losses_told(settings, summary)
            raise RecordsLostError(f"{LossState.GONE}: {lost_text(LostSum(*summary.lost))}; {WHAT_TO_DO}")
        if summary.undone:
            raise ArchiveError(summary.undone)
        if options.fails_without_page and not summary.pages:
            raise NoPageError("no seed brought a page in this run; `scrawler seeds` says how each one ended")


def _crawled(
    settings: Settings, options: RunOptions, log: LogOptions, watched: Watched, show: Callable[[Progress], None]
) -> RunSummary:
    """Crawl with processors of pages, or with one machine in this process, or with several."""
    share_heap()
    stop = threading.Event()
    first = options.first
    keywords = {name: value for name, value in options.given.items() if not feature_options()[name].companion}
    if keywords or is_hooked("each_page", settings):
        from scrawler.api.crawl import UnadvisedCrawl  # it loads what reads pages, too, which no other run needs

        with opened(settings, UnadvisedCrawl, create=True, say=LOG.warning) as crawl, watched.served(settings, stop):
            _stop_on_signals(stop, crawl.kill, crawl.stop)
            losses = first.accepts_losses
            try:
                summary = crawl.run(
                    retry=options.words,
                    retry_result=options.results,
                    accept_losses=losses,
                    on_progress=show,
                    again=False if first.again is None else first.again or True,
                    older_than=first.older_than,
                    **keywords,
                )
            except GivenUpError as error:  # the summary is told first
                summary = error.summary
            if not log.quiet:
                for tell in hooked("told", settings):
                    for line in tell(crawl):
                        click.echo(line, err=True)
        return summary
    for caution in cautions(settings):  # above, the crawl says them by itself
        LOG.warning("scrawler: %s", caution)
    companions = Companions(settings, LOG.warning)

    def shown(progress: Progress) -> None:
        show(companions.shown(progress))

    @contextmanager
    def beside() -> Iterator[None]:
        with watched.beside(settings, stop), companions.at_work(stop):
            yield

    if settings.machines == 1:
        asked = _stop_on_signals(stop)
        first.do(settings, stop, LOG.warning)
        with beside():
            summary = run_crawl(settings, shown, stop, say=LOG.warning, own_process=True)
        return companions.finished(summary, asked)
    from scrawler.supervisor.supervisor import Supervisor  # one machine needs none

    supervisor = Supervisor(settings, shown, LOG.warning, stop, own_process=True, beside=beside)
    asked = _stop_on_signals(stop, supervisor.kill)
    first.do(settings, stop, LOG.warning)
    return companions.finished(supervisor.run(), asked)


def _in_a_line(summary: RunSummary) -> str:
    counts = f"{counted(summary.pages, 'page')}, {human_bytes(summary.bytes)}, {counted(summary.errors, 'error')}"
    return f"{crawl_title(summary.crawl)} {summary.outcome} after {summary.elapsed_s:,.1f} s: {counts}"


def _stop_on_signals(
    stop: threading.Event,
    kill: Callable[[], None] = lambda: None,
    ask: Callable[[], None] = lambda: None,
) -> threading.Event:
    """Let the first signal set `stop` and `ask` for the end, and the second one `kill` what else runs, and this one.

    Return what is set once the user wants the end; `stop` may be set by others as well, once the machines are over.
    """
    asked = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            kill()
            os._exit(_SECOND_SIGNAL_CODE)  # no thread is waited for: the database is safe at any moment
        asked.set()
        stop.set()
        ask()
        # A thread says it: the one that was interrupted may be writing the very same stream, or hold a lock of the log.
        # It is none of `threading`, for that has a lock as well.
        with suppress(RuntimeError):  # no room for a thread
            start_new_thread(LOG.warning, (_STOPPING,))

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    if heeds_hangups():
        signal.signal(signal.SIGHUP, handle)
    return asked


def _print_summary(summary: RunSummary, settings: Settings, *, err: bool = False) -> None:
    print_pairs(
        f"{crawl_title(summary.crawl)} {summary.outcome} after {summary.elapsed_s:,.1f} s",
        {
            **_machines(settings.machines, summary.restarts),
            **_proxies(settings),
            "pages": f"{summary.pages:,} ({summary.pages_per_second:,.1f}/s)",
            "bytes": human_bytes(summary.bytes),
            **_saved(summary, settings),
            "requests": f"{summary.requests:,}",
            "errors": f"{summary.errors:,}",
            **_faults(summary),
            "DNS look-ups": f"{summary.lookups:,}",
            **{f"seeds {name}": f"{count:,}" for name, count in summary.seeds.items()},
            **deaths_text(summary.deaths),
            **proxies_text(*summary.dead_at_proxies),
            **left_out_text(summary.left_out, summary.seeds, summary.pushed_back),
            "WARC files": _files(summary.warc_files),
            **summary.told,
            **_lost(summary),
        },
        err=err,
    )


def _proxies(settings: Settings) -> dict[str, str]:
    told = proxies_told(settings, os.environ)
    return {"proxy": "; ".join(told)} if told else {}


def _faults(summary: RunSummary) -> dict[str, str]:
    if not summary.internal_errors:
        return {}
    where = f"; tracebacks are in {summary.fault_file}" if summary.fault_file else ""
    return {"internal errors": f"{summary.internal_errors:,} in the whole crawl{where}"}


def _saved(summary: RunSummary, settings: Settings) -> dict[str, str]:
    if not summary.saved:
        return {}
    earlier = ", or an earlier crawl has archived" if is_hooked("archives", settings) else ""
    return {"saved": f"{human_bytes(summary.saved)} in the whole crawl: pages that were not sent again (304)" + earlier}


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
