from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, select, update

from scrawler.errors import StoreError
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedCounts, SeedState
from scrawler.model.terms import url_hash
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.seeds import Added, NewSeed, SeedLine, Seeds, turns
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import machine, seed
from tests.integration.store.crawling import Worker, add, as_stored, seed_delta, site_delta


class _RolledBackError(Exception):
    """Ends a transaction without a commit."""


def _site_states(database: Database) -> dict[str, str]:
    with database.read() as connection:
        return {row[0]: row[1] for row in connection.exec_driver_sql("SELECT site_key, state FROM site")}


def test_new_and_duplicate_seeds_are_counted_exactly(database: Database) -> None:
    assert add(database, "http://a.org/", "http://b.org/", "http://a.org/") == Added(2, 1)
    assert add(database, "http://b.org/", "http://a.org/x") == Added(1, 1)
    assert Seeds(database).add([]) == Added(0, 0)
    assert [view.seed.url for view in Seeds(database).list()] == ["http://a.org/", "http://b.org/", "http://a.org/x"]
    assert _site_states(database) == {"a.org": "ready", "b.org": "ready"}


def test_batches_in_several_threads_are_counted_exactly_and_keep_their_order(database: Database) -> None:
    """Neighbours share sites and a tenth of their seeds; some sites are known from before, and done."""
    add(database, *(f"http://s{number}.org/" for number in range(0, 100, 3)))
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE site SET state = 'done'")
    seeds = Seeds(database)
    batches = [
        [NewSeed(f"http://s{number % 100}.org/{number}", f"s{number % 100}.org") for number in range(at, at + 1_000)]
        for at in range(0, 9_000, 900)
    ]
    with ThreadPoolExecutor(seeds.writers) as pool:
        added = list(pool.map(seeds.add, batches, turns()))
    assert sum(one.new for one in added) == 9_100
    assert sum(one.duplicate for one in added) == 900
    listed = [view.seed.url for view in seeds.list()][34:]
    assert listed == list(dict.fromkeys(one.url for batch in batches for one in batch))
    assert set(_site_states(database).values()) == {"ready"}


def test_urls_that_differ_in_case_or_a_trailing_space_are_two(database: Database) -> None:
    urls = [
        "http://a.org/Page",
        "http://a.org/page",
        "http://a.org/page ",
        "http://a.org/p\u00e4ge",
        "http://a.org/pa\u0308ge",
    ]
    assert Seeds(database).add([NewSeed(url, "a.org") for url in urls]) == Added(5, 0)
    assert [view.seed.url for view in Seeds(database).list()] == urls


@pytest.mark.parametrize(
    "url",
    [
        "http://a.org/🕷️/\U0010ffff",
        "http://a.org/" + "x" * 15_900,
        "http://a.org/" + "🕷" * 15_900,
        "http://a.org/'; DROP TABLE seed; --\\'\"%s%d",
        "http://a.org/a\\\x00b\nc",
    ],
    ids=["emoji", "long", "long-emoji", "quotes", "control"],
)
def test_any_text_comes_back_as_it_went_in(database: Database, url: str) -> None:
    Seeds(database).add([NewSeed(url, "a.org", 2)])
    view = Seeds(database).get(url)
    assert view is not None
    stored = as_stored(url, database)
    assert (view.seed.url, view.seed.home_url, view.seed.hops, view.site_key) == (stored, stored, 2, "a.org")


def test_a_url_that_no_column_holds_is_refused_whole(database: Database) -> None:
    with pytest.raises(StoreError, match="16000 characters"):
        Seeds(database).add([NewSeed("http://a.org/", "a.org"), NewSeed("http://a.org/" + "x" * 16_000, "a.org")])
    assert list(Seeds(database).list()) == []


