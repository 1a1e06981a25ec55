from __future__ import annotations

import time
from statistics import mean

import ada_url
import pytest

from scrawler.errors import SettingsError
from scrawler.features.synthweb.site import SiteSizes
from scrawler.features.synthweb.spec import Hosts, WebSpec
from scrawler.features.synthweb.web import Kind, SyntheticWeb, Target


def sizes(spec: WebSpec) -> list[int]:
    return [SiteSizes(spec).pages(site) for site in range(spec.sites)]


def test_sizes_are_heavy_tailed_and_have_the_mean() -> None:
    spec = WebSpec(sites=2_000, mean_pages=100)
    drawn = sorted(sizes(spec))
    assert mean(drawn) == pytest.approx(100, rel=0.05)
    assert drawn[-1] > 20 * drawn[1_000]
    assert drawn[-1] <= 5_000


def test_sizes_do_not_follow_the_order_of_sites() -> None:
    drawn = sizes(WebSpec(sites=3_000, mean_pages=100))
    assert [mean(drawn[first::3]) for first in range(3)] == pytest.approx([100] * 3, rel=0.4)
    assert mean(drawn[:1_500]) == pytest.approx(100, rel=0.4)


def test_equal_sizes() -> None:
    assert set(sizes(WebSpec(sites=40, mean_pages=123, equal=True))) == {123}


def test_largest_site_is_bounded() -> None:
    assert max(sizes(WebSpec(sites=500, mean_pages=100, max_pages=300))) <= 300


@pytest.mark.parametrize("hosts", list(Hosts))
def test_every_target_is_found_under_its_url(hosts: Hosts) -> None:
    web = SyntheticWeb(WebSpec(sites=5, mean_pages=30, equal=True, hosts=hosts), 8400)
    targets = [
        Target(site, kind, number)
        for site in range(5)
        for kind in Kind
        for number in range(30)
        if kind is not Kind.MISSING and (kind is not Kind.MOVED or number % 8 == 0)
    ]
    urls = [web.url(target) for target in targets]
    assert len(set(urls)) == len(urls)
    assert [web.target(url) for url in urls] == targets
    assert [ada_url.normalize_url(url) for url in urls] == urls


@pytest.mark.parametrize(
    "path", ["/t1/p1.html", "/t1/s1/p01.html", "/private/p1.html", "/old/1.pdf", "/old/30", "/gone/1.html"]
)
def test_other_spellings_of_a_path_are_missing(path: str) -> None:
    web = SyntheticWeb(WebSpec(sites=2, mean_pages=30, equal=True))
    assert web.locate(0, path) is None


def test_hosts_are_told_by_address_and_by_name() -> None:
    web = SyntheticWeb(WebSpec(sites=300), 8400)
    assert web.site_at("127.10.1.1:8400") == 256
    assert web.site_at("SITE12.synth.test") == 12
    assert web.site_at("127.10.1.45") is None
    assert web.site_at("site300.synth.test:8400") is None
    assert web.site_at("example.com") is None
    assert web.addresses()["site299.synth.test"] == "127.10.1.44"


def test_ports_tell_sites_apart() -> None:
    web = SyntheticWeb(WebSpec(sites=3, hosts=Hosts.PORTS), 8400)
    assert web.seeds() == ["http://127.0.0.1:8400/", "http://127.0.0.1:8401/", "http://127.0.0.1:8402/"]
    assert [web.site_at(f"127.0.0.1:{port}") for port in (8399, 8400, 8402, 8403)] == [None, 0, 2, None]


def test_links_have_the_wanted_mean_and_a_tail() -> None:
    web = SyntheticWeb(WebSpec(sites=3, mean_pages=3_000, equal=True, links=20))
    counts = [len(web.links(web.site(1), page)) for page in range(3_000)]
    assert mean(counts) == pytest.approx(20, rel=0.05)
    assert max(counts) > 80


def test_latencies_are_heavy_tailed_and_have_the_mean() -> None:
    web = SyntheticWeb(WebSpec(sites=3_000, latency_ms=50))
    drawn = sorted(web.site(site).latency_s for site in range(3_000))
    assert mean(drawn) == pytest.approx(0.05, rel=0.1)
    assert drawn[-1] > 10 * drawn[1_500]


def test_latencies_without_spread_are_alike() -> None:
    web = SyntheticWeb(WebSpec(sites=50, latency_ms=50, latency_spread=0))
    assert {web.site(site).latency_s for site in range(50)} == {0.05}


def waits(web: SyntheticWeb) -> list[list[float]]:
    numbers = range(web.spec.mean_pages)
    return [[web.wait_s(Target(site, Kind.PAGE, page)) for page in numbers] for site in range(web.spec.sites)]


def test_slow_pages_have_their_share_and_are_all_in_some_sites() -> None:
    spec = WebSpec(sites=40, mean_pages=500, equal=True, slow_share=0.1, slow_sites=0.25, slow_ms=6_000)
    by_site = waits(SyntheticWeb(spec))
    slow = [[wait for wait in of_one if wait] for of_one in by_site]
    assert sum(map(bool, slow)) == 10
    assert sum(map(len, slow)) == pytest.approx(0.1 * 40 * 500, rel=0.1)
    times = [wait for of_one in slow for wait in of_one]
    assert mean(times) == pytest.approx(6, rel=0.05)
    assert min(times) >= 3
    assert max(times) > 15
    assert waits(SyntheticWeb(spec)) == by_site


def test_only_pages_are_slow() -> None:
    web = SyntheticWeb(WebSpec(sites=1, mean_pages=50, latency_ms=20, latency_spread=0, slow_share=1, slow_sites=1))
    assert {web.wait_s(Target(0, kind, 7)) for kind in Kind if kind is not Kind.PAGE} == {0.02}
    assert web.wait_s(Target(0, Kind.PAGE, 7)) >= 4


def test_the_millionth_page_costs_nothing_to_reach() -> None:
    web = SyntheticWeb(WebSpec(sites=1, mean_pages=1_000_000, page_bytes=1_000, hidden=0))
    begun = time.process_time()
    links = web.links(web.site(0), 999_999)
    assert time.process_time() - begun < 5  # of CPU; a millisecond, and seconds to walk there
    assert links[1].target.number == 333_332
    assert web.target(web.url(Target(0, Kind.PAGE, 999_999))).number == 999_999


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"sites": 0}, "--sites is 0"),
        ({"links": 2}, "--links is 2"),
        ({"hidden": 0.7}, "--hidden is 0.7"),
        ({"max_pages": 3}, "--max-pages 3 is below --mean-pages 40$"),
        ({"alias_every": 1}, "--alias-every is 1"),
        ({"slow_share": 0.3}, "--slow-share 0.3 is above --slow-sites 0.25"),
        ({"bandwidth": -1}, "--bandwidth is -1"),
    ],
)
def test_numbers_out_of_range_are_one_clear_error(values: dict[str, int], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        WebSpec(**values)  # type: ignore[arg-type]
