"""What is sent to webhooks: JSON, signed as Standard Webhooks says (https://www.standardwebhooks.com/).

The receiver knows by `webhook-id` what it has had already: each try of a message has the same. `webhook-signature` is
an HMAC-SHA256 of the id, the time and the body, with dots between them, so that nobody else can send, nor send again
what is old. Secrets that begin with `whsec_` are in base64, as receivers' libraries want them; others are taken as
they are.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Sequence

from scrawler.dates import iso_date
from scrawler.errors import SettingsError
from scrawler.features.revisit.log import ChangeView

MOST_CHANGES = 500  # of a message ...
_MOST_BYTES = 256 * 1024  # ... or so many bytes of them, but one at least
_PREFIX = "whsec_"


def message_body(crawl: str, changes: Sequence[ChangeView]) -> bytes:
    """Return the body of a message, which is the same at each try; as old as the newest change."""
    values = {
        "type": "scrawler.changes",
        "timestamp": iso_date(max(one.at for one in changes)),
        "data": {"crawl": crawl, "changes": [_values(one) for one in changes]},
    }
    return json.dumps(values, separators=(",", ":")).encode()


def fitting(changes: Sequence[ChangeView]) -> int:
    """Return how many of the first changes go into one message."""
    size = 0
    for number, one in enumerate(changes):
        size += len(json.dumps(_values(one)))
        if size > _MOST_BYTES:
            return max(1, number)
    return len(changes)


def signing_key(secret: str) -> bytes:
    """Return the key that a secret is. Raises SettingsError."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise SettingsError("the webhooks' secret begins with whsec_, and what follows is no base64") from None


def signed_headers(message_id: str, at: int, body: bytes, key: bytes) -> list[str]:
    """Return the headers of a try at a time, in seconds since 1970."""
    signed = hmac.new(key, f"{message_id}.{at}.".encode() + body, hashlib.sha256).digest()
    return [
        "content-type: application/json",
        f"webhook-id: {message_id}",
        f"webhook-timestamp: {at}",
        f"webhook-signature: v1,{base64.b64encode(signed).decode()}",
    ]


def _values(one: ChangeView) -> dict[str, object]:
    return {
        "id": one.id,
        "found_at": iso_date(one.at),
        "kind": one.kind,
        "url": one.url,
        "detail": one.detail,
        "visit": one.visit,
        "seed": one.seed,
        "distance": None if one.distance < 0 else one.distance,
    }
