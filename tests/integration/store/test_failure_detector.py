"""Who distrusts whom, and when: heartbeats of several machines at once, with a short lease."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from scrawler.model.machines import MachineState
from scrawler.store.claims.machines import Machines
from scrawler.store.engines.engine import Database

LEASE = 1_000  # milliseconds
BEAT = 0.1  # seconds
SLACK = 1.0  # seconds that a thread may be late on a busy computer


@dataclass
class Beating:
    """A machine that sends heartbeats from a thread of its own until told to fall silent."""

    database: Database
    silent: threading.Event = field(default_factory=threading.Event)
    seen: list[tuple[float, int]] = field(default_factory=list)  # when how many machines lived
    alive: bool = True

    def __post_init__(self) -> None:
        self.machines = Machines(self.database, LEASE)
        self.id = self.machines.register("host", os.getpid(), 0).id
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        while not self.silent.wait(BEAT):
            orders = self.machines.beat(self.id)
            self.alive = self.alive and orders.alive
            self.seen.append((time.monotonic(), len(orders.living)))

    def fall_silent(self) -> float:
        """Return when the last heartbeat had been sent."""
        self.silent.set()
        self.thread.join()
        return self.seen[-1][0]


def _seen_by(one: Beating, machines: int, after: float, timeout: float) -> float:
    """Return how many seconds after `after` a machine saw that so many live."""
    deadline, pause = after + timeout, threading.Event()
    while time.monotonic() < deadline:
        for at, number in list(one.seen):
            if at > after and number == machines:
                return at - after
        pause.wait(BEAT / 2)
    raise AssertionError(f"machine {one.id} still sees others than {machines} after {timeout} s: {one.seen[-1]}")


def test_every_machine_distrusts_a_silent_one_within_a_lease_and_a_beat(database: Database) -> None:
    first, second, third = machines = [Beating(database) for _ in range(3)]
    try:
        begun = time.monotonic()
        for one in machines:
            _seen_by(one, 3, begun, SLACK)
        threading.Event().wait(LEASE / 1000)  # only then does anybody trust himself
        silent_at = third.fall_silent()
        for one in (first, second):
            assert _seen_by(one, 2, silent_at, LEASE / 1000 + BEAT + SLACK) > LEASE / 1000 - BEAT - SLACK
        views = Machines(database, LEASE).machines()
        assert [view.state for view in views] == [MachineState.RUNNING, MachineState.RUNNING, MachineState.DEAD]
        assert Machines(database, LEASE).gone() == [third.id]
        assert not third.machines.beat(third.id).alive
        assert first.alive
        assert second.alive
    finally:
        for one in machines:
            one.fall_silent()


def test_nobody_is_declared_dead_after_an_outage_that_silenced_all(database: Database) -> None:
    pause = threading.Event()
    machines = [Machines(database, LEASE) for _ in range(3)]
    ids = [one.register("host", os.getpid(), 0).id for one in machines]

    def beat_for(seconds: float, numbers: range, until: Callable[[], bool] = lambda: False) -> list[bool]:
        end, alive = time.monotonic() + seconds, []
        while time.monotonic() < end and not until():
            alive += [machines[number].beat(ids[number]).alive for number in numbers]
            pause.wait(BEAT)
        return alive

    assert all(beat_for(1.2 * LEASE / 1000, range(3)))
    pause.wait(1.2 * LEASE / 1000)
    assert [view.state for view in machines[0].machines()] == [MachineState.DEAD] * 3
    assert all(beat_for(LEASE / 2000, range(1)))  # the first one is back, the others not yet
    assert machines[0].gone() == []
    assert all(beat_for(1.2 * LEASE / 1000, range(3)))
    assert machines[0].gone() == []
    assert all(beat_for(5 * LEASE / 1000, range(2), until=lambda: machines[0].gone() == [ids[2]]))
    assert machines[0].gone() == [ids[2]]
