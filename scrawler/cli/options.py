"""Command line options made from the settings, so that name, help, default and range have one source."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from scrawler.errors import DatabaseUrlError
from scrawler.settings import (
    CONFIG_FILE,
    allowed_values,
    flag_name,
    is_list,
    load_settings,
    origin_of,
    part_kind,
    setting_choices,
    setting_field,
    setting_kind,
    setting_range,
    setting_text,
)

Command = Callable[..., None]


class FileName(click.Path):
    """A path that is not empty: Path("") would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises click.BadParameter."""
        return super().convert(FILLED.convert(value, param, ctx), param, ctx)


class _Filled(click.types.StringParamType):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty", param, ctx)
        return super().convert(value, param, ctx)


FILLED = _Filled()  # the type of arguments for which an empty text, as of an unset variable, says nothing


def with_settings(*keys: str, db: bool = True) -> Callable[[Command], Command]:
    """Give a command --config, --db (or not) and a flag for each of `keys`; its first argument is the Settings."""
    flags = ("db", *keys) if db else keys

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def loading(config: Path | None, **values: Any) -> None:
            given = {key: values.pop(key) for key in flags}
            joined = {key: _joined(value) for key, value in given.items() if value != ()}
            settings = load_settings(joined, config)
            try:
                command(settings, **values)
            except DatabaseUrlError as error:
                if not db:
                    raise
                # The message says where the URL came from: the user may have forgotten a variable, or a file.
                raise DatabaseUrlError(f"{origin_of('db', joined, config)}: {error}") from error

        with_loaded: Command = loading
        for key in reversed(flags):
            with_loaded = _setting_option(key)(with_loaded)
        return click.option(
            "--config",
            type=FileName(path_type=Path),
            metavar="FILE",
            help=f"Read settings from this file, not from {CONFIG_FILE} in the current folder.",
        )(with_loaded)

    return decorate


def _joined(value: object) -> object:
    """Bring together what a flag that may be repeated was given, each time perhaps several values."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else value


def _setting_option(key: str) -> Callable[[Command], Command]:
    info = setting_field(key)
    if info.annotation is bool:
        flag = f"{flag_name(key)}/{flag_name('no_' + key)}"
        shown = "yes" if info.default else "no"
        return click.option(flag, key, default=None, help=f"{info.description} [default: {shown}]")
    return click.option(
        flag_name(key),
        key,
        metavar=_metavar(key),
        multiple=is_list(key),
        help=f"{info.description} {_range_and_default(key)}",
    )


def _metavar(key: str) -> str:
    if choices := setting_choices(key):
        return "|".join((*choices, "NAME") if part_kind(key) else choices)
    if part_kind(key):
        return "NAME,..." if is_list(key) else "NAME"
    if kind := setting_kind(key):
        return kind.value
    special = {
        "accept": "TYPE,...",
        "allow_addresses": "NETWORK,...",
        "db": "URL",
        "nofollow": "REL,...",
        "normalise": "STEP,...",
        "product_token": "NAME",
        "resolve": "HOST=ADDRESS",
    }
    plain: dict[object, str] = {Path: "FOLDER", str: "TEXT"}
    return special.get(key) or plain.get(setting_field(key).annotation, "N")


def _range_and_default(key: str) -> str:
    default = setting_field(key).default
    shown = "none" if default is None else setting_text(key, default)
    bounds = setting_range(key)
    if is_list(key):
        return f"[{allowed_values(key)}; may be repeated; default: {shown}]"
    return f"[{bounds}; default: {shown}]" if bounds else f"[default: {shown}]"


def is_called_itself(context: click.Context) -> bool:
    """Tell whether a group that lists something was called without a command of its own.

    Raises click.UsageError where options of the group stand before one of its commands: they would say nothing.
    """
    if context.invoked_subcommand is None:
        return True
    if any(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in context.params):
        raise click.UsageError(f"options of `{context.info_name} {context.invoked_subcommand}` stand behind it")
    return False
