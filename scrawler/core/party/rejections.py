"""A few refused URLs of each reason, kept for people who ask why; guarded by the machine's turn, as its party is."""

from __future__ import annotations

from collections.abc import Iterable

from scrawler.model.rows import RejectionRow
from scrawler.model.terms import url_hash

SAMPLE = 4  # URLs of each reason, since the party was taken up
_URL_CHARACTERS = 2_000
_EVIDENCE_CHARACTERS = 3_000


class RejectionSample:
    """The sample of one party; once it is full for a reason, that one costs a look-up a time and no more.

    Of what a page refuses for a reason one URL is kept: most seeds have one page, and the others say the same.

    Hashes of what is in it are kept, not the URLs: hostile ones are long, and parties many. A party that is taken up
    again begins anew; the database leaves out what it has.
    """

    __slots__ = ("_known", "_pages", "_rows", "_seed_id", "page")

    def __init__(self, seed_id: int) -> None:
        self.page = ""  # on which stands what is refused now
        self._seed_id = seed_id
        self._known: dict[str, set[bytes]] | None = None  # many parties have nothing refused
        self._pages: dict[str, int] = {}  # by reason, the hash of the page on which the last one stands
        self._rows: tuple[RejectionRow, ...] = ()

    def wants(self, reason: str) -> bool:
        """Whether there is room for a URL refused for this reason, on the page whose links are in work."""
        return self._wants(reason, self.page)

    def _wants(self, reason: str, page: str) -> bool:
        known = None if self._known is None else self._known.get(reason)
        if known is None:
            return True
        return len(known) < SAMPLE and not (page and self._pages.get(reason) == hash(page))

    def add(self, reason: str, url: str, words: str, page: str | None = None) -> None:
        """Keep a URL, or text that is none, while there is room; `words` say why it is refused, and the limit.

        It stands on `page`, "" for none, by default on the one whose links are in work. Text of more than 2,000
        characters is cut, and known by the hash of what is left.
        """
        page = self.page if page is None else page
        if not self._wants(reason, page):
            return
        kept = sample_text(url)
        key = url_hash(kept)
        self._known = {} if self._known is None else self._known
        known = self._known.setdefault(str(reason), set())
        if key not in known:
            known.add(key)
            self._pages[str(reason)] = hash(page)
            evidence = f"{words}; linked from {page}" if page else words
            self._rows += (RejectionRow(self._seed_id, key, str(reason), kept, evidence[:_EVIDENCE_CHARACTERS]),)

    def add_all(self, reason: str, urls: Iterable[str], words: str) -> None:
        """Keep those of the URLs for which there is room."""
        if self.wants(reason):
            for url in urls:
                self.add(reason, url, words)
                if not self.wants(reason):
                    return

    def take(self) -> tuple[RejectionRow, ...]:
        """Return what was added since the last time."""
        rows, self._rows = self._rows, ()
        return rows


def sample_text(url: str) -> str:
    """Return a refused URL as it is kept, and found again."""
    return url[:_URL_CHARACTERS]
