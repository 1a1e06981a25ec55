"""The broken URLs of a report: how many of each kind, and some of each with the page that lists them.

`scrawler broken` reads all of them; a report over millions of pages shows those that it comes by (see page_sums.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from scrawler.features.broken.links import BROKEN, is_guess
from scrawler.insight.reporting import Added, Reported
from scrawler.insight.sections import Section, Table
from scrawler.model.results import PageFlag
from scrawler.store.engines.engine import Database
from scrawler.store.reading.page_lists import Last, PageFilter, PageLists, PageView
from scrawler.store.sums.page_sums import PageSum

_SHOWN = 40
_COLUMNS = ("url", "result", "status", "detail", "listed_by")

Kind = tuple[str, int]


def added(asked: Reported) -> Iterator[Added]:
    """Yield the section of broken URLs; of visits since a time nothing is told."""
    if asked.since:
        return
    yield Added("content", broken_section(asked.database, asked.pages, asked.seed_id))


def broken_section(database: Database, pages: Sequence[PageSum], seed_id: int | None) -> Section:
    """Return what failed of a seed, of all if None: the URLs of which `BROKEN` says that nobody gets an answer."""
    failed = [one for one in pages if one.result in BROKEN and not one.flags & PageFlag.SITEMAP]
    kinds: Counter[Kind] = Counter()
    for one in failed:
        kinds[one.result, one.status] += one.pages
    if failed and PageLists(database).has_rounds():
        kinds, views = _by_now(database, seed_id)
    else:
        views = _samples(database, failed, seed_id) if failed else []
    frequent = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    rows = [(result, status or None, number) for (result, status), number in frequent]
    shown = _chosen(views, [kind for kind, _ in frequent])
    some = [
        (view.page.url, view.page.result, view.page.status or None, view.page.detail, view.referrer) for view in shown
    ]
    title = "Broken URLs" if len(some) == kinds.total() else "Some broken URLs (scrawler broken lists all)"
    tables = (
        Table("kinds", "Broken URLs by result and status", ("result", "status", "urls"), rows),
        Table("urls", title, _COLUMNS, some),
    )
    return Section("broken", "Broken URLs", {"broken_urls": kinds.total()}, tables)


def _by_now(database: Database, seed_id: int | None) -> tuple[Counter[Kind], list[PageView]]:
    """Return what the last visits say, in a crawl that was visited again: the sums have each visit."""
    kinds: Counter[Kind] = Counter()
    views = []
    wanted = PageFilter(seed_id, results=tuple(result.value for result in BROKEN), last=Last.OF_ALL)
    for view in PageLists(database).all(wanted):
        if not view.page.flags & PageFlag.SITEMAP:
            kind = view.page.result, view.page.status
            kinds[kind] += 1
            if kinds[kind] <= _SHOWN:
                views.append(view)
    return kinds, views


def _samples(database: Database, failed: Sequence[PageSum], seed_id: int | None) -> list[PageView]:
    lists = PageLists(database)
    by_size = sorted(failed, key=lambda one: (-one.pages, one.first_id))
    ids = [one.first_id for one in by_size[: 4 * _SHOWN]]
    first = min(one.first_id for one in failed)
    ids += lists.ids_from(first, BROKEN, 4 * _SHOWN, seed_id)
    return [view for view in lists.with_ids(sorted(set(ids))) if not is_guess(view)]


def _chosen(views: Sequence[PageView], kinds: Sequence[Kind]) -> list[PageView]:
    """Return those that are shown, kind by kind, where there are too many as many of each kind as there is room for."""
    by_kind: dict[Kind, list[PageView]] = {kind: [] for kind in kinds}
    for view in views:
        by_kind.get((view.page.result, view.page.status), []).append(view)
    room = _SHOWN
    for number, kept in enumerate(sorted(by_kind.values(), key=len)):
        share = room // (len(kinds) - number)
        del kept[share:]
        room -= len(kept)
    return [view for kept in by_kind.values() for view in kept]
