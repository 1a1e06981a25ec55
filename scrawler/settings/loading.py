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
from scrawler.feature import feature_options
from scrawler.model.url_pattern import UrlPatternError
from scrawler.plugins import is_part, parts_in_words
from scrawler.settings.found import check_depth, check_found, check_programs
from scrawler.settings.groups import flattened
from scrawler.settings.kinds import Live
from scrawler.settings.parts import SETTING_NAMES, SITES, Settings, is_by_host
from scrawler.settings.secrets import MASK, is_secret
from scrawler.settings.sites import SiteTableError, read_pattern
from scrawler.settings.words import allowed_values, flag_name, part_kind

CONFIG_FILE = "scrawler.toml"
_PREFIX = "SCRAWLER_"  # names of variables begin so, in upper or lower case
# What a run takes as flags, and is no setting: it is for one run, or for the terminal.
FLAGS_ALONE = (
    *("accept_losses", "again", "config", "export", "log_file", "log_format"),
    *("older_than", "quiet", "retry", "verbose"),
    *feature_options(),
)


def load_settings(flags: Mapping[str, object], config: Path | None = None) -> Settings:
    """Merge scrawler.toml (or `config`), SCRAWLER_* variables and `flags` (None: not given), and check the result.

    Raises SettingsError with one line that names source, key, value and what is allowed. Parts of other packages must
    be installed here; none is imported.
    """
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for key, value in _from_toml(config).items():
        values[key], origins[key] = value, f"{config or CONFIG_FILE}: {key} = {_hidden(key) or repr(value)}"
    for key, value in _from_environment().items():
        values[key], origins[key] = value, f"{_PREFIX}{key.upper()}={_hidden(key) or _shown(value)}"
    for key, value in flags.items():
        if value is not None:
            values[key], origins[key] = value, f"{flag_name(key)} {_hidden(key) or _shown(value)}"
    return _checked(values, origins, str(config or CONFIG_FILE))


def make_settings(values: Mapping[str, object], base: Settings | None = None) -> Settings:
    """Return the settings that hold `values`, as text or as Python has them, and else those of `base` or the defaults.

    Neither scrawler.toml nor a variable is read. Raises SettingsError as `load_settings` does.
    """
    for key in values:
        if key not in Settings.model_fields:
            raise SettingsError(f"unknown setting {key!r}{_hint(key, SETTING_NAMES)}")
    given = {} if base is None else base.model_dump(exclude_unset=True)
    origins = {key: f"{key}={_hidden(key) or _shown(value)}" for key, value in values.items()}
    return _checked({**given, **values}, origins, "settings")


def _checked(values: Mapping[str, object], origins: Mapping[str, str], tables: str) -> Settings:
    """Make the settings; `origins` says of each key where its value comes from, `tables` where those of hosts do."""
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError("; ".join(_problems(error, origins, tables))) from error
    except UnicodeEncodeError as error:  # of an argument or a variable: pydantic cannot even say where
        broken = [origins[key] for key, value in values.items() if key in origins and not _is_text(value)]
        raise SettingsError(f"{'; '.join(broken) or tables}: not in UTF-8") from error
    parts = ((key, getattr(settings, key), origin) for key, origin in origins.items() if key != SITES)
    if lines := [line for part in parts for line in _missing_parts(*part)]:
        raise SettingsError("; ".join(lines))
    return settings


def _is_text(value: object) -> bool:
    """Whether a value can be written in UTF-8, which what the system hands over need not be."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _problems(error: ValidationError, origins: Mapping[str, str], tables: str) -> Iterator[str]:
    """Yield a line for each setting that is not as it may be."""
    details = {str(detail["loc"][0]): detail for detail in reversed(error.errors(include_url=False))}
    for key, detail in reversed(details.items()):
        table = detail.get("ctx", {}).get("error")
        if key != SITES:
            yield f"{origins[key]} is not allowed{_reason(detail)}, only {allowed_values(key)}"
        elif not isinstance(table, SiteTableError):
            yield f'{tables}: sites holds tables of hosts, such as [sites."example.org"]'
        elif table.key:
            allowed, reason = allowed_values(table.key), _reason(_cause(table))
            shown = _hidden(table.key) or repr(table.value)
            yield f"{tables}: {table.where} {table.key} = {shown} is not allowed{reason}, only {allowed}"
        else:
            yield f"{tables}: {table}"


def _cause(error: SiteTableError) -> Mapping[str, Any]:
    """Return what pydantic says of the value in the table of a host."""
    cause = error.__cause__
    return cause.errors(include_url=False)[0] if isinstance(cause, ValidationError) else {}


def _reason(detail: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, where what may be given says too little of that."""
    error = detail.get("ctx", {}).get("error")
    return f" ({error})" if isinstance(error, UrlPatternError) else ""


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
            yield f"{origin} is not allowed{which}{kind.where_now(name)}, only {parts_in_words(kind)}"


