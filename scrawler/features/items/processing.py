"""Page processors: code of users that makes items of pages, once for each page that is committed.

How far they have come is in the database, so they go on where they were, also after a `kill -9`. A batch of pages is
processed, its items are written, and both are committed in one row. A process that is killed in between begins the
batch again, and cuts off what it had written of it: each page is processed at least once, and each item is in the file
once. What a processor does elsewhere it may do twice: the page's `id` tells that it is the same one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from scrawler.api.answers import Answers
from scrawler.api.page import Page
from scrawler.errors import ScrawlerError, SettingsError, StoreBusyError, is_interrupt
from scrawler.features.items.files import Item, ItemError, ItemsFile, ItemsOutput, format_of, is_being_written
from scrawler.features.items.parquet import ParquetItems, beside
from scrawler.features.items.processors import Processed, Processors
from scrawler.features.items.settings import ItemSettings
from scrawler.features.items.table import TableItems, is_table
from scrawler.model.results import Result
from scrawler.plugins import in_a_line, part_maker
from scrawler.settings import PART_KINDS, Settings
from scrawler.store.engines.engine import Database
from scrawler.store.reading.committed import CommittedPage, PageFollower
from scrawler.units import counted

_FIRST_BATCH, _BATCH = 5, 50  # pages that are processed between two commits, at first and at most ...
_BATCH_TIME = 1.0  # ... and the seconds that these may take
_TOLD = 10  # errors of a run that are told by a line each
_LONGEST_NAME = 255

Items = Item | Iterable[Item] | None


class PageProcessor(Protocol):
    """Makes items of pages; a function will do. One of another package is made once for a run, with the Settings.

    It is called in one thread, in the order in which pages were committed, by the process that watches over the
    machines, and holds none of them up.
    """

    def __call__(self, page: Page) -> Items:
        """Return an item (a dict that JSON can hold), several, or None; a generator may yield them.

        What it raises ends the items of this page, none of which is kept, and is told and counted.
        """


def processors_of(settings: Settings, given: Iterable[PageProcessor]) -> dict[str, PageProcessor]:
    """Return the processors that a caller gave, and those that the settings name, by name.

    Raises SettingsError: one of another package cannot be used, or two have the same name, by which they are known.
    """
    if callable(given) or not isinstance(given, Iterable):
        raise SettingsError("processors are a list of page processors, as processors=[quotes]")
    named = [(_name_of(one), one) for one in given]
    for name in ItemSettings.of(settings).page_processors:
        named.append((name, cast(PageProcessor, part_maker(PART_KINDS["page_processors"], name)(settings))))
    found: dict[str, PageProcessor] = {}
    for name, one in named:
        if name in found:  # how far they have come is known by their names alone
            raise SettingsError(
                f"two page processors are called {name}: give each its own name, as by an attribute `name`"
            )
        found[name] = one
    if len(",".join(found)) > _LONGEST_NAME:
        raise SettingsError(f"the names of the page processors have more than {_LONGEST_NAME} characters together")
    return found


def _name_of(processor: Any) -> str:
    """Return the `name` that a processor has, or where it was defined: a partial goes by what it wraps."""
    if not callable(processor):
        raise SettingsError(f"a page processor is called with a page, and {processor!r} cannot be called")
    name = getattr(processor, "name", None)
    if isinstance(name, str):
        if not name or "," in name or not name.isprintable():
            raise SettingsError(f"the name of a page processor is printable text without commas, not {name!r}")
        return name
    if isinstance(processor, partial):
        return _name_of(processor.func)
    defined = processor if hasattr(processor, "__qualname__") else type(processor)
    return f"{defined.__module__}.{defined.__qualname__}"


class Processing:
    """The work of some processors on a crawl; used by one thread, and closed by it."""

    def __init__(
        self,
        database: Database,
        answers: Callable[[], Answers],
        processors: Mapping[str, PageProcessor],
        items: str | None,
        wanted: Collection[Result],
        say: Callable[[str], None],
        *,
        anew: bool = False,
        fsync: bool = False,
    ) -> None:
        """Go on where these processors were, or with `again` from the first page, in a file that is emptied.

        Raises SettingsError, ScrawlerError: the file of items cannot be used; then nothing is changed.
        """
        self._store = Processors(database)
        self._database = database
        self._answers = answers
        self._processors = processors
        self._words = {one.value for one in wanted}
        self._say = say
        self._fsync = fsync
        self._told = 0
        self._has_begun = False
        self._out: ItemsOutput | None = None
        self._folder = database.folder
        try:
            self.done = self._begun(",".join(processors), items, anew)
            self._follower = PageFollower(database, self.done.place, _FIRST_BATCH)
            self._has_begun = True
        except BaseException:
            self.close()
            raise
        self._had = self.done.pages

    def _begun(self, name: str, items: str | None, anew: bool) -> Processed:
        """Take these processors over: only once it is sure that they can go on is anything changed."""
        self._check(self._store.find(name), items, anew)  # before a file is made
        if items is not None:
            self._out = _output(items, self._database)
        found = self._store.find(name)  # who has the lock of their file has it for himself
        self._check(found, items, anew)
        begins = Processed(name, version=found.version) if anew else found
        written = 0
        if self._out is not None:
            same = self._place_of(found) == items
            written = begins.items_bytes if same else 0
            self._out.check(written if same else None)
        done = self._store.take(replace(begins, items_file=self._stored(items), items_bytes=written))
        if self._out is not None:  # committed before it is emptied: else items would be missed
            self._out.begin(written)
        return done

    def _check(self, found: Processed, items: str | None, anew: bool) -> None:
        """Check that these processors can go on with a file. Raises SettingsError, ScrawlerError."""
        before = self._place_of(found)
        if before == items:
            return
        if before is not None and _is_at_work(before):
            raise ScrawlerError(f"the page processors {found.name} are at work already, and write to {before}")
        if found.pages and not anew:
            here = "name no file" if before is None else "name that file"
            raise SettingsError(
                f"{self._so_far(found)}: {here}, or let them begin anew with again=True (of run, anew=True; --anew)"
            )

    def _so_far(self, done: Processed) -> str:
        into = "without a file of items" if done.items_file == "" else f"into {self._place_of(done)}"
        pages = counted(done.pages, "page was", "pages were")
        return f"page processors {done.name}: {pages} processed already, {into}"

    def _place_of(self, done: Processed) -> str | None:
        """Return where the items are: a file moves with the folder of the database."""
        if not done.items_file or is_table(done.items_file):
            return done.items_file or None
        return os.path.realpath((self._folder or Path()) / done.items_file)

    def _stored(self, items: str | None) -> str:
        if items is None:
            return ""
        return items if self._folder is None or is_table(items) else os.path.relpath(items, self._folder)

    def tell_if_nothing_was_new(self) -> None:
        """Say so where all pages were processed before this began."""
        if self._had and self.done.pages == self._had:
            self._say(f"nothing new to process; {self._so_far(self.done)}")

    def step(self) -> bool:
        """Process a batch of pages that were committed; return whether there was any. Raises StoreError.

        The batches of slow processors are small, so that they end soon after they are asked to: what a batch that is
        left half-way has done would be done again.
        """
        began = time.monotonic()
        found = self._follower.fresh()
        place = self._follower.place
        if not found and place == self.done.place:
            return False
        prepared: list[Any] = []
        wanted = [one for one in found if not self._words or one.row.result in self._words]
        reads = self._answers() if wanted else None
        done = self.done
        for one in wanted:
            assert reads is not None
            number, written = self._processed(one, reads)
            prepared += written
            done = replace(
                done, pages=done.pages + 1, items=done.items + max(0, number), errors=done.errors + (number < 0)
            )
        also = None
        if self._out is not None:
            self._out.write(prepared, self._fsync)
            done = replace(done, items_bytes=self._out.size)
            also = self._out.within(prepared)
        self.done = self._store.commit(replace(done, place=place), also)
        took = max(time.monotonic() - began, 0.001)
        if found:
            self._follower.most = max(1, min(_BATCH, 2 * len(found), int(len(found) * _BATCH_TIME / took)))
        return bool(found)

    def close(self) -> None:
        """Let go of where the items go; what was committed of them can be read then. Raises ScrawlerError."""
        if self._out is not None:
            with closing(self._out):
                if self._has_begun:
                    self._out.publish(self.done.items_bytes)

    def _processed(self, committed: CommittedPage, reads: Answers) -> tuple[int, list[Any]]:
        """Return how many items were made of a page, and how they are written; -1 where a processor failed."""
        page = Page(committed, reads)
        items: list[Item] = []
        for name, processor in self._processors.items():
            try:
                items += _items(processor(page))
            except BaseException as error:
                if is_interrupt(error) or isinstance(error, StoreBusyError):  # no fault of the page: it comes again
                    raise
                self._tell(f"page processor {name} failed on {page.url}: {in_a_line(error)}")
                return -1, []
        if self._out is None:
            return len(items), []
        try:
            return len(items), self._out.prepared(page.id, items)
        except ItemError as error:
            self._tell(f"{page.url}: {error}")
            return -1, []

    def _tell(self, line: str) -> None:
        self._told += 1
        if self._told <= _TOLD:
            self._say(line)
        if self._told == _TOLD:
            self._say("further errors of page processors are counted only")


def items_place(items: str | os.PathLike[str]) -> str:
    """Return where items go, as a table is named, or a file by its real path."""
    place = os.fspath(items)
    return place if is_table(place) else os.path.realpath(place)


def check_place(place: str) -> None:
    """Raise SettingsError where the name of a place says that no items can go there."""
    if not is_table(place) and not _is_parquet(Path(place)):
        format_of(Path(place))


def _output(place: str, database: Database) -> ItemsOutput:
    """Open where items go, and change nothing there. Raises SettingsError, ScrawlerError."""
    if is_table(place):
        return TableItems(place, database)
    path = Path(place)
    return ParquetItems(path) if _is_parquet(path) else ItemsFile(path)


def _is_at_work(place: str) -> bool:
    """Tell whether a program writes a file; of a table the database tells two apart."""
    if is_table(place):
        return False
    path = Path(place)
    return is_being_written(beside(path) if _is_parquet(path) else path)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _items(made: Any) -> list[Item]:
    if made is None:
        return []
    items = [made] if isinstance(made, Mapping) else list(made)
    for item in items:
        if not isinstance(item, Mapping):
            raise TypeError(f"an item is a dict, not a {type(item).__name__}")
    return items
