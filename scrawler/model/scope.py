"""What is one site, and what may enter a crawl at all: two choices, obeyed by all machines."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    """What is internal to a party: the seed's host, its registrable domain, or its URL prefix.

    Kept in the database, for the keys of all sites follow from it.
    """

    HOST = "host"
    DOMAIN = "domain"
    PREFIX = "prefix"


class Boundary(StrEnum):
    """What may enter a crawl: any URL, or what has a registrable domain, or a host, of the seeds that users gave."""

    ANY = "any"
    DOMAIN = "domain"
    HOST = "host"
