"""What a machine process tells its supervisor when it fails."""

from __future__ import annotations

import threading
from typing import NoReturn

import pytest

from scrawler.machine_run import Launch
from scrawler.settings import Settings
from scrawler.supervisor import child
from scrawler.supervisor.messages import Failure


class Unspeakable(Exception):
    """What cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("two\nlines"), "ValueError: two lines"),
        (AssertionError(), "AssertionError"),
        (Unspeakable(), "Unspeakable"),
    ],
)
def test_whatever_a_machine_ends_by_is_told_in_a_line(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(child, "run_crawl", fails)
    monkeypatch.setattr(child, "start", lambda thread: None)
    reporter = child._Reporter(None)  # type: ignore[arg-type]
    assert child._crawl(Settings(), Launch(0, 1, "crawl-m"), reporter, threading.Event()) == Failure(said, 1)
