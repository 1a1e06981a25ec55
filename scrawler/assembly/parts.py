"""Parts that settings name, and what they are checked for before a machine begins."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrawler.core.rules import HostRules
from scrawler.errors import SettingsError
from scrawler.feature import part_of_feature
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.model.exchange import Mode
from scrawler.model.partitions import OPEN_KINDS
from scrawler.plugins import part_maker
from scrawler.references import load_object
from scrawler.settings import PART_KINDS, Settings, is_list
from scrawler.threads import no_room
from scrawler.urls.filters import UrlFilter, UrlFilters

# What the crawler does itself by settings of which features bring more.
_OF_THE_CRAWLER = {"mode": frozenset((Mode.FIREWALL, Mode.DROP)), "partition": OPEN_KINDS}


def maker(setting: str, settings: Settings) -> Callable[..., Any]:
    """Return a function that makes the part which a setting names. Raises SettingsError."""
    return part_maker(PART_KINDS[setting], getattr(settings, setting))


def check_parts(settings: Settings) -> None:
    """Import the parts that the settings name. Raises SettingsError where one cannot be used."""
    for setting in PART_KINDS:
        if not is_list(setting):
            maker(setting, settings)
    for setting, own in _OF_THE_CRAWLER.items():
        word = getattr(settings, setting)
        if word not in own:
            part_of_feature(setting, word.value)


def load_own_parts(settings: Settings) -> None:
    """Load the parts that the settings name, for processes that are about to be forked.

    Those of other packages are left out: nobody knows what they begin when they are loaded.
    """
    for setting, kind in PART_KINDS.items():
        name = getattr(settings, setting)
        if not is_list(setting) and name in kind.ours():
            with suppress(ImportError):  # a machine says what is wrong
                load_object(kind.ours()[name])


def check_hosts(settings: Settings) -> None:
    """Read the files of what is given for hosts. Raises SettingsError where one cannot be used, and StartError."""
    with no_room():
        HostRules(settings, EnvironmentProxies.of(os.environ))


def with_authorities(settings: Settings) -> Settings:
    """Return the settings with the file of authorities that the environment names, if they name none.

    Raises SettingsError where that is not there.
    """
    named = os.environ.get("SSL_CERT_FILE")
    if not named or settings.ca_file is not None:
        return settings
    if not Path(named).is_file():
        raise SettingsError(f"SSL_CERT_FILE of the environment is no file: {named}; --ca-file takes its place")
    return settings.model_copy(update={"ca_file": Path(named)})


def make_filters(settings: Settings) -> UrlFilters | None:
    """Make the URL filters; None without any. Raises SettingsError."""
    kind = PART_KINDS["url_filters"]
    filters: dict[str, UrlFilter] = {name: part_maker(kind, name)(settings) for name in settings.url_filters}
    return UrlFilters(filters) if filters else None


def product_token(settings: Settings) -> str:
    """Return the name by which robots.txt addresses this crawler."""
    return settings.product_token or settings.user_agent.partition("/")[0].partition(" ")[0]


def fault_file(folder: Path, crawl: str) -> Path:
    """Return the file, in the output folder, of the tracebacks of this program's own faults."""
    return folder / f"{crawl}.internal-errors.txt"
