"""Links checked that a crawl does not follow: each URL is asked for once, by a crawl of its own that goes no further.

They are the external URLs of the crawl, and what pages refer to that is no page: files, images, styles and scripts. So
it is done as politely as any crawl, within robots.txt, the address guard and the settings of each host, and follows
redirects as a crawl does from its seeds. Of an answer that is good the head alone is read. A GET does that, which is
given up behind the head: servers answer HEAD in ways of their own, and who asks HEAD first asks many of them twice.
Only pages in which places are looked for are downloaded.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from scrawler.api.crawl import Crawl, UnadvisedCrawl
from scrawler.api.opened import OpenedCrawl
from scrawler.features.broken.circles import MOST_REDIRECTS, REDIRECT_LOOP, TOO_MANY_REDIRECTS
from scrawler.features.broken.links import BROKEN, BrokenLink, Wanted, missing_places, no_fragment
from scrawler.features.broken.references import Reference, References
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason
from scrawler.model.terms import url_hash
from scrawler.seeds.formats import Entry
from scrawler.settings import SETTING_NAMES, Settings, with_doors, with_secrets
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Seeds, SeedView
from scrawler.store.reading.candidates import Candidates
from scrawler.store.reading.page_lists import PageFilter, PageLists
from scrawler.store.reading.traces import Traces
from scrawler.urls.normalise import normalise

_MOST_PAUSE = 60.0  # seconds for which a host is left alone that asks for more: nobody waits for a check for hours
_READ = 500  # URLs that are looked up at a time
_NO_TYPE = ("application/x-scrawler-none",)  # no body has this type, so none is downloaded
_HTML = ("text/html", "application/xhtml+xml")
_HEADS_ALONE: dict[str, Any] = {
    "max_depth": 0,
    "hops": 0,
    "scope": "host",
    "boundary": "any",
    "sitemaps": "off",
    "assets": False,
    "browser": False,
    "outlinks": False,
    "max_pages": None,
    "max_bytes": None,
    "max_time": None,
    "mode": "firewall",
    "communicator": None,
    "agents": None,
    "keep": False,
    "feed": None,
    "webhook": (),
    "archive_to": None,
    "dedup_from": None,
    "url_filters": (),
    "page_processors": (),
    "machines": 1,
}
_FINE = (Result.FETCHED, Result.NOT_MODIFIED, Result.UNWANTED_TYPE, Result.TOO_LARGE)
# What is not asked for on purpose, in words; what else has no answer could not be checked.
_NOT_ASKED = {
    Result.ROBOTS_DENIED.value: "robots.txt",
    Result.PRIVATE_ADDRESS.value: "private-address",
    EndReason.CRAWL_DELAY.value: "crawl-delay",
}
_LEADS_NOWHERE = (*BROKEN, REDIRECT_LOOP, TOO_MANY_REDIRECTS)
_REFUSED = "refused"  # as a seed
_LEAVES_HTTP = "redirects leave http"
_NOT_REACHED = "not-reached"  # the check was stopped before


@dataclass(slots=True)
class Checked:
    """What came of URLs: what leads nowhere, what could not be checked, and how many others there are."""

    broken: list[BrokenLink] = field(default_factory=list)
    unchecked: list[BrokenLink] = field(default_factory=list)  # with the reason for that
    fine: int = 0
    places: int = 0  # those of `broken` that are places in pages which are there
    not_asked: Counter[str] = field(default_factory=Counter)  # by the reason, in words

    @property
    def total(self) -> int:
        """How many URLs there are."""
        return len(self.broken) - self.places + len(self.unchecked) + self.fine + self.not_asked.total()


class _Answer(NamedTuple):
    """What an external URL led to: the last row of its redirects, None where there is none, and its reason."""

    row: PageRow | None
    reason: str
    detail: str


class Wish(NamedTuple):
    """What is to be checked of what a crawl has not asked for."""

    references: References
    files: bool  # within the sites of the crawl
    external: bool
    wanted: Wanted | None = None  # places in pages of other sites


class Results(NamedTuple):
    """What came of it; None: it was not to be checked."""

    files: Checked | None
    external: Checked | None


@dataclass(slots=True)
class _Asked:
    """The crawls that have asked."""

    heads: Crawl
    whole: Crawl | None = None  # the one that downloads pages
    pages: dict[str, None] = field(default_factory=dict)  # the URLs for which that has asked

    def answer(self, url: str) -> _Answer:
        """Tell what became of a URL."""
        asking = self.whole if self.whole is not None and url in self.pages else self.heads
        return _answer(asking, url)


def check_elsewhere(crawl: OpenedCrawl, wish: Wish) -> Results:
    """Ask for what a crawl has not asked for. Raises as `Crawl.run` does."""
    files = Checked() if wish.files else None
    external = Checked() if wish.external else None
    with tempfile.TemporaryDirectory(prefix="scrawler-") as folder, ExitStack() as closed:
        asked = _Asked(closed.enter_context(_asking(crawl, Path(folder) / "heads", _NO_TYPE)))
        if external is not None and wish.wanted is not None:
            asked.whole = closed.enter_context(_asking(crawl, Path(folder) / "whole", _HTML))
            asked.pages = dict.fromkeys(wish.wanted.elsewhere(crawl.database))
            _ask(asked.whole, asked.pages)
            _look_for_places(asked.whole, asked.pages, wish.wanted, external)
        candidates = Candidates(crawl.database).urls() if wish.external else iter(())
        inside = [where for where, wished in ((True, wish.files), (False, wish.external)) if wished]
        urls = chain(candidates, (one.url for where in inside for one in wish.references.all(where)))
        _ask(asked.heads, (url for url in urls if url not in asked.pages))
        if external is not None:
            _sort_candidates(crawl, asked, external, wish.references)
            _sort(asked, external, wish.references.all(False))
        if files is not None:
            _sort(asked, files, wish.references.all(True))
    return Results(files, external)


def _asking(crawl: OpenedCrawl, place: Path, accept: tuple[str, ...]) -> Crawl:
    """Make the crawl that asks; what is not of these types is not downloaded."""
    place.mkdir()
    # Of the last run, secrets are written down nowhere, its proxy among them: those hold that are given now.
    settings = with_secrets(_last_settings(crawl), crawl.settings)
    changes: dict[str, Any] = {
        "pages_dir": place / "pages",
        "output_dir": place,
        "accept": accept,
        "max_retry_after": min(settings.max_retry_after, _MOST_PAUSE),
    }
    return UnadvisedCrawl(place / "scrawler.db", settings=settings, **_there(_HEADS_ALONE), **changes, name="external")


def _there(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those settings that there are: a feature of others may be away."""
    return {key: value for key, value in values.items() if key in SETTING_NAMES}


