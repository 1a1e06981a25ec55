"""Cookie gates: a URL redirects to another one, which sets a cookie and redirects back.

The URL is listed, so it would not be asked for again; but to somebody who brings the cookie it shows its page. So a
party remembers its newest URLs that were redirected. One to which a redirect leads back is asked once more, if its
request would now say other cookies than the first one did. Each such URL is asked once more at most: the second answer
is not remembered.
"""

from __future__ import annotations

from scrawler.crawl.depth import Entry
from scrawler.fetch.cookies import CookieJar

MOST_REDIRECTED = 256  # that a party remembers; a gate leads back soon


class Redirected:
    """The newest URLs of a party that were redirected when they were asked for first, with the cookies they got."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Entry, str] | None] = {}  # None: it was asked once more

    def __len__(self) -> int:
        return len(self._known)

    def note(self, entry: Entry, cookie: str) -> None:
        """Remember a URL that was redirected; `cookie` is the header that was sent to it."""
        self._remember(entry.url, (entry, cookie))

    def asked_again(self, url: str) -> bool:
        """Tell whether a URL was asked once more: its answer leads to no other one that is."""
        return url in self._known and self._known[url] is None

    def take_opened(self, url: str, jar: CookieJar | None) -> Entry | None:
        """Return the entry of a URL that is to be asked once more from now on; None: it is not."""
        known = self._known.get(url)
        if known is None or jar is None:
            return None
        entry, sent = known
        if jar.header(url) in ("", sent):
            return None
        self._remember(url, None)
        return entry

    def _remember(self, url: str, known: tuple[Entry, str] | None) -> None:
        self._known.pop(url, None)
        while len(self._known) >= MOST_REDIRECTED:
            del self._known[next(iter(self._known))]
        self._known[url] = known
