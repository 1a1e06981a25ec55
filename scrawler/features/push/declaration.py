"""Declares what servers and owners of sites send."""

from scrawler.feature import Command, Feature

FEATURE = Feature(
    name="push",
    about="Takes in URLs that servers and owners of sites send: IndexNow, WebSub, or with a key.",
    commands={"listen": Command("scrawler.features.push.cli:listen", lasts=True)},
    needs=("inbound",),
)
