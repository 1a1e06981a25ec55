"""The importer: entries of a seed file become seeds in the store; nothing is dropped in silence."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from scrawler.errors import InputError
from scrawler.model.scope import Scope
from scrawler.seeds.formats import Entry
from scrawler.store.claims.seeds import Added, NewSeed, Turn, turns
from scrawler.threads import thread_starts
from scrawler.urls.normalise import seed_url
from scrawler.urls.scope import site_key
from scrawler.urls.steps import Step

BATCH = 20_000  # seeds a transaction


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

    def plus(self, added: Added, invalid: int) -> ImportCounts:
        """Count a batch that was added, and `invalid` entries in all."""
        return ImportCounts(self.new + added.new, self.duplicate + added.duplicate, invalid)


def check_usable(counts: ImportCounts, name: str) -> None:
    """Check that a file brought anything. Raises InputError."""
    if counts.entries == 0:
        raise InputError(f"{name}: no seeds in it")
    if counts.entries == counts.invalid:
        which = "its only line is" if counts.invalid == 1 else f"all {counts.invalid:,} lines are"
        raise InputError(f"{name}: no usable seed in it, {which} invalid")


def import_seeds(
    entries: Iterable[Entry],
    add: Callable[[Sequence[NewSeed], Turn], Added],
    *,
    writers: int,
    scope: Scope,
    max_url_length: int,
    steps: Step | None = None,
    on_invalid: Callable[[Entry], None],
    on_batch: Callable[[ImportCounts], None],
) -> ImportCounts:
    """Normalise and judge each entry and `add` the good ones in batches; `on_invalid` gets each of the others.

    Batches are committed one by one: after an error what came before stays, and importing again adds the rest.
    `add` is called in up to `writers` threads, so that the next batch is made while the database works on others.
    Raises StartError where the system has no room for one.
    """
    counts = ImportCounts()
    adding: deque[tuple[Future[Added], int]] = deque()
    order = turns()

    def finish() -> None:
        nonlocal counts
        added, invalid = adding.popleft()
        counts = counts.plus(added.result(), invalid)
        on_batch(counts)

    with ThreadPoolExecutor(writers, "seed-writer") as pool:
        for batch, invalid in judged_batches(entries, scope, max_url_length, steps, on_invalid):
            if len(adding) == writers:
                finish()
            with thread_starts():
                added = pool.submit(add, batch, next(order))
            adding.append((added, invalid))
        while adding:
            finish()
    return counts


def judged_batches(
    entries: Iterable[Entry],
    scope: Scope,
    max_url_length: int,
    steps: Step | None,
    on_invalid: Callable[[Entry], None],
) -> Iterator[tuple[list[NewSeed], int]]:
    """Yield seeds, normalised, in batches, the last one perhaps empty, each with the invalid entries so far."""
    batch: list[NewSeed] = []
    invalid = 0
    for entry in entries:
        url, problem = ("", entry.problem) if entry.problem else seed_url(entry.text, max_url_length, steps)
        if problem:
            invalid += 1
            on_invalid(entry._replace(problem=problem))
            continue
        batch.append(NewSeed(url, site_key(url, scope), 0, entry.columns))
        if len(batch) == BATCH:
            yield batch, invalid
            batch = []
    yield batch, invalid
