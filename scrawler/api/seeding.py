"""Seeds into a crawl, from files and from Python; and seeds and candidate seeds out of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Protocol

from scrawler.api.bare import BareCrawl
from scrawler.api.keeping import keep_clear
from scrawler.api.rows import chosen, one_of
from scrawler.errors import DatabaseUrlError, InputError, StoreError
from scrawler.feature import hooked_for
from scrawler.seeds.exporter import COLUMNS, ExportCounts, Selection, UrlKind, export_merged, export_urls
from scrawler.seeds.files import READ, Format, open_input, read_as, written_as
from scrawler.seeds.formats import Entry, read_entries
from scrawler.seeds.importer import ImportCounts, check_usable, import_seeds
from scrawler.seeds.table_files import open_table
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.urls.normalise import HTTP_SCHEMES
from scrawler.urls.steps import make_steps

SeedSource = str | os.PathLike[str] | Iterable[str]


class OpenAgents(Protocol):
    """Opens the databases of all agents in a file but those that are open already, the crawl's own and `others`."""

    def __call__(
        self, file: Path, own: Database, others: Sequence[Database], opened: Callable[[str, str], Database], /
    ) -> list[Database]:
        """Raises SettingsError where one is not named. `opened` opens one; it is given who has named it, too."""


class SeededCrawl(BareCrawl):
    """A crawl to which seeds can be added, and out of which they are written: see `Crawl`."""

    def add(
        self,
        seeds: SeedSource,
        *,
        format: str | None = None,
        on_invalid: Callable[[Entry], None] = lambda entry: None,
        on_batch: Callable[[ImportCounts], None] = lambda counts: None,
    ) -> ImportCounts:
        """Add seeds: those of a file (as `scrawler import` reads it), a URL, or any iterable of URLs.

        A text is a URL where it begins with http:// or https://, else the name of a file, which is written as `format`
        (txt, csv, jsonl; default: by its name). What the crawl has already is counted as duplicate. `on_invalid` gets
        each line that holds no usable URL, with the reason; `on_batch` the counts so far.

        Raises:
            InputError: the file cannot be read, or nothing in what was given is usable.
            SettingsError: there is no such format of seed files.
            StoreError: the database refuses; what was added before stays.
        """
        if isinstance(seeds, os.PathLike) or (isinstance(seeds, str) and not _is_url(seeds)):
            return self._add_file(os.fspath(seeds), format, on_invalid, on_batch)
        urls = [seeds] if isinstance(seeds, str) else seeds
        entries = (Entry(number, str(url)) for number, url in enumerate(urls, 1))
        counts = self.add_entries(entries, on_invalid, on_batch)
        if counts.entries and counts.entries == counts.invalid:
            raise InputError(f"no usable seed among the {counts.entries:,} given")
        return counts

    def _add_file(
        self,
        name: str,
        format: str | None,
        on_invalid: Callable[[Entry], None],
        on_batch: Callable[[ImportCounts], None],
    ) -> ImportCounts:
        written = one_of(READ, format, "format") if format else read_as(name)
        with open_input(name, self.settings.input_dir) as stream:
            counts = self.add_entries(read_entries(stream, written, name), on_invalid, on_batch)
        check_usable(counts, name)
        return counts

    def add_entries(
        self,
        entries: Iterable[Entry],
        on_invalid: Callable[[Entry], None],
        on_batch: Callable[[ImportCounts], None],
    ) -> ImportCounts:
        """Add the seeds of lines that were read already, as `add` does; it is no error where none is usable."""
        settings, crawl = self.settings, self.stored
        if "name" in settings.model_fields_set and crawl.name != settings.name:
            Crawls(self.database).rename(settings.name)
        seeds = Seeds(self.database)
        return import_seeds(
            entries,
            seeds.add,
            writers=seeds.writers,
            scope=crawl.scope,
            max_url_length=settings.max_url_length,
            steps=make_steps(settings.normalise),
            on_invalid=on_invalid,
            on_batch=on_batch,
        )

    def export(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        pages: bool = False,
        state: str | None = None,
        end_reason: str | None = None,
        format: str | None = None,
        only: str | None = None,
        merge: Iterable[str] = (),
        agents: str | os.PathLike[str] | None = None,
    ) -> ExportCounts:
        """Write every seed and candidate seed to a file, as `scrawler export` does; return how many.

        `file` is by default that of the crawl's name in `output_dir`; with `pages` the URLs inside of sites are added;
        with `state` or `end_reason` only the seeds that have it; `only` is "seed", "candidate" or "page"; `merge` are
        databases of other agents, whose URLs are written as well, each once; `agents` is the file that names all
        agents, none of which may be missing then: what is not in `merge` is read where the file says. Raises
        SettingsError for a name that says nothing of the format, a word that is none of those that are allowed, a
        file that the crawl needs, and an agent without a database; ScrawlerError where it cannot be written.
        """
        name = os.fspath(file) if file is not None else self.export_file
        written = one_of(Format, format, "format") if format else written_as(name)
        kinds = {one_of(UrlKind, only, "only")} if only else {UrlKind.SEED, UrlKind.CANDIDATE}
        if pages and not only:
            kinds.add(UrlKind.PAGE)
        selection = Selection(*chosen(state, end_reason), frozenset(kinds))
        self.keep_clear(name)
        urls_alone = written is Format.TXT
        with ExitStack() as stack:
            others = [self._other(stack, url, "--merge") for url in merge]
            if agents is not None:
                open_agents: OpenAgents = hooked_for("agents", "the export of agents")
                others += open_agents(Path(agents), self.database, others, partial(self._other, stack))
            out = stack.enter_context(open_table(name, written, COLUMNS))
            if others:
                return export_merged([self.database, *others], selection, out, urls_alone=urls_alone)
            return export_urls(self.database, selection, out, urls_alone=urls_alone)

    def _other(self, stack: ExitStack, url: str, named_by: str) -> Database:
        """Open the database of another crawl, which has to be there."""
        settings = self.settings.model_copy(update={"db": url})
        try:
            return stack.enter_context(BareCrawl(settings=settings, create=False)).database
        except DatabaseUrlError as error:
            raise StoreError(f"{named_by}: {error}") from error  # it is not the database of the crawl itself

    @property
    def export_file(self) -> str:
        """The file that is exported to by default."""
        return str(self.settings.output_dir / f"{self.stored.name}.txt")

    def keep_clear(self, file: str | Path) -> None:
        """Check that nothing which the crawl needs would be written over. Raises SettingsError."""
        keep_clear(self.database, self.settings, file, self._config)


def _is_url(text: str) -> bool:
    return text.strip().lower().startswith(HTTP_SCHEMES)
