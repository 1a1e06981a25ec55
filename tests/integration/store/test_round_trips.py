"""Round trips to a database that may be far: few, and no more with many sites in work than with few."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from scrawler.model.claims import ClaimedSite
from scrawler.model.deltas import SiteDelta
from scrawler.model.lanes import LaneState
from scrawler.store.claims.claims import Claims
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.samples import MachineSample
from scrawler.store.commit.checkpoints import Checkpoints
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.lists.frontier import Frontier
from tests.integration.store.crawling import Worker, add, candidate, page, seed_delta, site_delta
from tests.proxy import Proxy

FEW, MANY = 10, 200  # sites


@pytest.fixture
def database(proxied_url: str) -> Iterator[Database]:
    one = open_database(proxied_url)
    one.now()  # with both of its connections made
    add(one, *(f"http://{n}.org/" for n in range(2 * FEW + 2 * MANY)))
    yield one
    one.close()


def trips(proxy: Proxy, work: Callable[[], object]) -> int:
    before = proxy.round_trips
    work()
    return proxy.round_trips - before


def delta(claimed: ClaimedSite, number: int) -> SiteDelta:
    one = claimed.seeds[0].id
    url = f"{claimed.seeds[0].url}{number}"
    lanes = (LaneState(one, 0, one, 1, 2),)
    found = (candidate(one, f"http://elsewhere.org/{one}"),)
    return site_delta(claimed, seed_delta(one, pages=(page(one, url),), lanes=lanes, externals=found))


def test_of_claims_and_checkpoints(database: Database, proxy: Proxy) -> None:
    worker = Worker.of(database)
    claims, checkpoints = Claims(database, worker.id), Checkpoints(database, worker.id)
    costs = []
    for sites in (FEW, MANY):
        held: list[ClaimedSite] = []
        claim = trips(proxy, lambda held=held, sites=sites: held.extend(claims.claim(sites, 10)))
        assert len(held) == sites
        checkpoints.commit([delta(one, 0) for one in held])
        checkpoint = trips(proxy, lambda held=held: checkpoints.commit([delta(one, 1) for one in held]))
        costs.append((claim, checkpoint))
    print("round trips of claim and checkpoint:", costs)
    few, many = costs
    begin = database.dialect == "postgresql"  # which is told that a transaction begins
    assert few[0] <= 14 + begin
    assert few[1] <= 9 + begin
    assert many[0] <= few[0] + 2, "statements name up to 200 sites"
    assert many[1] <= few[1]


def test_of_heartbeats(database: Database, proxy: Proxy) -> None:
    worker = Worker.of(database)
    machines = Machines(database)
    machines.beat(worker.id, MachineSample(0, 0, 0, 0, 0), [0] * 20)
    cost = trips(proxy, lambda: machines.beat(worker.id))
    with_sample = trips(proxy, lambda: machines.beat(worker.id, MachineSample(1, 1, 1, 1, 1), [5] * 20))
    print("round trips of a heartbeat:", cost, with_sample)
    begin = database.dialect == "postgresql"
    assert cost <= 3 + begin
    assert with_sample <= 5 + begin


def test_of_what_is_read_while_crawling(database: Database, proxy: Proxy) -> None:
    """A read is one round trip: no ping before it, no end of a transaction after it."""
    frontier = Frontier(database)
    frontier.fetched(b"0" * 16)
    assert trips(proxy, lambda: frontier.fetched(b"1" * 16)) == 1
    assert trips(proxy, lambda: frontier.chunks(1, 0, 0, 100)) == 1
    assert trips(proxy, lambda: list(frontier.listed(1))) == 1
    assert trips(proxy, Claims(database, 1).work_left) == 1
