"""The importer: entries of a seed file become seeds in the store; nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scrawler.model import Scope
from scrawler.seeds.formats import Entry
from scrawler.store.seeds import Added, NewSeed
from scrawler.urls.normalise import seed_url
from scrawler.urls.scope import site_key

BATCH = 10_000  # seeds a transaction


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What became of the entries read so far; new + duplicate + invalid = entries."""

    new: int = 0
    duplicate: int = 0
    invalid: int = 0

    @property
    def entries(self) -> int:
        """Lines that claimed to hold a URL."""
        return self.new + self.duplicate + self.invalid


def import_seeds(
    entries: Iterable[Entry],
    add: Callable[[Sequence[NewSeed]], Added],
    *,
    scope: Scope,
    max_url_length: int,
    on_invalid: Callable[[Entry], None],
    on_batch: Callable[[ImportCounts], None],
) -> ImportCounts:
    """Normalise and judge each entry and `add` the good ones in batches; `on_invalid` gets each of the others.

    Batches are committed one by one: after an error what came before stays, and importing again goes on from there.
    """
    counts = ImportCounts()
    batch: list[NewSeed] = []
    invalid = 0
    for entry in entries:
        url, problem = ("", entry.problem) if entry.problem else seed_url(entry.text, max_url_length)
        if problem:
            invalid += 1
            on_invalid(entry._replace(problem=problem))
            continue
        batch.append(NewSeed(url, site_key(url, scope), 0))
        if len(batch) == BATCH:
            counts = _add_batch(counts, add, batch, invalid)
            on_batch(counts)
            batch.clear()
    counts = _add_batch(counts, add, batch, invalid)
    on_batch(counts)
    return counts


def _add_batch(
    counts: ImportCounts, add: Callable[[Sequence[NewSeed]], Added], batch: Sequence[NewSeed], invalid: int
) -> ImportCounts:
    added = add(batch) if batch else Added(0, 0)
    return ImportCounts(counts.new + added.new, counts.duplicate + added.duplicate, invalid)
