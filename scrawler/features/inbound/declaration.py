"""Declares what servers of this program have in common."""

from scrawler.feature import Feature

FEATURE = Feature(
    name="inbound",
    about="Keeps those off who ask too much of a server of this program, or never end.",
)
