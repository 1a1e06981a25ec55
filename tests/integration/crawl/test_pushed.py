"""What servers and owners have sent comes into the lists of parties, and is asked for at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from scrawler.core.progress import Progress
from scrawler.features.push.store.owners import Owners
from scrawler.features.push.store.pushes import Pushes
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.model.windows import Window
from scrawler.store.engines.engine import database_time, open_database
from scrawler.urls.scope import site_key
from tests.consistency import check_records
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.crawl.rig import kept
from tests.integration.crawl.test_rounds import again
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.limits import HANGS
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]


class Site:
    """A site of two pages that are linked, and one that is not; `held` holds back the answer of /slow."""

    def __init__(self, links: Sequence[str] = ("/a",)) -> None:
        self.links = links
        self.asked: list[str] = []
        self.held = threading.Event()

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            self.asked.append(path)
            if path == "/slow":
                assert self.held.wait(HANGS)
            pages = {"/": page("home", links=self.links), "/robots.txt": NOT_FOUND}
            visit.send(pages.get(path) or page(f"this is {path}"))

    def times(self, path: str) -> int:
        """How often a path was asked for."""
        return self.asked.count(path)


def push(crawl: Crawl, server: RawServer, *paths: str, source: str = "ping") -> int:
    """Accept paths of a server as a listener does."""
    with closing(open_database(crawl.url)) as database:
        pushes = Pushes(database, 1_000, 1_000)
        site = pushes.site(site_key(server.url("/"), Scope.HOST))
        assert site is not None
        return pushes.accept(site, [server.url(path) for path in paths], source).accepted


def count(crawl: Crawl, rows: str) -> int:
    """Count the rows of a table, or some of them."""
    with closing(open_database(crawl.url)) as database, database.read() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {rows}").scalar_one())


def test_pushed_urls_are_asked_for_at_once_where_nothing_is_due(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl, site = crawl_on_both, Site()
    server = serve(site)
    crawl.add([server.url()])
    crawl.run()
    with closing(open_database(crawl.url)) as database:
        Pushes(database, 1_000, 1_000).begin("http://127.0.0.1:8080")
    with kept(crawl):  # revisit is off: without a push nothing is ever asked for again
        assert push(crawl, server, "/a", "/unlinked") == 2
        wait_for(lambda: site.times("/a") == 2 and site.times("/unlinked") == 1, HANGS, "pushed URLs")
        assert push(crawl, server, "/a") == 1
        wait_for(lambda: site.times("/a") == 3, HANGS, "a URL that was pushed once more")
    rows = sorted((row.url.removeprefix(server.url("")), row.visit) for row in crawl.pages())
    assert rows == [("/", 0), ("/a", 0), ("/a", 1), ("/a", 2), ("/unlinked", 0)]
    with closing(open_database(crawl.url)) as database, database.read() as connection:
        left = connection.exec_driver_sql("SELECT (SELECT count(*) FROM pushed) + (SELECT count(*) FROM inbox)")
        assert left.scalar_one() == 0
        tally = connection.exec_driver_sql("SELECT accepted, refused, listed FROM push_tally").all()
    assert [tuple(row) for row in tally] == [(3, 0, 3)]
    check_records(crawl.url, crawl.folder / "pages")


def test_pushed_urls_come_before_all_else_of_a_party_in_work(crawl: Crawl, serve: Serve) -> None:
    site = Site(links=("/a", "/slow", *(f"/p{number}" for number in range(20))))
    server = serve(site)
    crawl.add([server.url()])
    with kept(crawl, revisit="fixed", revisit_interval=100_000, checkpoint_interval=0.2):
        wait_for(lambda: site.times("/slow") == 1, HANGS, "the page that is held back")

        def is_known() -> bool:
            with closing(open_database(crawl.url)) as database, database.read() as connection:
                return bool(connection.exec_driver_sql("SELECT count(*) FROM url_state WHERE url LIKE '%/a'").scalar())

        wait_for(is_known, HANGS, "a checkpoint")
        push(crawl, server, "/a", "/unlinked")

        def is_taken() -> bool:
            with closing(open_database(crawl.url)) as database, database.read() as connection:
                waits = "SELECT (SELECT count(*) FROM pushed) + (SELECT count(*) FROM inbox)"
                return connection.exec_driver_sql(waits).scalar() == 0

        wait_for(is_taken, HANGS, "a checkpoint that has listed them")
        site.held.set()
        wait_for(lambda: site.times("/p19") == 1, HANGS, "the end of the party")
    after = site.asked[site.asked.index("/slow") + 1 :]
    assert set(after[:2]) == {"/a", "/unlinked"}
    assert {(row.url.removeprefix(server.url("")), row.visit, row.result) for row in crawl.pages()} >= {
        ("/a", 1, Result.FETCHED.value)
    }
    check_records(crawl.url, crawl.folder / "pages")


def test_a_page_that_is_pushed_while_its_answer_is_on_its_way_is_asked_for_again(crawl: Crawl, serve: Serve) -> None:
    """What it has changed to since may not be in that answer; and what that has brought is the last visit then."""
    site, texts = Site(), iter(["old", "new", "new"])

    def answer(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            site.asked.append(path)
            if path == "/a":
                assert site.times("/a") != 2 or site.held.wait(HANGS)
                visit.send(page(next(texts)))
            else:
                visit.send(page("home", links=["/a"]) if path == "/" else NOT_FOUND)

    server = serve(answer)
    crawl.add([server.url()])
    crawl.run()
    again(crawl)
    with kept(crawl, revisit="fixed", revisit_interval=100_000):
        wait_for(lambda: site.times("/a") == 2, HANGS, "the page that is held back")
        push(crawl, server, "/a")
        wait_for(lambda: count(crawl, "pushed") + count(crawl, "inbox") == 0, HANGS, "a checkpoint that has listed it")
        site.held.set()
        wait_for(lambda: count(crawl, "page WHERE visit = 2") == 1, HANGS, "the visit for the push")
    assert sorted(row.visit for row in crawl.pages() if row.url.endswith("/a")) == [0, 1, 2]
    assert count(crawl, "url_change") == 1
    check_records(crawl.url, crawl.folder / "pages")


def test_a_site_is_asked_in_the_time_that_its_owner_has_named(crawl: Crawl, serve: Serve) -> None:
    site = Site()
    server = serve(site)
    crawl.add([server.url()])
    with closing(open_database(crawl.url)) as database:
        now = database.reading(lambda connection: database_time(connection, database.clock)) // 60_000 % 1440
        found = Pushes(database, 1_000, 1_000).site(site_key(server.url("/"), Scope.HOST))
        assert found is not None
        Owners(database).set_window(found.id, Window((now + 120) % 1440, (now + 240) % 1440))
    stop = threading.Event()
    held: list[int] = []

    def look(progress: Progress) -> None:
        if progress.active:
            held.append(progress.active)
        if len(held) >= 3:
            stop.set()

    crawl.run(look, stop)
    assert site.asked == []  # the site was held, and waited for its time
    with closing(open_database(crawl.url)) as database:
        Owners(database).set_window(found.id, Window((now - 60) % 1440, (now + 60) % 1440))
    crawl.run()
    assert set(site.asked) == {"/robots.txt", "/", "/a"}
