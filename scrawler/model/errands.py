"""What a machine asks of a host on behalf of other sites, as machines of one database tell each other."""

from __future__ import annotations

from typing import NamedTuple

from scrawler.model.robots import RobotsRow
from scrawler.model.terms import Millis


class Errand(NamedTuple):
    """Something that is wanted of a host that no site here asks for pages."""

    url: str
    copy: str  # under which name the database has a copy, if it has one: see `RobotsRow.origin`


class Wished(NamedTuple):
    """What another machine wants of a site that is this machine's."""

    site_id: int
    url: str
    is_lent: bool  # it may ask
    is_over: bool  # it has asked
    left: float  # seconds for which that holds
    rests: float  # seconds for which the site's row says that its host is left alone


class Asked(NamedTuple):
    """A request on behalf of others that is over."""

    pause: Millis  # for which nobody asks its host
    copy: RobotsRow | None  # what came of it, if that serves others; its site is not told yet
