"""One machine process, which lives no longer than its supervisor wants: forked, or started by `child_process`."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from typing import BinaryIO

from scrawler.app import run_crawl
from scrawler.errors import ScrawlerError
from scrawler.machine_run import Launch
from scrawler.plugins import in_a_line
from scrawler.settings import Settings
from scrawler.supervisor.messages import Failure, Remark, Report, read_order, report_line
from scrawler.supervisor.signals import feel_hangups, heeds_hangups
from scrawler.threads import share_heap, start


def main() -> None:
    """Crawl as the line on standard input says, until no seed is left, its end is reached, or SIGTERM comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C reaches all, and is meant for the supervisor
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    if heeds_hangups():
        signal.signal(signal.SIGHUP, lambda number, frame: stop.set())
    feel_hangups()
    reporter = _Reporter(_take_standard_output())
    order = sys.stdin.buffer.readline()
    if not order.endswith(b"\n"):
        return  # without a first line the supervisor is gone already
    last = _crawl(*read_order(order), reporter, stop)
    reporter.close(last)
    if isinstance(last, Failure):
        # Not every thread may come to an end, and with the supervisor gone nobody would kill what is left.
        write_what_waits()
        os._exit(last.exit_code)


def write_what_waits() -> None:
    """Write what was printed, by a plug-in for one, before an end at which nobody else does; or let it be lost."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, ScrawlerError):
            stream.flush()


def _crawl(settings: Settings, launch: Launch, reporter: _Reporter, stop: threading.Event) -> Report:
    share_heap()
    try:
        # It is a daemon: nothing can wake a read of standard input, which perhaps nobody is left to close.
        start(threading.Thread(target=_stop_at_end_of_stdin, args=(stop,), name="stdin", daemon=True))
        start(reporter)
        return run_crawl(settings, reporter.show, stop, launch, reporter.say, own_process=True)
    except ScrawlerError as error:
        return Failure(str(error), error.exit_code)
    except BaseException as error:
        traceback.print_exc()
        return Failure(in_a_line(error), 1)


class _Reporter(threading.Thread):
    """Writes reports, the newest of each kind only: a supervisor that does not read holds no machine up."""

    def __init__(self, out: BinaryIO) -> None:
        super().__init__(name="reporter")
        self._out = out
        self._changed = threading.Condition()
        self._progress: Report | None = None
        self._remark: Report | None = None
        self._last: Report | None = None

    def show(self, progress: Report) -> None:
        """Take a look at the machine; returns at once."""
        with self._changed:
            self._progress = progress
            self._changed.notify()

    def say(self, text: str) -> None:
        """Take a line for the user; returns at once."""
        with self._changed:
            self._remark = Remark(text)
            self._changed.notify()

    def close(self, last: Report) -> None:
        """Write the last report, and return when it is written or nobody is there to read it."""
        with self._changed:
            self._last = last
            self._changed.notify()
        if self.is_alive():
            self.join()
        elif self.ident is None:  # its thread could not be started, and nobody else would close the pipe
            self.run()

    def run(self) -> None:
        """Write until the last report."""
        try:
            while self._last is None:
                with self._changed:
                    self._changed.wait_for(lambda: self._remark or self._progress or self._last)
                    news = [report for report in (self._remark, self._progress) if report is not None]
                    self._remark = self._progress = None
                for report in news:
                    self._write(report)
            self._write(self._last)
        except BrokenPipeError:
            return  # the supervisor is gone; the end of standard input tells the machine

    def _write(self, report: Report) -> None:
        self._out.write(report_line(report))
        self._out.flush()


def _take_standard_output() -> BinaryIO:
    """Return the way to the supervisor; what anybody else prints goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def _stop_at_end_of_stdin(stop: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    stop.set()
