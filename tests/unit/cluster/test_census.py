"""When all is over: twice the same, and nothing on its way."""

from __future__ import annotations

from dataclasses import replace

from scrawler.features.cluster.agents.census import Census, Report
from scrawler.features.cluster.agents.standing import Standing

QUIET = Report(run="1", view="v", quiet=True, sent=3, received=2, waiting=0, stirred=1)


def _asked(census: Census, **reports: Report) -> bool:
    census.begin("v", reports)
    complete = [census.note(census.number, name, report) for name, report in reports.items()]
    assert complete == [False] * (len(reports) - 1) + [True]
    return census.is_over()


def test_it_takes_two_askings_that_find_the_same() -> None:
    census = Census()
    assert not _asked(census, a=QUIET, b=QUIET)
    assert census.may_be_over
    assert _asked(census, a=QUIET, b=QUIET)


def test_whatever_has_happened_between_them_begins_anew() -> None:
    for change in ({"sent": 4}, {"received": 3}, {"stirred": 2}, {"run": "2"}):
        census = Census()
        assert not _asked(census, a=QUIET, b=QUIET)
        assert not _asked(census, a=QUIET, b=replace(QUIET, **change)), change
        assert _asked(census, a=QUIET, b=replace(QUIET, **change))


def test_nobody_may_be_at_work_nor_of_another_view_nor_may_a_url_wait() -> None:
    for change in ({"quiet": False}, {"view": "w"}, {"view": ""}, {"waiting": 1}):
        census = Census()
        one = replace(QUIET, **change)
        assert not _asked(census, a=QUIET, b=one)
        assert not _asked(census, a=QUIET, b=one), change
        assert not census.may_be_over


def test_answers_of_another_asking_and_second_ones_do_not_count() -> None:
    census = Census()
    census.begin("v", ("a", "b"))
    assert not census.note(census.number - 1, "a", QUIET)
    assert not census.note(census.number, "c", QUIET)
    assert not census.note(census.number, "a", QUIET)
    assert not census.note(census.number, "a", QUIET)
    assert census.missing == {"b"}
    assert census.note(census.number, "b", QUIET)


def test_an_asking_by_another_view_is_the_first_one() -> None:
    census = Census()
    assert not _asked(census, a=QUIET)
    census.begin("w", ("a",))
    census.note(census.number, "a", replace(QUIET, view="w"))
    assert not census.is_over()


def test_claims_wait_for_agreement_but_not_for_ever() -> None:
    now = [0.0]
    standing = Standing(10.0, 1.0, clock=lambda: now[0])
    assert not standing.may_claim()
    assert standing.agree(True)
    assert not standing.agree(True)
    assert not standing.may_claim(), "others may just have asked there"
    now[0] = 1.0
    assert standing.may_claim()
    assert standing.agree(False)
    now[0] = 10.0
    assert not standing.may_claim()
    now[0] = 11.5
    assert standing.may_claim()
    assert standing.may_claim()
    assert standing.unagreed == 1


def test_a_machine_is_quiet_until_something_comes_and_not_for_long() -> None:
    now = [0.0]
    standing = Standing(10.0, clock=lambda: now[0])
    assert not standing.quiet
    assert standing.keeps_open()
    assert standing.quiet
    standing.stir()
    assert not standing.quiet
    assert standing.keeps_open()
    now[0] = 100.0
    assert not standing.quiet
    standing.over = True
    assert not standing.keeps_open()
