"""The settings of the hidden web."""

from typing import Annotated

from pydantic import Field

from scrawler.settings.kinds import ByHost, FeatureSettings


class HiddenSettings(FeatureSettings):
    """Whether search forms are asked, and how often."""

    hidden: Annotated[bool, ByHost()] = Field(
        False, description="Ask the search forms of a seed's site for words of its own pages: the hidden web."
    )
    hidden_queries: Annotated[int, ByHost()] = Field(
        200, ge=1, le=100_000, description="Most queries of search forms for one seed, over all its rounds."
    )
