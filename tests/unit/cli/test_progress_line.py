"""The line that shows how a crawl goes, on terminals that can write over a line and on those that cannot."""

from __future__ import annotations

import os
import sys
import termios

import pytest

from scrawler.cli.progress import ProgressLine
from tests.terminals import open_terminal, read_terminal


@pytest.mark.parametrize(("terminal", "redraws"), [("xterm", True), ("dumb", False)])
def test_a_dumb_terminal_gets_whole_lines(monkeypatch: pytest.MonkeyPatch, terminal: str, redraws: bool) -> None:
    ours, theirs = open_terminal()
    termios.tcsetwinsize(theirs, (24, 80))
    monkeypatch.setenv("TERM", terminal)
    with os.fdopen(theirs, "w") as screen:
        monkeypatch.setattr(sys, "stderr", screen)
        with ProgressLine() as line:
            assert (line.width is not None) == redraws
            line.message("a message")
            line.show("how it goes")  # elsewhere a line now and then will do
    shown = read_terminal(ours)
    os.close(ours)
    assert b"a message" in shown
    assert (b"how it goes" in shown) == redraws
