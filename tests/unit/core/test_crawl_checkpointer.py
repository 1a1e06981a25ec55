"""The checkpointer's thread, on a store that keeps deltas in a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import pytest

from scrawler.core.durable.checkpointer import Checkpointer
from scrawler.core.durable.costs import CheckpointCosts
from scrawler.errors import StoreBusyError, StoreError
from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.seeds import SeedCounts, SeedState
from tests.limits import HANGS


class Shop:
    """A store, a machine and an archive in one: keeps what it is told, in order; can be told to refuse."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.batches: list[list[int]] = []
        self.refusals: list[Exception] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Semaphore(0)
        self.told = threading.Semaphore(0)
        self.was_full: list[bool] = []
        self.lost: list[Collection[int]] = []
        self.let_go = 0
        self.errors: list[BaseException] = []

    def commit(self, deltas: Sequence[SiteDelta]) -> Collection[int]:
        self.entered.release()
        assert self.gate.wait(HANGS)
        if self.refusals:
            self.events.append("refused")
            raise self.refusals.pop(0)
        self.events.append("commit")
        self.batches.append([delta.site_id for delta in deltas])
        return {delta.site_id for delta in deltas if delta.token == 0}

    def flush(self) -> None:
        self.events.append("flush")

    def committed(self, lost: Collection[int], was_full: bool) -> None:
        self.lost.append(lost)
        self.was_full.append(was_full)
        self.told.release()

    def on_let_go(self) -> None:
        self.let_go += 1

    def failed(self, error: BaseException) -> None:
        self.errors.append(error)
        self.told.release()

    def wait(self) -> None:
        assert self.told.acquire(timeout=HANGS)


Opened = Callable[..., Checkpointer]


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def opened(shop: Shop) -> Iterator[Opened]:
    made: list[Checkpointer] = []

    def open_one(room: int = 1000, give_up_after: float = 60.0) -> Checkpointer:
        one = Checkpointer(shop, shop.flush, shop.committed, shop.failed, room, give_up_after, shop.on_let_go)
        made.append(one)
        one.start()
        return one

    yield open_one
    shop.gate.set()
    for one in made:
        one.close(HANGS)
        one.join(HANGS)
        assert not one.is_alive()


def delta(site: int, token: int = 1) -> SiteDelta:
    return SiteDelta(site, token, (), 0)


def two_on_their_way(shop: Shop, opened: Opened) -> Checkpointer:
    """Return a checkpointer that is committing a delta, until the gate opens, while another one waits."""
    checkpointer = opened()
    shop.gate.clear()
    checkpointer.submit(delta(1))
    assert shop.entered.acquire(timeout=HANGS)
    checkpointer.submit(delta(2))
    return checkpointer


