"""`scrawler completion`: what a shell asks when Tab is pressed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from scrawler.settings import is_list, live_settings, setting_choices, setting_field

PROGRAM = "scrawler"
_VARIABLE = "_SCRAWLER_COMPLETE"  # by which the script asks this program, see click's `_main_shell_completion`
_SHELLS = ("bash", "zsh", "fish")
_WHERE = """\b
bash: scrawler completion bash > ~/.local/share/bash-completion/completions/scrawler
zsh:  scrawler completion zsh > a file named _scrawler in a folder of $fpath
fish: scrawler completion fish > ~/.config/fish/completions/scrawler.fish
"""

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command(epilog=_WHERE)
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Write the script by which SHELL, that of $SHELL if none is named, completes commands, flags and their values."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    made = get_completion_class(name) if name in _SHELLS else None
    if made is None:
        raise click.UsageError(f"say for which shell: {', '.join(_SHELLS)}")
    root = click.get_current_context().find_root().command
    click.echo(made(root, {}, PROGRAM, _VARIABLE).source())


def completer(key: str) -> Completer | None:
    """Return what completes the value of a setting's flag; None where anything may stand."""
    kind = setting_field(key).annotation
    if kind in (Path, Path | None):
        return _files if kind == Path | None else _folders
    choices = setting_choices(key)
    if not choices:
        return None

    def complete(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        before, comma, last = typed.rpartition(",") if is_list(key) else ("", "", typed)
        return [CompletionItem(before + comma + one) for one in choices if one.startswith(last)]

    return complete


def live_keys(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a setting that can be changed while machines run."""
    return [CompletionItem(f"{key}=") for key in live_settings() if key.startswith(typed)]


def _files(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    return [CompletionItem(typed, type="file")]


def _folders(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    return [CompletionItem(typed, type="dir")]
