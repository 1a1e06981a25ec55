"""Declares crawls of a topic."""

from typing import Any

from scrawler.feature import Feature


def _is_on(settings: Any) -> bool:
    return settings.topic is not None or settings.order != "breadth-first" or settings.store != "all"


FEATURE = Feature(
    name="topic",
    about="Scores pages and links by a list of terms: what has to do with a topic comes first, or is kept alone.",
    is_on=_is_on,
    settings="scrawler.features.topic.settings:TopicSettings",
    groups={"topic": ("order", "topic", "relevance", "store")},
    hooks={
        "build": "scrawler.features.topic.feature:build",
        "validate": "scrawler.features.topic.feature:make_focus",
    },
)
