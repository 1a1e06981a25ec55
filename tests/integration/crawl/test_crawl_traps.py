"""Whole crawls of sites with traps: they end by themselves, have every real page, and say why they stopped."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from scrawler.core.traps.patterns import pattern_of
from scrawler.features.synthweb.process import WebProcess
from scrawler.features.synthweb.traps.pages import TrapSite
from scrawler.features.synthweb.traps.server import TrapWeb
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow, PatternRow
from scrawler.model.seeds import EndReason
from scrawler.store.engines.engine import open_database
from scrawler.store.lists.frontier import Frontier
from scrawler.urls.verdict import Verdict
from tests.integration.crawl.rig import running

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

MAX_PAGES = 500
ENDLESS = {"max_depth": 1_000, "max_pages": MAX_PAGES, "threads": 2}  # no trap is left for its depth
SHAPELESS = {"max_segments": 1_000, "max_repeats": 100, "normalise": ""}  # nor for the shape of its URLs
# Pages that each trap may cost: a pattern is capped after about 60 of them, beside a dozen that a list names; one of
# many queries after about 10.
COST = {
    "calendar": 80, "shop": 350, "session": 90, "maze": 90, "soft-404": 80, "soft-404-echo": 80, "mirror": 400,
    "relative": 80,
}  # fmt: skip

LARGE = "shop"  # has three thousand URLs that are not asked for, as many as all others together


@pytest.fixture(scope="module")
def web() -> Iterator[TrapWeb]:
    with WebProcess("--traps", "--port=0") as process:
        yield TrapWeb(process.port)


def cost(site: TrapSite) -> int:
    """Return how many requests a site may cost."""
    return len(site.real) + COST[site.name]


def wait_for(done: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not done():
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            pytest.fail(f"the crawl ended too early: {process.communicate()}")


def patterns(crawl: Crawl, seed_id: int) -> list[PatternRow]:
    database = open_database(crawl.url)
    rows = Frontier(database).patterns(seed_id)
    database.close()
    return rows


def rows_of(crawl: Crawl, home: str) -> dict[Result, list[PageRow]]:
    found: dict[Result, list[PageRow]] = {result: [] for result in Result}
    for row in crawl.pages():
        if row.url.startswith(home):
            found[Result(row.result)].append(row)
    return found


def check_real(crawl: Crawl, web: TrapWeb, name: str) -> None:
    fetched = {row.url for row in rows_of(crawl, web.home(name))[Result.FETCHED]}
    assert web.real(name) <= fetched


def test_no_trap_holds_and_no_real_page_is_lost(crawl_on_both: Crawl, web: TrapWeb) -> None:
    crawl = crawl_on_both
    crawl.add(web.sites())
    summary = crawl.run(**ENDLESS, **SHAPELESS)
    crawl.check()
    assert summary.errors == 0, "what is not asked for is no error"
    for home, site in web.sites().items():
        check_real(crawl, web, site.name)
        seed, rows = crawl.seed(home), rows_of(crawl, home)
        assert seed.end_reason in (EndReason.COMPLETED, EndReason.ENDLESS)
        assert seed.counts.requests <= cost(site), site.name
        evidence = {row.evidence for row in patterns(crawl, seed.id) if row.evidence}
        assert seed.counts.trapped == len(rows[Result.TRAP])
        assert evidence
        assert {row.detail for row in rows[Result.TRAP]} <= evidence
        assert seed.counts.trapped + seed.verdicts.get(Verdict.TRAP, 0) > 0
    near = [row for row in crawl.pages() if row.flags & PageFlag.NEAR_DUPLICATE]
    assert {web.home(name) for name in ("calendar", "shop", "maze", "soft-404-echo")} <= {
        row.url[: row.url.index("/", 8) + 1] for row in near
    }
    assert all(row.simhash for row in near)
    rooms = {row.url.partition("?")[0] for row in rows_of(crawl, web.home("maze"))[Result.FETCHED] if "?" in row.url}
    assert len(rooms) == 12
    home = web.home("calendar")
    known = pattern_of(f"{home}calendar?month=99", patterns(crawl, crawl.seed(home).id))
    assert known is not None
    assert known.pattern == f"{home}calendar?month="
    assert known.evidence.startswith(f"{known.pattern}: ")


def test_both_profiles_leave_the_same_traps_at_the_same_page(
    crawl: Crawl, web: TrapWeb, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("classic")
    classic = type(crawl)(folder, f"sqlite:///{folder / 'crawl.db'}")
    # Without a pause the next page is asked for before the last one is read, but where another thread wants the site, a
    # part of its list comes from the database, or that has much to write. So there is a pause.
    # A Bloom filter, as the classic profile has, passes by one of so many URLs in a run of a hundred.
    settings = ENDLESS | SHAPELESS | {"threads": 1, "delay": 0.001, "depth_buffer": 100_000, "seen": "exact"}
    homes = [home for home, site in web.sites().items() if site.name != LARGE]
    for one, profile in ((crawl, "default"), (classic, "classic")):
        one.add(homes)
        one.run(**settings, profile=profile)
        one.check()
    outcomes = [{(row.url, row.result, row.depth, row.detail) for row in one.pages()} for one in (crawl, classic)]
    assert outcomes[0] == outcomes[1]
    assert crawl.candidates() == classic.candidates()


def test_what_is_fetched_of_a_site_does_not_depend_on_others_of_its_machine(
    crawl: Crawl, web: TrapWeb, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = ENDLESS | SHAPELESS | {"threads": 1}
    crawl.add(home for home, site in web.sites().items() if site.name != LARGE)
    crawl.run(**settings)
    for name in ("maze", "soft-404-echo"):
        folder, home = tmp_path_factory.mktemp(name), web.home(name)
        alone = type(crawl)(folder, f"sqlite:///{folder / 'crawl.db'}")
        alone.add([home])
        alone.run(**settings)
        assert alone.fetched() == {url for url in crawl.fetched() if url.startswith(home)}


def test_limits_on_the_shape_of_urls_end_what_repeats_itself(crawl: Crawl, web: TrapWeb) -> None:
    home = web.home("mirror")
    crawl.add([home])
    crawl.run(**ENDLESS, traps=False)
    crawl.check()
    check_real(crawl, web, "mirror")
    assert crawl.seed(home).end_reason is EndReason.COMPLETED
    assert crawl.seed(home).verdicts["repeats"] > 0


def test_every_trap_holds_who_does_not_watch_for_it(crawl: Crawl, web: TrapWeb) -> None:
    """It costs more than it may where they are watched for."""
    crawl.add(web.sites())
    more = {urlsplit(home).hostname: {"max_pages": cost(site) + 1} for home, site in web.sites().items()}
    crawl.run(**ENDLESS, **SHAPELESS, traps=False, max_url_length=16_000, max_parameters=1_000, sites=more)
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.MAX_PAGES}


@pytest.mark.heavy
def test_a_cap_outlives_the_machine_that_made_it(crawl: Crawl, web: TrapWeb) -> None:
    """It is killed as soon as one is in the database, and no page of that pattern is fetched by the next machine."""
    home = web.home("shop")
    crawl.add([home])
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in ENDLESS.items()]
    seed = crawl.seed(home)
    with running(crawl, *flags, "--delay=0.01", "--delay-factor=0", "--checkpoint-interval=0.1") as process:
        wait_for(lambda: any(row.evidence for row in patterns(crawl, seed.id)), process)
    capped = {row.pattern: row for row in patterns(crawl, seed.id) if row.evidence}
    assert crawl.seed(home).end_reason is None
    crawl.run(**ENDLESS)
    crawl.check()
    check_real(crawl, web, "shop")
    # Which of both it is hangs on how many pages of the filters were fetched when it was killed.
    assert crawl.seed(home).end_reason in (EndReason.COMPLETED, EndReason.ENDLESS)
    for row in patterns(crawl, seed.id):
        if before := capped.get(row.pattern):
            assert row.fetched <= before.fetched + 1  # one was in flight
            assert row.refused > before.refused
            assert row.evidence == before.evidence
