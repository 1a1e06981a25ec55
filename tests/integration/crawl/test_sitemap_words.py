"""What sitemaps say of changes is held against visits, and believed as far as it proved true of their site."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrawler.features.report.report import make_report
from scrawler.features.revisit.keeping import make_revisits
from scrawler.features.revisit.store.rounds import Begun
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.crawl.test_rounds import again
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]
PAGES = 10
DAY = 86_400_000


class Site:
    """Pages that a sitemap lists, with the time of their last change; `lies`: it never says another one."""

    def __init__(self, lies: bool = False) -> None:
        self.lies = lies
        self.texts = dict.fromkeys(range(PAGES), 0)
        self.lastmod = dict.fromkeys(range(PAGES), "2020-01-01T00:00:00Z")
        self.asked: list[str] = []

    def change(self, number: int) -> None:
        self.texts[number] += 1
        if not self.lies:
            self.lastmod[number] = datetime.now(UTC).isoformat(timespec="milliseconds")

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            self.asked.append(path)
            if path == "/sitemap.xml":
                urls = "".join(
                    f"<url><loc>/p{number}</loc><lastmod>{at}</lastmod></url>" for number, at in self.lastmod.items()
                )
                visit.send(answer(f"<urlset>{urls}</urlset>".encode(), "200 OK", "Content-Type: application/xml"))
            elif path == "/":
                visit.send(page("home", links=[f"/p{number}" for number in range(PAGES)]))
            elif path.startswith("/p"):
                visit.send(page(f"text {self.texts[int(path[2:])]}"))
            else:
                visit.send(NOT_FOUND)


SETTINGS: dict[str, Any] = {"sitemaps": "also", "revisit": "adaptive", "revisit_max": 30 * 86_400, "per_site": 1}


def sql(crawl: Crawl, text: str) -> list[Any]:
    with closing(open_database(crawl.url)) as database, database.begin() as connection:
        found = connection.exec_driver_sql(text)
        return list(found.all()) if found.returns_rows else []


def begin_due(crawl: Crawl, due: str) -> Begun:
    """Let URLs be due, and a round begin with those that are."""
    sql(crawl, "UPDATE url_state SET due_at = 9000000000000")
    sql(crawl, f"UPDATE url_state SET due_at = 1 WHERE {due}")
    sql(crawl, "UPDATE seed SET due_at = 0")
    with closing(open_database(crawl.url)) as database:
        settings = crawl.settings(**SETTINGS)
        revisits = make_revisits(settings, database, settings.scope, dict, threading.Event().is_set)
        return revisits.begin_due(0)


def rounds(crawl: Crawl, number: int) -> None:
    """Visit all pages and, as if a day had gone by, the sitemap."""
    for _ in range(number):
        sql(crawl, f"UPDATE url_state SET visited_at = visited_at - {DAY + 1} WHERE position < 0")
        again(crawl)
        crawl.run(**SETTINGS)


def test_a_sitemap_that_tells_the_truth_spares_visits(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl, site = crawl_on_both, Site()
    server = serve(site)
    crawl.add([server.url()])
    crawl.run(**SETTINGS)
    rounds(crawl, 2)
    assert begin_due(crawl, "position < 0").urls == 1  # the sitemap is read again, later than the pages
    crawl.run(**SETTINGS)
    assert begin_due(crawl, "position >= 0 AND depth > 0").urls == 0
    times = sql(crawl, "SELECT due_at - visited_at FROM url_state WHERE position >= 0 AND depth > 0")
    assert all(0 < time <= 30 * DAY for (time,) in times), "no page waits for longer than its longest time"
    sql(crawl, f"UPDATE url_state SET visited_at = visited_at - {31 * DAY}, known_since = 1 WHERE position >= 0")
    assert begin_due(crawl, "position >= 0 AND depth > 0").urls == PAGES, "none is left out for ever"
    crawl.run(**SETTINGS)
    with closing(open_database(crawl.url)) as database:
        stored = Crawls(database).open("crawl", crawl.settings().scope)
        text = make_report(database, stored, None)
    (table,) = [table for section in text.sections for table in section.tables if table.key == "sitemaps"]
    assert [(row[2], row[4] >= 2 * PAGES) for row in table.rows] == [("100%", True)]


def test_what_is_said_to_have_changed_is_asked_for_first_and_at_once(crawl: Crawl, serve: Serve) -> None:
    site = Site()
    server = serve(site)
    crawl.add([server.url()])
    crawl.run(**SETTINGS)
    for _ in range(2):
        for number in range(PAGES):
            site.change(number)
        rounds(crawl, 1)
    site.change(7)
    assert begin_due(crawl, "position < 0").urls == 1
    crawl.run(**SETTINGS)
    due = sql(crawl, f"SELECT url FROM url_state WHERE due_at < {9 * 10**12} AND position >= 0")
    assert [url for (url,) in due] == [server.url("/p7")], "it does not wait for its time"
    site.asked.clear()
    again(crawl)
    crawl.run(**SETTINGS)
    asked = [path for path in site.asked if path.startswith("/p")]
    assert asked[0] == "/p7"
    assert len(asked) == PAGES, "a round that the user orders leaves out none"


def test_a_sitemap_that_lies_spares_nothing(crawl: Crawl, serve: Serve) -> None:
    site = Site(lies=True)
    server = serve(site)
    crawl.add([server.url()])
    crawl.run(**SETTINGS)
    for _ in range(2):
        for number in range(PAGES):
            site.change(number)
        rounds(crawl, 1)
    assert begin_due(crawl, "position < 0").urls == 1
    crawl.run(**SETTINGS)
    assert begin_due(crawl, "position >= 0 AND depth > 0").urls == PAGES
