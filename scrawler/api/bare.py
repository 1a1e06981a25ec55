"""A crawl's settings and its database, and what a few reads of that tell: all that most commands need."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MethodType, TracebackType
from typing import Any, Self

from scrawler.api.rows import Seed, chosen, seed_row
from scrawler.errors import InputError
from scrawler.feature import library_method, library_names
from scrawler.insight.last_settings import crawl_settings
from scrawler.settings import Settings, make_settings
from scrawler.store.claims.control import Control
from scrawler.store.claims.crawls import Crawl as StoredCrawl
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.overview import Summary
from scrawler.store.claims.seeds import Seeds, SeedView
from scrawler.store.engines.engine import Database, Waiting, open_database
from scrawler.store.reading.traces import Traces
from scrawler.store.upkeep.features import missing_features
from scrawler.urls.normalise import seed_url
from scrawler.urls.steps import make_steps


class BareCrawl:
    """A crawl that was opened: see `Crawl`, which can do more, and takes several times as long to load."""

    def __init__(
        self,
        db: str | os.PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        create: bool = True,
        config: Path | None = None,
        say: Callable[[str], None] | None = None,
        keeps: object = None,
        **changes: Any,
    ) -> None:
        as_given = settings is not None and db is None and not changes
        self.settings = settings if settings is not None and as_given else _made(db, settings, changes)
        self._create = create
        self._config = config
        self._say = say or logging.getLogger("scrawler").warning
        self._keeps = keeps
        self._turn = threading.Lock()  # guards what follows
        self._opened: Database | None = None
        self._asked = threading.Event()  # that the user wants the end: then nothing is waited for very long

    def __enter__(self) -> Self:
        """Open the database."""
        _ = self.database
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the database."""
        self.close()

    def __repr__(self) -> str:
        return f"<Crawl {self.settings.name}>"

    def __getattr__(self, name: str) -> Any:
        """Return what a feature does with a crawl, as a method; asked only for what no class of it has."""
        method = None if name.startswith("_") else library_method(name)
        if method is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return MethodType(method, self)

    def __dir__(self) -> list[str]:
        """Name what features do with a crawl as well."""
        return [*super().__dir__(), *library_names()]

    @property
    def database(self) -> Database:
        """The database, opened when it is first asked for; for the command line and others who know the store."""
        with self._turn:
            if self._opened is None:
                settings = self.settings
                waiting = Waiting(settings.database_patience, once_stopped=settings.stop_timeout, say=self._say)
                self._opened = open_database(settings.db, create=self._create, stop=self._asked, waiting=waiting)
                if missing := missing_features(self._opened):
                    self._say(f"rows of the feature {', '.join(missing)}, which is not installed here, are left out")
            return self._opened

    @property
    def stored(self) -> StoredCrawl:
        """The crawl as the database has it: name, scope, and when it was made."""
        return Crawls(self.database).open(self.settings.name, self.settings.scope)

    def say(self, line: str) -> None:
        """Tell who opened the crawl a line."""
        self._say(line)

    def close(self) -> None:
        """Close the database; pages that were handed out can still be read."""
        with self._turn:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def status(self) -> Summary:
        """Return how the crawl stands: seeds by state and end reason, pages, bytes, errors, pages/s, machines."""
        _ = self.stored
        return Machines(self.database).summary()

    def seeds(self, state: str | None = None, end_reason: str | None = None) -> Iterator[Seed]:
        """Yield the seeds in the order in which they came, of one state or end reason, or all.

        Raises SettingsError where there is no such state or reason.
        """
        return map(seed_row, Seeds(self.database).list(*chosen(state, end_reason)))

    def seed(self, url: str, called: str = "seed") -> SeedView:
        """Return what the store knows of a seed, written as it was given or as it is stored. Raises InputError."""
        plain, problem = seed_url(url)
        if problem:
            raise InputError(f"{called} {url!r}: {problem}")
        seeds = Seeds(self.database)
        view = seeds.get(plain) or seeds.get(seed_url(url, steps=make_steps(self.settings.normalise)).url)
        if view is None:
            raise InputError(f"{plain} is no seed of this crawl; `scrawler seeds` lists them")
        return view

    def last_settings(self) -> Settings:
        """Return the settings of the last run, which tell how large a body may be, and how its URLs are spelt."""
        database = self.database
        return crawl_settings(Traces(database), Control(database).orders().settings, self.settings)


def _made(db: str | os.PathLike[str] | None, base: Settings | None, changes: dict[str, Any]) -> Settings:
    """Make the settings of a crawl; paths are those of the current folder, whatever that is later."""
    if db is not None:
        changes = changes | {"db": _database_url(os.fspath(db))}
    settings = make_settings(changes, base)
    folders = {key: getattr(settings, key).absolute() for key in ("pages_dir", "output_dir", "input_dir")}
    scheme, separator, path = settings.db.partition("sqlite:///")
    if separator and not scheme and not path.startswith("file:"):
        folders["db"] = _database_url(path)
    return settings.model_copy(update=folders)


def _database_url(db: str) -> str:
    return db if "://" in db else f"sqlite:///{Path(db).absolute()}"