def test_a_site_that_was_done_is_ready_again(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    claimed = worker.claim_one()
    done = seed_delta(claimed.seeds[0].id, state=SeedState.DONE, end_reason=EndReason.COMPLETED)
    worker.commit(site_delta(claimed, done, released=True))
    assert _site_states(database) == {"a.org": "done"}
    add(database, "http://a.org/")
    assert worker.claim() == []
    add(database, "http://a.org/two")
    assert [one.url for one in worker.claim_one().seeds] == ["http://a.org/two"]


def test_seeds_are_listed_by_state_end_reason_and_pattern(database: Database) -> None:
    add(database, *(f"http://s{number}.org/" for number in range(2_500)))
    seeds = Seeds(database)
    worker = Worker.of(database)
    one, two = worker.claim(2)
    worker.commit(site_delta(one, seed_delta(one.seeds[0].id, state=SeedState.DONE, end_reason=EndReason.DEAD)))
    assert len(list(seeds.list())) == 2_500
    assert len(list(seeds.list(SeedState.READY))) == 2_498
    assert [view.seed.url for view in seeds.list(SeedState.ACTIVE)] == [two.seeds[0].url]
    assert [view.seed.url for view in seeds.list(end_reason=EndReason.DEAD)] == [one.seeds[0].url]
    assert len(list(seeds.list(like="http://s24__.org/"))) == 100
    assert list(seeds.list(like="HTTP://%")) == []
    assert seeds.counts() == {
        SeedState.READY: {None: 2_498},
        SeedState.ACTIVE: {None: 1},
        SeedState.DONE: {EndReason.DEAD: 1},
    }
    assert seeds.get("http://none.org/") is None


@pytest.mark.parametrize(
    ("state", "end_reason", "thousands"),
    [
        (None, None, 6),
        (SeedState.READY, None, 2),
        (SeedState.DONE, None, 4),
        (None, EndReason.COMPLETED, 2),
        (SeedState.DONE, EndReason.DEAD, 2),
    ],
)
def test_to_list_many_seeds_sorts_none_and_begins_nowhere_anew(
    database: Database, state: SeedState | None, end_reason: EndReason | None, thousands: int
) -> None:
    """A sort, or a look at all those before, for each thousand would make a million seeds take minutes."""
    add(database, *(f"http://s{number % 50}.org/{number}" for number in range(6_000)))
    with database.begin() as connection:
        for rest, reason in ((1, "completed"), (2, "dead")):
            values = {"state": "done", "end_reason": reason}
            connection.execute(update(seed).where(seed.c.id % 3 == rest).values(values))
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    event.listen(Engine, "after_cursor_execute", note)
    try:
        views = list(Seeds(database).list(state, end_reason))
        lines = list(Seeds(database).lines(state, end_reason))
    finally:
        event.remove(Engine, "after_cursor_execute", note)
    listed = [view.seed.id for view in views]
    assert len(listed) == thousands * 1_000
    assert listed == sorted(listed)
    assert lines == [
        SeedLine(view.seed.url, view.seed.state.value, view.seed.end_reason and view.seed.end_reason.value, 0)
        for view in views
    ]
    pages = [one for one in asked if "seed.url" in one[0]]
    assert len(pages) == 2 * (thousands + 1)
    with database.read() as connection:
        for statement, parameters in pages[1 : thousands + 1] + pages[thousands + 2 :]:
            _check_plan(connection, statement, parameters)


def _check_plan(connection: Connection, statement: str, parameters: Any) -> None:
    if connection.dialect.name == "sqlite":
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        assert plan[0].startswith("SEARCH seed USING")
        assert "rowid>?" in plan[0]
        assert not any("TEMP B-TREE" in step for step in plan)
        return
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET enable_sort = off")  # whether there is another way: few rows are sorted at once
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars())
        assert "Sort" not in plan
        assert "id > " in plan
        return
    seed_step, *others = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).mappings()
    assert (seed_step["table"], seed_step["type"]) == ("seed", "range")
    assert all(step["type"] == "eq_ref" for step in others)
    assert "filesort" not in seed_step["Extra"]
    assert "temporary" not in seed_step["Extra"]


def test_a_listed_seed_tells_all_that_was_committed(database: Database) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    claimed = worker.claim_one()
    counts = SeedCounts(11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    delta = seed_delta(
        claimed.seeds[0].id,
        counts=counts,
        verdicts={"too-deep": 3, "äüß": 1},
        elapsed_ms=1234,
        state=SeedState.DONE,
        end_reason=EndReason.MAX_PAGES,
        end_detail="limit " + "\ud800" + "x" * 2_000,
    )
    worker.commit(site_delta(claimed, delta))
    view = Seeds(database).get("http://a.org/")
    assert view is not None
    assert (view.seed.counts, view.seed.verdicts, view.seed.elapsed_ms) == (counts, {"too-deep": 3, "äüß": 1}, 1234)
    assert (view.seed.state, view.seed.end_reason) == (SeedState.DONE, EndReason.MAX_PAGES)
    assert view.end_detail.startswith("limit \\ud800xxx")
    assert len(view.end_detail) == 1_000
    assert view.machine_id == worker.id
    assert view.started_at is not None
    assert view.ended_at is not None
    assert view.added_at <= view.started_at <= view.ended_at


def test_adding_20_000_seeds(database: Database) -> None:
    seeds = Seeds(database)
    hosts = [f"www.host-{number}.example.org" for number in range(20_000)]
    all_seeds = [NewSeed(f"http://{host}/", host) for host in hosts]
    added = [seeds.add(all_seeds[start : start + 5_000]) for start in range(0, 20_000, 5_000)]
    assert sum(one.new for one in added) == 20_000
    assert seeds.add(all_seeds[:5_000]) == Added(0, 5_000)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*), COUNT(DISTINCT site_id) FROM seed").one() == (
            20_000,
            20_000,
        )
        query = "SELECT url, url_hash FROM seed WHERE id = (SELECT MAX(id) FROM seed)"
        url, hash_ = connection.exec_driver_sql(query).one()
        assert hash_ == url_hash(url)


def test_seeds_are_added_inside_the_transaction_of_somebody_else(database: Database) -> None:
    """They are there when that is, with what else it has written; what is rolled back has added nothing."""
    Crawls(database).open("crawl", Scope.HOST)
    seeds = Seeds(database)
    seeds.add([NewSeed("http://a.example/", "a.example", 0)])
    batch = [NewSeed(f"http://{name}.example/x", f"{name}.example", 1) for name in "ab"]

    def there() -> tuple[list[str], str]:
        with database.read() as connection:
            host = connection.execute(select(machine.c.host)).scalar_one()
        return [line.seed.url for line in seeds.list()], host

    Machines(database).register("before", os.getpid(), 0)
    with suppress(_RolledBackError), database.begin() as connection:
        assert seeds.add_rows(connection, batch) == 2
        connection.execute(update(machine).values(host="after"))
        raise _RolledBackError
    assert there() == (["http://a.example/"], "before")
    with database.begin() as connection:
        assert seeds.add_rows(connection, batch) == 2
        assert seeds.add_rows(connection, []) == 0
        connection.execute(update(machine).values(host="after"))
    assert there() == (["http://a.example/", *(one.url for one in batch)], "after")
    assert seeds.add(batch) == Added(0, 2)
