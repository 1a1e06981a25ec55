"""What all else is told in: times, names of crawls and the hashes of URLs."""

from __future__ import annotations

from hashlib import blake2b

Millis = int

CRAWL_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"  # what a crawl may be called: its files are named after it


def url_hash(url: str) -> bytes:
    """Return the 16 bytes by which the database knows a URL (BLAKE2b; collisions cannot be made at will)."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).digest()
