"""When it is not the hosts that have died."""

from __future__ import annotations

from scrawler.core.outage.silence import HOSTS, WINDOW, Silence


def failed(*times: float) -> Silence:
    silence = Silence()
    for number, at in enumerate(times):
        silence.failed(f"192.0.2.{number}", at)
    return silence


def test_many_hosts_that_fail_within_a_minute_are_an_outage() -> None:
    step = WINDOW / HOSTS
    assert failed(*(number * step for number in range(HOSTS))).is_outage
    assert not failed(*(number * step for number in range(HOSTS - 1))).is_outage


def test_hosts_that_fail_slowly_one_after_the_other_are_no_outage() -> None:
    step = WINDOW / (HOSTS - 1)
    assert not failed(*(number * step for number in range(10 * HOSTS))).is_outage


def test_one_host_counts_once_from_when_it_began_to_fail() -> None:
    silence = Silence()
    for number in range(10 * HOSTS):
        silence.failed("192.0.2.1", float(number % 50))
    assert silence.begun
    assert not silence.is_outage
    silence.forget(WINDOW)
    assert not silence.begun


def test_an_answer_in_between_says_that_it_is_the_hosts() -> None:
    silence = failed(*([0.0] * (HOSTS - 1)))
    silence.answered()
    assert not silence.begun
    silence.failed("192.0.2.99", 1.0)
    assert not silence.is_outage
