"""Seeds that are chosen, skipped, removed, promoted and taken back, on every engine, whatever machines do meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import insert, select, update

import scrawler
from scrawler.errors import InputError, StoreError
from scrawler.features.choose import scores
from scrawler.features.choose.picking import Picked
from scrawler.features.hidden.tables import search_query
from scrawler.model.machines import MachineState
from scrawler.model.scope import Scope
from scrawler.model.terms import url_hash
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.lists.orphans import Orphans
from scrawler.store.schema.tables import candidate, crawl, machine, page, seed, site, url_state
from scrawler.urls.scope import site_key

A, B, C = (f"http://{name}.example.org/" for name in "abc")
OTHER = "http://other.test/"


@pytest.fixture
def opened(database_url: str) -> Iterator[scrawler.Crawl]:
    with scrawler.Crawl(database_url) as one:
        Crawls(one.database).open("crawl", Scope.HOST)
        Seeds(one.database).add([NewSeed(url, site_key(url, Scope.HOST), 0) for url in (A, B, C, OTHER)])
        yield one


def change(opened: scrawler.Crawl, url: str, **values: object) -> None:
    mine = seed.c.url_hash == url_hash(url)
    opened.database.retrying(lambda connection: connection.execute(update(seed).where(mine).values(values)))


def put(opened: scrawler.Crawl, table: object, **values: object) -> None:
    opened.database.retrying(lambda connection: connection.execute(insert(table).values(values)))  # type: ignore


def done(opened: scrawler.Crawl, url: str, requests: int, pages: int) -> None:
    change(opened, url, state="done", end_reason="completed", requests=requests, pages=pages, started_at=1)


def hold(opened: scrawler.Crawl, url: str) -> None:
    """Let a machine that lives, on some other host, own the site of a seed."""
    row = {"name": "m", "host": "elsewhere", "pid": 1, "process": "elsewhere 1 1", "state": MachineState.RUNNING.value}
    put(opened, machine, **row, launched_at=1, started_at=1, heartbeat_at=1)
    number = opened.database.rows(select(machine.c.id))[0][0]
    mine = site.c.id == opened.seed(url).seed.site_id
    values = {"owner": number, "state": "active"}
    opened.database.retrying(lambda connection: connection.execute(update(site).where(mine).values(values)))


def page_of(opened: scrawler.Crawl, url: str, lane_url: str = "", page_url: str = "") -> None:
    """Let a page be fetched for a seed: that of its own URL, or another."""
    number = opened.seed(url).seed.id
    lister = opened.seed(lane_url or url).seed.id
    texts = dict.fromkeys(("content_type", "detail"), "")
    numbers = dict.fromkeys(("depth", "position", "attempts", "fetched_at", "elapsed_ms", "revisit", "length"), 0)
    record = {"warc_file": "f.warc.gz", "warc_offset": 10, "warc_length": 20, "digest": b"d" * 20}
    page_url = page_url or url
    row = {"seed_id": number, "lane_seed": lister, "url": page_url, "url_hash": url_hash(page_url), "result": "fetched"}
    put(opened, page, **row, status=200, **texts, **numbers, **record)


def state(opened: scrawler.Crawl, url: str) -> tuple[str, str | None]:
    view = opened.seed(url)
    return view.seed.state.value, view.seed.end_reason and view.seed.end_reason.value


def test_the_best_come_first_with_a_limit_by_domain(opened: scrawler.Crawl) -> None:
    for url, requests, pages in ((A, 1_000, 900), (B, 1_000, 800), (C, 1, 1), (OTHER, 1_000, 100)):
        done(opened, url, requests, pages)
    assert [one.url for one in opened.choose(top=10)] == [A, B, C, OTHER]
    assert [one.url for one in opened.choose(top=2, per_domain=1)] == [A, OTHER]
    assert [one.url for one in opened.choose(top=10, at_least=0.5)] == [A, B]
    number = opened.seed(B).seed.id
    told = {"flags": 0, "visited_at": 1, "result": "fetched", "digest": b"", "payload_url": "", "payload_at": 0}
    told |= {"length": 0, "etag": "", "last_modified": "", "known_since": 1, "changed_at": 1, "missing": 0}
    row = {"seed_id": number, "url_hash": url_hash(B), "url": B, "depth": 0, "position": 0, "visit": 4, "changes": 3}
    put(opened, url_state, **row, **told, interval_ms=0, due_at=0)
    (changed,) = opened.choose("change", 5)
    assert (changed.url, changed.part, changed.whole) == (B, 3, 4)
    for finder in (A, B):
        put(opened, candidate, seed_id=opened.seed(finder).seed.id, url_hash=url_hash(C), url=C, depth=1, count=2)
    assert [(one.url, one.score, one.whole) for one in opened.choose("rank", 1)] == [(C, 2.0, 4)]
    opened.skip(C)
    assert C not in [one.url for one in opened.choose("rank", 10)]


def test_links_are_counted_alike_from_the_side_of_seeds_and_from_that_of_candidates(
    opened: scrawler.Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in (A, B, C, OTHER):
        done(opened, url, 10, 9)
    finders = [opened.seed(url).seed.id for url in (A, B, OTHER)]
    for linked, promoted, number in ((C, 0, 3), (B, 1, 2), (A, 2, 1), ("http://no-seed.test/", 0, 3)):
        for finder in finders[:number]:
            row = {"seed_id": finder, "url_hash": url_hash(linked), "url": linked, "depth": 1, "count": 5}
            put(opened, candidate, **row, promoted=promoted)
    wanted = {A: (1, 5), B: (2, 10), C: (3, 15), OTHER: (0, 0)}
    for fewer in (True, False):
        monkeypatch.setattr(scores, "fewer_than_looked_up", lambda _, fewer=fewer: fewer)
        found = {one.url: (one.part, one.whole) for one in scores.Scores(opened.database).links()}
        assert {url: found[url] for url in wanted} == wanted
        assert "http://no-seed.test/" not in found


def test_what_was_chosen_is_for_the_next_run(opened: scrawler.Crawl) -> None:
    done(opened, A, 10, 9)
    for name, finders in (("x", (A, B)), ("y", (A,))):
        url = f"http://{name}.test/"
        for finder in finders:
            row = {"seed_id": opened.seed(finder).seed.id, "url_hash": url_hash(url), "url": url}
            put(opened, candidate, **row, depth=1, count=1)
    inner = f"{C}inner"  # others link to it, and its own site has led to it
    for finder in (A, B, OTHER):
        put(
            opened,
            candidate,
            seed_id=opened.seed(finder).seed.id,
            url_hash=url_hash(inner),
            url=inner,
            depth=1,
            count=1,
        )
    page_of(opened, C, page_url=inner)
    chosen = opened.choose("unseen", 1)
    assert [(one.url, one.id) for one in chosen] == [("http://x.test/", 0)]
    assert opened.take_next(chosen) == 1
    assert state(opened, "http://x.test/") == ("ready", None)
    assert opened.take_next(opened.choose(top=1)) == 1
    assert opened.database.rows(select(crawl.c.again))[0][0]
    with pytest.raises(StoreError, match="ordered before"):
        opened.take_next(opened.choose(top=1))


def test_a_skip_holds_until_it_is_taken_back(opened: scrawler.Crawl) -> None:
    done(opened, B, 5, 5)
    assert opened.skip([A, B]) == Picked(done=2)
    assert opened.skip([A, B]) == Picked(already=2)
    assert state(opened, A) == ("done", "skipped")
    assert state(opened, B) == ("done", "completed")
    sites = dict(opened.database.rows(select(site.c.id, site.c.state)))  # type: ignore[arg-type]
    assert sites[opened.seed(A).seed.site_id] == "done"
    assert opened.unskip([A, B]) == Picked(done=2)
    assert state(opened, A) == ("ready", None)
    assert state(opened, B) == ("done", "completed")
    sites = dict(opened.database.rows(select(site.c.id, site.c.state)))  # type: ignore[arg-type]
    assert sites[opened.seed(A).seed.site_id] == "ready"


def test_what_a_machine_has_in_work_is_left_alone(opened: scrawler.Crawl) -> None:
    hold(opened, A)
    assert opened.skip([A, B]) == Picked(done=1, in_work=1)
    assert opened.remove([A, B]) == Picked(done=1, in_work=1)
    assert state(opened, A) == ("ready", None)
    with pytest.raises(InputError, match="no seed of this crawl"):
        opened.seed(B)


def test_a_seed_goes_with_all_that_is_known_for_it(opened: scrawler.Crawl) -> None:
    done(opened, A, 1, 1)
    page_of(opened, A)
    number = opened.seed(A).seed.id
    put(opened, candidate, seed_id=number, url_hash=url_hash(OTHER), url=OTHER, depth=1, count=2)
    row = {"seed_id": number, "url_hash": url_hash("q"), "number": 1, "term": "t", "form": "f"}
    put(opened, search_query, **row)
    assert opened.remove(A) == Picked(kept=1)
    assert state(opened, A) == ("done", "completed")
    assert opened.remove(A, with_pages=True) == Picked(done=1)
    for table in (page, candidate, search_query):
        assert not opened.database.rows(select(table).where(table.c.seed_id == number))
    orphans = Orphans(opened.database)
    assert {file: list(orphans.of_file(file)) for file in orphans.files()} == {"f.warc.gz": [(10, 20)]}
    assert [view.url for view in opened.seeds()] == [B, C, OTHER]


def test_a_seed_stays_whose_list_others_need(opened: scrawler.Crawl) -> None:
    more = A + "more"
    Seeds(opened.database).add([NewSeed(more, site_key(more, Scope.HOST), 0)])
    page_of(opened, more, lane_url=A)
    assert opened.remove(A, with_pages=True) == Picked(kept=1)


def test_a_promotion_can_be_tried_and_undone(opened: scrawler.Crawl) -> None:
    urls = [f"http://n{number}.test/" for number in range(5)]
    finder = opened.seed(A).seed.id
    for url in urls:
        put(opened, candidate, seed_id=finder, url_hash=url_hash(url), url=url, depth=1, count=1)
    tried, batch = opened.promote(dry_run=True)
    assert (tried.new, batch, opened.promotions()) == (5, 0, [])
    done_, batch = opened.promote()
    assert done_.new == 5
    change(opened, urls[0], state="active", requests=1, started_at=1)
    (said,) = opened.promotions()
    assert (said.batch, said.seeds, said.begun, said.undone_at) == (batch, 5, 1, None)
    assert opened.undo_promotion(batch) == Picked(done=4, kept=1)
    assert opened.undo_promotion(batch) == Picked(kept=1)
    again, _ = opened.promote(dry_run=True)
    assert again.new == 4
    with pytest.raises(InputError, match="no promotion 99"):
        opened.undo_promotion(99)