def live_settings() -> tuple[str, ...]:
    """Return the settings that can be set while machines run."""
    return tuple(key for key, info in Settings.model_fields.items() if Live() in info.metadata)


def parse_setting(key: str, text: object) -> Any:
    """Return the value of a live setting, as in a flag or as Python has it; None, or an empty text, takes it back.

    Raises SettingsError with one line: unknown, not to be set while machines run, or out of range.
    """
    if key not in SETTING_NAMES:
        raise SettingsError(f"unknown setting {key!r}{_hint(key, SETTING_NAMES)}")
    if key not in live_settings():
        raise SettingsError(f"{key} needs a restart: only {', '.join(live_settings())} can be set while machines run")
    if text is None or text == "":
        return None
    try:
        return getattr(Settings.model_validate({key: text}), key)
    except ValidationError as error:
        raise SettingsError(f"{key}={_shown(text)} is not allowed, only {allowed_values(key)}") from error


def parse_host(text: str) -> str:
    """Return the name of a host's table as it is understood. Raises SettingsError."""
    try:
        return str(read_pattern(text))
    except ValueError as error:
        raise SettingsError(f"{text!r}: {error}") from error


def check_by_host(key: str) -> None:
    """Raise SettingsError if a live setting cannot be set for a host."""
    if not is_by_host(key):
        raise SettingsError(f"{key} holds for the whole crawl, and cannot be set for a host")


def _from_toml(config: Path | None) -> dict[str, Any]:
    path = config or Path(CONFIG_FILE)
    try:
        if config is not None and not config.is_file():
            what = "not a regular file" if config.exists() else "no such file"
            raise SettingsError(f"{config}: {what} (given with --config)")
        if os.path.lexists(path) and not path.is_file():  # without what somebody meant to say, nothing is to begin
            what = "not a regular file" if path.exists() else "a link to a file that is not there"
            raise SettingsError(f"{path}: {what}")
        if config is None:
            check_found(path)
        text = path.read_bytes() if path.is_file() else b""
        decoded = text.decode("utf-8-sig")  # some editors begin a file with a byte order mark
        check_depth(decoded)
        values = tomllib.loads(decoded)
        repr(values)  # messages show values, which has its own bounds of depth and of digits
    except RecursionError as error:
        raise SettingsError(f"{path}: not readable as TOML: it is nested too deep") from error
    except (OSError, ValueError) as error:  # not in UTF-8, no TOML, or a number of endless digits
        raise SettingsError(f"{path}: not readable as TOML: {getattr(error, 'strerror', None) or error}") from error
    try:
        flat = flattened(values)
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from error
    for key in flat:
        if key not in Settings.model_fields:
            raise SettingsError(f"{path}: unknown key {key!r}{_hint(key, SETTING_NAMES)}")
    if config is None:
        check_programs(path, flat)
    return flat


def _from_environment() -> dict[str, str]:
    """Return what variables say, in whatever case their names are written."""
    keys = {_PREFIX + key.upper(): key for key in SETTING_NAMES}
    values = {}
    for variable, text in os.environ.items():
        if not (name := variable.upper()).startswith(_PREFIX):
            continue
        if name not in keys:
            raise SettingsError(f"unknown variable {variable}{_hint(name, keys)}")
        values[keys[name]] = text
    return values


def _hint(word: str, known: Iterable[str]) -> str:
    if (name := word.upper().removeprefix(_PREFIX).lower()) in FLAGS_ALONE:
        return f"; it is a flag of a run alone: `scrawler run --{name.replace('_', '-')}`"
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else "; `scrawler run --help` lists all settings"


def _hidden(key: str) -> str:
    """Return what stands for the value of a secret; empty where it may be shown."""
    return MASK if key in SETTING_NAMES and is_secret(key) else ""


def _shown(value: object) -> str:
    text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return text if text and text.isprintable() else repr(text)
