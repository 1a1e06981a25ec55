"""When an agent that slept, or has met another one again, may ask hosts."""

from __future__ import annotations

from math import inf

from scrawler.features.cluster.agents.standing import Standing
from scrawler.features.cluster.agents.vigil import Vigil


def test_all_that_live_are_heard_first() -> None:
    vigil = Vigil()
    vigil.begin("ac", now=0.0, ends_at=inf)
    assert not vigil.is_over("abc", 1e9)
    assert not vigil.note("a", 0), "the answer to a census"
    assert vigil.note("a", vigil.wave)
    assert not vigil.is_over("abc", 1.0)
    assert vigil.is_over("ab", 1.0), "c is dead"
    before = vigil.wave
    vigil.begin("ac", now=2.0, ends_at=inf)
    assert not vigil.note("c", before), "said before it slept once more"
    assert not vigil.is_over("b", 1e9), "nobody was heard"


def test_who_has_no_others_waits_for_none_and_who_was_alone_not_for_ever() -> None:
    vigil = Vigil()
    vigil.begin("ac", now=0.0, ends_at=inf)
    vigil.name_members({"a"})
    assert vigil.missing == {"a"}
    vigil.name_members(set())
    assert vigil.is_over("b", 1.0)
    vigil.begin("ac", now=0.0, ends_at=20.0)
    assert not vigil.is_over("b", 19.0)
    assert vigil.is_over("b", 20.0)


def test_who_was_not_let_ask_while_the_thread_was_late_is_woken_once() -> None:
    now = [0.0]
    standing = Standing(10.0, awake=5.0, clock=lambda: now[0])
    assert not standing.lets_again(), "nobody was refused"
    now[0] = 6.0
    assert not standing.may_ask()
    assert not standing.lets_again()
    standing.look()
    assert standing.lets_again()
    assert not standing.lets_again()
    standing.sleep()
    assert not standing.may_ask()
    standing.wake()
    assert not standing.lets_again(), "it has not met the others yet"
    standing.agree(True)
    assert standing.is_settled()
    assert standing.lets_again()


def test_nobody_is_asked_after_a_sleep_and_before_agents_that_meet_agree() -> None:
    now = [0.0]
    standing = Standing(10.0, 1.0, awake=5.0, clock=lambda: now[0])
    assert standing.may_ask()
    now[0] = 6.0
    assert not standing.may_ask(), "it may have been asleep until now"
    standing.sleep()
    standing.look()
    assert not standing.may_ask()
    standing.wake()
    assert not standing.may_ask()
    standing.agree(True)
    assert not standing.is_settled()
    now[0] = 7.0
    assert standing.is_settled()
    assert standing.may_ask()
    assert not standing.is_settled(), "it is told once"
    standing.reunite()
    standing.agree(False)
    assert not standing.may_ask()
    standing.look()
    now[0] = 11.0
    assert not standing.is_settled()
    now[0] = 18.0
    standing.look()
    assert standing.is_settled(), "not for ever"
    assert standing.may_ask()
