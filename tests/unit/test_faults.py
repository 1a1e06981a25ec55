"""Where a fault was raised is told as a file of this program, in either form, or as that of whoever raised it alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import scrawler
from scrawler.faults import fault_of

PACKAGE = Path(scrawler.__file__).parent


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ([str(PACKAGE / "core" / "seen.py")], "scrawler/core/seen.py:1"),
        (["scrawler/core/seen.py"], "scrawler/core/seen.py:1"),  # as mypyc names it
        (["scrawler/core/seen.py", "/elsewhere/json.py"], "scrawler/core/seen.py:1"),
    ],
)
def test_the_place_is_that_of_the_last_file_of_ours(files: list[str], place: str) -> None:
    assert fault_of(_raised(files)).text == f"ZeroDivisionError: division by zero, at {place}"


def _raised(files: list[str]) -> BaseException:
    """Return an exception that was raised in the last file, which the one before has called, and so on."""
    call: Any = None
    for file in reversed(files):
        scope = {"call": call}
        exec(compile("def run(): call() if call else 1 / 0", file, "exec"), scope)
        call = scope["run"]
    try:
        call()
    except ZeroDivisionError as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this file
        return error
    raise AssertionError
