"""Declares the synthetic web."""

from scrawler.feature import Command, Feature

FEATURE = Feature(
    name="synthweb",
    about="A deterministic synthetic web that knows its own truth, to try a crawl on.",
    commands={"synthweb": Command("scrawler.features.synthweb.command:synthweb", lasts=True)},
)
