"""The shortest way to pages: a function that crawls while its caller reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from scrawler.api.crawl import Crawl
from scrawler.api.opened import Results
from scrawler.api.page import Page
from scrawler.api.seeding import SeedSource
from scrawler.api.temporary import TemporaryFolder
from scrawler.model.events import Event
from scrawler.model.results import Result


class _Folder:
    """A folder that stays, and is made where it is not there."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path


def crawl(
    seeds: SeedSource,
    *,
    folder: str | os.PathLike[str] | None = None,
    result: Results = Result.FETCHED,
    on_event: Callable[[Event], object] | None = None,
    **settings: Any,
) -> Generator[Page, None, None]:
    """Crawl while the caller reads: yield each page soon after its commit, until no seed is left.

    `seeds` and `settings` are those of `Crawl.add` and of `Crawl`: `max_pages` ends each seed after so many pages,
    `machines` says how many processes work. Pages with the `result` are yielded, one or several; None: any.
    `on_event` is that of `Crawl.run`.

    Who leaves the loop (by `break`, an exception, Ctrl-C, or `close` of the iterator) stops the crawl cleanly. A slow
    reader does not slow it: pages wait in the database, not in memory.

    All files are in `folder`: `scrawler.db`, `pages/`, `output_urls/`, as the command line makes them. The next call
    with the same folder goes on from there, and yields what is committed then. Without a folder they are in a
    temporary one, which is removed when neither the iterator nor any of its pages is held any more.

    Raises as `Crawl`, `Crawl.add` (here) and `Crawl.run` (while it is read) do.
    """
    place = TemporaryFolder() if folder is None else _Folder(Path(folder).absolute())
    here = place.path
    places = {"db": str(here / "scrawler.db"), "pages_dir": here / "pages", "output_dir": here / "output_urls"}
    opened = Crawl(keeps=place, **{**places, **settings})
    with opened:
        opened.add(seeds)
    return _stream(opened, result, on_event)


def _stream(opened: Crawl, result: Results, on_event: Callable[[Event], object] | None) -> Generator[Page, None, None]:
    with opened:
        yield from opened.stream(result=result, on_event=on_event)
