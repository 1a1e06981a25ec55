"""What a settings file may do that a command finds in its folder, and that nobody has named.

It is obeyed as Git obeys the configuration of a repository: where it belongs to the user who runs the command, or to
root. Somebody else's is used once it is named (`--config`). A folder that was unpacked belongs to the user as well, so
a file that is found names no program beside it: to look at somebody's crawl is not to run what came with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrawler.errors import SettingsError
from scrawler.settings.kinds import Program
from scrawler.settings.parts import SETTING_NAMES, Settings

_ROOT = 0
_SUDO = "SUDO_UID"  # the user who became root for this command
# Texts and comments of TOML. A text without an end is one as well: a search for the end begins nowhere twice.
_TEXTS = re.compile(
    r'''"""(?:[^"\\]|\\.|"(?!""))*(?:"{3,5})?'''
    r"""|'''(?:[^']|'(?!''))*(?:'{3,5})?"""
    r"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'[^'\n]*'?|\#[^\n]*""",
    re.DOTALL,
)
_BETWEEN = re.compile(r"[,=\[\]{}\n]")  # what stands between keys and values
_MOST_PARTS = 300  # of a key


def check_found(path: Path) -> None:
    """Raise SettingsError where a file that was found is somebody else's. OSError passes, as for one that is gone."""
    try:
        owner = path.stat().st_uid
    except FileNotFoundError:
        return
    if owner not in _users():
        raise SettingsError(
            f"{path} in this folder belongs to another user ({owner}), and is not used unseen: name it by --config"
            f" {path} if you trust it"
        )


def check_depth(text: str) -> None:
    """Raise RecursionError for keys of endlessly many parts, which `tomllib` reads in quadratic time."""
    if any(part.count(".") > _MOST_PARTS for part in _BETWEEN.split(_TEXTS.sub("", text))):
        raise RecursionError


def check_programs(path: Path, values: Mapping[str, Any]) -> None:
    """Raise SettingsError where a file that was found names a program in its own folder, or below."""
    folder = os.path.realpath(path.parent)
    for key in SETTING_NAMES:
        value = values.get(key)
        if value is None or Program() not in Settings.model_fields[key].metadata:
            continue
        if isinstance(value, str) and "\0" not in value and _is_in(folder, os.path.join(folder, value)):
            raise SettingsError(
                f"{path}: {key} = {value!r} is a program in the folder of this file, which may have come with it: name"
                f" the file by --config {path} if you trust it"
            )


def _is_in(folder: str, path: str) -> bool:
    """Tell whether something stands at a path, and in a folder: by its name, or where a link leads."""
    if not os.path.lexists(path):
        return False  # a bare name is looked for where programs are
    return any(os.path.commonpath((folder, one)) == folder for one in (os.path.abspath(path), os.path.realpath(path)))


def _users() -> set[int]:
    users = {_ROOT, os.geteuid()}
    if os.geteuid() == _ROOT and (text := os.environ.get(_SUDO, "")).isdigit():
        users.add(int(text))
    return users
