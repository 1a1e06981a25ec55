"""The parts of a crawl that can be chosen by name, each with its setting: the one table of them.

A new kind is a setting here, whose `PartKind` says what it chooses among; its protocol, beside whoever calls the part;
and the line of `assembly.py` that makes it. `scrawler plugins`, the help texts and the checks follow from here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from scrawler.plugins import PartKind
from scrawler.settings.crawl import CrawlSettings
from scrawler.settings.kinds import PartNames

_CLASSIC = {"downloader": "requests", "extractor": "html5lib", "seen": "pybloom"}


class Settings(CrawlSettings):
    """Every setting of a crawl on one host. `Settings(...)` looks at nothing but its arguments."""

    profile: Literal["default", "classic"] = Field(
        "default", description="Set of parts: the fast ones, or requests, html5lib and pybloom."
    )
    downloader: Annotated[
        str,
        PartKind(
            setting="downloader",
            group="scrawler.downloaders",
            interface="scrawler.fetch.downloader:Downloader",
            own={
                "curl": "scrawler.fetch.curl:CurlDownloader",
                "requests": "scrawler.fetch.blocking:RequestsDownloader",
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
                "html5lib": "scrawler.extract.reference:Html5libExtractor",
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
                "pybloom": "scrawler.core.seen:pybloom_seen",
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
                "free": "scrawler.core.distribution.distributor:FreeCompetition",
            },
        ),
    ] = Field(
        "distributor",
        description="How threads get seeds: dealt out and levelled by the distributor, or by free competition.",
    )

    @model_validator(mode="before")
    @classmethod
    def _apply_profile(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("profile") == "classic":
            return _CLASSIC | values
        return values


PART_KINDS = {
    kind.setting: kind
    for info in Settings.model_fields.values()
    for kind in info.metadata
    if isinstance(kind, PartKind)
}