def _last_settings(crawl: OpenedCrawl) -> Settings:
    """Return the settings of the last run; where it was run in this folder, and here, its doors are open as well."""
    settings, here = crawl.last_settings(), crawl.settings.pages_dir.absolute()
    if here not in Machines(crawl.database).folders_here():
        return settings
    with suppress(ValidationError):
        return with_doors(settings, Traces(crawl.database).last_settings() or {}, crawl.settings)
    return settings


def _look_for_places(asking: Crawl, pages: Iterable[str], wanted: Wanted, checked: Checked) -> None:
    """Look for places in pages of other sites; browsers take them along where a page redirects."""
    with asking.reader() as reader:
        for url in pages:
            row = _answer(asking, url).row
            if row is None or row.result != Result.FETCHED or not row.warc_file:
                continue
            document = reader.read(row).document()
            for place, page in missing_places(wanted.of(url_hash(url)), *document):
                checked.broken.append(no_fragment(row, place, "", page, url))
                checked.places += 1


def _ask(asking: Crawl, urls: Iterable[str]) -> None:
    """Ask for URLs, and follow their redirects as far as browsers do."""
    entries = (Entry(number, url) for number, url in enumerate(urls, 1))
    if asking.add_entries(entries, lambda entry: None, lambda counts: None).new:
        asking.run()


def _sort_candidates(crawl: OpenedCrawl, asked: _Asked, checked: Checked, references: References) -> None:
    """Tell of the crawl's external URLs what came of them; they are no other references any more."""
    found = Candidates(crawl.database).merged()
    traces = Traces(crawl.database)
    while views := list(islice(found, _READ)):
        pages = traces.urls(view.referrer for view in views)
        finders = Seeds(crawl.database).by_ids(view.first_seed_id for view in views)
        _sort(
            asked,
            checked,
            (
                Reference(view.url, "", False, finders[view.first_seed_id].seed.url, pages.get(view.referrer, ""))
                for view in views
            ),
        )
        references.drop(view.url_hash for view in views)


def _sort(asked: _Asked, checked: Checked, references: Iterable[Reference]) -> None:
    for one in references:
        row, reason, detail = asked.answer(one.url)
        if reason in _FINE:
            checked.fine += 1
            continue
        if reason in (_REFUSED, _LEAVES_HTTP) or reason in _NOT_ASKED:
            checked.not_asked[_NOT_ASKED.get(reason, reason)] += 1
            continue
        on = [one.page] if one.page else []
        status = row.status if row else 0
        link = BrokenLink(one.url, reason, status, detail, one.seed, 0, one.page, on)
        (checked.broken if reason in _LEADS_NOWHERE else checked.unchecked).append(link)


def _answer(asking: Crawl, url: str) -> _Answer:
    """Tell what became of an external URL."""
    seed = Seeds(asking.database).get(url)
    if seed is None:  # the crawl refuses it as a seed
        return _Answer(None, _REFUSED, "")
    rows = [one.page for one in PageLists(asking.database).all(PageFilter(seed.seed.id))]
    row = rows[-1] if rows else _row_of(asking, seed.seed.home_url)  # it may be asked for, for another seed of its site
    way: set[str] = set()
    while row is not None and row.result == Result.REDIRECT and row.url not in way:
        way.add(row.url)
        further = _row_of(asking, normalise(row.detail, row.url).url)
        if further is None:
            return _unanswered(seed, row)
        row = further
    if row is None:
        return _unanswered(seed, None)
    if len(way) > MOST_REDIRECTS:
        return _Answer(row, TOO_MANY_REDIRECTS, f"redirects to {row.url}")
    if row.result == Result.REDIRECT:
        return _Answer(row, REDIRECT_LOOP, f"redirects to {normalise(row.detail, row.url).url}")
    return _Answer(row, row.result, f"redirects to {row.url}" if row.url != url else row.detail)


def _unanswered(seed: SeedView, row: PageRow | None) -> _Answer:
    """Tell why a URL has no answer, or the last of its redirects has none, by the end of its seed."""
    reason = seed.seed.end_reason
    if reason is None:
        return _Answer(row, _NOT_REACHED, "the check was stopped before")
    if reason is not EndReason.REDIRECTED:
        return _Answer(row, reason.value, seed.end_detail)
    if row is not None and normalise(row.detail, row.url).url:
        return _Answer(row, TOO_MANY_REDIRECTS, seed.end_detail)
    return _Answer(row, _LEAVES_HTTP, seed.end_detail)


def _row_of(asking: Crawl, url: str) -> PageRow | None:
    return next(iter(Traces(asking.database).pages([url_hash(url)])), None)
