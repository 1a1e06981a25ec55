"""Crawls through proxies: hosts whose names only the proxy knows, and what the environment says."""

from __future__ import annotations

import gzip
import socket
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from scrawler.errors import SettingsError
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.model.proxy import Proxy, read_proxy
from scrawler.model.results import Result
from scrawler.model.seeds import EndReason
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.fetch.servers import RawServer, Visit, path_of

Serve = Callable[..., RawServer]

NAMES = ("one.invalid", "two.invalid")  # names that no DNS knows (RFC 6761)


def knows_all(visit: Visit) -> None:
    """A proxy to a web of sites of three pages each; what is no whole URL is not for a proxy."""
    while head := visit.request():
        url = path_of(head)
        path = url.partition("//")[2].partition("/")[2] if url.startswith("http://") else "none"
        visit.send({"": page(url, links=("/1", "/2")), "1": page(url + "1"), "2": page("2")}.get(path, NOT_FOUND))


def hosts(server: RawServer) -> Counter[str]:
    return Counter(path_of(head).partition("//")[2].partition("/")[0] for head in server.heads)


@pytest.mark.parametrize("profile", ["default", "classic"])
def test_hosts_whose_names_only_the_proxy_knows_are_crawled(crawl: Crawl, serve: Serve, profile: str) -> None:
    proxy = serve(knows_all)
    crawl.add(f"http://{name}/" for name in (*NAMES, "other.invalid"))
    own = {"other.invalid": {"proxy": "direct"}}
    crawl.run(proxy=f"http://127.0.0.1:{proxy.port}", profile=profile, per_ip=1, sites=own, outage_patience=0)
    ended = {seed.url: (seed.end_reason, seed.counts.pages) for seed in crawl.seeds()}
    assert [ended[f"http://{name}/"] for name in NAMES] == [(EndReason.COMPLETED, 3)] * 2
    assert ended["http://other.invalid/"][0] is EndReason.NO_ADDRESS
    assert hosts(proxy) == dict.fromkeys(NAMES, 4)
    archived = b"".join(gzip.decompress(file.read_bytes()) for file in (crawl.folder / "pages").glob("*.warc.gz"))
    assert archived.count(b"WARC-Type: response") == 8
    assert b"WARC-IP-Address" not in archived
    assert b"GET / HTTP/1.1\r\nHost: one.invalid\r\n" in archived
    crawl.check()


