"""The commands as their own help tells them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from scrawler.cli.main import scrawler
from scrawler.settings import SETTING_NAMES

_PROGRAM = "scrawler"


def commands() -> str:
    """Return a section for each command: how it is called, what its help says, and its options."""
    with click.Context(scrawler, info_name=_PROGRAM) as context:
        return "\n".join(_section(command, below) + "\n" for command, below in _walk(scrawler, context))


def _walk(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield each command of a group, and those of groups in it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        with click.Context(command, info_name=name, parent=context) as below:
            yield command, below
            if isinstance(command, click.Group):
                yield from _walk(command, below)


def _section(command: click.Command, context: click.Context) -> str:
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    texts = [f"### {context.command_path}", f"```text\n{usage}\n```", _words(command.help), _options(command, context)]
    return "\n" + "\n\n".join(text for text in texts if text)


def _words(text: str | None) -> str:
    """Return a help text as Markdown; a paragraph whose lines are to stay as they are stands as code."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(_paragraph(paragraph) for paragraph in paragraphs)


def _paragraph(text: str) -> str:
    if text.startswith("\b\n"):
        return f"```text\n{text[2:]}\n```"
    return _escaped(" ".join(text.split()))


def _options(command: click.Command, context: click.Context) -> str:
    """Return a table of the options that are no settings, and the names of those that are."""
    options = [param for param in command.get_params(context) if isinstance(param, click.Option)]
    own = [option for option in options if option.name not in SETTING_NAMES and "--help" not in option.opts]
    given = [option.name for option in options if option.name in SETTING_NAMES]
    table = ["| option | |", "|---|---|", *(_row(option, context) for option in own)] if own else []
    taken = ", ".join(f"`{name}`" for name in given)
    few = f"Settings that it takes as flags: {taken}."
    many = "It takes all [settings](settings.md) as flags."
    after = ["", many if len(given) > 20 else few] if given else []
    return "\n".join((*table, *after)).strip("\n")


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None, f"{option.name} is hidden"
    names, said = record
    return f"| `{names.replace('|', chr(92) + '|')}` | {_escaped(' '.join(said.split())).replace('|', chr(92) + '|')} |"


def _escaped(text: str) -> str:
    """Return a text whose stars and angle brackets stand as they are, outside of code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([*<_\[\]])", r"\\\1", piece) for piece in pieces)
