"""Rows of the database as users of the library see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from scrawler.dates import moment
from scrawler.errors import SettingsError
from scrawler.model.deaths import Death, death_of
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.model.terms import Millis
from scrawler.store.claims.seeds import SeedView

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed, and what came of it; times are UTC."""

    url: str  # as imported, normalised
    state: SeedState
    end_reason: EndReason | None  # None while it is not done
    end_detail: str
    site: str  # key of its site: host or registrable domain, by the crawl's scope
    home_url: str  # where its redirects led; else the same as url
    hops: int  # 0: given by a user; n: found n sites away
    counts: SeedCounts
    verdicts: Mapping[str, int]  # reason why a link was not listed -> times
    elapsed: float  # seconds in work
    added_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    columns: Mapping[str, Any]  # what the seed file said of it beside the URL
    dead_as: Death | None = None  # of what it has died, if it has

    @property
    def pages(self) -> int:
        """URLs that were fetched for it."""
        return self.counts.pages


def seed_row(view: SeedView) -> Seed:
    """Make a row of what the store knows of a seed."""
    seed = view.seed
    return Seed(
        url=seed.url,
        state=seed.state,
        end_reason=seed.end_reason,
        end_detail=view.end_detail,
        site=view.site_key,
        home_url=seed.home_url,
        hops=seed.hops,
        counts=seed.counts,
        verdicts=seed.verdicts,
        elapsed=seed.elapsed_ms / 1000,
        added_at=_time(view.added_at),
        started_at=None if view.started_at is None else _time(view.started_at),
        ended_at=None if view.ended_at is None else _time(view.ended_at),
        columns=view.columns,
        dead_as=death_of(seed.end_reason, view.end_detail),
    )


def results_of(given: str | Iterable[str] | None) -> Collection[Result]:
    """Return the results that a caller has named, by one word or several; nothing, for any result, where it is None.

    Raises SettingsError for a word that is none.
    """
    words = [given] if isinstance(given, str) else list(given or ())
    return frozenset(one_of(Result, word, "result") for word in words)


def one_of(words: Iterable[Word], given: str, called: str) -> Word:
    """Return what a caller has named by a word. Raises SettingsError, which calls it as the caller does."""
    allowed = list(words)
    for word in allowed:
        if word == given:
            return word
    raise SettingsError(f"{called} {given!r} is not allowed, only {', '.join(allowed)}")


def chosen(state: str | None, end_reason: str | None) -> tuple[SeedState | None, EndReason | None]:
    """Return the state and the end reason that a caller has named. Raises SettingsError for a word that is none."""
    of_state = None if state is None else one_of(SeedState, state, "state")
    of_reason = None if end_reason is None else one_of(EndReason, end_reason, "end_reason")
    return of_state, of_reason


def _time(at: Millis) -> datetime:
    return moment(at)
