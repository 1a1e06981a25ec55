"""The groups of settings: tables of scrawler.toml, and sections of a command's help."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from scrawler.feature import features
from scrawler.settings.kinds import OfArchive
from scrawler.settings.parts import SETTING_NAMES, Settings

_OWN: Mapping[str, tuple[str, ...]] = {  # those of the crawler
    "crawl": (
        *("db", "name", "scope", "boundary", "mode", "hops", "sitemaps", "assets"),
        "max_candidates",
    ),
    "machines": (
        "machines",
        "threads",
        "seeds_per_thread",
        "balance_machines",
        "dns_threads",
        "seen_memory",
        "depth_buffer",
        "partition",
    ),
    "politeness": (
        *("delay", "per_site", "per_ip", "delay_per_ip", "delay_factor", "delay_cap"),
        *("max_crawl_delay", "max_retry_after", "max_pushbacks", "max_failures", "outage_patience"),
        *("robots", "obey_meta", "nofollow", "product_token", "user_agent"),
    ),
    "requests": (
        *("connect_timeout", "timeout", "retries", "retry_pause", "accept", "cookies"),
        *("patience", "slow_timeout", "slow_delay", "slow_per_site", "slow_pass"),
    ),
    "access": (
        *("proxy", "header", "user", "password", "netrc", "cookie_file", "certificate", "certificate_key", "ca_file"),
        *("insecure", "allow_private", "allow_addresses", "resolve"),
    ),
    "urls": ("include", "exclude", "normalise", "max_url_length", "max_segments", "max_repeats", "max_parameters"),
    "limits": (
        *("max_depth", "max_pages", "max_bytes", "max_time"),
        *("max_body", "max_decoded", "max_ratio", "max_headers", "page_time"),
    ),
    "traps": ("traps", "trap_pages", "trap_yield", "near_duplicates"),
    "files": (
        "input_dir",
        "output_dir",
        "pages_dir",
        "archive_to",
        "block_digests",
        "archive_secrets",
        "warc_size",
    ),
    "saving": ("checkpoint_interval", "checkpoint_pages", "stop_timeout", "database_patience", "fsync"),
    "parts": (
        "downloader",
        "extractor",
        "seen",
        "url_filters",
        "archive",
        "distribution",
    ),
}


def _with_features() -> dict[str, tuple[str, ...]]:
    """Return all groups: those of the crawler with what features have in them, then those that are features' alone."""
    groups = dict(_OWN)
    for feature in features():
        for group, keys in feature.groups.items():
            groups[group] = groups.get(group, ()) + keys
    return groups


GROUPS = _with_features()


def group_of(key: str) -> str:
    """Return the group of a setting."""
    return next((group for group, keys in GROUPS.items() if key in keys), "parts")


def flattened(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings out of the tables of their groups. Raises ValueError, which says in words what is wrong."""
    tables = {key: value for key, value in values.items() if key in GROUPS and isinstance(value, dict)}
    flat = {key: value for key, value in values.items() if key not in tables}
    for group, table in tables.items():
        for key, value in table.items():
            if key in SETTING_NAMES and key not in GROUPS[group]:
                raise ValueError(f"{key} does not belong to [{group}], but to [{group_of(key)}]")
            if key in flat:
                raise ValueError(f"{key} is given twice")
            flat[key] = value
    return flat


def of_archive() -> tuple[str, ...]:
    """Return the names of the settings that say where archived records are: all commands that read them have these."""
    return tuple(key for key in in_groups() if OfArchive() in Settings.model_fields[key].metadata)


def in_groups() -> list[str]:
    """Return the names of all settings, group by group."""
    return list(chain.from_iterable(GROUPS.values()))
