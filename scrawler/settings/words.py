"""What a setting is and may hold, in words: for help texts and messages."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import cast, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from scrawler.plugins import PartKind
from scrawler.settings.kinds import Allowed, Kind, Lines
from scrawler.settings.parts import SITES, Settings
from scrawler.settings.secrets import MASK, is_secret
from scrawler.units import format_bytes, format_seconds

_NOUNS = {Kind.SECONDS: "a time such as 90, 5m or 2h", Kind.BYTES: "a size such as 500000, 32MiB or 1GB"}


def setting_field(key: str) -> FieldInfo:
    """Return the declaration of a setting: type, default, bounds, description."""
    return Settings.model_fields[key]


def flag_name(key: str) -> str:
    """Return the command line flag of a setting."""
    return "--" + key.replace("_", "-")


def allowed_values(key: str) -> str:
    """Say in words what a setting may hold."""
    info = setting_field(key)
    words = [mark.words for mark in info.metadata if isinstance(mark, Allowed)]
    if words:
        return words[0]
    if info.annotation is bool:
        return "true or false"
    if info.annotation is Path:
        return "a folder"
    if choices := setting_choices(key):
        return "one of " + ", ".join(choices) + (", or a name that `scrawler plugins` lists" if part_kind(key) else "")
    kind = setting_kind(key)
    noun = "a number" if info.annotation is float else "a whole number"
    if kind:
        noun = _NOUNS[kind]
    bounds = setting_range(key)
    return f"{noun}, {bounds}" if bounds else noun


def setting_kind(key: str) -> Kind | None:
    """Return whether a setting is a time or a size, or neither."""
    return next((mark for mark in setting_field(key).metadata if isinstance(mark, Kind)), None)


def part_kind(key: str) -> PartKind | None:
    """Return what kind of parts a setting chooses among, None if it chooses none."""
    return next((mark for mark in setting_field(key).metadata if isinstance(mark, PartKind)), None)


def setting_choices(key: str) -> tuple[str, ...]:
    """Return the values of a setting that has only a few, of parts our own; empty for the others."""
    if (kind := part_kind(key)) is not None:
        return tuple(kind.ours())
    annotation = setting_field(key).annotation
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return tuple(choice.value for choice in annotation)
    choices = get_args(annotation)
    return choices if choices and all(isinstance(choice, str) for choice in choices) else ()


def setting_range(key: str) -> str:
    """Write the bounds of a setting, "1 to 1000" or "at least 1", or what its text may be; empty if it has none."""
    metadata = setting_field(key).metadata
    low = next((setting_text(key, mark.ge) for mark in metadata if isinstance(mark, Ge)), None)
    high = next((setting_text(key, mark.le) for mark in metadata if isinstance(mark, Le)), None)
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return next((mark.words for mark in metadata if isinstance(mark, Allowed)), "")


def setting_text(key: str, value: object) -> str:
    """Write a value of a setting as a user would: 33554432 of max_body -> "32MiB"."""
    if is_secret(key):
        return MASK if value else "none"
    kind = setting_kind(key)
    if kind is Kind.BYTES and isinstance(value, int):
        return format_bytes(value)
    if kind is Kind.SECONDS and isinstance(value, int | float):
        return format_seconds(value)
    if isinstance(value, tuple):
        return ",".join(value) or "none"
    return str(value)


def live_text(ordered: Mapping[str, object]) -> dict[str, str]:
    """Write what was set while machines run, that of single hosts as HOST:KEY."""
    values = dict(ordered)
    tables = cast("Mapping[str, Mapping[str, object]]", values.pop(SITES, {}))
    of_hosts = ((f"{host}:{key}", key, value) for host, table in tables.items() for key, value in table.items())
    every = chain(((key, key, value) for key, value in values.items()), of_hosts)
    return {name: setting_text(key, value) for name, key, value in every}


def is_list(key: str) -> bool:
    """Tell whether a setting holds several values, written with commas between them."""
    return get_origin(setting_field(key).annotation) is tuple


def has_lines(key: str) -> bool:
    """Tell whether the values of a list may hold commas: in a text each has a line."""
    return Lines() in setting_field(key).metadata


def crawl_title(name: str) -> str:
    """Return what to call a crawl: one that was given no name is just the crawl."""
    return "the crawl" if name == setting_field("name").default else f"crawl {name}"
