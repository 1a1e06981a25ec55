"""Declares `scrawler serve-site`."""

from scrawler.feature import Command, Feature

FEATURE = Feature(
    name="serving",
    about="Publishes a site for crawlers, with lists of what has changed (ResourceSync).",
    commands={"serve-site": Command("scrawler.features.serving.cli:serve_site", lasts=True)},
    needs=("inbound",),
)
