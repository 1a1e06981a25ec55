from __future__ import annotations

from itertools import pairwise

import pytest

from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.features.synthweb.web import Kind, SyntheticWeb, Target
from scrawler.model.scope import Scope
from tests.truth import home_pages

SPEC = WebSpec(sites=21, mean_pages=60)


@pytest.fixture(scope="module")
def web() -> SyntheticWeb:
    return SyntheticWeb(SPEC, 8400)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("robots", [True, False])
def test_formula_equals_walk(seed: int, robots: bool) -> None:
    web = SyntheticWeb(WebSpec(seed=seed, sites=21, mean_pages=60))
    for site in range(21):
        if web.site(site).alias_of is None:
            assert home_pages(web, site, robots) == len(party(web, web.seeds_of(site)[0], robots=robots).pages)


def test_all_pages_of_a_large_site_are_reached() -> None:
    web = SyntheticWeb(WebSpec(sites=1, mean_pages=20_000, hidden=0))
    assert home_pages(web, 0, robots=False) == 20_000 == len(party(web, web.seeds()[0], robots=False).pages)


def test_hidden_sections_need_their_own_seeds() -> None:
    web = SyntheticWeb(WebSpec(sites=2, mean_pages=400, equal=True))
    home, opened, closed = (party(web, url) for url in web.seeds_of(1, 3))
    assert len(home.pages) == 360
    assert home.pages < opened.pages
    assert len(opened.pages) == 380
    assert not closed.pages & opened.pages
    assert len(closed.pages) == 20


def test_denied_pages_are_not_walked(web: SyntheticWeb) -> None:
    site = max((site for site in range(21) if web.site(site).disallows_private), key=lambda site: web.site(site).pages)
    obeying = party(web, web.seeds_of(site)[0])
    ignoring = party(web, web.seeds_of(site)[0], robots=False)
    assert obeying.denied
    assert obeying.denied == ignoring.pages - obeying.pages
    assert all("/private/" in url for url in obeying.denied)
    assert not ignoring.denied


def test_a_denied_seed_is_all_there_is(web: SyntheticWeb) -> None:
    url = "http://127.10.0.1:8400/private/p"
    page = next(page for page in range(10_000) if web.site(0).private(page))
    found = party(web, f"{url}{page}.html")
    assert found.denied == {f"{url}{page}.html"}
    assert not found.requested | found.external | found.files


def test_alias_is_rehomed(web: SyntheticWeb) -> None:
    alias, behind = party(web, web.seeds_of(19)[0]), party(web, web.seeds_of(18)[0])
    assert alias.home == behind.home == web.seeds_of(18)[0]
    assert alias.pages == behind.pages
    assert alias.redirects == behind.redirects | {web.seeds_of(19)[0]}
    assert alias.external == behind.external


def test_what_is_answered_too_late_leads_nowhere() -> None:
    web = SyntheticWeb(WebSpec(sites=1, mean_pages=400, hidden=0, slow_share=0.3, slow_sites=1, slow_ms=8_000))
    whole = party(web, web.seeds()[0])
    hasty, patient = (party(web, web.seeds()[0], timeout=timeout) for timeout in (3, 12))
    assert hasty.late
    assert hasty.requested < patient.requested < whole.requested
    assert all(web.wait_s(web.target(url)) > 12 for url in patient.late)
    assert all(web.wait_s(web.target(url)) <= 12 for url in patient.pages)
    assert not whole.late


def test_depth_limit_cuts_by_levels(web: SyntheticWeb) -> None:
    seed = web.seeds_of(max(range(19), key=lambda site: web.site(site).pages))[0]
    whole = party(web, seed)
    levels = [party(web, seed, max_depth=depth) for depth in range(12)]
    assert levels[0].pages == {seed}
    assert all(above.requested < below.requested for above, below in pairwise(levels[:5]))
    assert levels[11] == whole


def test_depth_follows_the_tree() -> None:
    web = SyntheticWeb(WebSpec(sites=1, mean_pages=3_000, hidden=0))
    assert [len(party(web, web.seeds()[0], max_depth=depth, robots=False).pages) for depth in (1, 2)] < [13, 40]
    assert len(party(web, web.seeds()[0], max_depth=6, robots=False).pages) < 3_000


def test_redirects_are_links(web: SyntheticWeb) -> None:
    found = party(web, web.seeds_of(max(range(19), key=lambda site: web.site(site).pages))[0])
    aims = {web.url(step[1]) for url in found.redirects if (step := web.redirect(web.target(url)))}
    assert {web.target(url).kind for url in found.redirects} == {Kind.OLD, Kind.MOVED, Kind.OUT}
    assert aims <= found.requested | found.denied | found.external
    assert aims & found.external


def test_sets_are_disjoint(web: SyntheticWeb) -> None:
    for url in web.seeds(3):
        found = party(web, url)
        groups = [found.pages, found.redirects, found.missing, found.files, found.denied]
        assert sum(map(len, groups)) == len(set().union(*groups))


def test_prefix_scope_stays_in_its_folder(web: SyntheticWeb) -> None:
    site = max(range(19), key=lambda site: web.site(site).pages)
    parties = [party(web, web.url(Target(site, Kind.PAGE, page)), Scope.PREFIX) for page in range(1, 40)]
    found = max(parties, key=lambda found: len(found.pages))
    folder = found.home[: found.home.rindex("/") + 1]
    assert len(found.pages) > 5
    assert all(url.startswith(folder) for url in found.requested)
    assert any(url.startswith(f"http://{web.site(site).authority}/") for url in found.external)


def test_domain_scope_of_names_is_the_whole_web() -> None:
    web = SyntheticWeb(WebSpec(sites=6, mean_pages=20, hosts=Hosts.NAMES), 8400)
    found = party(web, web.seeds()[0], Scope.DOMAIN)
    assert len({web.target(url).site for url in found.pages}) > 3
    assert not found.external
    assert party(web, web.seeds()[0], Scope.HOST).external


def test_urls_of_other_webs_are_refused(web: SyntheticWeb) -> None:
    with pytest.raises(KeyError):
        party(web, "http://example.com/")


def test_a_dead_host_has_its_seed_and_nothing_else() -> None:
    web = SyntheticWeb(WebSpec(sites=200, mean_pages=10, dead_share=0.15), 8400)
    dead = [index for index in range(200) if web.site(index).dead]
    assert len(dead) == pytest.approx(30, abs=2)
    home = next(index for index in dead if web.site(index).alias_of is None)
    found = party(web, web.seeds_of(home)[0])
    assert found.dead == {found.home} == {web.seeds_of(home)[0]}
    assert not found.requested | found.external | found.denied
    led = next(index for index in range(200) if web.site(index).alias_of in dead and index not in dead)
    found = party(web, web.seeds_of(led)[0])
    assert found.redirects == {web.seeds_of(led)[0]}
    assert found.dead == {found.home}


def test_dead_hosts_are_spread_evenly_and_are_the_same_each_time() -> None:
    for share in (0.0, 0.05, 0.15, 1.0):
        spec = WebSpec(sites=2_000, dead_share=share)
        dead = [SyntheticWeb(spec, 8400).site(index).dead for index in range(2_000)]
        assert sum(dead) == pytest.approx(2_000 * share, abs=3)
        assert all(sum(dead[part : part + 100]) == pytest.approx(100 * share, abs=4) for part in range(0, 2_000, 100))
