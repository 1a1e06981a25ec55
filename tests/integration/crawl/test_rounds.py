"""Rounds: what was crawled is visited again, by order or as it becomes due; what a kill leaves of one."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine, event

from scrawler.core.party.entries import decode
from scrawler.features.broken.links import broken_links
from scrawler.features.broken.section import broken_section
from scrawler.features.revisit.keeping import make_revisits
from scrawler.features.revisit.orders import begin_again
from scrawler.features.revisit.store import rounds as revisits
from scrawler.features.revisit.store.orders import Orders
from scrawler.features.revisit.store.rounds import due_seeds, due_urls, next_due, old_urls
from scrawler.features.texts.corpus import CorpusCounts, corpus
from scrawler.insight.contents import PageReader
from scrawler.model.lanes import REVISIT
from scrawler.model.results import Result
from scrawler.model.rows import PageRow
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.claims.crawls import Crawls
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.sums.page_sums import page_sums
from tests.consistency import check_records
from tests.integration.crawl.hostile import NOT_FOUND, page, redirect
from tests.integration.crawl.places import lost_places
from tests.integration.crawl.rig import kept, running
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.limits import HANGS
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]

NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 0\r\n\r\n'
ROBOTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 32\r\n\r\nUser-agent: *\nDisallow: /secret/\n"


class Site:
    """A site that changes from round to round: `now` is how often it has changed."""

    def __init__(self) -> None:
        self.now = 0
        self.held: threading.Event | None = None  # what /tagged waits for
        self.asked = threading.Event()

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            visit.send(self.answer(path_of(head), head))

    def answer(self, path: str, head: bytes) -> bytes:
        """Return what is at a path now."""
        links = ("/same", "/tagged", "/changes", "/goes", "/moves", *(["/new"] if self.now else ()))
        pages = {
            "/": page("home", links=links),
            "/same": page("the same text for ever"),
            "/changes": page(f"text {self.now}"),
            "/goes": page("here") if self.now in (0, 3) else NOT_FOUND,
            "/moves": redirect("/new", "301 Moved Permanently") if self.now else page("here as well"),
            "/new": page("new"),
        }
        if path == "/tagged":
            if self.held is not None and self.now:
                self.asked.set()
                assert self.held.wait(HANGS)
            return NOT_MODIFIED if b'If-None-Match: "1"\r\n' in head else page("tagged", 'ETag: "1"')
        return pages.get(path, NOT_FOUND)


def again(crawl: Crawl, *seeds: str, older_than: float = 0.0) -> list[str]:
    """Order a round; return what is said."""
    said: list[str] = []
    begin_again(crawl.settings(), seeds, older_than, threading.Event(), said.append)
    return said


def begun(crawl: Crawl) -> None:
    """Order a round, or find one that was cut short, and begin it as a machine does."""
    again(crawl)
    with closing(open_database(crawl.url)) as database:
        rounds = make_revisits(crawl.settings(), database, Scope.HOST, dict, lambda: False)
        orders = Orders(database)
        order = orders.given()
        assert order is not None
        assert rounds.carry_out(order)[1] == []
        orders.forget(order)


def rows_of(crawl: Crawl, server: RawServer) -> dict[tuple[str, int], PageRow]:
    """Path and visit -> row; each is there once."""
    rows = crawl.pages()
    found = {(row.url.removeprefix(server.url("")) or "/", row.visit): row for row in rows}
    assert len(found) == len(rows)
    return found


def changes(crawl: Crawl, server: RawServer) -> list[tuple[str, str, int]]:
    """Kind, path and visit of what has changed."""
    with closing(open_database(crawl.url)) as database, database.read() as connection:
        found = connection.exec_driver_sql("SELECT kind, url, visit FROM url_change ORDER BY visit, kind, url").all()
    return [(kind, url.removeprefix(server.url("")), visit) for kind, url, visit in found]


def test_what_was_crawled_is_visited_again(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl, site = crawl_on_both, Site()
    server = serve(site)
    crawl.add([server.url()])
    crawl.run(max_pages=6)
    said: list[str] = []
    again(crawl, older_than=3600)
    assert crawl.run(say=said.append).outcome == "ended"
    assert said == ["to be visited again: 0 URLs of 0 seeds"]
    for site.now in (1, 2, 3):
        again(crawl)
        assert crawl.run(max_pages=9, say=said.append).outcome == "ended"  # a limit of each round
        assert "of 1 seed" in said[-1]
    rows = rows_of(crawl, server)
    assert {key: row.status for key, row in rows.items() if key[0] == "/goes"} == {
        ("/goes", 0): 200, ("/goes", 1): 404, ("/goes", 2): 404, ("/goes", 3): 200
    }  # fmt: skip
    assert [rows["/tagged", visit].result for visit in range(4)] == [Result.FETCHED, *[Result.NOT_MODIFIED] * 3]
    assert [rows["/same", visit].revisit for visit in range(4)] == [0, 1, 1, 1]
    assert [rows["/changes", visit].revisit for visit in range(4)] == [0, 0, 0, 0]
    assert changes(crawl, server) == [
        ("new", "/new", 0),
        ("changed", "/", 1), ("changed", "/changes", 1), ("failing", "/goes", 1), ("moved", "/moves", 1),
        ("changed", "/changes", 2), ("gone", "/goes", 2),
        ("back", "/goes", 3), ("changed", "/changes", 3),
    ]  # fmt: skip
    seed = crawl.seed(server.url())
    assert (seed.round, seed.end_reason, seed.counts.not_modified) == (3, EndReason.COMPLETED, 3)
    assert seed.counts.saved == crawl.run().saved == 3 * rows["/tagged", 0].length
    check_records(crawl.url, crawl.folder / "pages")


def test_a_round_goes_on_after_a_kill(crawl_on_both: Crawl, serve: Serve) -> None:
    """The machine is killed once something of the round is committed, and while an answer is on its way."""
    crawl, site = crawl_on_both, Site()
    server = serve(site)
    crawl.add([server.url()])
    crawl.run()
    again(crawl)
    site.now, site.held = 1, threading.Event()
    with running(crawl, "--checkpoint-interval", "0.1") as process:
        assert site.asked.wait(HANGS)
        wait_for(lambda: any(row.visit for row in crawl.pages()), HANGS, "a visit is committed")
        process.kill()
        process.wait()
    site.held.set()
    crawl.run()
    visits = Counter(url for (url, _visit) in rows_of(crawl, server))
    assert visits == Counter(dict.fromkeys(("/", "/same", "/tagged", "/changes", "/goes", "/moves"), 2) | {"/new": 1})
    assert rows_of(crawl, server)["/tagged", 1].result == Result.NOT_MODIFIED
    assert crawl.seed(server.url()).round == 1
    check_records(crawl.url, crawl.folder / "pages")


def test_what_a_limit_leaves_of_a_round_is_visited_by_whoever_comes_next(crawl: Crawl, serve: Serve) -> None:
    server = serve(Site())
    crawl.add([server.url()])
    crawl.run()
    again(crawl)
    crawl.run(max_pages=2)
    assert sum(row.visit for row in crawl.pages()) == 2
    crawl.add([server.url("/new")])  # another seed of the site, in its first round
    crawl.run()
    visits = Counter(url for (url, _visit) in rows_of(crawl, server))
    assert visits == Counter(dict.fromkeys(("/", "/same", "/tagged", "/changes", "/goes", "/moves"), 2) | {"/new": 1})
    with closing(open_database(crawl.url)) as database, database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM url_state WHERE due_at = -1").scalar() == 0
    again(crawl)  # all of both
    crawl.run()
    assert sum(row.visit == 2 for row in crawl.pages()) == 6


class _KilledError(BaseException):
    """Stands for SIGKILL: nothing that is done for errors is done."""


@pytest.mark.heavy
def test_a_round_that_is_cut_short_while_it_begins_is_begun_by_the_next_run(
    crawl: Crawl, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever statement was the last one: each URL is listed once, and nothing is left over."""
    monkeypatch.setattr(revisits, "_ROWS", 2)
    crawl.add([serve(Site()).url()])
    crawl.run()
    file = Path(crawl.url.removeprefix("sqlite:///"))
    kept = tmp_path / "kept.db"
    shutil.copy(file, kept)
    for number in range(1, 100):
        left = number
        for stale in file.parent.glob(f"{file.name}*"):
            stale.unlink()
        shutil.copy(kept, file)

        def count_down(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            nonlocal left
            left -= statement.startswith(("INSERT", "UPDATE", "DELETE"))
            if left == 0:
                raise _KilledError

        event.listen(Engine, "after_cursor_execute", count_down)
        try:
            begun(crawl)
        except _KilledError:
            pass
        finally:
            event.remove(Engine, "after_cursor_execute", count_down)
        whole = left > 0
        if not whole:
            begun(crawl)
        with closing(open_database(crawl.url)) as database:
            _check_listed(database)
        if whole:
            assert number > 10
            return
    raise AssertionError("it never comes to its end")


def _check_listed(database: Database) -> None:
    with database.read() as connection:
        chunks = connection.exec_driver_sql(f"SELECT data FROM chunk WHERE kind = {REVISIT.number}").scalars()
        urls = [entry.url for data in chunks for entry in decode(data)]
        states = connection.exec_driver_sql("SELECT url FROM url_state WHERE due_at = -1").scalars().all()
        seed = connection.exec_driver_sql("SELECT state, round FROM seed").one()
        rounds = connection.exec_driver_sql("SELECT round, pages FROM seed_round").all()
        order = connection.exec_driver_sql("SELECT again FROM crawl").scalar_one()
    assert len(urls) == 6
    assert sorted(urls) == sorted(states)
    assert (seed.state, seed.round, order) == (SeedState.ACTIVE.value, 1, None)
    assert [tuple(row) for row in rounds] == [(0, 6)]


def test_a_crawl_that_is_kept_visits_what_is_due_until_it_is_stopped(crawl: Crawl, serve: Serve) -> None:
    site = Site()
    server = serve(site)
    crawl.add([server.url()])
    crawl.run()  # nothing of this is due: what the first round brought is scheduled when the crawl is kept
    with kept(crawl, revisit="fixed", revisit_interval=1, revisit_pause=0):
        wait_for(lambda: crawl.seed(server.url()).round >= 2, HANGS, "a second round")
        due = {"/", "/same", "/tagged", "/changes"}
        wait_for(lambda: due <= {path for path, visit in rows_of(crawl, server) if visit}, HANGS, "each is visited")
    crawl.run()  # what was stopped in the midst goes on
    check_records(crawl.url, crawl.folder / "pages")


def test_what_robots_txt_forbids_by_now_is_not_asked_for(crawl: Crawl, serve: Serve) -> None:
    forbids = False

    def script(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            if path == "/robots.txt":
                visit.send(ROBOTS if forbids else NOT_FOUND)
            else:
                visit.send(page(path, links=("/secret/1",)))

    server = serve(script)
    crawl.add([server.url()])
    crawl.run()
    forbids = True
    with closing(open_database(crawl.url)) as database, database.begin() as connection:  # a day later
        connection.exec_driver_sql("UPDATE robots SET fetched_at = fetched_at - 90000000")
    again(crawl, server.url())
    crawl.run()
    assert rows_of(crawl, server)["/secret/1", 1].result == Result.ROBOTS_DENIED
    assert [path_of(head) for head in server.heads].count("/secret/1") == 1


@pytest.mark.parametrize("database_url", ["sqlite", "mariadb", "postgresql"], indirect=True)
def test_what_is_due_is_found_by_indexes(database_url: str) -> None:
    """However many URLs there are, only those that are due are read."""
    from sqlalchemy.dialects import mysql, postgresql, sqlite

    dialects: dict[str, Any] = {"sqlite": sqlite, "mysql": mysql, "mariadb": mysql, "postgresql": postgresql}
    with closing(open_database(database_url)) as database, database.begin() as connection:
        kind = connection.dialect.name
        _fill(connection, kind)
        order = revisits.Order(10**13, 10**12, None)
        for query, index in (
            (due_seeds(1_000), "seed_due"),
            (next_due(7), "url_state_due"),
            (due_urls(7, 1_000), "url_state_due"),
            (old_urls(7, order, b"\1"), {"sqlite": "PRIMARY KEY", "postgresql": "url_state_pkey"}.get(kind, "PRIMARY")),
        ):
            text = str(query.compile(dialect=dialects[kind].dialect(), compile_kwargs={"literal_binds": True}))
            explain = "EXPLAIN QUERY PLAN " if kind == "sqlite" else "EXPLAIN "
            plan = "\n".join(map(str, connection.exec_driver_sql(explain + text.replace("%", "%%")).all()))
            assert index in plan or "optimized away" in plan, f"{text}\n{plan}"


def _fill(connection: Any, kind: str) -> None:
    """Make tables so large that a plan with an index is the better one."""
    hashed = {"sqlite": "randomblob(16)", "postgresql": "decode(md5(n::text), 'hex')"}.get(kind, "UNHEX(MD5(n))")
    series = (
        "SELECT generate_series AS n FROM generate_series(1, 5000)"
        if kind == "postgresql"
        else "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT n FROM s"
    )
    empty = "''" if kind != "sqlite" else "x''"
    seeds = "CASE WHEN n < 50 THEN 7 ELSE n END"
    connection.exec_driver_sql(
        "INSERT INTO url_state (seed_id, url_hash, url, depth, position, flags, visit, visited_at, result, digest,"
        " payload_url, payload_at, length, etag, last_modified, known_since, changed_at, changes, missing, interval_ms,"
        f" due_at) SELECT {seeds}, {hashed}, 'http://a/', 1, 1, 0, 0, n, 'fetched', {empty}, '', n, 1, '', '', n,"
        f" 0, 0, 0, 5, n * 1000 FROM ({series}) AS numbers"
    )
    connection.exec_driver_sql(
        "INSERT INTO seed (site_id, url, url_hash, state, added_at, due_at, ended_at)"
        f" SELECT n, 'http://a/', {hashed}, 'done', 1, n * 1000, 5 FROM ({series}) AS numbers"
    )
    connection.exec_driver_sql(
        {"sqlite": "ANALYZE", "postgresql": "ANALYZE"}.get(kind, "ANALYZE TABLE url_state, seed")
    )


def test_visits_that_found_nothing_are_thinned_and_still_counted(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl = crawl_on_both
    server = serve(Site())
    crawl.add([server.url()])
    for round_ in range(6):
        if round_:
            again(crawl)
        crawl.run(keep_visits=2)
    visits = Counter(row.url.removeprefix(server.url("")) for row in crawl.pages())
    assert visits["/tagged"] == visits["/same"] == 3, "the first visit, and the two newest"
    assert {row.visit for row in crawl.pages() if row.url.endswith("/tagged")} == {0, 4, 5}
    seed = crawl.seed(server.url())
    with crawl.opened() as opened:
        sections = {section.key: section for section in opened.report().sections}
        (results,) = [table for table in sections["results"].tables if table.key == "results"]
        counted = {row[0]: row for row in results.rows}
        assert seed.counts.not_modified == 5
        assert 5 in counted["not-modified"], counted
        text = str(opened.why(server.url("/tagged")))
    assert "went out of the log (keep_visits)" in text
    again(crawl)
    crawl.run(keep_visits=1)
    with crawl.opened() as opened:
        assert opened.page(server.url("/tagged")).body
    written = crawl.folder / "pages"
    for index in written.glob("*.cdxj"):
        index.unlink()
    crawl.run()  # indexes are made anew of the rows that are left
    check_records(crawl.url, written)


def test_an_error_or_a_redirect_that_stays_as_it_was_is_a_revisit_and_goes_out_of_the_log(
    crawl: Crawl, serve: Serve
) -> None:
    now = [0]

    def answer(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            home = page("The text of the home page.", links=("/gone", "/moved", "/empty", "/other"))
            body = f"{path} is as it was".encode() if path != "/other" else f"other than {now[0]}".encode()
            length = b"Content-Length: %d\r\n\r\n%s"
            missing = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n" + length % (len(body), body)
            leads = b"HTTP/1.1 302 Found\r\nLocation: /\r\n"
            answers = {
                "/": home,
                "/moved": leads + length % (len(body), body),
                "/empty": leads + length % (0, b""),
            }
            visit.send(answers.get(path, missing))

    server = serve(answer)
    crawl.add([server.url()])
    crawl.run(keep_visits=1)
    for now[0] in range(1, 5):
        again(crawl)
        crawl.run(keep_visits=1)
    rows = [(row.url.removeprefix(server.url("")), row.visit, row.revisit) for row in crawl.pages()]
    assert sorted(one for one in rows if one[0] in ("/gone", "/moved", "/empty")) == [
        *(("/empty", 0, 0), ("/empty", 4, 0)),
        *(("/gone", 0, 0), ("/gone", 4, 1)),
        *(("/moved", 0, 0), ("/moved", 4, 1)),
    ]
    assert sorted(one for one in rows if one[0] == "/other") == [("/other", visit, 0) for visit in range(5)]
    with crawl.opened() as opened:
        assert opened.page(server.url("/gone")).body == b"/gone is as it was"
        results = [table for one in opened.report().sections if one.key == "results" for table in one.tables]
        counted = {row[0]: row for row in results[0].rows}
    assert 10 in counted["http-error"], counted
    assert 10 in counted["redirect"], counted
    for index in (crawl.folder / "pages").glob("*.cdxj"):
        index.unlink()
    crawl.run()  # indexes are made anew of the rows that are left
    check_records(crawl.url, crawl.folder / "pages")


def test_of_several_visits_the_last_one_counts_for_broken_links_and_texts(crawl_on_both: Crawl, serve: Serve) -> None:
    crawl, now = crawl_on_both, [0]

    def answer(visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            there = {0: ("/", "/breaks", "/stays"), 1: ("/", "/mended", "/stays")}[now[0]]
            links = ("/mended", "/breaks", "/stays", "/stays#here" if now[0] else "/stays#nowhere", "/lost")
            here = '<p id="here">' if path == "/stays" else ""
            text = f"{here}The text of {path} in round {now[0]}, which is long enough to be taken for one."
            visit.send(page(text, links=links) if path in there else NOT_FOUND)

    server = serve(answer)
    crawl.add([server.url()])
    crawl.run()
    for now[0] in (1, 1):
        again(crawl)
        crawl.run()
    assert Counter(row.visit for row in crawl.pages() if row.url == server.url("/lost")) == {0: 1, 1: 1, 2: 1}
    with closing(open_database(crawl.url)) as database:
        stored = Crawls(database).open("crawl", Scope.HOST)
        broken = [(one.url.removeprefix(server.url("")), one.status) for one in broken_links(database)]
        assert sorted(broken) == [("/breaks", 404), ("/lost", 404)]
        section = broken_section(database, page_sums(database, None).pages, None)
        assert (section.values["broken_urls"], section.tables[0].rows) == (2, [("http-error", 404, 2)])
        assert {row[0].removeprefix(server.url("")) for row in section.tables[1].rows} == {"/lost", "/breaks"}
        with PageReader(database, crawl.settings(), stored) as reader:
            assert lost_places(database, reader, crawl.settings()) == []
            rows = list(corpus(database, reader, CorpusCounts()))
    texts = {row.url.removeprefix(server.url("")): row.text for row in rows}
    assert len(texts) == len(rows)
    assert {path: f"round {0 if path == '/breaks' else 1}" in text for path, text in texts.items()} == dict.fromkeys(
        ("/", "/mended", "/stays", "/breaks"), True
    )


def test_a_round_in_which_all_is_broken_leaves_what_was_there(crawl: Crawl, serve: Serve) -> None:
    """Its seed is not completed; pages are told as failing, and as back; their bodies are those that came last."""
    site, is_broken = Site(), threading.Event()

    def script(visit: Visit) -> None:
        while head := visit.request():
            broken = is_broken.is_set() and path_of(head) != "/robots.txt"
            reply = page("sorry", status="500 Internal Server Error")
            visit.send(reply if broken else site.answer(path_of(head), head))

    server = serve(script)
    crawl.add([server.url()])
    crawl.run()
    ends = []
    for broken in (True, False):
        if broken:
            is_broken.set()
        else:
            is_broken.clear()
        again(crawl)
        crawl.run(retries=0)
        ends.append(crawl.seed(server.url()).end_reason)
        with crawl.opened() as there:
            content = there.content(server.url("/same"))
            assert b"the same text for ever" in there.read(server.url("/same"))
            assert content.page.status == 200
            assert (content.newest is not None and content.newest.status == 500) is broken
            assert there.page(server.url("/same")).status == (500 if broken else 200)
    assert ends == [EndReason.HTTP_ERROR, EndReason.COMPLETED]
    found = Counter((kind, visit) for kind, _path, visit in changes(crawl, server))
    assert (found["failing", 1], found["back", 2]) == (6, 6)


def test_seeds_are_visited_again_while_others_are_prepared(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second seed begins once the first one was asked; a stop at the third leaves it to the next run."""
    servers = [serve(Site(), f"127.0.0.{host}") for host in (2, 3, 4)]
    crawl.add([server.url() for server in servers])
    crawl.run()
    asked = [len(server.heads) for server in servers]
    begin, stop = revisits.Revisits._begin, threading.Event()
    begun_seeds: list[int] = []

    def step(self: revisits.Revisits, row: Any, *rest: Any) -> revisits.Begun:
        begun_seeds.append(row.id)
        if len(begun_seeds) == 2:
            wait_for(lambda: len(servers[0].heads) > asked[0], HANGS, "a request of the first seed's round")
        if len(begun_seeds) == 3:
            stop.set()
        return begin(self, row, *rest)

    monkeypatch.setattr(revisits.Revisits, "_begin", step)
    again(crawl)
    assert crawl.run(stop=stop).outcome == "stopped"
    assert [seed.round for seed in crawl.seeds()] == [1, 1, 0]
    said: list[str] = []
    assert crawl.run(say=said.append).outcome == "ended"
    assert "of 1 seed" in said[-1]
    assert [(seed.round, seed.end_reason) for seed in crawl.seeds()] == [(1, EndReason.COMPLETED)] * 3
    visits = Counter(row.url for row in crawl.pages())
    assert set(visits.values()) == {2}


def test_seeds_of_one_host_begin_as_their_site_is_free(crawl: Crawl, serve: Serve) -> None:
    """The machine takes the site up with the first of them; the others' round begins once it is let go."""
    server = serve(lambda visit: _answer_each(visit))
    crawl.add([server.url(f"/{name}") for name in ("a", "b", "c")])
    crawl.run()
    again(crawl)
    said: list[str] = []
    assert crawl.run(say=said.append).outcome == "ended"
    assert said[-1] == "to be visited again: 3 URLs of 3 seeds"
    assert Counter(row.url for row in crawl.pages()) == {server.url(f"/{name}"): 2 for name in ("a", "b", "c")}


def _answer_each(visit: Visit) -> None:
    while head := visit.request():
        visit.send(NOT_FOUND if path_of(head) == "/robots.txt" else page(path_of(head)))
