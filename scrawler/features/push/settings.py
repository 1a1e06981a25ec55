"""The settings of what tells others of changes."""

from typing import Annotated

from pydantic import Field

from scrawler.settings.kinds import FeatureSettings, FileName, Own, SharedSecret, Webhooks


class PushSettings(FeatureSettings):
    """Who is told of what visits find changed."""

    feed: Annotated[FileName, Own()] = Field(
        None, description="Atom feed of what visits find changed: a file that is kept up to date while machines work."
    )
    feed_entries: int = Field(200, ge=1, le=10_000, description="Entries of the feed: the newest changes.")
    webhook: Webhooks = Field((), description="URLs to which changes are sent, as signed messages of JSON.")
    webhook_secret: SharedSecret = Field(None, description="Secret with which messages to webhooks are signed.")
    webhook_secret_file: Annotated[FileName, Own()] = Field(
        None, description="File with the secret with which messages to webhooks are signed, 16 bytes at least."
    )
    webhook_private: Annotated[bool, Own()] = Field(
        False, description="Let webhooks go to private addresses, loopback among them."
    )
