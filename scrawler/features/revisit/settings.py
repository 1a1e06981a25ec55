"""The settings of visits again."""

from typing import Annotated, Literal

from pydantic import Field

from scrawler.settings.kinds import DAY, ByHost, FeatureSettings, FileName, Own, Seconds

WITH_BUDGET = ("proportional", "optimal")  # policies that divide a budget


class RevisitSettings(FeatureSettings):
    """When URLs are visited again, what counts as a change, and what is kept of visits."""

    resourcesync: Annotated[Literal["off", "told", "ask"], ByHost()] = Field(
        "off",
        description="Read lists of ResourceSync: none; those to which a seed's page, or a sitemap, leads; or ask for"
        " /.well-known/resourcesync as well.",
    )
    resourcesync_interval: Annotated[Seconds, ByHost()] = Field(
        3600.0,
        ge=1,
        le=3650 * DAY,
        description="Time after which a change list of ResourceSync is due again; for so long what it said counts.",
    )
    revisit: Annotated[Literal["off", "fixed", "proportional", "adaptive", "optimal"], ByHost()] = Field(
        "off",
        description="When URLs are due to be visited again: never by themselves (off), after a fixed time, as often as"
        " they change (adaptive), or as their share of the budget says (proportional, optimal).",
    )
    revisit_interval: Annotated[Seconds, ByHost()] = Field(
        7 * DAY, ge=1, le=3650 * DAY, description="Time to the next visit of a URL; adaptive: to its first one."
    )
    revisit_budget: int | None = Field(
        None, ge=1, le=10**9, description="Most URLs a day that are visited again as they become due, of all sites."
    )
    revisit_site_budget: Annotated[int | None, ByHost()] = Field(
        None, ge=1, le=10**9, description="Most URLs of a site a day that are visited again as they become due."
    )
    revisit_weight: Literal["none", "depth"] = Field(
        "none", description="What a URL weighs where visits are optimal: all the same, or less the deeper it is."
    )
    rank: Annotated[FileName, Own()] = Field(
        None, description="File of URLs and what they weigh where visits are optimal, in place of revisit_weight."
    )
    revisit_change: Annotated[Literal["bytes", "text"], ByHost()] = Field(
        "bytes", description="What has to differ so that a page has changed: its bytes, or its text without dates."
    )
    revisit_near: Annotated[int, ByHost()] = Field(
        0, ge=0, le=16, description="By how many of 64 bits texts may differ (simhash) that count as the same."
    )
    revisit_min: Annotated[Seconds, ByHost()] = Field(
        3600.0, ge=1, le=3650 * DAY, description="Shortest time to the next visit of a URL that changes often."
    )
    revisit_max: Annotated[Seconds, ByHost()] = Field(
        90 * DAY, ge=1, le=3650 * DAY, description="Longest time to the next visit of a URL that does not change."
    )
    revisit_pause: Seconds = Field(
        600.0, ge=0, le=3650 * DAY, description="Shortest time between the end of a seed's round and the next one."
    )
    keep: bool = Field(False, description="Go on when no seed is left: URLs are visited again when they are due.")
    keep_visits: int | None = Field(
        None,
        ge=1,
        description="Keep so many of the newest visits of a URL one by one, and those that found a change; of others"
        " only the numbers.",
    )
