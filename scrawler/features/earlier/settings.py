"""The setting of earlier crawls."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scrawler.settings.kinds import Allowed, FeatureSettings, NamesDatabase, OfArchive, Own


class EarlierSettings(FeatureSettings):
    """Which earlier crawl is referred to."""

    dedup_from: Annotated[
        str | None, Allowed("the file, or the database URL, of another crawl"), NamesDatabase(), OfArchive(), Own()
    ] = Field(
        None,
        min_length=1,
        description="Database of an earlier crawl, a file or a URL: its pages are asked for only if they have changed"
        " (ETag, Last-Modified), and of bytes that it has archived, a revisit record refers to the record there.",
    )
