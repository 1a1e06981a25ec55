"""URLs of somebody else: what becomes of what leads out of a site, and what travels between the owners of sites."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from scrawler.model.visits import KnownVisit

GUEST = "guest "  # before the key of a site: that of the row which has the parties of guests there


class Mode(StrEnum):
    """What becomes of an external URL (Cho and Garcia-Molina, "Parallel Crawlers"; paper 000, section 3.2.1)."""

    FIREWALL = "firewall"  # a candidate seed, for people to choose from
    DROP = "drop"  # forgotten, and counted
    EXCHANGE = "exchange"  # sent to whoever owns its site
    CROSS_OVER = "cross-over"  # as with firewall, and fetched by a guest, a machine that has nothing else to do


class Guests(NamedTuple):
    """What machines have done as guests at sites of others, in all."""

    parties: int = 0
    pages: int = 0
    bytes: int = 0
    overlap: int = 0  # of these pages: their owners have fetched them as well
    waiting: int = 0  # URLs that no guest has taken up yet

    def told(self) -> dict[str, int]:
        """Return all of it, under names that say of what it is."""
        return {f"guest_{name}": number for name, number in self._asdict().items()}


def guest_key(site_key: str) -> str:
    """Return the key of the row that has the parties of guests at a site; no host has a space in it."""
    return GUEST + site_key


class WaitingUrl(NamedTuple):
    """A URL in the inbox of its site, until a checkpoint of the site's owner has taken it out."""

    id: int  # of its row; negative: it came by a communicator, and has no row here
    url: str
    depth: int  # links from the seed that a user gave, over all sites between
    referrer: bytes = b""  # hash of the URL of the page that links to it
    pushed: bool = False  # whether a server, or the owner of its site, has sent it: it comes before all others
    known: KnownVisit | None = None  # what its last visit has brought, if it is to be visited again


class Exchanged(NamedTuple):
    """What the machines of a crawl have done with URLs of others, in all; `sent` is `received` and `waiting`."""

    sent: int = 0
    received: int = 0
    waiting: int = 0  # in inboxes and outboxes now
    carried: int = 0  # of what was received: from machine to machine, not by the inbox of its site
    reopened: int = 0  # parties that had ended, and went on for such URLs
    dropped: int = 0
