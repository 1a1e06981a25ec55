"""The folder elsewhere where copies of an archive are kept, behind the address guard."""

from __future__ import annotations

from scrawler.archive.remote import Remote
from scrawler.fetch.guard import allowed_networks, refuses
from scrawler.settings import Settings


def remote_at(url: str, settings: Settings) -> Remote:
    """Return the folder at a URL: a server that it names is asked at addresses that the settings allow.

    Raises SettingsError as `Remote` does.
    """
    networks = allowed_networks(settings.allow_addresses)

    def may_ask(address: str) -> bool:
        return not refuses(address, settings.allow_private, networks)

    return Remote(url, may_ask)
