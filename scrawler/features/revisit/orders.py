"""What is looked at, and noted, before machines start: settings that cannot be, and the order of a round."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from scrawler.app import open_crawl, patiently_opened
from scrawler.errors import InputError, SettingsError
from scrawler.feature import hooked
from scrawler.features.revisit.policies.due import WITH_BUDGET
from scrawler.features.revisit.settings import RevisitSettings
from scrawler.features.revisit.store.rounds import order_round
from scrawler.seeds.files import open_input, read_as
from scrawler.seeds.formats import read_entries
from scrawler.settings import Settings
from scrawler.store.engine import Database
from scrawler.store.seeds import Seeds
from scrawler.urls.normalise import seed_url
from scrawler.urls.steps import make_steps


def check_budget(settings: Settings) -> None:
    """Check that there is a budget where one is to be divided. Raises SettingsError."""
    own = RevisitSettings.of(settings)
    given = own.revisit_budget is not None or own.revisit_site_budget is not None
    if own.revisit in WITH_BUDGET and not given:
        raise SettingsError(
            f"revisit = {own.revisit} divides a budget: --revisit-budget says how many URLs a day are visited"
        )
    for host, one in settings.sites.items():
        if one.get("revisit") in WITH_BUDGET and not (given or one.get("revisit_site_budget")):
            raise SettingsError(f'[sites."{host}"] revisit = {one["revisit"]} divides a budget: revisit_site_budget')


def check_keep(settings: Settings, database: Database) -> None:
    """Look whether URLs of a crawl that is to be kept can ever be due. Raises SettingsError."""
    own = RevisitSettings.of(settings)
    if not own.keep:
        return
    of_sites = (one.get("revisit", "off") for one in settings.sites.values())
    never = own.revisit == "off" and all(word == "off" for word in of_sites)
    if never and not (Seeds(database).any_with_column("revisit") or any(sent(database) for sent in hooked("arrivals"))):
        raise SettingsError(
            "keep visits URLs when they are due, and none ever is: --revisit fixed or adaptive, or start"
            " `scrawler listen` first, for those that servers and owners send"
        )


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
