"""What a robots.txt says once its content codings are undone, whatever its labels say of them."""

from __future__ import annotations

from scrawler.extract.decode import DECODE_ERROR, decode_body
from scrawler.fetch.downloader import Response
from scrawler.fetch.robots_text import MAX_ROBOTS, is_text, plain_text
from scrawler.model.results import Result

ROBOTS_BYTES = MAX_ROBOTS + 1  # one byte more tells that there is more
_MOST_LAYERS = 4
_LARGEST_EMPTY = 64  # bytes that an empty text, with the name of its file, is coded to
_GZIP_MAGIC = b"\x1f\x8b"


def robots_body(response: Response) -> bytes | None:
    """Return the text of a robots.txt; None where it cannot be read, so that nobody knows what it forbids.

    Labels are believed where the bytes bear them out: what is text already is not decoded, and what begins as gzip
    is gzip under whatever name, as often as it is.
    """
    body, cut = response.body, response.result is Result.TOO_LARGE
    named = (name.strip().lower() for name in response.headers.get("content-encoding", "").split(","))
    labels = [name for name in named if name not in ("", "identity")]
    failed = False
    for _ in range(_MOST_LAYERS):
        coding = _coding(body, labels)
        if not coding:
            break
        decoded = decode_body(body, coding, ROBOTS_BYTES)
        cut = cut or bool(decoded.note)
        wrong = decoded.note == DECODE_ERROR
        if len(decoded.body) < len(body) // 2 and (wrong or len(body) > _LARGEST_EMPTY):
            return None  # chance alone makes a letter or two of another coding, but nothing is coded to twice its size
        failed = failed or wrong
        body = decoded.body
    if failed and not is_text(body):
        return None
    return plain_text(body, cut)


def _coding(body: bytes, labels: list[str]) -> str:
    """Return the coding that is undone next, and take its label away; empty if there is none."""
    if body.startswith(_GZIP_MAGIC):
        if labels and labels[-1].endswith("gzip"):
            labels.pop()
        return "gzip"
    return labels.pop() if labels and not is_text(body) else ""
