"""URLs of somebody else: what becomes of what leads out of a site, and what travels between the owners of sites."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Mode(StrEnum):
    """What becomes of an external URL (Cho and Garcia-Molina, "Parallel Crawlers"; paper 000, section 3.2.1)."""

    FIREWALL = "firewall"  # a candidate seed, for people to choose from
    DROP = "drop"  # forgotten, and counted
    EXCHANGE = "exchange"  # sent to whoever owns its site


class WaitingUrl(NamedTuple):
    """A URL in the inbox of its site, until a checkpoint of the site's owner has taken it out."""

    id: int  # of its row; negative: it came by a communicator, and has no row here
    url: str
    depth: int  # links from the seed that a user gave, over all sites between
    referrer: bytes = b""  # hash of the URL of the page that links to it


class Exchanged(NamedTuple):
    """What the machines of a crawl have done with URLs of others, in all; `sent` is `received` and `waiting`."""

    sent: int = 0
    received: int = 0
    waiting: int = 0  # in inboxes and outboxes now
    carried: int = 0  # of what was received: from machine to machine, not by the inbox of its site
    reopened: int = 0  # parties that had ended, and went on for such URLs
    dropped: int = 0
