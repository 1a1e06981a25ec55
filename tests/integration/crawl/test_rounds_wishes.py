"""When rounds begin, as settings, seeds and budgets wish it, and what of a page counts as a change."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from scrawler.errors import SettingsError
from scrawler.features.report.cli import report
from scrawler.features.report.html import html_page
from scrawler.features.revisit.orders import begin_again
from scrawler.features.revisit.policies.demand import is_shared
from scrawler.features.revisit.store.demand import Demands
from scrawler.model.results import Result
from scrawler.model.scope import Scope
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.engine import open_database
from scrawler.urls.scope import site_key
from tests.consistency import check_records
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.crawl.rig import kept, running
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.limits import HANGS
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    import scrawler
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]


class Paths:
    """Answers by path; how often each was asked for is counted."""

    def __init__(self, **bodies: str) -> None:
        self.bodies = {f"/{name}": body for name, body in bodies.items()}
        self.asked: Counter[str] = Counter()
        self.conditions = 0

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            self.asked[path] += 1
            self.conditions += b"If-None-Match" in head
            body = self.bodies.get(path)
            links = tuple(self.bodies) if path == "/" else ()
            found = page("home", links=links) if path == "/" else NOT_FOUND
            visit.send(found if body is None else page(body, f'ETag: "{len(body)}"'))


def add(crawl: Crawl, seeds: dict[str, dict[str, str]]) -> None:
    """Import seeds with further columns."""
    with crawl.opened() as opened:
        Crawls(opened.database).open("crawl", Scope.HOST)
        rows = [NewSeed(url, site_key(url, Scope.HOST), 0, json.dumps(given)) for url, given in seeds.items()]
        Seeds(opened.database).add(rows)


def changes(crawl: Crawl) -> list[tuple[str, int]]:
    """Kind and visit of what has changed."""
    with closing(open_database(crawl.url)) as database, database.read() as connection:
        found = connection.exec_driver_sql("SELECT kind, visit FROM url_change ORDER BY id").all()
    return [(kind, visit) for kind, visit in found]


def check_demand(crawl: Crawl) -> int:
    """Check that cells have as many pages as states say; return how many pages share a budget."""
    with closing(open_database(crawl.url)) as database:
        sums = {cell: number for cell, number in Demands(database).of_all().items() if number}
        with database.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT demand_cell, count(*) FROM url_state WHERE demand_cell > 0 GROUP BY demand_cell"
            ).all()
    assert sums == {row[0]: row[1] for row in rows}
    return sum(number for cell, number in sums.items() if is_shared(cell))


def test_a_seed_is_visited_as_its_line_says(crawl: Crawl, serve: Serve) -> None:
    """One wishes it, one does not, and settings say nothing."""
    one, other = serve(Paths(a="x")), serve(Paths(b="y"), "127.0.0.2")
    add(crawl, {one.url(): {"revisit": "fixed", "revisit_interval": "1s"}, other.url(): {"topic": "news"}})
    with kept(crawl, revisit_pause=0):
        wait_for(lambda: crawl.seed(one.url()).round >= 2, HANGS, "a second round")
    assert {row.url for row in crawl.pages() if row.visit} == {one.url(), one.url("/a")}
    assert crawl.seed(other.url()).round == 0


def test_a_site_is_visited_as_often_as_the_line_of_its_seed_allows(crawl: Crawl, serve: Serve) -> None:
    """Of 48 visits a day two are there to begin with: an hour's. The other site shows that time has passed."""
    one, other = serve(Paths(a="x", b="y")), serve(Paths(c="z"), "127.0.0.2")
    wish = {"revisit": "fixed", "revisit_interval": "1s"}
    add(crawl, {one.url(): wish | {"revisit_site_budget": "48"}, other.url(): wish})
    with kept(crawl, revisit_pause=0):
        wait_for(lambda: crawl.seed(other.url()).round >= 3, HANGS, "three rounds of the other")
    visited = Counter(row.url.split("/", 3)[2] for row in crawl.pages() if row.visit)
    assert visited[one.url("").removeprefix("http://")] == 2
    assert visited[other.url("").removeprefix("http://")] > 2


def test_nothing_that_is_never_due_is_kept(crawl: Crawl, serve: Serve) -> None:
    add(crawl, {serve(Paths(a="x")).url(): {"topic": "news"}})
    with pytest.raises(SettingsError, match="none ever is"):
        crawl.run(keep=True)
    with pytest.raises(SettingsError, match="revisit = optimal divides a budget"):
        crawl.run(keep=True, revisit="optimal")
    with pytest.raises(SettingsError, match=r"rank: .* cannot be read"):
        crawl.run(keep=True, revisit="optimal", revisit_budget=9, rank=crawl.folder / "none.txt")


