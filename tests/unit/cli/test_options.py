"""Types of arguments: what passes for a number or a file, and what does not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from scrawler.cli.main import scrawler
from scrawler.cli.options import FileName, Number, Whole


def options() -> Iterator[tuple[str, click.Parameter]]:
    """All arguments and options of all commands but `synthweb`, which checks what it is given by itself."""
    groups: list[tuple[str, click.Command]] = [("scrawler", scrawler)]
    while groups:
        name, command = groups.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            named = ((one, command.get_command(context, one)) for one in command.list_commands(context))
            groups += [(f"{name} {one}", below) for one, below in named if below is not None and one != "synthweb"]
        for param in command.params:
            yield f"{name} {param.name}", param


def test_each_number_is_finite_and_each_file_is_checked_in_one_place() -> None:
    seen = dict(options())
    assert len(seen) > 200
    floats = {name: one.type for name, one in seen.items() if isinstance(one.type, click.types.FloatParamType)}
    paths = {name: one.type for name, one in seen.items() if isinstance(one.type, click.Path)}
    assert "scrawler seeds choose at_least" in floats
    assert [name for name, kind in floats.items() if not isinstance(kind, Number)] == []
    wholes = {name: one.type for name, one in seen.items() if isinstance(one.type, click.IntRange)}
    counted = {name for name, one in seen.items() if isinstance(one, click.Option) and one.count}
    assert [
        name for name, kind in wholes.items() if kind.max is None and type(kind) is not Whole and name not in counted
    ] == []
    assert "scrawler serve-site state" in paths
    assert [name for name, kind in paths.items() if not isinstance(kind, FileName)] == []


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-inf", "1e999", "infinity"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is not (a finite number|in the range)"):
        Number().convert(text, None, None)
    with pytest.raises(click.BadParameter):
        Number(0, 10).convert(text, None, None)
    assert Number(0, 10).convert("0.5", None, None) == 0.5


def test_a_number_that_no_database_holds() -> None:
    assert Whole(1).convert("2147483647", None, None) == 2_147_483_647
    with pytest.raises(click.BadParameter, match="is more than 2,147,483,647"):
        Whole(1).convert("99999999999999999999999", None, None)


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    named = FileName(exists=True, dir_okay=False, path_type=Path)
    for text, said in ((f"{tmp_path}/pipe", "not a regular file"), ("a\0b", "NUL"), ("", "empty"), ("x/", "folder")):
        with pytest.raises(click.BadParameter, match=said):
            named.convert(text, None, None)
    assert FileName(dir_okay=False).convert(f"{tmp_path}/pipe", None, None)  # what is written may be a pipe
