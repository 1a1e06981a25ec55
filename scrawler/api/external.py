"""External links checked: each external URL is asked for once, by a crawl of its own that goes no further.

So it is done as politely as any crawl, within robots.txt, the address guard and the settings of each host, and follows
redirects as a crawl does from its seeds. Of an answer that is good the head alone is read. A GET does that: servers
answer HEAD in ways of their own, and who asks HEAD first asks many of them twice.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import Any

from scrawler.api.crawl import Crawl
from scrawler.api.opened import OpenedCrawl
from scrawler.core.party.decisions import MAX_SEED_REDIRECTS
from scrawler.insight.broken import BROKEN, BrokenLink
from scrawler.insight.circles import MOST_REDIRECTS, REDIRECT_LOOP, TOO_MANY_REDIRECTS
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.seeds import EndReason
from scrawler.model.terms import url_hash
from scrawler.seeds.formats import Entry
from scrawler.settings import with_secrets
from scrawler.store.candidates import Candidates
from scrawler.store.page_lists import PageFilter, PageLists
from scrawler.store.seeds import Seeds, SeedView
from scrawler.store.traces import Traces
from scrawler.tuples.classes import NamedTuple, dataclass
from scrawler.urls.normalise import normalise

_MOST_PAUSE = 60.0  # seconds for which a host is left alone that asks for more: nobody waits for a check for hours
_READ = 500  # URLs that are looked up at a time
_NO_TYPE = ("application/x-scrawler-none",)  # no body has this type, so none is downloaded
_HEADS_ALONE: dict[str, Any] = {
    "max_depth": 0,
    "hops": 0,
    "scope": "host",
    "boundary": "any",
    "accept": _NO_TYPE,
    "sitemaps": "off",
    "assets": False,
    "browser": False,
    "outlinks": False,
    "max_pages": None,
    "max_bytes": None,
    "max_time": None,
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
    """What came of the external URLs: what leads nowhere, what could not be checked, and how many others there are."""

    broken: list[BrokenLink] = field(default_factory=list)
    unchecked: list[BrokenLink] = field(default_factory=list)  # with the reason for that
    fine: int = 0
    not_asked: Counter[str] = field(default_factory=Counter)  # by the reason, in words

    @property
    def total(self) -> int:
        """How many external URLs there are."""
        return len(self.broken) + len(self.unchecked) + self.fine + self.not_asked.total()


class _Answer(NamedTuple):
    """What an external URL led to: the last row of its redirects, None where there is none, and its reason."""

    row: PageRow | None
    reason: str
    detail: str


def check_externals(crawl: OpenedCrawl) -> Checked:
    """Ask for the external URLs that a crawl has found. Raises as `Crawl.run` does."""
    checked = Checked()
    with tempfile.TemporaryDirectory(prefix="scrawler-") as folder:
        place = Path(folder)
        # Of the last run, secrets are written down nowhere, its proxy among them: those hold that are given now.
        settings = with_secrets(crawl.last_settings(), crawl.settings)
        changes: dict[str, Any] = {
            "pages_dir": place / "pages",
            "output_dir": place,
            "max_retry_after": min(settings.max_retry_after, _MOST_PAUSE),
        }
        with Crawl(place / "scrawler.db", settings=settings, **_HEADS_ALONE, **changes, name="external") as asking:
            views = Candidates(crawl.database).merged()
            _ask(asking, (view.url for view in views))
            _sort(crawl, asking, checked)
    return checked


def _ask(asking: Crawl, urls: Iterable[str]) -> None:
    """Ask for URLs, and follow their redirects as far as browsers do: a crawl follows fewer of a seed at a time."""
    for _ in range(-(-MOST_REDIRECTS // MAX_SEED_REDIRECTS)):
        entries = (Entry(number, url) for number, url in enumerate(urls, 1))
        if not asking.add_entries(entries, lambda entry: None, lambda counts: None).new:
            return
        if asking.run().outcome != "ended":
            return
        urls = list(_led_on(asking))


def _led_on(asking: Crawl) -> Iterator[str]:
    """Yield where the last redirects of seeds lead that were not followed any more."""
    for seed in list(Seeds(asking.database).list(None, EndReason.REDIRECTED)):
        for row in [one.page for one in PageLists(asking.database).all(PageFilter(seed.seed.id))][-1:]:
            target = normalise(row.detail, row.url).url if row.result == Result.REDIRECT else ""
            if target and _row_of(asking, target) is None:
                yield target


def _sort(crawl: OpenedCrawl, asking: Crawl, checked: Checked) -> None:
    found = Candidates(crawl.database).merged()
    traces = Traces(crawl.database)
    while views := list(islice(found, _READ)):
        pages = traces.urls(view.referrer for view in views)
        finders = Seeds(crawl.database).by_ids(view.first_seed_id for view in views)
        for view in views:
            row, reason, detail = _answer(asking, view.url)
            if reason in _FINE:
                checked.fine += 1
                continue
            if reason in (_REFUSED, _LEAVES_HTTP) or reason in _NOT_ASKED:
                checked.not_asked[_NOT_ASKED.get(reason, reason)] += 1
                continue
            page = pages.get(view.referrer, "")
            on = [page] if page else []
            status = row.status if row else 0
            link = BrokenLink(view.url, reason, status, detail, finders[view.first_seed_id].seed.url, 0, page, on)
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
