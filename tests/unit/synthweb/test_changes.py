"""Pages that change: what is true of them, and what answers say."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pvariance

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrawler.errors import ScrawlerError, SettingsError
from scrawler.features.synthweb.changes import Clock, Life, PageChanges, Process
from scrawler.features.synthweb.pages import Answer, PageWriter
from scrawler.features.synthweb.site import mix
from scrawler.features.synthweb.spec import Validators, WebSpec
from scrawler.features.synthweb.validators import Lie, Validator, lie_of
from scrawler.features.synthweb.web import SyntheticWeb

DAY = 86_400.0
MOVING = [Process.POISSON, Process.PERIODIC, Process.BURSTY]


def page(number: int, process: Process, rate: float = 1 / DAY) -> PageChanges:
    return PageChanges(mix(number, 77), process, rate, Life())


@example(744, Process.PERIODIC, 7797388.0, 1.3714931654335439e-06)  # the next one begins a cell, but for rounding
@given(st.integers(0, 10**6), st.sampled_from(MOVING), st.floats(-1e9, 1e9), st.floats(1e-7, 1e-2))
def test_the_last_and_the_next_change_have_none_between(number: int, process: Process, at: float, rate: float) -> None:
    one = page(number, process, rate)
    last, following = one.last(at), one.next(at)
    assert last <= at < following
    assert one.between(last, math.nextafter(following, -math.inf)) == []
    assert one.between(math.nextafter(last, -math.inf), following) == [last, following]


@given(st.integers(0, 10**6), st.sampled_from(MOVING), st.floats(-1e7, 1e7), st.floats(0, 1e6), st.floats(0, 1e6))
def test_changes_of_two_spans_are_those_of_both(
    number: int, process: Process, start: float, one: float, other: float
) -> None:
    changes = page(number, process)
    middle, end = start + one, start + one + other
    assert changes.between(start, middle) + changes.between(middle, end) == changes.between(start, end)


@pytest.mark.parametrize("process", MOVING)
def test_pages_change_as_often_as_they_say(process: Process) -> None:
    counts = [len(page(number, process).between(0, 20 * DAY)) for number in range(300)]
    assert fmean(counts) == pytest.approx(20, rel=0.06)
    dispersion = pvariance(counts) / fmean(counts)  # 1 for Poisson processes
    low, high = {Process.POISSON: (0.8, 1.25), Process.PERIODIC: (0.0, 0.1), Process.BURSTY: (3.0, 12.0)}[process]
    assert low <= dispersion <= high


def test_intervals_of_a_poisson_process_are_exponential() -> None:
    times = page(1, Process.POISSON).between(0, 3_000 * DAY)
    gaps = [after - before for before, after in pairwise(times)]
    for share in (0.25, 1.0, 2.0):
        assert sum(gap > share * DAY for gap in gaps) / len(gaps) == pytest.approx(math.exp(-share), abs=0.04)


def test_a_page_that_never_changes() -> None:
    one = page(1, Process.STILL)
    assert (one.last(5), one.next(5), one.between(-1e9, 1e9), one.rate) == (-math.inf, math.inf, [], 0.0)


def test_webs_with_one_seed_number_change_alike_and_have_the_shares_they_say() -> None:
    spec = WebSpec(changes=2, change_spread=0, still=0.2, periodic=0.25, bursty=0.25, coming=0.5)
    web, again = SyntheticWeb(spec), SyntheticWeb(spec)
    pages = [(site, number) for site in range(0, 15) for number in range(web.site(site).pages)]
    found = [web.changes_of(*one) for one in pages]
    assert [one.between(0, DAY) for one in found] == [again.changes_of(*one).between(0, DAY) for one in pages]
    share = {process: sum(one.process is process for one in found) / len(found) for process in Process}
    assert share[Process.STILL] == pytest.approx(0.2, abs=0.07)
    assert share[Process.POISSON] == pytest.approx(0.4, abs=0.07)
    assert {one.rate for one in found} == {0.0, 2 / DAY}
    assert web.changes_of(0, 0).life == Life()  # to whom others hang does not come and go
    assert any(one.life.born > 0 for one in found)
    assert any(one.life.gone < 30 * DAY for one in found)


def answered(spec: WebSpec, clock: Path, site: int = 0, **known: str) -> Answer:
    """Return what the home page of a site answers at the time in a file."""
    return PageWriter(SyntheticWeb(spec), Clock(1e9, 1, clock)).answer(site, "/", **known)


def field(answer: Answer, name: str) -> str:
    (found,) = [line.partition(": ")[2] for line in answer.fields.splitlines() if line.startswith(name)]
    return found


def at(clock: Path, seconds: float) -> Path:
    clock.write_text(str(seconds))
    return clock


def test_a_page_is_the_same_until_it_changes_and_says_so(tmp_path: Path) -> None:
    spec = WebSpec(changes=1, validators=Validators.TRUE)
    changes, clock = SyntheticWeb(spec).changes_of(0, 0), tmp_path / "now"
    change = changes.next(0)
    before, still, after = (answered(spec, at(clock, one)) for one in (0, change - 1, change))
    assert before == still
    assert before.body != after.body
    tag, date = field(before, "ETag"), field(before, "Last-Modified")
    assert answered(spec, at(clock, change - 1), if_none_match=tag).status == 304
    assert answered(spec, at(clock, change - 1), if_modified_since=date) == Answer(
        304, before.content_type, b"", fields=before.fields
    )
    assert answered(spec, at(clock, change), if_none_match=tag, if_modified_since=date).status == 200
    assert answered(spec, at(clock, changes.next(change)), if_modified_since=date).status == 200


def test_lies_are_those_that_are_told_of_them(tmp_path: Path) -> None:
    spec, clock = WebSpec(changes=1, validators=Validators.LYING, sites=20), tmp_path / "now"
    sites = {lie_of(spec.seed, site): site for site in range(0, 18)}
    assert set(sites) == set(Lie)
    first, second = ({lie: answered(spec, at(clock, t), site=site) for lie, site in sites.items()} for t in (0, 1e6))
    assert all(first[lie].body != second[lie].body for lie in Lie)
    assert first[Lie.NEVER_NEW].fields == second[Lie.NEVER_NEW].fields
    unseen = answered(spec, clock, site=sites[Lie.NEVER_NEW], if_none_match='"same"')
    assert unseen.status == 304  # and yet it has changed
    assert field(first[Lie.FUTURE], "Last-Modified").endswith("GMT")
    assert field(first[Lie.ALWAYS_NEW], "ETag") != field(second[Lie.ALWAYS_NEW], "ETag")


def test_noise_is_no_change(tmp_path: Path) -> None:
    web, clock = SyntheticWeb(WebSpec(noisy=True)), Clock(1e9, 1, at(tmp_path / "now", 0))
    writer = PageWriter(web, clock)
    assert writer.answer(0, "/").body != writer.answer(0, "/").body
    plain = PageWriter(SyntheticWeb(WebSpec())).answer(0, "/")
    assert plain.fields == ""
    assert len(writer.answer(0, "/").body) > len(plain.body)


def test_pages_that_come_and_go(tmp_path: Path) -> None:
    web = SyntheticWeb(WebSpec(coming=1, sites=3, equal=True))
    page, life = next((number, life) for number in range(40) if (life := web.changes_of(0, number).life).born > 0)
    path = web.path(web.target(web.url(web.links(web.site(0), 0)[0].target))._replace(number=page))
    writer = PageWriter(web, Clock(0, 1, tmp_path / "now"))
    statuses = []
    for seconds in (life.born - 1, life.born, life.gone - 1, life.gone):
        at(tmp_path / "now", seconds)
        statuses.append(writer.answer(0, path).status)
    assert statuses == [404, 200, 200, 410]


def test_a_clock_stands_still_while_its_file_is_half_written(tmp_path: Path) -> None:
    clock = Clock(0, 1, tmp_path / "now")
    assert clock.now() == 0
    at(tmp_path / "now", 12.5)
    assert clock.now() == 12.5
    for text in ("", "nan", "soon", "1e99"):
        (tmp_path / "now").write_text(text)
        assert clock.now() == 12.5
        with pytest.raises(ScrawlerError, match="no number of seconds"):
            Clock(0, 1, tmp_path / "now").now()


def test_every_time_has_a_date() -> None:
    assert Clock(1e11, 1e-6).date(1e11).year == 9999
    assert Clock(0, 1).date(-1e11).year == 1970


@pytest.mark.parametrize("known", ["", "yesterday", "Thu, 01 Jan 1970", '"other"', ","])
def test_what_names_no_version_is_answered_in_full(known: str) -> None:
    validator = Validator('"v1"', "Thu, 01 Jan 2026 00:00:00 GMT")
    assert not validator.is_known(known, "")
    assert not validator.is_known("", known)
    assert validator.is_known(f'"x", W/"v1"{known and ", " + known}', "")
    assert validator.is_known("*", "")


def test_numbers_out_of_range_are_told() -> None:
    with pytest.raises(SettingsError, match="above 1"):
        WebSpec(periodic=0.6, bursty=0.6)
    with pytest.raises(SettingsError, match="--changes"):
        WebSpec(changes=-1)
