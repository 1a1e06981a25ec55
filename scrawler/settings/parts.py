"""The parts of a crawl that can be chosen by name, each with its setting: the one table of them.

A new kind is a setting here, whose `PartKind` says what it chooses among; its protocol, beside whoever calls the part;
and the line of `assembly/` that makes it. `scrawler plugins`, the help texts and the checks follow from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from scrawler.feature import features
from scrawler.plugins import PartKind
from scrawler.references import load_object
from scrawler.settings.crawl import CrawlSettings
from scrawler.settings.kinds import ByHost, Live, PartNames, read_header
from scrawler.settings.sites import SiteTableError, is_of_many, named_tables, read_pattern

_OF_HOST = {"of": "host"}  # the context of a value that stands in the table of a host


class OwnSettings(CrawlSettings):
    """Every setting of the crawler's own, with its parts."""

    downloader: Annotated[
        str,
        PartKind(
            setting="downloader",
            group="scrawler.downloaders",
            interface="scrawler.fetch.downloader:Downloader",
            own={
                "curl": "scrawler.fetch.curl:CurlDownloader",
            },
            answers={"completed": "builtins:list", "cancel": "builtins:list"},
        ),
    ] = Field("curl", description="Part that downloads pages.")
    extractor: Annotated[
        str,
        PartKind(
            setting="extractor",
            group="scrawler.extractors",
            interface="scrawler.extract.links:LinkExtractor",
            own={
                "scanner": "scrawler.extract.scanner:fastest_extractor",
                "lexbor": "scrawler.extract.lexbor:LexborExtractor",
            },
            answers={"links": "scrawler.extract.links:PageLinks"},
        ),
    ] = Field("scanner", description="Part that finds the links of a page.")
    seen: Annotated[
        str,
        PartKind(
            setting="seen",
            group="scrawler.seen_filters",
            interface="scrawler.core.seen:SeenFilter",
            own={
                "compact": "scrawler.core.seen:compact_seen",
                "rbloom": "scrawler.core.seen:rbloom_seen",
                "exact": "scrawler.core.seen:ExactSeen",
            },
            answers={"unseen": "builtins:list"},
        ),
    ] = Field("compact", description="Part that knows which URLs a party has seen.")
    url_filters: Annotated[
        PartNames,
        PartKind(
            setting="url_filters",
            group="scrawler.url_filters",
            interface="scrawler.urls.filters:UrlFilter",
            watched=False,  # UrlFilters tells on which URL one has failed
        ),
    ] = Field((), description="Parts of other packages that say which links are not followed.")
    archive: Annotated[
        str,
        PartKind(
            setting="archive",
            group="scrawler.archives",
            interface="scrawler.archive.archive:Archive",
            own={"warc": "scrawler.archive.warc:WarcWriter"},
            answers={"write": "scrawler.archive.record:RecordRef"},
        ),
    ] = Field("warc", description="Part that keeps what servers answer.")
    distribution: Annotated[
        str,
        PartKind(
            setting="distribution",
            group="scrawler.distributions",
            interface="scrawler.core.distribution.distributor:Distribution",
            own={
                "distributor": "scrawler.core.distribution.distributor:UrlDistributor",
                "free": "scrawler.core.distribution.competition:FreeCompetition",
            },
            elsewhere=dict.fromkeys(
                ("hands", "one"), "experiments alone compare it: put experiments/arms on PYTHONPATH"
            ),
        ),
    ] = Field(
        "distributor",
        description=(
            "How threads get seeds: dealt out and levelled by the distributor, or in free competition, where a thread "
            "takes all it has room for (free)."
        ),
    )

    @field_validator("user", "password", "certificate", "certificate_key", "header")
    @classmethod
    def _check_whose(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse what is for one host where it would be sent to all."""
        if info.context is _OF_HOST or not value:
            return value
        if info.field_name != "header":
            raise ValueError("it is for one host")
        if any(read_header(one.get_secret_value())[0].lower() == "authorization" for one in value):
            raise ValueError("it is for one host")
        return value

    @field_validator("sites")
    @classmethod
    def _check_sites(cls, tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            name: {key: cls._of_host(name, key, value) for key, value in table.items()}
            for name, table in named_tables(tables).items()
        }

    @classmethod
    def _of_host(cls, name: str, key: str, value: object) -> Any:
        """Return the value of a setting in the table of a host. Raises SiteTableError."""
        if key not in SETTING_NAMES:
            raise SiteTableError(name, f"unknown key {key!r}")
        mark = by_host(key)
        if mark is None:
            raise SiteTableError(name, f"{key} holds for the whole crawl, and cannot be set for a host")
        if not mark.by_scheme and read_pattern(name).in_clear:
            raise SiteTableError(name, f"{key} holds for http and https alike; name the host alone")
        if (mark.only or key == "header") and is_of_many(name):
            raise SiteTableError(name, f"{key} would be sent to hosts of many people, for this is a public suffix")
        try:
            return getattr(cls.model_validate({key: value}, context=_OF_HOST), key)
        except ValidationError as error:
            raise SiteTableError(name, f"{key} is not allowed", key, value) from error


if TYPE_CHECKING:
    Settings = OwnSettings  # the crawler does not know what features add
else:
    Settings = type(CrawlSettings)(
        "Settings",
        (OwnSettings, *(load_object(feature.settings) for feature in features() if feature.settings)),
        {
            "__doc__": "Every setting of a crawl on one host. `Settings(...)` looks at nothing but its arguments.",
            "__module__": __name__,
            "model_config": ConfigDict(defer_build=False),
        },
    )

SITES = "sites"  # the one field that is no setting, but holds those of hosts
SETTING_NAMES = tuple(key for key in Settings.model_fields if key != SITES)


def by_host(key: str) -> ByHost | None:
    """Return whether, and how, a setting may stand in the table of a host."""
    return next((mark for mark in Settings.model_fields[key].metadata if isinstance(mark, ByHost)), None)


def is_by_host(key: str) -> bool:
    """Tell whether a setting may stand in the table of a host."""
    return by_host(key) is not None


HOST_ONLY = tuple(key for key in SETTING_NAMES if (mark := by_host(key)) is not None and mark.only)
_WITH_PORT = re.compile(r"[^/]*//[^/]*:[0-9]+(/|$)")  # a normalised URL names no port that is its scheme's own
_IN_TLS = tuple(key for key in SETTING_NAMES if (mark := by_host(key)) is not None and mark.in_tls)


class Way(NamedTuple):
    """How a request goes out, which decides what of the tables of its host may go with it."""

    in_clear: bool = False  # without TLS, for all to read
    other_port: bool = False  # to another port than that of its scheme, where another server may be

    @classmethod
    def to(cls, url: str) -> Way:
        """Return the way of a normalised URL."""
        in_clear = url.startswith("http:")
        return cls(in_clear, bool(_WITH_PORT.match(url)))

    def hides(self, name: str, key: str) -> bool:
        """Tell whether a setting in the table of a name does not go this way: it is for the server that is named."""
        if key not in _IN_TLS:
            return False
        pattern = read_pattern(name)
        if self.in_clear and not pattern.in_clear:
            return True
        return self.other_port and not pattern.port and key != "netrc"  # that file names the hosts itself


ANY_WAY: Way = Way()  # in TLS, to the port that has no name


def withheld(settings: Settings, names: Iterable[str], way: Way) -> dict[str, tuple[str, ...]]:
    """Return what a request does not get of the tables of these names: settings by the name of a table."""
    names = tuple(names)
    sent = {key for name in names for key in settings.sites[name] if key in _IN_TLS and not way.hides(name, key)}
    hidden = {
        name: tuple(
            key for key, value in settings.sites[name].items() if value and key not in sent and way.hides(name, key)
        )
        for name in names
    }
    return {name: keys for name, keys in hidden.items() if keys}


def of_tables(settings: Settings, names: Iterable[str], way: Way = ANY_WAY) -> Settings:
    """Return the settings with what the tables of these names say; a later one counts more.

    What is for one server alone comes from tables that name it: for a request without TLS from those for http://, for
    one to another port than that of its scheme from those with a port.
    """
    values: dict[str, Any] = {"netrc": None} if way.in_clear else {}
    for name in names:
        values |= {key: value for key, value in settings.sites[name].items() if not way.hides(name, key)}
    return settings.model_copy(update=values)


def with_live(settings: Settings, ordered: Mapping[str, Any]) -> Settings:
    """Return settings with those that were set while machines run, which hold over those that they had.

    What is set for a host goes into the table of that host: it says nothing of others. They stand in the database,
    which somebody else may have written: what cannot be set so, or is no value that the setting may have, says nothing.
    """
    values = _live(ordered)
    tables = {name: dict(table) for name, table in settings.sites.items()}
    of_hosts = ordered.get(SITES, {})
    for name, table in of_hosts.items() if isinstance(of_hosts, Mapping) else ():
        if isinstance(table, Mapping):
            own = {key: value for key, value in _live(table).items() if is_by_host(key)}
            tables[name] = tables.get(name, {}) | own
    return settings.model_copy(update={**values, SITES: tables})


def _live(ordered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of live settings, as far as they are some."""
    found = {}
    for key, value in ordered.items():
        if key in SETTING_NAMES and Live() in Settings.model_fields[key].metadata:
            with suppress(ValidationError):
                found[key] = getattr(Settings.model_validate({key: value}), key)
    return found


PART_KINDS: dict[str, PartKind] = {
    kind.setting: kind
    for info in Settings.model_fields.values()
    for kind in info.metadata
    if isinstance(kind, PartKind)
}
