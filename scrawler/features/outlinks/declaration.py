"""Declares out-links."""

from scrawler.feature import Feature

FEATURE = Feature(
    name="outlinks",
    about="Keeps the links of each page in a WARC record beside its answer.",
    is_on=lambda settings: bool(settings.outlinks),
    settings="scrawler.features.outlinks.settings:OutlinkSettings",
    groups={"files": ("outlinks",)},
    hooks={"build": "scrawler.features.outlinks.step:build"},
)
