"""What a supervisor and a machine process say to each other: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from scrawler.core.progress import Progress, RunSummary
from scrawler.machine_run import Launch
from scrawler.settings import Settings, private_values


@dataclass(frozen=True, slots=True)
class Failure:
    """What ended a machine; an `exit_code` other than 1 stands for something that every machine would meet."""

    text: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class Remark:
    """A line for the user, such as that the database is waited for."""

    text: str


Report: TypeAlias = Progress | RunSummary | Failure | Remark

_REPORTS = {kind.__name__: kind for kind in (Progress, RunSummary, Failure, Remark)}


def order_line(settings: Settings, launch: Launch) -> bytes:
    """Write what a machine process needs to know; only what the user set goes, so that it is known as set.

    It goes through a pipe, secrets and all: other users of the computer can read the arguments of a process.
    """
    return _line({"settings": private_values(settings), "launch": asdict(launch)})


def read_order(line: bytes) -> tuple[Settings, Launch]:
    """Read what `order_line` wrote."""
    order = json.loads(line)
    return Settings.model_validate(order["settings"]), Launch(**order["launch"])


def report_line(report: Report) -> bytes:
    """Write what a machine process tells."""
    return _line({"kind": type(report).__name__, **asdict(report)})


def read_report(line: bytes) -> Report:
    """Read what `report_line` wrote; raises ValueError, KeyError or TypeError for anything else."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(line).items()
    }
    kind: Callable[..., Report] = _REPORTS[values.pop("kind")]
    return kind(**values)


def _line(values: dict[str, object]) -> bytes:
    return json.dumps(values).encode() + b"\n"
