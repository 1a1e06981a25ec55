"""Declares the report on a crawl."""

from scrawler.feature import Command, Feature

FEATURE = Feature(
    name="report",
    about="Reports on a crawl or a seed, as text, JSON, or HTML with plots.",
    commands={"report": Command("scrawler.features.report.cli:report", lists=True)},
    library={"report": "scrawler.features.report.library:report"},
)
