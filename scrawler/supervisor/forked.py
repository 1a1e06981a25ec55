"""Machine processes forked from a supervisor that has loaded what they need: 0.4 s of imports each are saved.

It is done before the supervisor starts a thread, and once it has closed the database that it made ready, for neither
outlives a fork well; what it has warmed up by that, they need not. What is forked waits for its order, as a process
does that was started by its command, and ends where the supervisor ends before that.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
import traceback
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, NoReturn

from scrawler.supervisor import child
from scrawler.supervisor.signals import terminal_signals_later

_FILES = "/proc/self/fd"
_SPARED = 12  # descriptors that are left to the supervisor, for its database and for processes that it starts
_TASKS = Path("/proc/self/task")  # it lists threads that Python knows nothing of as well; without it nothing is forked


class ForkedProcess:
    """A machine process that waits for its order; used as `subprocess.Popen`, as far as `MachineProcess` does.

    Raises OSError when the system has no room for a process.
    """

    def __init__(self) -> None:
        self.returncode: int | None = None
        with ExitStack() as ours, ExitStack() as theirs:
            order_end, given = os.pipe()
            theirs.callback(os.close, order_end)
            self.stdin: IO[bytes] | None = ours.enter_context(os.fdopen(given, "wb"))
            told, report_end = os.pipe()
            theirs.callback(os.close, report_end)
            self.stdout: IO[bytes] | None = ours.enter_context(os.fdopen(told, "rb"))
            self.pid = _fork(order_end, report_end)
            ours.pop_all()

    def kill(self) -> None:
        """End it at once, if it has not been waited for."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end; returns the exit code, or the signal that killed it as a negative number."""
        if self.returncode is None:
            self.returncode = self._exit_code()
        return self.returncode

    def _exit_code(self) -> int:
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:  # whoever started the supervisor lets it ignore how its processes end
            return 0

    def dismiss(self) -> None:
        """Let it end without an order, and wait for that."""
        for stream in (self.stdin, self.stdout):
            if stream is not None:
                stream.close()
        self.wait()


def forked_processes(number: int) -> list[ForkedProcess]:
    """Fork so many processes, or as many as there is room for; none where this process has other threads.

    Where they would leave too few files to this process, none is forked: the supervisor needs some itself.
    Raises what a standard output raises that cannot be written; then none is left.
    """
    sys.stdout.flush()  # text that waits to be written would be written by each process
    forked: list[ForkedProcess] = []
    with ExitStack() as undo, ExitStack() as spared:
        try:
            for _ in range(_SPARED):
                spared.callback(os.close, os.dup(1))
            while len(forked) < number and len(list(_TASKS.iterdir())) == 1:
                forked.append(ForkedProcess())
                undo.callback(forked[-1].dismiss)
        except OSError as error:  # whoever lacks a process starts one by its command, and tells what is in the way
            if error.errno in (errno.EMFILE, errno.ENFILE):
                return []
        undo.pop_all()
    return forked


def _fork(order_end: int, report_end: int) -> int:
    with terminal_signals_later():
        pid = os.fork()
        if pid == 0:
            _be_machine(order_end, report_end)
    return pid


def _close_others(*known: int) -> None:
    """Close all but the standard streams: another machine's order ends only when nobody else can write to it.

    Those that are known go first: without them there may be no descriptor left by which to read the folder of all.
    """
    for one in known:
        if one > 2:
            os.close(one)
    for name in os.listdir(_FILES):
        if int(name) > 2:
            with suppress(OSError):  # the descriptor by which the folder was read is closed already
                os.close(int(name))


def _leave_user_s_folder() -> None:
    """Look for modules where a process does that is started by its command, with -P."""
    if not sys.flags.safe_path:
        del sys.path[0]


def _be_machine(order_end: int, report_end: int) -> NoReturn:
    """Live as a machine process; what stands on the stack of the supervisor is never returned to."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(order_end, 0)
        os.dup2(report_end, 1)
        _close_others(order_end, report_end)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        _leave_user_s_folder()
        child.main()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            atexit._run_exitfuncs()  # as at the end of one that was started: a plug-in may have registered some
        finally:
            child.write_what_waits()
            os._exit(code)
