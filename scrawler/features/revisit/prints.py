"""By what a visit's page is compared with that of other visits, beside the digest of its payload.

Servers may pack the same body into other bytes each time (RFC 9110, 8.8): compared is what was packed.
"""

from __future__ import annotations

from collections.abc import Mapping

from scrawler.archive.record import digest
from scrawler.extract.decode import decode_body
from scrawler.extract.simhash import fingerprint_of
from scrawler.features.revisit.policies.change import BODY_BYTES, text_print_of


def print_of(
    body: bytes, headers: Mapping[str, str], media_type: str, most: int, max_ratio: float, of_text: bool
) -> bytes:
    """Return the print of a whole answer: of its text where texts are compared and it has one, else of its body.

    Empty where the payload's own digest is all there is to compare: nothing was packed, or it cannot be unpacked to
    `most` bytes.
    """
    encoding = headers.get("content-encoding", "")
    note = ""
    if encoding:
        body, note = decode_body(body, encoding, most, max_ratio)
    if of_text:
        from scrawler.extract.visible import visible_text  # it is much to load, and few crawls compare texts

        found = text_print_of(visible_text(body, headers.get("content-type", ""), media_type), _simhash_of)
        if found:
            return found
    return digest(body)[:BODY_BYTES] if encoding and body and not note else b""


def _simhash_of(text: bytes) -> int:
    return fingerprint_of(text).simhash
