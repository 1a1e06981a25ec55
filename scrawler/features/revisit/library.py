"""What `Crawl` does with visits after the first: what they have found, how pages have changed, rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from scrawler.api.opened import OpenedCrawl
from scrawler.api.since import Since, since_ms
from scrawler.dates import moment
from scrawler.errors import SettingsError
from scrawler.features.revisit.atom import feed_lines
from scrawler.features.revisit.diff import Compared, two_visits
from scrawler.features.revisit.diff import diff as compared_lines
from scrawler.features.revisit.log import Changes, ChangeView
from scrawler.insight.contents import asked_for
from scrawler.model.visits import ChangeKind
from scrawler.store.lists.rounds import Rounds, RoundView

_MOST_IN_FEED = 1_000


@dataclass(frozen=True, slots=True)
class Change:
    """A change that a visit has found."""

    at: datetime  # of the visit, UTC
    kind: ChangeKind
    url: str
    seed: str  # URL of the seed
    visit: int  # 0 is the first one
    detail: str  # where it has moved
    distance: int | None = None  # of 64 bits, by which the simhashes of old and new text differ; None: not known
    id: int = 0  # its key in the database, which never changes

    def __str__(self) -> str:
        return f"{self.kind.value} {self.url}" + (f" -> {self.detail}" if self.detail else "")


def changes(
    crawl: OpenedCrawl, since: Since = None, seed: str | None = None, kind: str | Iterable[str] = ()
) -> Iterator[Change]:
    """Yield what visits have found since a time, in their order.

    `since` is a time (without a zone it is UTC), a date as text, or how long ago: a timedelta, or "7d". `kind` is
    new, changed, failing, gone, back or moved, or several of them. Raises SettingsError for what is none of these,
    InputError where there is no such seed.
    """
    kinds = kinds_of([kind] if isinstance(kind, str) else kind)
    seed_id = None if seed is None else crawl.seed(seed).seed.id
    at = since_ms(since, crawl.database.now())
    return map(_change, Changes(crawl.database).found(at, seed_id, kinds))


def feed(
    crawl: OpenedCrawl, since: Since = None, seed: str | None = None, kind: str | Iterable[str] = ()
) -> Iterator[str]:
    """Yield the lines of an Atom feed of what `changes` yields, of the newest 1,000. Raises as it does."""
    seed_id = None if seed is None else crawl.seed(seed).seed.id
    kinds = kinds_of([kind] if isinstance(kind, str) else kind)
    newest = Changes(crawl.database).newest(_MOST_IN_FEED, since_ms(since, crawl.database.now()), seed_id, kinds)
    return feed_lines(crawl.stored, newest)


def rounds(crawl: OpenedCrawl, seed: str | None = None) -> Iterator[RoundView]:
    """Yield the rounds of a seed, or of all, with the counts of each. Raises InputError where there is no seed."""
    return Rounds(crawl.database).of_seeds(None if seed is None else crawl.seed(seed).seed.id)


def diff(crawl: OpenedCrawl, url: str, first: int | None = None, second: int | None = None, body: bool = False) -> str:
    """Return a unified diff between two visits to a URL, empty where they are equal.

    Visits are counted from 0; by default these are the last one that found another payload, and the one before it.
    It is that of the text that a reader sees, with `body` that of the decoded body. Raises NotCrawledError where
    there are no two visits with a record, RecordsLostError where one is gone from the archive. Bytes that are no
    text are lone surrogates (surrogateescape).
    """
    return "\n".join(_diff(crawl, url, first, second, Compared.BODY if body else Compared.TEXT))


def diff_bytes(crawl: OpenedCrawl, url: str, first: int | None = None, second: int | None = None) -> bytes:
    """Return a unified diff of decoded bodies as they are, whatever their charset; see `diff`."""
    return "".join(f"{line}\n" for line in _diff(crawl, url, first, second, Compared.BYTES)).encode("latin-1")


def _diff(crawl: OpenedCrawl, url: str, first: int | None, second: int | None, compared: Compared) -> Iterator[str]:
    asked = asked_for(crawl.last_settings(), url)
    old, new = two_visits(Changes(crawl.database).visits(asked.hashes), asked.shown, first, second)
    with crawl.reader() as reader:
        yield from compared_lines(old, new, reader.read, compared)


def kinds_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return kinds of changes; several may stand in a word, with commas between them. Raises SettingsError."""
    kinds = [one.strip() for word in words for one in word.split(",") if one.strip()]
    known = [kind.value for kind in ChangeKind]
    for one in kinds:
        if one not in known:
            raise SettingsError(f"{one!r} is no change, which are {', '.join(known)}")
    return tuple(kinds)


def _change(view: ChangeView) -> Change:
    at = moment(view.at)
    distance = None if view.distance < 0 else view.distance
    return Change(at, ChangeKind(view.kind), view.url, view.seed, view.visit, view.detail, distance, view.id)
