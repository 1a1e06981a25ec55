"""Declares broken links."""

from scrawler.feature import Command, Feature

FEATURE = Feature(
    name="broken",
    about="Lists links that lead nowhere, and the pages on which they stand.",
    commands={"broken": Command("scrawler.features.broken.cli:broken", lists=True)},
    hooks={"report": "scrawler.features.broken.section:added"},
    needs=("report",),
)
