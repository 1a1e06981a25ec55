"""A connection that breaks after COMMIT was handed on: the work is done, nobody is told, and it is not done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import func, select

from scrawler.errors import StoreBusyError, StoreError
from scrawler.model.seeds import SeedCounts, SeedState
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.machines import Machines
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.engines.engine import Database, Waiting, open_database
from scrawler.store.schema.tables import candidate as candidates
from scrawler.store.schema.tables import machine, run, seed
from scrawler.store.schema.tables import page as pages
from tests.integration.store.crawling import Worker, add, candidate, page, seed_delta, site_delta
from tests.proxy import Proxy


@pytest.fixture
def database(proxied_url: str) -> Iterator[Database]:
    """A database behind the proxy that is tried once: what its threads see when it stays away."""
    one = open_database(proxied_url, waiting=Waiting(give_up_after=0))
    yield one
    one.close()


@pytest.fixture
def patient(database: Database, proxied_url: str) -> Iterator[Database]:
    """The same one, tried again."""
    one = open_database(proxied_url)
    yield one
    one.close()


def count(database: Database, table: Any) -> int:
    return database.reading(lambda connection: connection.scalar(select(func.count()).select_from(table)) or 0)


def lost(proxy: Proxy, work: Callable[[], object]) -> None:
    """Do `work`, whose one COMMIT is carried out and not acknowledged."""
    cut = proxy.cut_after_commit()
    with pytest.raises(StoreBusyError):
        work()
    assert cut.is_set()


def test_a_checkpoint_is_not_written_twice(database: Database, proxy: Proxy) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    claimed = worker.claim_one()
    one = claimed.seeds[0].id
    checkpoints = Checkpoints(database, worker.id)
    delta = site_delta(
        claimed,
        seed_delta(
            one,
            pages=(page(one, "http://a.org/"),),
            externals=(candidate(one, "http://b.org/", count=3),),
            counts=SeedCounts(pages=1),
        ),
        released=True,
    )
    lost(proxy, lambda: checkpoints.commit([delta]))
    assert checkpoints.commit([delta]) == frozenset(), "the site was this machine's when it was committed"
    assert count(database, pages) == 1
    assert database.reading(lambda connection: connection.scalar(select(candidates.c.count))) == 3
    row = database.reading(lambda connection: connection.execute(select(machine)).one())
    assert (row.checkpoints, row.pages) == (1, 1)


def test_the_next_checkpoint_is_written(database: Database, proxy: Proxy) -> None:
    add(database, "http://a.org/")
    worker = Worker.of(database)
    claimed = worker.claim_one()
    one = claimed.seeds[0].id
    checkpoints = Checkpoints(database, worker.id)
    for number in range(4):
        delta = site_delta(claimed, seed_delta(one, pages=(page(one, f"http://a.org/{number}"),)))
        if number % 2:
            lost(proxy, lambda delta=delta: checkpoints.commit([delta]))
        checkpoints.commit([delta])
    assert count(database, pages) == 4


def test_two_who_commit_for_one_machine_are_told(database: Database) -> None:
    """Else the second would take its own work for done."""
    add(database, "http://a.org/")
    worker = Worker.of(database)
    claimed = worker.claim_one()
    first, second = Checkpoints(database, worker.id), Checkpoints(database, worker.id)
    delta = site_delta(claimed, seed_delta(claimed.seeds[0].id))
    first.commit([delta])
    second.commit([delta])
    with pytest.raises(StoreError, match="another program commits for machine"):
        first.commit([delta])


def test_sites_that_were_claimed_come_with_the_next_claim(database: Database, proxy: Proxy) -> None:
    add(database, *(f"http://{name}.org/" for name in "abcd"))
    worker = Worker.of(database)
    claims = Claims(database, worker.id)
    lost(proxy, lambda: claims.claim(2, 10))
    again = claims.claim(4, 10)
    rest = claims.claim(4, 10)
    assert (len(again), len(rest)) == (2, 2)
    assert {one.token for one in again + rest} == {1}


def test_further_seeds_that_were_begun_come_with_the_next_call(database: Database, proxy: Proxy) -> None:
    add(database, *(f"http://a.org/{n}" for n in range(5)))
    claims = Claims(database, Worker.of(database).id)
    (claimed,) = claims.claim(1, 1)
    lost(proxy, lambda: claims.more(claimed.id, claimed.token, 2))
    again = claims.more(claimed.id, claimed.token, 2)
    rest = claims.more(claimed.id, claimed.token, 5)
    assert [one.url for one in (*claimed.seeds, *again, *rest)] == [f"http://a.org/{n}" for n in range(5)]
    active = select(func.count()).select_from(seed).where(seed.c.state == SeedState.ACTIVE.value)
    assert database.reading(lambda connection: connection.scalar(active)) == 5


def test_seeds_are_added_once_and_counted_as_new(patient: Database, proxy: Proxy) -> None:
    cut = proxy.cut_after_commit()
    assert add(patient, "http://a.org/", "http://b.org/").new == 2
    assert cut.is_set()
    assert count(patient, seed) == 2


def test_a_machine_and_a_run_have_one_row(patient: Database, proxy: Proxy) -> None:
    cut = proxy.cut_after_commit()
    number = Machines(patient).register("here", 1, 0).id
    assert cut.is_set()
    cut = proxy.cut_after_commit()
    run_id = Crawls(patient).begin_run(number, {})
    assert cut.is_set()
    assert (count(patient, machine), count(patient, run)) == (1, 1)
    assert patient.reading(lambda connection: connection.scalar(select(run.c.id))) == run_id
