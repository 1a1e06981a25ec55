"""How many pages link to each URL of a crawl, as a file of ranks: what URLs weigh where visits share a budget.

The links are those that stand beside the answers in the archive (`outlinks`). What is counted stands in a temporary
file, by 64 bits of each URL's hash, as in `revisit.importance`, so that memory is bounded whatever the crawl's size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scrawler.errors import NotCrawledError, RecordsLostError
from scrawler.features.revisit.policies.importance import MOST_RANKS, by_links
from scrawler.insight.contents import PageReader
from scrawler.insight.scratch import scratch, telling_of_the_file
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database
from scrawler.store.reading.page_lists import Last, PageFilter, PageLists

_LEADING = (Result.FETCHED.value, Result.REDIRECT.value, Result.TOO_LARGE.value)  # these may lead to other URLs
_ANSWERED = (*_LEADING, Result.HTTP_ERROR.value)  # a visit with another result says nothing of what is there
_LAST_ANSWERS = PageFilter(results=_ANSWERED, last=Last.OF_THESE)
_OUTLINK = b"outlink: "
_READ = 1_000  # pages that are taken from the temporary file at a time
_HELD = 100_000  # URLs whose links are added up in memory
_HEADER = "# URL, and what it weighs: 1 + ln(1 + pages that link to it)\n"

_TABLES = (
    "CREATE TABLE url (key INTEGER PRIMARY KEY, url TEXT, links INTEGER)",
    "CREATE TABLE source (id INTEGER PRIMARY KEY, key INTEGER UNIQUE, url TEXT, file TEXT, place INTEGER)",
)


@dataclass(slots=True)
class Ranked:
    """What a file of ranks by in-degree was made of."""

    urls: int = 0  # lines of the file: what the crawl has fetched
    pages: int = 0  # that may link, by the last visit that was answered
    linking: int = 0  # of these, whose out-links were kept
    links: int = 0  # to URLs of the file, of each page once to each
    lost: int = 0  # pages whose records are gone from the archive, or damaged
    left_out: int = 0  # URLs to which fewest pages link, where there are more than a file of ranks may have


class InDegrees:
    """Counts the pages that link to each URL that was fetched; closed by whoever makes it."""

    def __init__(self, on_progress: Callable[[Ranked], None] = lambda ranked: None) -> None:
        """Tell `on_progress` now and then how far it is."""
        self.ranked = Ranked()
        self._on_progress = on_progress
        with telling_of_the_file():
            self._known = scratch(*_TABLES)

    def count(self, database: Database, reader: PageReader) -> None:
        """Read all rows, then the out-links of the pages. Raises NotCrawledError where none were kept."""
        with telling_of_the_file():
            for number, view in enumerate(PageLists(database).all(_LAST_ANSWERS)):
                self._note(view.page)
                if number % _READ == 0:
                    self._on_progress(self.ranked)
            self._read(reader)
        done = self.ranked
        if done.linking:
            return
        if done.lost:
            raise RecordsLostError(
                "no out-link can be read: the records of all pages that may have any are gone;"
                " `scrawler verify` lists them"
            )
        raise NotCrawledError(
            "the crawl kept no out-links, so links cannot be counted: `scrawler run --outlinks` keeps those of what it"
            " fetches from then on"
        )

    def lines(self, most: int = MOST_RANKS) -> Iterator[str]:
        """Yield the lines of the file, the URLs to which most pages link first; at most so many."""
        with telling_of_the_file():
            total = self._known.execute("SELECT COUNT(*), SUM(links) FROM url").fetchone()
            self.ranked.urls = min(total[0], most)
            self.ranked.links = total[1] or 0
            self.ranked.left_out = total[0] - self.ranked.urls
            yield _HEADER
            rows = self._known.execute("SELECT url, links FROM url ORDER BY links DESC, url LIMIT ?", (most,))
            for url, links in rows:
                yield f"{url} {by_links(links):.4f}\n"

    def close(self) -> None:
        """Forget all."""
        self._known.close()

    def _note(self, page: PageRow) -> None:
        """Note what a row says: the last one of a URL holds, as several seeds may have fetched it."""
        key = _key(page.url_hash)
        if page.result == Result.FETCHED:
            self._known.execute("INSERT OR IGNORE INTO url VALUES (?, ?, 0)", (key, page.url))
            self.ranked.urls += 1
        if page.result in _LEADING and page.warc_file:
            row = (key, page.url, page.warc_file, page.warc_offset)
            self._known.execute("INSERT OR REPLACE INTO source (key, url, file, place) VALUES (?, ?, ?, ?)", row)

    def _read(self, reader: PageReader) -> None:
        self.ranked.pages = self._known.execute("SELECT COUNT(*) FROM source").fetchone()[0]
        found: Counter[int] = Counter()
        after = 0
        query = "SELECT id, key, url, file, place FROM source WHERE id > ? ORDER BY id LIMIT ?"
        while rows := self._known.execute(query, (after, _READ)).fetchall():
            for _, key, url, file, place in rows:
                found.update(self._targets(reader, key, url, file, place))
                if len(found) >= _HELD:
                    self._add(found)
            after = rows[-1][0]
            self._on_progress(self.ranked)
        self._add(found)

    def _targets(self, reader: PageReader, key: int, url: str, file: str, place: int) -> set[int]:
        """Return the URLs to which a page links, itself left out."""
        try:
            fields = reader.outlinks(url, file, place)
        except RecordsLostError:
            self.ranked.lost += 1
            return set()
        self.ranked.linking += bool(fields)
        lines = (line for line in fields.split(b"\r\n") if line.startswith(_OUTLINK))
        urls = {line[len(_OUTLINK) :].partition(b" ")[0] for line in lines}
        return {_key(url_hash(one.decode("utf-8", "replace"))) for one in urls} - {key}

    def _add(self, found: Counter[int]) -> None:
        rows = sorted((key, number) for key, number in found.items())
        self._known.executemany("UPDATE url SET links = links + ?2 WHERE key = ?1", rows)
        found.clear()


def _key(hashed: bytes) -> int:
    return int.from_bytes(hashed[:8], "big", signed=True)
