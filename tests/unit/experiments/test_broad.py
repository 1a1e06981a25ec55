"""The broad web and what is computed from a crawl of it: pages, arms, sites held by the log, shares, goals."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click
import pytest

from experiments.bench.broad_bench import row_of
from experiments.bench.endurance_bench import pieces
from experiments.broadweb import claims as said
from experiments.broadweb.arms import USUAL, Arm, ArmError, parse_arm
from experiments.broadweb.claims import claims, ratios, span_text
from experiments.broadweb.crawl import Kept, Moment, Observed, Times
from experiments.broadweb.log import LogFile, Occupancy, Request
from experiments.broadweb.pages import HOST_MARK, Pages, Urls, inner_links, outer_links, page_text, path_of
from experiments.broadweb.server import address_of, host_of
from experiments.broadweb.setting_up import MORE_PAGES, SetUp
from experiments.lab.meter import OTHERS
from experiments.lab.report import ROUND, Row
from experiments.lab.trees import tree_at
from tests.tables import each

# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("urls", list(Urls))
@pytest.mark.parametrize("count", [1, 2, 11, 200, 1_000])
def test_every_page_has_a_url_of_its_own_and_is_reached_from_the_home_page(urls: Urls, count: int) -> None:
    pages = Pages(count, urls=urls)
    assert len({path_of(pages, page) for page in range(count)}) == count
    reached, last = {0}, {0}
    while last:
        last = {link for page in last for link in inner_links(pages, page)} - reached
        reached |= last
    assert reached == set(range(count))


def test_urls_of_words_differ_by_no_number() -> None:
    pages = Pages(1_000, urls=Urls.WORDS)
    assert all(re.fullmatch(r"/[a-z]+-[a-z]+-[a-z]+\.html", path_of(pages, page)) for page in range(1, 1_000))
    assert path_of(Pages(), 17) == "/p17.html"


@pytest.mark.parametrize("size", [8_000, 30_000])
def test_a_page_has_its_size_its_links_and_the_mark_for_the_name_of_its_site(size: int) -> None:
    pages = Pages(200, size)
    text = page_text(pages, 17, 3)
    assert size <= len(text) < size * 1.25
    assert text.count("<a ") == len(inner_links(pages, 17)) + len(outer_links(pages, 17)) == 60
    assert text.count(HOST_MARK) == 1
    assert text == page_text(pages, 17, 3)


def test_pages_and_designs_differ_by_their_words() -> None:
    words = [set(page_text(Pages(), page, design).split()) for page, design in ((17, 3), (18, 3), (17, 4))]
    assert all(len(one - other) > 300 for one in words for other in words if one is not other)


def test_sites_have_names_and_addresses_of_their_own() -> None:
    numbers = [*range(2_000), *range(62_000, 64_000)]
    assert len({host_of(site) for site in numbers}) == len({address_of(site) for site in numbers}) == 4_000
    octets = [list(map(int, address_of(site).split("."))) for site in numbers]
    assert all(
        first == 127 and 20 <= second < 255 and third < 255 and 0 < last < 255 for first, second, third, last in octets
    )


# --- arms -------------------------------------------------------------------------------------------------------------


def test_an_arm_is_written_by_its_keys_and_options_of_the_crawler() -> None:
    arm = parse_arm("places=200 urls=words scheme=https threads=20 delay=0.5 near-duplicates=off fsync=yes")
    assert arm.name == "200 places, 30 KB, words, https, 20 threads, delay 0.5 s, near-duplicates=off, fsync=yes"
    assert arm.settings() == {
        "threads": 20, "seeds-per-thread": 10, "delay": 0.5, "export": False, "insecure": True,
        "near-duplicates": "off", "fsync": True,
    }  # fmt: skip
    assert arm.allowed == 400
    assert arm.without("near-duplicates").without("fsync") == parse_arm(
        "delay=0.5 threads=20 scheme=https urls=words places=200"
    )
    assert parse_arm("") == USUAL


@each(
    ("text", "told"),
    [
        ("places", "key=value"),
        ("places=many", "invalid literal"),
        ("urls=long", "not a valid Urls"),
        ("places=0", "at least 1"),
        ("delay=0", "above 0"),
        ("delay=nan", "above 0"),
        ("scheme=ftp", "http or https"),
        ("places=10 threads=4", "multiple of 4"),
        ("--places=10", "key=value"),
    ],
)
def test_what_is_no_arm_is_told(text: str, told: str) -> None:
    with pytest.raises(ArmError, match=told):
        parse_arm(text)


@pytest.mark.parametrize(
    ("arm", "seconds", "sites"),
    [
        (Arm(places=100), 199.0, 150),  # none has ended
        (Arm(places=100), 201.0, 250),
        (Arm(places=100, site_pages=10, delay=0.5), 21.0, 550),
        (Arm(places=10), 1.0, 30),
    ],
)
def test_there_are_more_sites_than_can_end(arm: Arm, seconds: float, sites: int) -> None:
    assert arm.sites(seconds) == sites


# --- the log ----------------------------------------------------------------------------------------------------------


def _requests() -> list[Request]:
    """Two sites of two pages, the second of them begun when the first ends."""
    lines = [
        (10.0, "a", "/robots.txt"), (10.5, "a", "/"), (11.0, "a", "/p1.html"),
        (11.0, "b", "/robots.txt"), (12.0, "b", "/"), (12.5, "c", "/robots.txt"), (13.0, "b", "/p1.html"),
    ]  # fmt: skip
    return [Request(at, host, path, 200) for at, host, path in lines]


def _occupancy(pages: int = 2) -> Occupancy:
    found = Occupancy(pages)
    found.add(_requests())
    return found


def test_a_site_is_held_from_its_robots_txt_to_its_last_page() -> None:
    found = _occupancy()
    assert found.began == 10.0
    assert [found.held_at(at) for at in (9.0, 10.1, 11.1, 12.6, 13.1)] == [0, 1, 1, 2, 1]
    assert found.reached(1.96) == 12.5
    assert found.reached(3) is None
    assert found.mean_held(12.0, 13.0) == pytest.approx(1.5)
    assert found.mean_held(13.5, 14.0) == 1
    assert found.mean_held(8.0, 12.0) == pytest.approx(0.5)
    assert found.taken_up(10.0, 12.5) == 2
    assert found.pages(10.0, 13.0) == 3
    assert (found.answered_by(3), found.answered_by(5)) == (12.0, None)


def test_an_error_is_no_page() -> None:
    found = Occupancy(1)
    found.add([Request(1.0, "a", "/", 404)])
    assert (found.held, found.answered) == (1, [])


def test_a_log_is_read_while_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    log = LogFile(file)
    assert log.new() == []
    file.write_bytes(b"1.250\t200\ta\t/p\t1\n2.5")
    assert log.new() == [Request(1.25, "a", "/p\t1", 200)]
    with file.open("ab") as out:
        out.write(b"00\t404\tb\t/\n")
    assert log.new() == [Request(2.5, "b", "/", 404)]
    assert log.new() == []


@pytest.mark.parametrize(
    ("filled", "warmed", "begins"),
    [(105.0, 110.0, 110.0), (115.0, 110.0, 115.0), (None, 110.0, 160.0), (105.0, None, 160.0), (105.0, 170.0, 160.0)],
)
def test_it_is_measured_once_places_are_full_and_warm_or_it_takes_too_long(
    filled: float | None, warmed: float | None, begins: float
) -> None:
    assert Times(fill=60.0, window=30.0).measured_from(100.0, filled, warmed) == begins


# --- what it comes to -------------------------------------------------------------------------------------------------


def _observed(moments: list[Moment]) -> Observed:
    found = _occupancy()
    return Observed(9.0, moments, found, found.reached(1.96), 12.0, 14.0, 1.5, Kept(4, 0))


def test_a_row_tells_shares_of_what_is_allowed_and_of_a_core() -> None:
    moments = [Moment(9.0, 0.5, 0.0, 3.0, 50 << 20), Moment(12.0, 1.0, 0.25, 5.0, 80 << 20)]
    moments.append(Moment(14.0, 2.0, 0.75, 7.0, 90 << 20))
    row = row_of(1, "it", Arm(places=2, threads=1, delay=2.0), _observed(moments), Times(20.0, 2.0))
    assert row["pages"] == 2
    assert row["pages/s"] == 1.0
    assert row[said.SPEED] == 100.0
    assert row[said.CPU] == 500_000
    assert row[said.CORE] == 50.0
    assert row["server us/page"] == 250_000
    assert row[said.FILLED_AFTER] == 3.5
    assert row[said.TAKEN_UP] == pytest.approx(2 / 3.5)
    assert row[said.FILLED] == pytest.approx(62.5)  # 1, 2, 1 sites for 0.5, 0.5, 1 s, of 2 places
    assert row[said.MEMORY] == 90
    assert row[said.MEMORY_OF_SITE] == pytest.approx(40 * 1024 / 1.25)
    assert float(row[OTHERS]) >= 0


def test_places_that_do_not_fill_are_told_so() -> None:
    moments = [Moment(12.0, 1.0, 0.0, 1.0, 1), Moment(14.0, 2.0, 0.0, 2.0, 1)]
    seen = _observed(moments)
    late = replace(seen, filled=None)
    row = row_of(1, "it", Arm(places=4), late, Times(2.0, 2.0))
    assert row[said.FILLED_AFTER] == said.NEVER
    assert row[said.TAKEN_UP] == pytest.approx(2 / 3)  # a and b, in the three seconds that there were


def test_a_crawl_that_could_not_be_watched_is_no_figure() -> None:
    with pytest.raises(click.ClickException, match="so busy"):
        _observed([Moment(9.0, 0.0, 0.0, 0.0, 1), Moment(13.0, 0.0, 0.0, 0.0, 1)]).between()


def test_a_site_s_set_up_is_what_is_left_without_program_and_page() -> None:
    cost = SetUp(sites=101, start=0.5, one_page=0.7, more_pages=0.7 + 101 * (MORE_PAGES - 1) * 500e-6)
    assert cost.page == pytest.approx(500)
    assert cost.site == pytest.approx(2_000)
    assert cost.set_up == pytest.approx(1_500)


def _row(turn: int, arm: Arm, cpu: float, tree: str = "", memory: float = 100.0, filled: float | str = 5.0) -> Row:
    return {
        ROUND: turn,
        said.ARM: arm.name + tree,
        said.CPU: cpu,
        said.CORE: 50.0,
        said.SPEED: 90.0,
        said.TAKEN_UP: 16.0,
        said.FILLED_AFTER: filled,
        said.FILLED: 99.0,
        said.MEMORY: memory,
        said.HELD: arm.places,
        said.STOP: 2.0,
    }


def test_ratios_are_of_the_same_round() -> None:
    off = parse_arm("near-duplicates=off")
    rows = [_row(1, USUAL, 600), _row(1, off, 300), _row(2, off, 500), _row(2, USUAL, 500), _row(3, off, 1)]
    assert ratios(rows, USUAL.name, off.name, said.CPU) == [2.0, 1.0]
    found = {claim.what: claim for claim in claims(rows, [USUAL, off], [""])}
    (near,) = (claim for what, claim in found.items() if "near duplicates" in what)
    assert near.ours == "1.50 (1.00 to 2.00, 2 rounds)"


def test_arms_that_differ_in_threads_places_or_tree_are_compared() -> None:
    one, four, many = Arm(threads=1), Arm(), Arm(places=4_000)
    rows = [_row(1, one, 400), _row(1, four, 500), _row(1, many, 500, memory=178.125)]
    rows += [_row(1, arm, 1_000, " [old]") for arm in (one, four, many)]
    found = {claim.what: claim.ours for claim in claims(rows, [one, four, many], ["", " [old]"])}
    assert found[f"CPU a page, 4 threads over 1: {one.name}"] == "1.25 (one round)"
    assert found[f"KiB a site, {many.name} against 2,000 places"] == "40.0"
    assert found[f"CPU a page, here over [old]: {four.name}"] == "0.50 (one round)"
    assert not any(one.name in what and many.name in what for what in found)  # these differ in two things


def test_a_span_tells_whose_the_ends_are() -> None:
    few, many = Arm(places=200), Arm(places=10_000)
    rows = [_row(1, many, 500, filled=said.NEVER), _row(1, few, 500, filled=2.0)]
    assert span_text(rows, said.FILLED_AFTER) == f"2 ({few.name}) to {said.NEVER} ({many.name})"
    assert span_text(rows[:1], said.FILLED_AFTER) == f"{said.NEVER} ({many.name})"
    assert span_text([], said.FILLED_AFTER) == ""


def test_endurance_has_a_row_for_each_piece() -> None:
    moments = [Moment(10.0 + second, second * 0.5, 0.0, second * 0.5, (100 + second) << 20) for second in range(5)]
    seen = replace(_observed(moments), since=10.0)
    rows = pieces(seen, 2, 2.0)
    assert [row["pages"] for row in rows] == [2, 2]
    assert [row["CPU us/page"] for row in rows] == [500_000, 500_000]
    assert [row["RSS MiB"] for row in rows] == [102, 104]


def test_another_checkout_needs_its_own_environment(tmp_path: Path) -> None:
    with pytest.raises(click.ClickException, match="is missing"):
        tree_at(tmp_path)
    program = tmp_path / ".venv" / "bin" / "scrawler"
    program.parent.mkdir(parents=True)
    program.touch()
    tree = tree_at(tmp_path)
    assert tree.command(["scrawler", "run", "--delay", "1"]) == [str(program), "run", "--delay", "1"]
    assert tree.label("it") == f"it [{tmp_path.name}]"
