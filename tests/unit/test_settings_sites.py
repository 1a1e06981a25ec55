"""Settings of single hosts: what a table stands for, which one counts, what may stand in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrawler.core.rules import HostRules, tables_of_site, tables_of_url
from scrawler.errors import SettingsError
from scrawler.features.plan.inputs import Gatherer, Limits, own_rules
from scrawler.features.plan.rules import PlanRules
from scrawler.settings import Settings, is_by_host, live_text, load_settings, of_tables, sites, tables_for, with_live
from scrawler.settings.sites import HostPattern, read_pattern
from tests.tables import each

TABLES = {
    "example.org": {"delay": 1},
    "*.example.org": {"delay": 2},
    "*.a.example.org": {"delay": 3},
    "b.a.example.org:8080": {"delay": 4},
    "127.0.0.1": {"delay": 5},
    "[::1]": {"delay": 6},
    "xn--bcher-kva.example": {"delay": 7},
}


@each(
    ("url", "delay"),
    [
        ("https://example.org/", 1),
        ("http://example.org:81/x", 1),
        ("http://example.org./x", 1),
        ("https://www.example.org/", 2),
        ("https://x.y.example.org/", 2),
        ("https://a.example.org/", 2),
        ("https://b.a.example.org/", 3),
        ("http://b.a.example.org:8080/", 4),
        ("http://127.0.0.1:8088/", 5),
        ("http://[::1]:8088/", 6),
        ("http://xn--bcher-kva.example/", 7),
        ("https://notexample.org/", 9),
        ("https://org/", 9),
    ],
)
def test_the_most_specific_table_counts(url: str, delay: float) -> None:
    settings = Settings(delay=9, sites=TABLES)
    assert of_tables(settings, tables_of_url(settings, url)).delay == delay


def test_a_table_is_known_however_its_host_is_written() -> None:
    written = ["EXAMPLE.org", "*.Bücher.example", "0x7f.1", "[0:0::1]:81", "dot.example."]
    read = Settings(sites={name: {"delay": 1} for name in written}).sites
    assert list(read) == ["example.org", "*.xn--bcher-kva.example", "127.0.0.1", "[::1]:81", "dot.example"]


def test_a_setting_that_a_table_does_not_name_comes_from_a_less_specific_one() -> None:
    settings = Settings(
        sites={"a.example.org": {"delay": 5}, "*.example.org": {"delay": 3, "per_site": 2}}, max_pages=7
    )
    found = of_tables(settings, tables_of_url(settings, "https://a.example.org/"))
    assert (found.delay, found.per_site, found.max_pages) == (5, 2, 7)


def test_of_a_host_s_ports_that_of_a_site_is_told_by_its_key() -> None:
    settings = Settings(sites={"a.example:443": {"delay": 2}, "a.example:8443": {"delay": 3}})
    assert tables_of_site(settings, "a.example") == ("a.example:443",)
    assert tables_of_site(settings, "a.example:8443") == ("a.example:8443",)
    assert tables_of_url(settings, "http://a.example/") == ()


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[sites."example.org"]\nmachines = 3', 'sites."example.org"]: machines holds for the whole crawl'),
        ('[sites."example.org"]\ndely = 3', "unknown key 'dely'"),
        ('[sites."example.org"]\ndelay = "much"', "delay = 'much' is not allowed, only a time such as"),
        ('[sites."example.org"]\ndelay = true', "delay = True is not allowed, only a time such as"),
        ('[sites."*"]\ndelay = 3', "all hosts below a domain only"),
        ('[sites."a.*.org"]\ndelay = 3', "all hosts below a domain only"),
        ('[sites."https://example.org/"]\ndelay = 3', "only a host is wanted"),
        ('[sites."*.127.0.0.1"]\ndelay = 3', "no host is below an IP address"),
        ('[sites.""]\ndelay = 3', "all hosts below a domain only"),
        ('[sites."a b"]\ndelay = 3', "not a host"),
        ('[sites."A.example"]\ndelay = 3\n[sites."a.example"]\ndelay = 3', "a.example is given twice"),
        ('[sites."*.co.uk"]\npassword = "topsecret"', "password would be sent to hosts of many people"),
        ('[sites."*.com"]\nheader = ["X: topsecret"]', "header would be sent to hosts of many people"),
        ('[sites."http://a.example"]\ndelay = 3', "delay holds for http and https alike"),
        ('[sites."a.example"]\nheader = ["topsecret"]', "header = *** is not allowed, only headers such as"),
        ('[sites."a.example"]\nheader = ["Cookie: topsecret"]', "no Cookie (see cookie_file)"),
        ('[sites."a.example"]\nproxy = "ftp://x:topsecret@y"', "proxy = *** is not allowed, only the URL of a proxy"),
        ('password = "topsecret"', "password = *** is not allowed, only a password, in the table of a host"),
        ('header = ["Authorization: topsecret"]', "header = *** is not allowed"),
        ('proxy = "ftp://x:topsecret@y"', "proxy = *** is not allowed"),
        ("sites = 3", "sites holds tables of hosts"),
        ("[sites]\ndelay = 3", "sites holds tables of hosts"),
        ('[sites."example.org".sites."b"]\ndelay = 3', "unknown key 'sites'"),
    ],
)
def test_what_cannot_stand_in_a_table_is_one_clear_line(tmp_path: Path, toml: str, words: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(toml)
    with pytest.raises(SettingsError) as told:
        load_settings({}, file)
    assert words in str(told.value)
    assert str(told.value).startswith(str(file))
    assert "\n" not in str(told.value)
    assert "topsecret" not in str(told.value)


def test_the_settings_of_hosts_come_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('delay = "3s"\n[sites."example.org"]\ndelay = "5s"\nmax_body = "1MiB"\naccept = "text/html"')
    table = load_settings({}, file).sites["example.org"]
    assert table == {"delay": 5.0, "max_body": 1 << 20, "accept": ("text/html",)}


def test_tables_are_read_once_for_all_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {f"h{number}.org": {"delay": 1.0} for number in range(50)}
    other = {**tables, "a.org": {"delay": 2.0}}
    read: list[str] = []

    def noted(name: str) -> HostPattern:
        read.append(name)
        return read_pattern(name)

    monkeypatch.setattr(sites, "read_pattern", noted)
    monkeypatch.setattr(sites, "_read_tables", {})  # it is emptied when it is full
    for number in range(100):
        assert tables_for(tables, f"h{number}.org", (443,)) == ((f"h{number}.org",) if number < 50 else ())
        assert tables_for(other, "a.org", (443,)) == ("a.org",)
    assert sorted(read) == sorted([*tables, *other])


def test_what_must_not_be_read_on_its_way_goes_without_tls_only_where_that_is_said() -> None:
    tables = {"a.example": {"user": "me", "header": ["X: 1"], "delay": 2}, "http://b.example": {"header": ["X: 2"]}}
    hosts = HostRules(Settings(sites=tables, header=["Y: 3"]))

    def headers(origin: str) -> tuple[tuple[str, str], ...]:
        fetch = hosts.fetch_at(origin, hosts.of_origin(origin), "")
        assert fetch is not None
        return fetch.headers

    assert [name for name, _ in headers("https://a.example")] == ["X", "Authorization"]
    assert headers("http://a.example") == (("Y", "3"),)
    assert headers("http://b.example") == (("X", "2"),)
    assert headers("https://b.example") == (("Y", "3"),)
    assert headers("https://c.example") == (("Y", "3"),)


def test_hosts_of_the_same_tables_share_their_rules_and_all_others_have_none() -> None:
    hosts = HostRules(Settings(sites={"*.example.org": {"delay": 5}}))
    first, second = hosts.of_site("a.example.org"), hosts.of_origin("https://b.example.org")
    assert first is second
    assert first is not None
    assert first.delay == 5
    assert hosts.of_site("example.com") is None
    assert not HostRules(Settings()).any


def test_live_settings_change_the_rules_of_hosts_in_place() -> None:
    settings = Settings(delay=1, per_site=1, sites={"a.example": {"delay": 5}})
    hosts = HostRules(settings)
    own = hosts.of_site("a.example")
    assert own is not None
    fetch = own.fetch
    assert not hosts.change_to(with_live(settings, {"delay": 2, "per_site": 3}))
    assert (hosts.shared.delay, own.delay, own.per_site) == (2, 5, 3)
    assert own.fetch is fetch, "downloaders know it by its identity"
    live = {"sites": {"a.example": {"delay": 7}, "b.example": {"delay": 8}}}
    assert hosts.change_to(with_live(settings, live))
    other = hosts.of_site("b.example")
    assert other is not None
    assert (own.delay, other.delay, hosts.shared.delay) == (7, 8, 1)
    assert hosts.change_to(settings)
    assert (own.delay, other.delay) == (5, 1)


def test_a_site_may_rest_as_long_as_the_rules_of_any_host_say() -> None:
    assert HostRules(Settings(max_retry_after=60, sites={"a.example": {"delay": 7200}})).longest_rest_ms == 7_200_000


def test_every_setting_of_politeness_may_stand_in_a_table_and_those_of_machines_may_not() -> None:
    assert all(map(is_by_host, ("delay", "per_site", "delay_factor", "robots", "timeout", "max_pages", "insecure")))
    assert not any(map(is_by_host, ("db", "machines", "per_ip", "scope", "hops", "pages_dir", "allow_private")))


def test_what_is_set_for_a_host_is_told_with_its_name() -> None:
    assert live_text({"delay": 2.0, "sites": {"a.example": {"max_bytes": 1024}}}) == {
        "delay": "2s",
        "a.example:max_bytes": "1KiB",
    }


def test_the_plan_knows_the_rules_of_hosts() -> None:
    settings = Settings(delay=1, sites={"slow.example": {"delay": 10, "max_pages": 5, "robots": False}})
    gatherer = Gatherer((), Limits("x", 60, None), None, 0.1, own_rules(settings, "x"))
    made = gatherer.sites({"slow.example": 1, "other.example": 1})
    rules = PlanRules(delay=1, robots=True)
    slow, other = made.sites
    assert sum(slow.requests) == 5
    assert (rules.requests(slow), rules.requests(other)) == (5, sum(other.requests) + 1)
    assert rules.pause(slow) == 10
    assert rules.pause(other) == 1


def test_files_are_read_once_and_may_be_gone_while_the_crawl_runs(tmp_path: Path) -> None:
    netrc, cookies = tmp_path / "netrc", tmp_path / "cookies.txt"
    netrc.write_text("machine a.example login u password topsecret\n")
    cookies.write_text("a.example\tFALSE\t/\tFALSE\t0\tn\ttopsecret\n")
    settings = Settings(netrc=netrc, cookie_file=cookies, sites={"b.example": {"delay": 5}})
    hosts = HostRules(settings)
    netrc.unlink()
    cookies.unlink()
    own = hosts.of_site("b.example")
    assert own is not None
    hosts.change_to(with_live(settings, {"delay": 2, "sites": {"c.example": {"delay": 3}}}))
    assert (hosts.shared.delay, own.delay) == (2, 5)
    assert own.fetch.cookies is hosts.shared.fetch.cookies, "they are kept once for all tables"
    assert hosts.fetch_at("https://a.example", hosts.of_origin("https://a.example"), "") is not None
    assert "topsecret" not in repr((hosts.shared, own.fetch, own.fetch.cookies))


def test_a_table_may_be_taken_back_while_somebody_asks_for_it() -> None:
    settings = Settings()
    hosts = HostRules(with_live(settings, {"sites": {"a.example": {"delay": 5}}}))

    class Key(str):
        __slots__ = ()

        def __format__(self, spec: str) -> str:
            hosts.change_to(settings)
            return str(self)

    assert hosts.of_site(Key("a.example")) is not None
    hosts.change_to(settings)
    assert hosts.of_site("a.example") is None
