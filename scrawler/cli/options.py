"""Command line options made from the settings, so that name, help, default and range have one source."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from scrawler.cli.completion import completer
from scrawler.errors import DatabaseUrlError
from scrawler.regular import NOT_REGULAR
from scrawler.settings import (
    CONFIG_FILE,
    GROUPS,
    SETTING_NAMES,
    allowed_values,
    checked_folder,
    flag_name,
    group_of,
    has_lines,
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
from scrawler.units import parse_seconds

Command = Callable[..., None]
_LARGEST = (1 << 31) - 1

_DB_IN_SHORT = (
    "Database of the crawl: an SQLite file, or one on a server, of which `scrawler run --help` says how it is made."
    f" [default: {setting_field('db').default}]"
)


class InGroups(click.Command):
    """A command whose help shows settings in their groups, those that are tables of scrawler.toml."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that are no settings, and then group after group."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], **{group: [] for group in GROUPS}}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections[group_of(param.name) if param.name in SETTING_NAMES else "Options"].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name if name == "Options" else f"[{name}]"):
                    formatter.write_dl(records)


class FileName(click.Path):
    """A path that is not empty, for Path("") is the current folder; a file that has to be there is a regular one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises click.BadParameter."""
        text = FILLED.convert(value, param, ctx)
        if isinstance(text, str):
            self._check(text, param, ctx)
        return super().convert(text, param, ctx)

    def _check(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> None:
        if "\0" in text:
            self.fail(f"no path holds a NUL: {text!r}", param, ctx)
        if self.dir_okay:
            return
        if text.endswith(os.sep):
            self.fail(f"{text!r} is the name of a folder", param, ctx)  # a Path would forget what its end says
        if self.exists and not os.path.isdir(text) and os.path.exists(text) and not os.path.isfile(text):
            self.fail(f"{text!r} is {NOT_REGULAR}", param, ctx)  # who reads a pipe may wait for ever


class Number(click.FloatRange):
    """A number that is one: neither NaN, which passes all bounds, nor infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises click.BadParameter."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class Seconds(Number):
    """A time: a number of seconds, or with a unit, as 90, 1.5s or 5m."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the seconds. Raises click.BadParameter."""
        try:
            seconds = parse_seconds(value)
        except ValueError as error:
            self.fail(f"{value!r} is no time: {error}", param, ctx)
        return super().convert(seconds, param, ctx)


class Whole(click.IntRange):
    """A whole number that each database can hold."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises click.BadParameter."""
        number = super().convert(value, param, ctx)
        if number > _LARGEST:
            self.fail(f"{value!r} is more than {_LARGEST:,}", param, ctx)
        return number


class _Filled(click.types.StringParamType):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty", param, ctx)
        return super().convert(value, param, ctx)


FILLED = _Filled()  # the type of arguments for which an empty text, as of an unset variable, says nothing


def _checked_archive(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
    try:
        return checked_folder(value)
    except ValueError as error:  # its text does not hold the value, which may hold a password
        raise click.BadParameter(f"{error}; keys stand in the environment", context, param) from None


ARCHIVE = click.option(
    "--archive",
    type=FILLED,
    callback=_checked_archive,
    metavar="URL",
    help="Read the copies of the WARC files in this folder alone, such as s3://bucket/folder or file:///folder.",
)


def with_settings(*keys: str, db: bool = True) -> Callable[[Command], Command]:
    """Give a command --config, --db (or not) and a flag for each of `keys`; its first argument is the Settings."""
    flags = ("db", *keys) if db else keys

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def loading(config: Path | None, **values: Any) -> None:
            given = {key: values.pop(key) for key in flags}
            joined = {key: _joined(key, value) for key, value in given.items() if value != ()}
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
            with_loaded = _setting_option(key, in_short="name" not in keys)(with_loaded)
        return click.option(
            "--config",
            type=FileName(path_type=Path),
            metavar="FILE",
            help=f"Read settings from this file, not from {CONFIG_FILE} in the current folder.",
        )(with_loaded)

    return decorate


def _joined(key: str, value: object) -> object:
    """Bring together what a flag that may be repeated was given, each time perhaps several values."""
    if not isinstance(value, tuple):
        return value
    separator = "\n" if has_lines(key) else ","
    return separator.join(map(str, value))


def _setting_option(key: str, in_short: bool) -> Callable[[Command], Command]:
    """Return a setting's flag; `in_short` is said of --db by commands that make no crawl."""
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
        shell_complete=completer(key),
        help=_DB_IN_SHORT if in_short and key == "db" else f"{info.description} {_range_and_default(key)}",
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
        "agent": "NAME",
        "allow_addresses": "NETWORK,...",
        "archive_to": "URL",
        "capacity": "auto|N",
        "communicator": "db|URL",
        "dedup_from": "FILE|URL",
        "exchange_secret": "TEXT",
        "webhook": "URL",
        "webhook_secret": "TEXT",
        "db": "URL",
        "nofollow": "REL,...",
        "normalise": "STEP,...",
        "exclude": "PATTERN",
        "header": "'NAME: VALUE'",
        "include": "PATTERN",
        "product_token": "NAME",
        "proxy": "URL",
        "resolve": "HOST=ADDRESS",
    }
    plain: dict[object, str] = {Path: "FOLDER", Path | None: "FILE", str: "TEXT"}
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
