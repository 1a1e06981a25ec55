"""The settings of a topic."""

from typing import Annotated, Literal

from pydantic import Field

from scrawler.settings.kinds import FeatureSettings, FileName, Own


class TopicSettings(FeatureSettings):
    """What the topic is, and what is made of it."""

    order: Literal["breadth-first", "focused"] = Field(
        "breadth-first", description="Follow the links of a party in the order in which they are met, or by the topic."
    )
    topic: Annotated[FileName, Own()] = Field(
        None, description="File with a weighted term a line, such as '2 thread pool'; pages and links are scored by it."
    )
    relevance: float = Field(0.3, ge=0, le=1, description="Score from which on a page has to do with the topic.")
    store: Literal["all", "relevant"] = Field(
        "all", description="Archive all pages, or only those that have to do with the topic; rows are kept for all."
    )
