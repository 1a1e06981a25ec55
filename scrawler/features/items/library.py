"""What `Crawl` does with page processors."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from scrawler.api.crawl import Crawl
from scrawler.api.opened import Results
from scrawler.api.rows import results_of
from scrawler.app import away_told
from scrawler.errors import SettingsError
from scrawler.features.items.processing import PageProcessor, Processing, items_place, processors_of
from scrawler.features.items.processors import Processed, Processors
from scrawler.features.items.table import is_table
from scrawler.model.results import Result


def process(
    crawl: Crawl,
    *processors: PageProcessor,
    items: str | os.PathLike[str] | None = None,
    result: Results = Result.FETCHED,
    again: bool = False,
) -> Processed:
    """Process the pages that are there and were not processed yet, without crawling; return how far it has come.

    Parameters are those of `run`. `stop` ends it after the pages in hand, and the next call goes on from there.
    Raises as `run` does.
    """
    with crawl.stoppable() as asked:
        wanted = results_of(result)
        with away_told(crawl.settings, asked), processing(crawl, processors, items, wanted, again) as work:
            if work is None:
                raise SettingsError("no page processors were given, and the settings name none")
            while not asked.is_set() and work.step():
                pass
            if not asked.is_set():
                work.tell_if_nothing_was_new()
            return work.done


def processed(crawl: Crawl) -> Sequence[Processed]:
    """Return how far all page processors of this crawl have come: pages, items and errors, by name."""
    return Processors(crawl.database).all()


@contextmanager
def processing(
    crawl: Crawl,
    given: Iterable[PageProcessor],
    items: str | os.PathLike[str] | None,
    wanted: Collection[Result],
    anew: bool = False,
) -> Iterator[Processing | None]:
    """Let processors work on pages during a block, as far as it asks them to; None where there are none."""
    processors = processors_of(crawl.settings, given)
    if not processors:
        if items is not None:
            raise SettingsError(f"{os.fspath(items)}: items are made by page processors, and there are none")
        if anew:
            raise SettingsError("no page processors are there to begin again")
        yield None
        return
    place = None if items is None else items_place(items)
    if items is not None and not is_table(os.fspath(items)):
        crawl.keep_clear(Path(items))
    _ = crawl.stored
    with closing(
        Processing(
            crawl.database,
            crawl.answers,
            processors,
            place,
            wanted,
            crawl.say,
            anew=anew,
            fsync=crawl.settings.fsync,
        )
    ) as work:
        yield work
