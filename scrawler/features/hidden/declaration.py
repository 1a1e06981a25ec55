"""Declares the hidden web."""

from scrawler.feature import Feature, on_for_any_host

FEATURE = Feature(
    name="hidden",
    about="Asks the search forms of a site for words of its own pages, and follows what they bring: the hidden web.",
    is_on=lambda settings: on_for_any_host(settings, "hidden"),
    settings="scrawler.features.hidden.settings:HiddenSettings",
    groups={"crawl": ("hidden", "hidden_queries")},
    version=1,
    tables="scrawler.features.hidden.tables",
    hooks={
        "build": "scrawler.features.hidden.step:build",
        "report": "scrawler.features.hidden.telling:sections",
        "why": "scrawler.features.hidden.telling:facts",
    },
)