def test_dates_are_no_change_where_texts_are_compared(crawl: Crawl, serve: Serve) -> None:
    web = Paths(news="Bread costs 3 EUR. As of 1 May 2025")
    server = serve(web)
    crawl.add([server.url()])
    crawl.run()
    for day in (2, 3):  # what the first round has brought is known by its bytes alone
        web.bodies["/news"] = f"Bread costs 3 EUR. As of {day} May 2025, twice {'as good ' * 0}"
        begin_again(crawl.settings(), (), 0, threading.Event())
        crawl.run(revisit_change="text")
    web.bodies["/news"] = "Bread costs 4 EUR. As of 3 May 2025, twice "
    begin_again(crawl.settings(), (), 0, threading.Event())
    crawl.run(revisit_change="text")
    assert changes(crawl) == [("changed", 1), ("changed", 3)]
    check_records(crawl.url, crawl.folder / "pages")


def test_a_crawl_without_its_archive_is_asked_for_as_a_whole(crawl: Crawl, serve: Serve) -> None:
    web = Paths(a="x", b="y")
    server = serve(web)
    crawl.add([server.url()])
    crawl.run()
    shutil.rmtree(crawl.folder / "pages")
    begin_again(crawl.settings(), (), 0, threading.Event())
    assert crawl.run().outcome == "ended"
    assert (web.conditions, web.asked["/a"], web.asked["/b"]) == (0, 2, 2)
    assert {row.result for row in crawl.pages() if row.visit and row.url != server.url()} == {Result.FETCHED}
    begin_again(crawl.settings(), (), 0, threading.Event())
    crawl.run()
    assert web.conditions == 2  # the new records say what they were


def test_a_round_that_is_stopped_goes_on(crawl: Crawl, serve: Serve) -> None:
    """By Ctrl-C, which sets the stop: while it is begun, and while it goes on."""
    web, stop = Paths(**{f"p{number}": "x" for number in range(30)}), threading.Event()
    server = serve(web)
    crawl.add([server.url()])
    crawl.run()
    stopped = threading.Event()
    stopped.set()
    begin_again(crawl.settings(), (), 0, stopped)
    assert crawl.seed(server.url()).round == 0
    runs = threading.Thread(target=lambda: crawl.run(stop=stop, delay=0.02, checkpoint_interval=0.1))
    runs.start()
    try:
        wait_for(lambda: any(row.visit for row in crawl.pages()), HANGS, "a visit is committed")
    finally:
        stop.set()
        runs.join()
    seed = crawl.seed(server.url())
    assert (seed.round, seed.end_reason) == (1, None)
    crawl.run()
    assert Counter(row.url for row in crawl.pages()) == Counter(dict.fromkeys({row.url for row in crawl.pages()}, 2))
    check_records(crawl.url, crawl.folder / "pages")


def test_a_seed_that_ended_by_its_limit_has_a_round_of_what_it_had(crawl: Crawl, serve: Serve) -> None:
    server = serve(Paths(**{f"p{number}": "x" for number in range(8)}))
    crawl.add([server.url()])
    crawl.run(max_pages=4)
    assert crawl.seed(server.url()).end_reason == "max-pages"
    begin_again(crawl.settings(), (), 0, threading.Event())
    crawl.run(max_pages=4)
    rows = crawl.pages()
    assert sum(row.visit for row in rows) == 4
    assert crawl.seed(server.url()).round == 1


@pytest.mark.parametrize("policy", ["adaptive", "optimal"])
def test_what_shares_a_budget_is_counted(crawl_on_both: Crawl, serve: Serve, policy: str) -> None:
    """The first round in the ordinary way; the next ones while it is kept, by two machines, one of which is killed."""
    crawl = crawl_on_both
    servers = [serve(Paths(**{f"p{number}": "x" for number in range(6)}), f"127.0.0.{host}") for host in (2, 3)]
    crawl.add([server.url() for server in servers])
    crawl.run()
    wishes = ("--keep", "--revisit", policy, "--revisit-interval", "1s", "--revisit-min", "1s", "--revisit-pause", "0",
              "--revisit-budget", "8000000", "--checkpoint-interval", "0.1")  # fmt: skip
    with running(crawl, *wishes) as first, running(crawl, *wishes) as second:
        wait_for(lambda: min(seed.round for seed in crawl.seeds()) >= 1, HANGS, "a first round")
        first.kill()
        first.wait()
        before = max(seed.round for seed in crawl.seeds())
        wait_for(lambda: max(seed.round for seed in crawl.seeds()) > before, HANGS, "another round")
        second.terminate()
        second.wait()
    shared = check_demand(crawl)
    assert shared == (0 if policy == "adaptive" else 14)
    assert max(row.visit for row in crawl.pages()) >= 1
    rows = crawl.pages()
    assert len({(row.url, row.visit) for row in rows}) == len(rows)


