"""What is known of a URL that was visited before: from the store to the machine.

A row of the table `page` is a visit, not a URL: the first has the number 0. What the last one has brought is a state of
the URL, by which the next visit asks whether there is anything new.
"""

from __future__ import annotations

from typing import NamedTuple

from scrawler.model.terms import Millis


class KnownVisit(NamedTuple):
    """What the last visit to a URL has brought."""

    number: int  # as in its page row
    payload_url: str  # of the record that holds what it brought: another URL may have had the same before
    payload_at: Millis  # of that record
    digest: bytes  # SHA-1 of the payload, 20 bytes
    etag: str = ""  # as the server sent it, quotes included
    last_modified: str = ""  # likewise


def conditions(known: KnownVisit) -> tuple[tuple[str, str], ...]:
    """Return the headers by which a server is asked for a page only if it has changed (RFC 9110, 13.1)."""
    asked = ("If-None-Match", known.etag), ("If-Modified-Since", known.last_modified)
    return tuple((name, value) for name, value in asked if value)
