"""Reads settings from scrawler.toml, SCRAWLER_* variables and flags."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scrawler.errors import SettingsError
from scrawler.plugins import is_part, parts_in_words
from scrawler.settings.kinds import Live
from scrawler.settings.parts import Settings
from scrawler.settings.words import allowed_values, flag_name, part_kind

CONFIG_FILE = "scrawler.toml"
_PREFIX = "SCRAWLER_"  # names of variables begin so, in upper or lower case


def load_settings(flags: Mapping[str, object], config: Path | None = None) -> Settings:
    """Merge scrawler.toml (or `config`), SCRAWLER_* variables and `flags` (None: not given), and check the result.

    Raises SettingsError with one line that names source, key, value and what is allowed. Parts of other packages must
    be installed here; none is imported.
    """
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for key, value in _from_toml(config).items():
        values[key], origins[key] = value, f"{config or CONFIG_FILE}: {key} = {value!r}"
    for key, value in _from_environment().items():
        values[key], origins[key] = value, f"{_PREFIX}{key.upper()}={_shown(value)}"
    for key, value in flags.items():
        if value is not None:
            values[key], origins[key] = value, f"{flag_name(key)} {_shown(value)}"
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        keys = dict.fromkeys(str(detail["loc"][0]) for detail in error.errors(include_url=False))
        lines = [f"{origins[key]} is not allowed, only {allowed_values(key)}" for key in keys]
        raise SettingsError("; ".join(lines)) from error
    if lines := [line for key in origins for line in _missing_parts(key, getattr(settings, key), origins[key])]:
        raise SettingsError("; ".join(lines))
    return settings


def origin_of(key: str, flags: Mapping[str, object], config: Path | None = None) -> str:
    """Return where the value of a setting comes from: a flag, a variable, a file with the line, or the default."""
    if flags.get(key) is not None:
        return flag_name(key)
    if key in _from_environment():
        return f"{_PREFIX}{key.upper()}"
    path = config or Path(CONFIG_FILE)
    if key in _from_toml(config):
        line = _line_of(key, path.read_bytes().decode("utf-8-sig"))
        return f"{path}:{line}" if line else str(path)
    return "the default"


def _line_of(key: str, text: str) -> int:
    """Return the number of the first line of a TOML file that gives a value to a key, 0 if none seems to."""
    gives = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if gives.match(line)), 0)


def _missing_parts(key: str, value: Any, origin: str) -> Iterator[str]:
    """Yield what is to be said of the parts that a setting names and nobody brings."""
    if (kind := part_kind(key)) is None:
        return
    for name in value if isinstance(value, tuple) else (value,):
        if not is_part(kind, name):
            which = f" ({name!r})" if isinstance(value, tuple) else ""
            yield f"{origin} is not allowed{which}, only {parts_in_words(kind)}"


def live_settings() -> tuple[str, ...]:
    """Return the settings that can be set while machines run."""
    return tuple(key for key, info in Settings.model_fields.items() if Live() in info.metadata)


def parse_setting(key: str, text: str) -> Any:
    """Return the value of a live setting, written as in a flag; None for an empty text, which takes it back.

    Raises SettingsError with one line: unknown, not to be set while machines run, or out of range.
    """
    if key not in Settings.model_fields:
        raise SettingsError(f"unknown setting {key!r}{_hint(key, Settings.model_fields)}")
    if key not in live_settings():
        raise SettingsError(f"{key} needs a restart: only {', '.join(live_settings())} can be set while machines run")
    if not text:
        return None
    try:
        return getattr(Settings.model_validate({key: text}), key)
    except ValidationError as error:
        raise SettingsError(f"{key}={_shown(text)} is not allowed, only {allowed_values(key)}") from error


def _from_toml(config: Path | None) -> dict[str, Any]:
    path = config or Path(CONFIG_FILE)
    try:
        if config is not None and not config.is_file():
            what = "not a regular file" if config.exists() else "no such file"
            raise SettingsError(f"{config}: {what} (given with --config)")
        text = path.read_bytes() if path.is_file() else b""
        values = tomllib.loads(text.decode("utf-8-sig"))  # some editors begin a file with a byte order mark
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: not readable as TOML: {getattr(error, 'strerror', None) or error}") from error
    for key in values:
        if key not in Settings.model_fields:
            raise SettingsError(f"{path}: unknown key {key!r}{_hint(key, Settings.model_fields)}")
    return values


def _from_environment() -> dict[str, str]:
    """Return what variables say, in whatever case their names are written."""
    keys = {_PREFIX + key.upper(): key for key in Settings.model_fields}
    values = {}
    for variable, text in os.environ.items():
        if not (name := variable.upper()).startswith(_PREFIX):
            continue
        if name not in keys:
            raise SettingsError(f"unknown variable {variable}{_hint(name, keys)}")
        values[keys[name]] = text
    return values


def _hint(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else "; the README lists all settings"


def _shown(value: object) -> str:
    text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return text if text and text.isprintable() else repr(text)
