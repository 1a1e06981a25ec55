"""Crawls side by side, for those that wait more than they work."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import TypeVar, cast

import click

from experiments.lab.process import pass_over, raise_once_on_signals, uninterrupted

_AGAIN = 0.5  # seconds

A = TypeVar("A")
R = TypeVar("R")


def side_by_side(function: Callable[[A], R], arguments: Sequence[A]) -> list[R]:
    """Call a function with each argument, all at the same time, each in a process of its own; results in order.

    When one fails or this program is interrupted, the others are, too: each ends what it has started. They are no pool,
    which would start new processes in place of those that Ctrl-C in a terminal has ended.

    Raises:
        ClickException: a process ended without a result.
        Exception: what the function raised.
    """
    context = multiprocessing.get_context("fork")
    processes, receivers = [], []
    try:
        for argument in arguments:
            receiver, sender = context.Pipe(duplex=False)
            processes.append(context.Process(target=_call, args=(sender, function, argument)))
            receivers.append(receiver)
            with uninterrupted():
                processes[-1].start()
            sender.close()  # the process alone has it then, and its end is seen
        return [cast("R", _result(receiver)) for receiver in receivers]
    finally:
        _end([process for process in processes if process.pid is not None])


def _end(processes: Sequence[ForkProcess]) -> None:
    """End processes: who was just being forked may not hear the first SIGTERM, who cleans up passes the others over."""
    while alive := [process for process in processes if process.is_alive()]:
        for process in alive:
            process.terminate()
        alive[0].join(_AGAIN)


def _call(sender: Connection, function: Callable[[A], R], argument: A) -> None:
    raise_once_on_signals(SystemExit)  # multiprocessing writes a traceback of KeyboardInterrupt
    signal.signal(signal.SIGINT, pass_over)  # of a terminal; the SIGTERM that follows is what counts
    outcome: tuple[R | None, Exception | None]
    try:
        outcome = function(argument), None
    except Exception as error:
        outcome = None, error
    sender.send(outcome)


def _result(receiver: Connection) -> object:
    try:
        result, error = receiver.recv()
    except EOFError as end:
        raise click.ClickException("a process ended without a result") from end
    if error:
        raise error
    return cast("object", result)
