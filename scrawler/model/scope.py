"""What is internal to a party: the crawl's choice, kept in the database, obeyed by all machines."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    """What is internal to a party: the seed's host, its registrable domain, or its URL prefix."""

    HOST = "host"
    DOMAIN = "domain"
    PREFIX = "prefix"
