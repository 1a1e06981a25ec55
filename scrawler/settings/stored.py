"""What is taken from the settings that a crawl's database holds: how it was crawled, and nothing that reaches further.

A database may come from somebody else. What connects to other places, loads code, names files to be written or to be
sent, or opens doors (addresses, certificates, memory) is the user's to say: on the command line, in the environment, or
in the settings of today. A folder of this host may stand in a database, as everything that is read there proves itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from scrawler.settings.kinds import MIB, Own, checked_folder
from scrawler.settings.parts import PART_KINDS, SETTING_NAMES, SITES, Settings
from scrawler.settings.secrets import is_secret

_DOORS = ("insecure", "allow_private", "allow_addresses", "resolve")
# Settings that hold as the user gives them now, whatever the database has.
_OWN = frozenset(
    (
        *("db", "archive_to", "input_dir", "output_dir", "pages_dir"),
        *("netrc", "cookie_file", "certificate", "certificate_key", "ca_file", "user"),
        *_DOORS,
        "archive_secrets",
        *("max_headers", "page_time", "seen_memory"),
        *PART_KINDS,
        *filter(is_secret, SETTING_NAMES),
        *(key for key in SETTING_NAMES if Own() in Settings.model_fields[key].metadata),
    )
)
_HEADS = MIB  # bytes that the heads of a record may take beside its body
# Settings of memory, which the database may raise to these bytes; the user may allow more.
_MOST = {"max_body": 128 * MIB, "max_decoded": 256 * MIB}


def from_database(stored: Mapping[str, Any], given: Settings) -> Settings:
    """Return the settings with which a crawl was run, as far as its database may say them; `given` has all else.

    Raises pydantic.ValidationError where another version stored what does not fit.
    """
    kept = {key: value for key, value in stored.items() if key in SETTING_NAMES and key not in _OWN}
    tables = stored.get(SITES, {})
    settings = Settings.model_validate({**kept, SITES: _tables(tables) if isinstance(tables, Mapping) else {}})
    own: dict[str, Any] = {key: getattr(given, key) for key in _OWN}
    for key, most in _MOST.items():
        own[key] = min(getattr(settings, key), max(most, getattr(given, key)))
    return settings.model_copy(update={**own, SITES: _joined(settings.sites, given)})


def with_doors(settings: Settings, stored: Mapping[str, Any], given: Settings) -> Settings:
    """Return settings with the doors of the last run, where the user gives none now: for a crawl that ran here alone.

    Raises pydantic.ValidationError where another version stored what does not fit.
    """
    kept = {key: stored[key] for key in _DOORS if key in stored and key not in given.model_fields_set}
    doors = Settings.model_validate(kept)
    return settings.model_copy(update={key: getattr(doors, key) for key in kept})


def _tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {key: value for key, value in table.items() if key not in _OWN}
        for name, table in tables.items()
        if isinstance(table, Mapping)
    }


def _joined(tables: Mapping[str, Mapping[str, Any]], given: Settings) -> dict[str, dict[str, Any]]:
    """Return tables of hosts as they were stored, with what is the user's own in those that are given now."""
    joined = {name: _bounded(table, given) for name, table in tables.items()}
    for name, table in given.sites.items():
        if of_host := {key: value for key, value in table.items() if key in _OWN}:
            joined[name] = joined.get(name, {}) | of_host
    return joined


def _bounded(table: Mapping[str, Any], given: Settings) -> dict[str, Any]:
    bounds = {key: max(most, getattr(given, key)) for key, most in _MOST.items() if key in table}
    return dict(table) | {key: min(table[key], most) for key, most in bounds.items()}


def largest_record(settings: Settings) -> int:
    """Return how many bytes a record in the archive may have, unpacked: of any host, by the settings of any run."""
    of_hosts = (int(table["max_body"]) for table in settings.sites.values() if "max_body" in table)
    return max(_MOST["max_body"], settings.max_body, *of_hosts) + _HEADS


def is_local(folder: str) -> bool:
    """Tell whether the URL of a folder of copies is one of this host, which a database alone may name."""
    try:
        return checked_folder(folder) is not None and urlsplit(folder).scheme == "file"
    except (ValueError, TypeError, AttributeError):  # it may be anything
        return False


def copies_unnamed(folder: object) -> str:
    """Say that copies are not asked for that the database alone names, and what to do."""
    return (
        f"the database says that copies are in {folder}, which is not asked, as only the database names it; if it is"
        " yours, say so by --archive-to, SCRAWLER_ARCHIVE_TO or archive_to in scrawler.toml"
    )
