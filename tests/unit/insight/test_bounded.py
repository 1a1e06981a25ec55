"""The text of a large page is read within a bound of CPU time, whatever reads it."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

import pytest

from scrawler.errors import EndlessPageError, ScrawlerError, SettingsError
from scrawler.insight.bounded import text_within

LARGE = 1 << 20


def _endless() -> NoReturn:
    while True:
        pass


def _refused() -> NoReturn:
    raise SettingsError("not installed")


def test_what_takes_too_long_is_ended_by_the_system() -> None:
    with pytest.raises(EndlessPageError, match="more than 1s of CPU time"):
        text_within(1.0, LARGE, _endless)


def test_what_is_read_elsewhere_is_the_same() -> None:
    own = os.getpid()
    assert text_within(60.0, LARGE, lambda: (os.getpid() == own, "text \u202e")) == (False, "text \u202e")
    assert text_within(60.0, 10, lambda: os.getpid()) == own, "a small page wants no other process"
    assert len(text_within(60.0, LARGE, lambda: "x" * (5 << 20))) == 5 << 20, "more than a pipe holds"
    for size in (10, LARGE):
        with pytest.raises(SettingsError, match="not installed"):
            text_within(60.0, size, _refused)


def test_a_crash_is_an_error() -> None:
    with pytest.raises(ScrawlerError, match="has died"):
        text_within(60.0, LARGE, lambda: os.kill(os.getpid(), signal.SIGUSR1))
