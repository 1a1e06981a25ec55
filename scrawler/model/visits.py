"""What is known of a URL that was visited before: from the store to the machine.

A row of the table `page` is a visit, not a URL: the first has the number 0. What the last one has brought is a state of
the URL, by which the next visit asks whether there is anything new.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from scrawler.model.terms import Millis

_DIGEST_BYTES = 20
_VALUE = re.compile(r"[ -~\x80-\xff]+")  # of a header, as it goes into a request: no line ends, no control characters


class KnownVisit(NamedTuple):
    """What the last visit to a URL has brought.

    Only a visit is known whose links this crawl has listed, as far as it follows links now: an answer that nothing has
    changed brings none. Who visits again under wider limits, or what was cut, refused by its nofollow, or met a fault,
    leaves it out of what is known, and so asks for all of it.
    """

    number: int  # the `visit` of its page row
    payload_url: str  # URL of the record with what it brought, perhaps another one that had the same before
    payload_at: Millis  # time of that record
    digest: bytes  # SHA-1 of the payload, 20 bytes; of another length where that is not known
    etag: str = ""  # as the server sent it, quotes included
    last_modified: str = ""  # as the server sent it


def conditions(known: KnownVisit) -> tuple[tuple[str, str], ...]:
    """Return the headers by which a server is asked for a page only if it has changed (RFC 9110, 13.1).

    None where a record of an answer that it has not could not say what it was.
    """
    if len(known.digest) != _DIGEST_BYTES:
        return ()
    asked = ("If-None-Match", known.etag), ("If-Modified-Since", known.last_modified)
    return tuple((name, value) for name, value in asked if _can_be_sent(value))


def _can_be_sent(value: str) -> bool:
    """Whether what a server has sent may be sent back: "*" would stand for whatever it has."""
    return value.strip() not in ("", "*") and _VALUE.fullmatch(value) is not None
