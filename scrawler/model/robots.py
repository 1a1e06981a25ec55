"""What came of requests for robots.txt: from the machine to the store, and back to whoever asks next."""

from __future__ import annotations

from typing import NamedTuple

from scrawler.model.terms import Millis


class RobotsRow(NamedTuple):
    """The robots.txt of one origin as last had; `body` is compressed (zlib), at most 500 KiB unpacked."""

    origin_hash: bytes
    origin: str  # scheme://host[:port]
    site_id: int
    fetched_at: Millis
    status: int  # 0: no whole answer
    detail: str  # what went wrong
    body: bytes


class RobotsRecord(NamedTuple):
    """The record of an answer to a request for a robots.txt, or for where one redirects.

    Those of what pages in a browser ask for stand in the same table: nothing more is to be known of them.
    """

    warc_file: str
    warc_offset: int
    warc_length: int
    url: str
    fetched_at: Millis
    status: int
    content_type: str  # media type without parameters, lower case
    digest: bytes  # SHA-1 of the payload, 20 bytes
