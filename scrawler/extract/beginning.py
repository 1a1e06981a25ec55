"""The beginning of a page: of so much a tree is built for people, so that no page takes more memory than a few others.

Measured with Lexbor: a tag takes 150 to 300 bytes of a tree, with the text behind it, so that 64 MiB of `<p>x`, which
came as a gzip body of 200 KB, become 5 GB.
"""

from __future__ import annotations

import re
from itertools import islice

MOST_BYTES = 16 << 20  # the longest pages made for people, standards and laws on one page, have as much
MOST_TAGS = 1_000_000  # of which a tree takes 300 MB
_TAG = re.compile(b"<")


def beginning(body: bytes, most_bytes: int = MOST_BYTES, most_tags: int = MOST_TAGS) -> bytes:
    """Return a decoded body, less what is behind the first `most_bytes` and `most_tags` of it."""
    if len(body) > most_bytes:
        body = body[:most_bytes]
    if body.count(b"<") <= most_tags:
        return body
    further = next(islice(_TAG.finditer(body), most_tags, None))
    return body[: further.start()]
