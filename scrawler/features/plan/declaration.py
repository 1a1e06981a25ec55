"""Declares the prediction of crawls."""

from scrawler.feature import Command, Feature

FEATURE = Feature(
    name="plan",
    about="Predicts when a crawl ends, and what bounds it.",
    commands={"plan": Command("scrawler.features.plan.cli:plan", lists=True)},
    hooks={"time_left": "scrawler.features.plan.left:seconds_left"},
    needs=("synthweb",),
)
