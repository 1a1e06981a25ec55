"""Declares the classic parts."""

from scrawler.feature import Feature

FEATURE = Feature(
    name="classic",
    about="The first parts of this crawler: requests, html5lib and pybloom.",
    settings="scrawler.features.classic.settings:ClassicSettings",
    groups={"parts": ("profile",)},
    parts={
        "downloader": {"requests": "scrawler.features.classic.blocking:RequestsDownloader"},
        "extractor": {"html5lib": "scrawler.features.classic.reference:Html5libExtractor"},
        "seen": {"pybloom": "scrawler.features.classic.seen:pybloom_seen"},
    },
)