def test_what_comes_together_is_one_transaction_after_one_flush(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    for site in range(5):
        checkpointer.submit(delta(site))
    shop.wait()
    assert shop.batches == [[0, 1, 2, 3, 4]]
    assert shop.events == ["flush", "commit"]
    assert checkpointer.idle


LONG = 10 * HANGS  # seconds for which a delta would wait for company


def test_what_may_wait_is_committed_with_the_first_that_may_not(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    checkpointer.submit(delta(1), LONG)
    assert not shop.told.acquire(timeout=0.05)
    assert not checkpointer.idle
    checkpointer.submit(delta(2))
    checkpointer.submit(delta(3), LONG)
    shop.wait()
    assert shop.batches == [[1, 2, 3]]


def test_rows_that_are_many_wait_for_no_company(shop: Shop, opened: Opened) -> None:
    checkpointer = opened(room=8)
    checkpointer.submit(delta(1), LONG)
    checkpointer.submit(delta(2), LONG)
    shop.wait()
    assert shop.batches == [[1, 2]]


def test_a_job_aside_lets_deltas_wait_on_and_a_read_does_not(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    done = threading.Semaphore(0)
    checkpointer.submit(delta(1), LONG)
    checkpointer.aside(done.release)
    assert done.acquire(timeout=HANGS)
    shop.wait()
    assert shop.batches == []
    checkpointer.read(done.release)
    assert done.acquire(timeout=HANGS)
    assert shop.batches == [[1]]


def test_close_runs_the_jobs_aside_and_writes_what_may_wait(shop: Shop, opened: Opened) -> None:
    checkpointer = two_on_their_way(shop, opened)
    done: list[int] = []
    checkpointer.aside(lambda: done.append(1))
    checkpointer.submit(delta(3), LONG)
    checkpointer.close(HANGS)
    shop.gate.set()
    checkpointer.join(HANGS)
    assert shop.batches == [[1], [2, 3]]
    assert done == [1]


def test_the_last_delta_of_a_machine_waits_for_no_company(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    checkpointer.submit(delta(1), LONG)
    checkpointer.linger_no_more()
    shop.wait()
    assert shop.batches == [[1]]
    checkpointer.submit(delta(2), LONG)
    assert not shop.told.acquire(timeout=0.05), "only what had been submitted is in a hurry"
    checkpointer.linger_no_more()
    shop.wait()
    assert shop.batches == [[1], [2]]


def test_what_comes_during_a_commit_is_the_next_one(shop: Shop, opened: Opened) -> None:
    checkpointer = two_on_their_way(shop, opened)
    assert not checkpointer.idle
    shop.gate.set()
    shop.wait()
    shop.wait()
    assert shop.batches == [[1], [2]]


def test_a_site_stands_once_in_a_transaction(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    for site in (1, 2, 1):
        checkpointer.submit(delta(site))
    shop.wait()
    assert shop.batches == [[1, 2]]


def test_only_a_commit_that_lets_go_of_something_is_told(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    ended = SeedDelta(1, (), (), (), (), SeedCounts(), {}, 0, SeedState.DONE)
    for one in (delta(1), replace(delta(1), released=True), delta(1), replace(delta(1), seeds=(ended,)), delta(1)):
        checkpointer.submit(one)
        shop.wait()
    checkpointer.close(HANGS)
    checkpointer.join(HANGS)
    assert shop.let_go == 2


def test_a_read_sees_what_was_submitted_before_it(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    seen: list[list[list[int]]] = []
    done = threading.Event()

    def job() -> None:
        seen.append([batch.copy() for batch in shop.batches])
        done.set()

    checkpointer.submit(delta(1))
    checkpointer.submit(delta(2))
    checkpointer.read(job)
    assert done.wait(HANGS)
    assert seen == [[[1, 2]]]


def test_collectors_pause_when_there_is_no_room_and_are_told_when_there_is(shop: Shop, opened: Opened) -> None:
    checkpointer = opened(room=3)
    shop.gate.clear()
    for site in range(3):
        checkpointer.submit(delta(site))
    assert not checkpointer.has_room()
    shop.gate.set()
    shop.wait()
    assert shop.was_full == [True]
    assert checkpointer.has_room()
    checkpointer.submit(delta(4))
    shop.wait()
    assert shop.was_full == [True, False]


def test_no_collector_is_left_paused(shop: Shop, opened: Opened) -> None:
    """Whoever was told that there is no room is told later that there is, however the threads interleave."""
    checkpointer = opened(room=2)
    paused = 0
    for site in range(300):
        checkpointer.submit(delta(site))
        before = len(shop.was_full)
        if not checkpointer.has_room():
            paused += 1
            while not any(shop.was_full[before:]):
                shop.wait()
    assert paused > 10


def test_a_busy_database_is_tried_again_until_it_gives_way(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    shop.refusals = [StoreBusyError("locked"), StoreBusyError("locked")]
    checkpointer.submit(delta(1))
    shop.wait()
    assert shop.events == ["flush", "refused", "refused", "commit"]
    assert shop.batches == [[1]]
    assert not shop.errors


def test_a_database_that_stays_busy_ends_the_machine(shop: Shop, opened: Opened) -> None:
    checkpointer = opened(give_up_after=0.1)
    shop.refusals = [StoreBusyError("locked") for _ in range(50)]
    checkpointer.submit(delta(1))
    shop.wait()
    assert isinstance(shop.errors[0], StoreBusyError)
    assert shop.batches == []


def test_nothing_is_committed_after_a_failure(shop: Shop, opened: Opened) -> None:
    """What comes later could refer to what was not written."""
    checkpointer = opened()
    refusal = StoreError("disk full")
    shop.refusals = [refusal]
    checkpointer.submit(delta(1))
    shop.wait()
    assert shop.errors == [refusal]
    read: list[int] = []
    checkpointer.submit(delta(2))
    checkpointer.read(lambda: read.append(1))
    checkpointer.close(HANGS)
    checkpointer.join(HANGS)
    assert not checkpointer.is_alive()
    assert shop.batches == []
    assert read == []


def test_a_failing_read_ends_the_machine(shop: Shop, opened: Opened) -> None:
    def job() -> None:
        raise StoreError("gone")

    opened().read(job)
    shop.wait()  # of the batch
    shop.wait()  # of the failure
    assert isinstance(shop.errors[0], StoreError)


def test_close_writes_what_is_there(shop: Shop, opened: Opened) -> None:
    checkpointer = two_on_their_way(shop, opened)
    checkpointer.close(HANGS)
    shop.gate.set()
    checkpointer.join(HANGS)
    assert not checkpointer.is_alive()
    assert shop.batches == [[1], [2]]


def test_lost_sites_are_told(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    checkpointer.submit(delta(1, token=0))
    checkpointer.submit(delta(2))
    shop.wait()
    assert shop.lost == [{1}]


def test_what_checkpoints_cost_is_told(shop: Shop, opened: Opened) -> None:
    checkpointer = opened()
    shop.refusals = [StoreBusyError("locked")]
    checkpointer.submit(delta(1))
    shop.wait()
    costs = checkpointer.costs.values()
    assert (costs["rows"]["counts"], costs["rows"]["sum"]) == ([1, 0, 0, 0, 0, 0], 1.0)
    assert sum(costs["seconds"]["counts"]) == 1, "what was tried again is one checkpoint"
    assert costs["seconds"]["sum"] > 0


def test_a_value_counts_for_the_first_bound_that_it_does_not_exceed() -> None:
    costs = CheckpointCosts()
    for seconds, rows in ((0.01, 10), (0.02, 11), (99.0, 1_000_000)):
        costs.note(seconds, rows)
    assert costs.values()["seconds"]["counts"] == [1, 1, 0, 0, 0, 0, 0, 1]
    assert costs.values()["rows"]["counts"] == [1, 1, 0, 0, 0, 1]
