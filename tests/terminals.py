"""Terminals for tests: pairs of what a user sees and what the program has."""

from __future__ import annotations

import os
import pty

import pytest


def open_terminal() -> tuple[int, int]:
    """Return the descriptors of the user's side and of the program's; skips the test where there are none to be had."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal can be opened: {error} (is /dev/pts mounted?)")


def read_terminal(ours: int) -> bytes:
    """Return all that the program wrote, once it has closed its side: one read may bring a part of it."""
    text = b""
    try:
        while part := os.read(ours, 65_536):
            text += part
    except OSError:  # EIO is how Linux says that nobody has the other side any more
        pass
    return text
