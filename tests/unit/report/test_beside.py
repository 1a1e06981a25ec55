"""Work beside other work: its result or its error comes, and its thread is over with the block."""

from __future__ import annotations

import threading

import pytest

from scrawler.features.report.beside import beside
from tests.limits import HANGS


def test_both_work_at_once_and_the_thread_is_over_with_the_block() -> None:
    here, there = threading.Event(), threading.Event()

    def work() -> bool:
        there.set()
        return here.wait(HANGS)

    before = threading.active_count()
    with beside(work) as result:
        assert there.wait(HANGS), "it does not wait until its result is wanted"
        here.set()
        assert result()
    assert threading.active_count() == before


def test_what_the_work_raises_comes_to_whoever_wants_its_result() -> None:
    with beside(lambda: 1 // 0) as result, pytest.raises(ZeroDivisionError):
        result()
    with pytest.raises(KeyError), beside(lambda: 1 // 0):
        raise KeyError("what fails in the block is what is told")


def test_without_room_for_a_thread_the_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_room)
    with beside(lambda: 7) as result:
        assert result() == 7