def test_who_reads_pages_is_told_what_has_changed(crawl: Crawl, serve: Serve) -> None:
    site = Paths(a="old", same="one")
    server = serve(site)
    crawl.add([server.url()])
    crawl.run()
    site.bodies |= {"/a": "another", "/b": "added"}
    told: dict[str, tuple[int, tuple[str, ...]]] = {}

    def note(found: scrawler.Page) -> None:
        told[found.url.removeprefix(server.url(""))] = (found.visit, tuple(kind.value for kind in found.changes))

    with crawl.opened() as opened:
        opened.run(again=True, on_page=note)
    assert told["/a"] == (1, ("changed",))
    assert told["/b"] == (0, ("new",))
    assert told.get("/same", (1, ())) == (1, ())


def test_a_report_tells_of_visits_since_a_time(crawl: Crawl, serve: Serve) -> None:
    web = Paths(a="x", b="y")
    server = serve(web)
    crawl.add([server.url()])
    crawl.run()
    since = datetime.fromtimestamp((max(row.fetched_at for row in crawl.pages()) + 1) / 1000, UTC)
    with crawl.opened() as opened:
        before = {one.key: one.told for one in opened.report(since=since).sections}
        assert (before["totals"]["urls"], before["since"]["rounds_begun"]) == (0, 0)
    web.bodies["/a"] = "another"
    begin_again(crawl.settings(), (), 0, threading.Event())
    crawl.run()
    with crawl.opened() as opened:
        made = opened.report(server.url(), since=since)
        told = {one.key: one.told for one in made.sections}
        total = {one.key: one.told for one in opened.report().sections}["totals"]
    assert (told["totals"]["urls"], total["urls"]) == (3, 6)
    assert told["since"] == {"since_at": int(since.timestamp() * 1000), "rounds_begun": 1, "of_them_ended": 1}
    assert (told["visits"]["changed"], told["visits"]["new"]) == (1, 0)
    assert "since 20" in made.title


def test_a_report_calls_visits_by_their_name(crawl: Crawl, serve: Serve) -> None:
    """Three URLs are three URLs; after a round they are six visits, also in the tables. Programs read the same keys."""
    again, once = serve(Paths(a="x", b="y")), serve(Paths(c="z"), "127.0.0.2")
    crawl.add([again.url(), once.url()])
    crawl.run()
    assert shown(crawl) == {"Totals: urls": "5", "Results": "URLs", "visits": False}
    begin_again(crawl.settings(), [again.url()], 0, threading.Event())
    crawl.run()
    assert shown(crawl) == {"Totals: visits": "8", "Results": "Visits", "visits": True}
    assert shown(crawl, again.url()) == {"Totals: visits": "6", "Results": "Visits", "visits": True}
    assert shown(crawl, once.url()) == {"Totals: urls": "2", "Results": "URLs", "visits": False}
    with crawl.opened() as opened:
        made = opened.report().as_json()
        assert "<dt>visits</dt><dd>8</dd>" in "".join(html_page(opened.report()))
    assert made["totals"]["urls"] == sum(row["urls"] for row in made["results"]["results"]) == 8


def shown(crawl: Crawl, seed: str | None = None) -> dict[str, object]:
    """How `scrawler report` counts: the first total, the title of the results, and whether any column is of visits."""
    done = CliRunner().invoke(report, [*([seed] if seed else []), "--db", crawl.url])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    name, number = lines[lines.index("Totals") + 1].split()
    title = next(line for line in lines if line.startswith("Results: ") and "by final result" in line)
    columns = lines[lines.index(title) + 1].split()
    tables = [line for line in lines if line.startswith("Results: ")]
    word = title.removeprefix("Results: ").partition(" ")[0]
    assert sum(line.startswith(f"Results: {word} by ") for line in tables) == 3, tables
    return {f"Totals: {name.lower()}": number, "Results": word, "visits": "visits" in columns}
