"""The tables of settings and of parts."""

from __future__ import annotations

from collections.abc import Iterable

from scrawler.settings import (
    GROUPS,
    HOST_ONLY,
    PART_KINDS,
    SETTING_NAMES,
    allowed_values,
    is_by_host,
    is_list,
    live_settings,
    part_kind,
    setting_choices,
    setting_field,
    setting_range,
    setting_text,
)

_MADE_WITH = {
    "downloader": "a `FetchLimits`, for each thread",
    "extractor": "a `LinkPolicy`; threads share it",
    "seen": "the machine's `MemoryBudget`, for each site in work",
    "url_filters": "the `Settings`",
    "page_processors": "the `Settings`",
    "archive": "folder, prefix, and by keyword `info`, `max_file_bytes`, `fsync`, `block_digests`",
    "distribution": "the `SeedIdQueue`, the list of collectors, the turn (a lock), the event of the end",
}
_HEAD = "| setting | what it does | default | allowed |\n|---|---|---|---|"


def settings() -> str:
    """Return a table for each group of settings."""
    return "\n".join(_group(group, keys) for group, keys in GROUPS.items())


def _group(group: str, keys: Iterable[str]) -> str:
    rows = "\n".join(map(_row, keys))
    return f"\n### [{group}]\n\n{_HEAD}\n{rows}"


def _row(key: str) -> str:
    info = setting_field(key)
    default = "-" if info.default in (None, ()) else f"`{_plain(setting_text(key, info.default))}`"
    choices = [f"`{choice}`" for choice in setting_choices(key)]
    if part_kind(key):
        choices.append("[others](parts.md)")
    allowed = ", ".join(choices) or (allowed_values(key) if is_list(key) else setting_range(key))
    return f"| `{key}` | {_in_cell(info.description or '')} | {default} | {_in_cell(allowed)} |"


def _plain(text: str) -> str:
    return {"True": "true", "False": "false"}.get(text, text)


def _in_cell(text: str) -> str:
    """Return a text as it stands in a cell: Markdown would take its signs for its own."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("[", "\\[")


def live() -> str:
    """Return the settings that can be set while machines run."""
    return _listed(live_settings())


def without_flag() -> str:
    """Return the settings that stand only in the table of a host."""
    return _listed(HOST_ONLY)


def by_host() -> str:
    """Return the settings that a host can have of its own."""
    return _listed(key for key in SETTING_NAMES if is_by_host(key))


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


def parts() -> str:
    """Return the table of the kinds of parts."""
    rows = []
    for kind in PART_KINDS.values():
        module, _, name = kind.interface.partition(":")
        made = _MADE_WITH[kind.setting]
        rows.append(f"| `{kind.setting}` | `{kind.group}` | `{name}` in `{module}` | {made} |")
    head = "| setting | group | interface | made with |\n|---|---|---|---|"
    return "\n".join((head, *rows))
