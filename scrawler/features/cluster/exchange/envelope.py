"""How a message looks outside: signed bytes with a version.

    bytes 0-3    `SCX` and the version of the format
    bytes 4-35   HMAC-SHA256, by the members' shared secret, over bytes 0-3 and all from byte 36
    from 36      JSON in UTF-8: an object with the crawl's name, sender, its run, receiver, sequence number, time, what

`what` is one of {"batch": number, "urls": [[id, url, depth, hops, referrer in hex], ...]},
{"receipt": number, "returned": [id, ...]} and {"note": topic, "body": {...}}. Nothing is parsed that is not signed.
It is signed, not encrypted: who can listen on the wire reads the URLs.
"""

from __future__ import annotations

import hmac
import json
from typing import Any

from scrawler.features.cluster.exchange.communicator import (
    MAX_ITEMS,
    MAX_NAME,
    MAX_NOTE,
    MAX_TOPIC,
    Batch,
    Item,
    NoteBody,
)

VERSION = b"1"
MAGIC = b"SCX" + VERSION
SECRET_LENGTH = 16  # bytes at least
_SIGNED_FROM = len(MAGIC) + 32
_HUGE = 1 << 63
_HASH = 16  # bytes of a referrer's hash: no column has room for more
_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class NotAMessage(Exception):
    """What came in is none; its text is the reason in a word."""


def sealed(secret: bytes, message: dict[str, Any]) -> bytes:
    """Return a message as it travels."""
    text = _dumps(message).encode("utf-8", "surrogatepass")
    return MAGIC + _signature(secret, text) + text


def opened(secret: bytes, data: bytes) -> dict[str, Any]:
    """Return the object in a message that is signed by the secret. Raises NotAMessage."""
    if data[:3] != MAGIC[:3] or len(data) <= _SIGNED_FROM:
        raise NotAMessage("damaged")
    if data[:4] != MAGIC:
        raise NotAMessage("another-version")
    text = data[_SIGNED_FROM:]
    if not hmac.compare_digest(data[len(MAGIC) : _SIGNED_FROM], _signature(secret, text)):
        raise NotAMessage("forged")
    try:
        found = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise NotAMessage("malformed") from None
    if not isinstance(found, dict):
        raise NotAMessage("malformed")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _signature(secret: bytes, text: bytes) -> bytes:
    return hmac.digest(secret, MAGIC + text, "sha256")


def batch_of(batch: Batch) -> dict[str, Any]:
    """Return what a message says of a batch."""
    rows = [[one.id, one.url, one.depth, one.hops, one.referrer.hex()] for one in batch.items]
    return {"batch": batch.number, "urls": rows}


def read_batch(said: dict[str, Any], longest: int) -> tuple[Batch, int]:
    """Return a batch, without URLs of more than `longest` bytes or other than ASCII, and how many these were."""
    rows = said.get("urls")
    if not isinstance(rows, list):
        raise NotAMessage("malformed")
    if len(rows) > MAX_ITEMS:
        raise NotAMessage("too-many-urls")
    items = [_item(row) for row in rows]
    good = tuple(one for one in items if 0 < len(one.url) <= longest and one.url.isascii() and one.url.isprintable())
    return Batch(number(said, "batch"), good), len(items) - len(good)


def _item(row: object) -> Item:
    if not (isinstance(row, list) and len(row) == 5):
        raise NotAMessage("malformed")
    id_, url, depth, hops, referrer = row
    numbers = all(type(one) is int and 0 <= one < _HUGE for one in (id_, depth, hops))
    if not (numbers and isinstance(url, str) and isinstance(referrer, str) and len(referrer) <= 2 * _HASH):
        raise NotAMessage("malformed")
    if depth > 0xFFFF or hops > 0xFFFF:
        raise NotAMessage("malformed")
    try:
        return Item(id_, url, depth, hops, bytes.fromhex(referrer))
    except ValueError:
        raise NotAMessage("malformed") from None


def read_returned(said: dict[str, Any]) -> frozenset[int]:
    """Return the ids of a receipt's items that are not its sender's."""
    ids = said.get("returned")
    if not (isinstance(ids, list) and len(ids) <= MAX_ITEMS and all(type(one) is int for one in ids)):
        raise NotAMessage("malformed")
    return frozenset(ids)


def read_body(said: dict[str, Any]) -> NoteBody:
    """Return the body of a note."""
    body = said.get("body")
    if not isinstance(body, dict) or not all(type(one) in (str, int, float) for one in body.values()):
        raise NotAMessage("malformed")
    if len(_dumps(body)) > MAX_NOTE:
        raise NotAMessage("huge")
    return body


def number(said: dict[str, Any], key: str) -> int:
    """Return a number that counts something."""
    found = said.get(key)
    if type(found) is not int or not 0 < found < _HUGE:
        raise NotAMessage("malformed")
    return found


def text(said: dict[str, Any], key: str, longest: int = MAX_NAME) -> str:
    """Return a word, as a name."""
    found = said.get(key)
    if not (isinstance(found, str) and 0 < len(found) <= longest and found.isprintable()):
        raise NotAMessage("malformed")
    return found


def topic(said: dict[str, Any]) -> str:
    """Return the topic of a note."""
    return text(said, "note", MAX_TOPIC)
