"""The order of a round, which is noted before machines start."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from scrawler.app import open_crawl, patiently_opened
from scrawler.errors import InputError
from scrawler.features.revisit.store.orders import order_round
from scrawler.seeds.files import open_input, read_as
from scrawler.seeds.formats import read_entries
from scrawler.settings import Settings
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database
from scrawler.urls.normalise import seed_url
from scrawler.urls.steps import make_steps


def begin_again(
    settings: Settings,
    seeds: Sequence[str],
    older_than: float,
    stop: threading.Event,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Order that ended seeds, all or those given by URL or file, are visited again; machines begin their rounds.

    Pages that were visited less than `older_than` seconds ago are left out. `say` is told where an earlier order is
    not carried out yet.

    Raises StoreError; InputError where a seed is none of the crawl.
    """
    with patiently_opened(settings, stop, say) as database:
        _, settings = open_crawl(database, settings)
        wanted = _ids_of(database, settings, seeds)
        if not order_round(database, int(older_than * 1000), wanted):
            say("a round that was cut short while it was begun goes on; the next --again begins another")


def _ids_of(database: Database, settings: Settings, given: Sequence[str]) -> list[int] | None:
    """Return the ids of the seeds that are given as URLs, or as files of them; None for all. Raises InputError."""
    if not given:
        return None
    seeds, steps = Seeds(database), make_steps(settings.normalise)
    found = []
    if "" in given:
        raise InputError("the URL of a seed, or a file of seeds, is wanted to visit it again, not an empty text")
    for url in chain.from_iterable(map(partial(_urls_in, settings), given)):
        plain, problem = seed_url(url)
        if problem:
            raise InputError(f"{url!r} cannot be visited again: {problem}")
        view = seeds.get(plain) or seeds.get(seed_url(url, steps=steps).url)
        if view is None:
            raise InputError(f"{plain} is no seed of this crawl; `scrawler seeds` lists them")
        found.append(view.seed.id)
    return found


def _urls_in(settings: Settings, given: str) -> Iterator[str]:
    if "://" in given:
        yield given
        return
    with open_input(given, settings.input_dir) as stream:
        for entry in read_entries(stream, read_as(given), given):
            yield entry.text
