"""A crawl with its pages, and all that is known of them; it is not run here.

What makes reports and the like is imported by who asks for one: it is much to load, and a run needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from scrawler.api.answers import Answers
from scrawler.api.page import Page
from scrawler.api.rows import results_of
from scrawler.api.seeding import SeededCrawl
from scrawler.errors import NotCrawledError
from scrawler.insight.contents import PageContent, PageReader, find_page, find_shown
from scrawler.model.rows import PageRow
from scrawler.settings import Settings, public_values
from scrawler.store.reading.committed import listed_pages, pages_of

if TYPE_CHECKING:
    from scrawler.insight.answer import Answer

Results = str | Iterable[str] | None


class OpenedCrawl(SeededCrawl):
    """What a crawl is and has: see `Crawl`, which runs it as well."""

    def pages(self, seed: str | None = None, result: Results = None) -> Iterator[Page]:
        """Yield the pages in the order of their commits: those of one seed or all, with one or several results or any.

        Raises InputError where there is no such seed.
        """
        seed_id = None if seed is None else self.seed(seed).seed.id
        answers = self.answers()
        return (Page(one, answers) for one in listed_pages(self.database, seed_id, results_of(result)))

    def page(self, url: str) -> Page:
        """Return the newest result of a URL that has a record, spelt in any way that the crawl knows it by.

        Raises NotCrawledError where it was not asked for, or not archived; SettingsError where it is no URL.
        """
        return self._page_of(find_page(self.database, self.last_settings(), url))

    def _page_of(self, row: PageRow) -> Page:
        same = [one for one in pages_of(self.database, [row.url_hash]) if one.row == row]
        if not same:
            raise NotCrawledError(f"{row.url} was taken back this moment, to be fetched again")
        return Page(same[0], self.answers())

    def content(self, url: str, archive: str | None = None) -> PageContent:
        """Return all that is archived of what was answered to a URL, raw and decoded; `archive` is as for `reader`.

        Of a page that is gone by now, or fails, it is what the last visit got that has brought it; `newest` tells.

        Raises as `read` does.
        """
        row, newest = find_shown(self.database, self.last_settings(), url)
        with self.reader(archive) as reader:
            content = reader.read(row)
        return content if newest == row else replace(content, newest=newest)

    def read(self, url: str) -> bytes:
        """Return the body of a page as a browser would get it, of its record in the archive.

        Of a page that is gone by now, or fails, it is that of the last visit that has brought it.

        Raises as `page` does, and RecordsLostError where its record is gone.
        """
        return self._page_of(find_shown(self.database, self.last_settings(), url)[0]).body

    def reader(self, archive: str | None = None) -> PageReader:
        """Return what reads records by the rows of pages, for one thread, which closes it (`with`).

        With `archive`, the URL of a folder, records are read from the copies there, else where they are: in the folder
        of the WARC files, or, where they are gone from there, at `archive_to`, else where an earlier run copied them on
        this host: another place that only the database names is not asked.
        Raises SettingsError for a URL that none can be, or that holds a password: it is not repeated.
        """
        return PageReader(self.database, self._reading(), self.stored, archive)

    @property
    def keeps_outlinks(self) -> bool:
        """Whether the last run kept what pages lead to."""
        return bool(public_values(self.last_settings()).get("outlinks"))

    def why(self, url: str) -> Answer:
        """Say why a URL was fetched or not; printed it is what `scrawler why` shows.

        Raises SettingsError where it is no URL.
        """
        from scrawler.insight.why import why

        with self.reader() as reader:
            return why(self.database, self.settings, self.stored.scope, url, reader.read)

    def answers(self) -> Answers:
        """Return what reads the answers of pages; for features, and others who know the archive."""
        return Answers(self.database, self._reading(), self.stored, self._keeps)

    def _reading(self) -> Settings:
        """Return the settings of the last run, with the places of the archive as this crawl has them."""
        return self.last_settings()
