"""The setting of page processors."""

from typing import Annotated

from pydantic import Field

from scrawler.plugins import PartKind
from scrawler.settings.kinds import FeatureSettings, PartNames


class ItemSettings(FeatureSettings):
    """What makes items of pages."""

    page_processors: Annotated[
        PartNames,
        PartKind(
            setting="page_processors",
            group="scrawler.page_processors",
            interface="scrawler.features.items.processing:PageProcessor",
            watched=False,  # Processing tells on which page one has failed, and goes on
        ),
    ] = Field((), description="Parts of other packages that make items of pages, once each is committed.")
