"""Declares what servers and owners of sites send, and what others are told of changes."""

from typing import Any

from scrawler.feature import Command, Feature


def _tells(settings: Any) -> bool:
    return settings.feed is not None or bool(settings.webhook)


FEATURE = Feature(
    name="push",
    about="Takes in URLs that servers and owners of sites send (IndexNow, WebSub, with a key), and tells of changes.",
    is_on=_tells,
    settings="scrawler.features.push.settings:PushSettings",
    groups={"changes": ("feed", "feed_entries", "webhook", "webhook_secret", "webhook_secret_file", "webhook_private")},
    commands={"listen": Command("scrawler.features.push.cli:listen", lasts=True)},
    tables="scrawler.features.push.store.tables",
    hooks={
        "arrivals": "scrawler.features.push.store.pushes:listeners",
        "beside": "scrawler.features.push.telling.telling:Telling",
        "status": "scrawler.features.push.status:standing",
    },
    needs=("classic", "inbound", "revisit"),
)