def test_the_environment_s_proxy_is_honoured_but_not_for_loopback(
    crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, site = serve(knows_all), serve(lambda visit: visit.send(page("own")) if visit.request() else None)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("no_proxy", "sub.invalid,two.invalid")
    here = [site.url(), site.url(host="localhost"), site.url(host="named.example")]
    crawl.add([*here, "http://one.invalid/", "http://two.invalid/", "http://below.sub.invalid/"])
    crawl.run(resolve=["named.example=127.0.0.1"], outage_patience=0)
    pages = {seed.url: seed.counts.pages for seed in crawl.seeds()}
    assert [pages[url] for url in here] == [1, 1, 1]
    assert pages["http://one.invalid/"] == 3
    assert hosts(proxy) == {"one.invalid": 4}


def test_no_proxy_at_all_can_be_asked_for(crawl: Crawl, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(knows_all)
    monkeypatch.setenv("all_proxy", f"http://127.0.0.1:{proxy.port}")
    crawl.add(["http://one.invalid/"])
    crawl.run(proxy="direct", outage_patience=0)
    assert proxy.connections == 0


def test_the_guard_holds_behind_a_proxy(crawl: Crawl, serve: Serve) -> None:
    proxy = serve(knows_all)
    crawl.add(["http://10.0.0.1/", "http://inside.example/", "http://169.254.169.254/"])
    crawl.run(proxy=f"http://127.0.0.1:{proxy.port}", allow_private=False, resolve=["inside.example=192.168.0.1"])
    assert {row.result for row in crawl.pages()} == {Result.PRIVATE_ADDRESS}
    assert proxy.connections == 0


@pytest.mark.parametrize(
    ("no_proxy", "host", "port", "through"),
    [
        ("", "a.example", 80, True),
        ("a.example", "a.example", 80, False),
        (" .Example ", "a.example", 80, False),
        ("*.example", "a.example", 80, False),
        ("b.example", "ab.example", 80, True),
        ("a.example:80", "a.example", 80, False),
        ("a.example:8080", "a.example", 80, True),
        ("x,*", "a.example", 80, False),
        ("10.0.0.0/8", "10.1.2.3", 80, False),
        ("10.0.0.0/8", "11.1.2.3", 80, True),
        ("[fd00::1]", "fd00::1", 80, False),
        ("fd00::1", "fd00::1", 80, False),
        ("[fd00::1]:81", "fd00::1", 80, True),
        ("a.example b.example", "x.b.example", 80, False),
        ("", "localhost", 80, False),
        ("", "x.localhost.", 80, False),
        ("", "127.3.4.5", 80, False),
        ("", "::1", 80, False),
        ("", "::ffff:127.0.0.1", 80, False),
    ],
)
def test_for_which_hosts_the_environment_wants_no_proxy(no_proxy: str, host: str, port: int, through: bool) -> None:
    environment = EnvironmentProxies.of({"http_proxy": "p.example:3128", "no_proxy": no_proxy})
    assert (environment.proxy_for("http", host, port, "") is not None) is through
    assert environment.proxy_for("http", host, port, "127.0.0.1") is None
    assert environment.proxy_for("https", host, port, "") is None


def test_which_variables_of_the_environment_count() -> None:
    environment = EnvironmentProxies.of(
        {
            "HTTP_PROXY": "http://evil.example",
            "HTTPS_PROXY": "http://me:secret@p.example",
            "ALL_PROXY": "socks5h://s.example",
        }
    )
    assert [(name, str(proxy)) for name, proxy in environment.named()] == [
        ("ALL_PROXY", "socks5h://s.example:1080"),
        ("HTTPS_PROXY", "http://me:***@p.example:80"),
    ]
    with pytest.raises(SettingsError) as told:
        EnvironmentProxies.of({"http_proxy": "ftp://me:secret@p.example"})
    assert "http_proxy of the environment is no proxy" in str(told.value)
    assert "secret" not in str(told.value)


def test_how_a_proxy_is_written() -> None:
    assert read_proxy("direct") is None
    assert read_proxy("p.example:3128") == Proxy("http", "p.example", 3128)
    assert read_proxy("https://a%40b:c%3Ad@[::1]/") == Proxy("https", "::1", 443, "a@b", "c:d")
    for wrong in ("", "socks4://x", "http://", "http://x:y", "http://x/path", "http://x y", "http://a:b%0d@x"):
        with pytest.raises(ValueError):  # noqa: PT011
            read_proxy(wrong)


@pytest.mark.parametrize("text", ["http://me:s3cret/word@p.example", "http://me:s3cret\u2100@p.example"])
def test_what_is_wrong_with_a_proxy_is_told_without_its_password(text: str) -> None:
    with pytest.raises(ValueError, match="not the URL of a proxy") as told:
        read_proxy(text)
    assert "s3cret" not in "".join(traceback.format_exception(told.value))


def test_no_secret_of_a_proxy_is_told_or_written(crawl: Crawl, serve: Serve, tmp_path: Path) -> None:
    proxy = serve(knows_all)
    crawl.add(["http://one.invalid/"])
    crawl.run(proxy=f"http://me:s3cret-word@127.0.0.1:{proxy.port}", outage_patience=0)
    assert b"Proxy-Authorization: Basic" in proxy.heads[0]
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) > 2
    for file in written:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        assert b"s3cret-word" not in data
        assert b"Proxy-Authorization" not in data


@pytest.mark.parametrize("profile", ["default", "classic"])
@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_seeds_that_a_proxy_has_cost_are_counted(crawl: Crawl, profile: str, scheme: str) -> None:
    crawl.add(f"http://{name}/" for name in NAMES)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        place = f"{scheme}://127.0.0.1:{nobody.getsockname()[1]}"
        seeds, detail = crawl.run(proxy=place, profile=profile, retries=0, outage_patience=0).dead_at_proxies
    assert seeds == 2
    assert f"proxy {place}: " in detail
