"""Settings that may hold secrets: what may be written down of them, and what only a machine process is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from scrawler.settings.kinds import NamesDatabase, Secret
from scrawler.settings.parts import SETTING_NAMES, SITES, Settings

MASK = "***"


def is_secret(key: str) -> bool:
    """Tell whether a setting may hold a secret."""
    return Secret() in Settings.model_fields[key].metadata


def _names_database(key: str) -> bool:
    return NamesDatabase() in Settings.model_fields[key].metadata


def public_values(settings: Settings) -> dict[str, Any]:
    """Return the settings that may be written down, as values that JSON knows; neither secrets nor databases."""
    hidden = {key for key in SETTING_NAMES if is_secret(key) or _names_database(key)}
    values = settings.model_dump(mode="json", exclude=hidden)
    tables = values.pop(SITES)
    values[SITES] = {name: {key: table[key] for key in table if not is_secret(key)} for name, table in tables.items()}
    return values


def with_secrets(stored: Settings, given: Settings) -> Settings:
    """Return settings that were written down, with the secrets of those that are given now."""
    secrets = {key: getattr(given, key) for key in SETTING_NAMES if is_secret(key)}
    tables = dict(stored.sites)
    for name, table in given.sites.items():
        if of_host := {key: value for key, value in table.items() if is_secret(key)}:
            tables[name] = tables.get(name, {}) | of_host
    return stored.model_copy(update=secrets | {SITES: tables})


def private_values(settings: Settings) -> dict[str, Any]:
    """Return what was given of the settings, as values that JSON knows, with its secrets: for a pipe, never a file."""
    plain: dict[str, Any] = _plain(settings.model_dump(exclude_unset=True))
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value
