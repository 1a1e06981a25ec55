"""Cookie gates: a URL redirects to another one, which sets a cookie and redirects back, over other sites or not.

The URL is listed, so it would not be asked for again; but to somebody who brings the cookie it shows its page. So a
party remembers its first URLs that were redirected, and of the rest the newest. One to which a redirect leads back is
asked once more, if its request would now say other cookies than the first one did. Each such URL is asked once more at
most: the second answer is not remembered, only that it was asked for.

Often all pages of a site are listed, and redirected, before the first of their gates is asked: the ones that came first
are led back to first, so to forget these would lose all. No URL is kept, but its hash: some 150 bytes for each.
"""

from __future__ import annotations

from struct import Struct

from scrawler.core.party.entries import Entry, stored_entry
from scrawler.fetch.cookies import CookieJar
from scrawler.model.terms import url_hash

MOST_FIRST = 10_000  # of the URLs that a party remembers
MOST_NEWEST = 256  # where these are full of others: a gate that is met later leads back soon

_KNOWN = Struct("<iqqi")  # depth, position, hash of the Cookie header, hops; the referrer follows
_ASKED_AGAIN = b""


class Redirected:
    """The URLs of a party that were redirected when they were asked for first, with the cookies they got."""

    __slots__ = ("_first", "_newest")

    def __init__(self) -> None:
        self._first: dict[bytes, bytes] | None = None  # by the URL's hash
        self._newest: dict[bytes, bytes] | None = None

    def __len__(self) -> int:
        return len(self._first or ()) + len(self._newest or ())

    def note(self, key: bytes, depth: int, position: int, referrer: bytes, cookie: str, hops: int = 0) -> None:
        """Remember a URL that was redirected, by its hash and its stored numbers; `cookie` was sent to it."""
        self._remember(key, _KNOWN.pack(depth, position, hash(cookie), hops) + referrer)

    def note_again(self, key: bytes) -> None:
        """Remember that a URL is asked once more, or was."""
        self._remember(key, _ASKED_AGAIN)

    def asked_again(self, key: bytes) -> bool:
        """Tell whether a URL was asked once more: its answer leads to no other one that is."""
        return self._get(key) == _ASKED_AGAIN

    def take_opened(self, url: str, jar: CookieJar | None) -> Entry | None:
        """Return the entry of a URL that is to be asked once more from now on; None: it is not."""
        key = url_hash(url)
        known = self._get(key)
        if not known or jar is None:
            return None
        depth, position, sent, hops = _KNOWN.unpack_from(known)
        cookie = jar.header(url)
        if not cookie or hash(cookie) == sent:
            return None
        self.note_again(key)
        return stored_entry(url, depth, position, referrer=known[_KNOWN.size :], hops=hops)

    def _get(self, key: bytes) -> bytes | None:
        for known in (self._first, self._newest):
            if known is not None and key in known:
                return known[key]
        return None

    def _remember(self, key: bytes, known: bytes) -> None:
        first = self._first = {} if self._first is None else self._first
        if key in first or len(first) < MOST_FIRST:
            first[key] = known
            return
        newest = self._newest = {} if self._newest is None else self._newest
        newest.pop(key, None)
        while len(newest) >= MOST_NEWEST:
            del newest[next(iter(newest))]
        newest[key] = known
