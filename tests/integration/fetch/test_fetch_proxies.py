"""Through real proxies: what is asked goes through them, whole answers come back, and their own refusals are told."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scrawler.fetch.downloader import Request
from scrawler.model.proxy import Proxy
from scrawler.model.results import Result
from tests.integration.fetch.conftest import Make, drive
from tests.integration.fetch.servers import Certificates, RawServer, Visit, always, answer
from tests.real_proxies import PASSWORD, RealProxy, microsocks, tinyproxy

Serve = Callable[..., RawServer]


@pytest.fixture(scope="module", params=[tinyproxy, microsocks], ids=["http", "socks5h"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealProxy]:
    with request.param(tmp_path_factory.mktemp("proxy")) as running:
        yield running


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_a_page_comes_through_a_proxy_with_a_password(
    make: Make, serve: Serve, certificates: Certificates, proxy: RealProxy, tls: bool
) -> None:
    server = serve(always(answer(b"page", "200 OK", "X-Own: 1")), tls=certificates.server_context() if tls else None)
    before = proxy.told()
    downloader = make(proxy=proxy.proxy, ca_file=str(certificates.certificate))
    url = server.url("/%7ea?b=c|d", "localhost")
    first = drive(downloader, Request(url, "no.address"))[0]
    second = drive(downloader, Request(url, "no.address"))[0]
    for response in (first, second):
        assert (response.result, response.status, response.body) == (Result.FETCHED, 200, b"page"), response.detail
        assert response.head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert response.headers["x-own"] == "1"
        assert response.request_head.startswith(b"GET /%7ea?b=c|d HTTP/1.1\r\nHost: localhost")
        assert PASSWORD.encode() not in response.request_head
    assert len(server.heads) == 2
    assert all(b"Proxy-Authorization" not in head for head in server.heads)
    assert all(head.startswith(b"GET /%7ea?b=c|d HTTP/1.") for head in server.heads)
    assert proxy.told() != before


def test_a_proxy_over_tls_is_trusted_by_the_authorities_that_are_given(
    make: Make, serve: Serve, certificates: Certificates
) -> None:
    server = serve(always(answer(b"page")), tls=certificates.server_context())
    proxy = Proxy("https", "localhost", server.port, "me", PASSWORD)
    request = Request("http://a.example/x", "")
    response = drive(make(proxy=proxy, ca_file=str(certificates.certificate)), request)[0]
    assert (response.result, response.body) == (Result.FETCHED, b"page"), response.detail
    assert server.heads[0].startswith(b"GET http://a.example/x HTTP/1.1\r\n")
    unknown = drive(make(proxy=proxy), request)[0]
    assert unknown.result is not Result.FETCHED
    assert len(server.heads) == 1, "a proxy that nobody vouches for is told nothing"


def test_names_of_files_users_and_passwords_may_hold_any_letters(
    make: Make, serve: Serve, certificates: Certificates, tmp_path: Path
) -> None:
    file = tmp_path / "f\u00fcr_\u4e2d.pem"
    file.write_bytes(Path(certificates.certificate).read_bytes())
    server = serve(always(answer(b"page")), tls=certificates.server_context())
    proxy = Proxy("https", "localhost", server.port, "j\u00fcrgen", PASSWORD)
    response = drive(make(proxy=proxy, ca_file=str(file)), Request("http://a.example/x", ""))[0]
    assert (response.result, response.body) == (Result.FETCHED, b"page"), response.detail
    assert f"Proxy-Authorization: {proxy.authorization}\r\n".encode() in server.heads[0]


def test_a_wrong_password_is_the_proxy_s_answer_and_no_page(make: Make, serve: Serve, proxy: RealProxy) -> None:
    """Asked for a page without TLS, tinyproxy gives a 401, as if it were the site: that nobody can tell."""
    server = serve(always(answer()))
    wrong = dataclasses.replace(proxy.proxy, password="wrong")
    response = drive(make(proxy=wrong), Request(server.url(host="localhost").replace("http:", "https:"), ""))[0]
    assert response.result is Result.CONNECT_FAILED
    assert (response.status, response.head, response.body, response.request_head) == (0, b"", b"", b"")
    assert "proxy " in response.detail
    assert "wrong" not in response.detail.replace("are wrong", "")
    assert server.connections == 0


def test_a_site_behind_a_tunnel_speaks_for_itself(
    make: Make, serve: Serve, certificates: Certificates, proxy: RealProxy
) -> None:
    server = serve(always(answer(b"no", "407 Proxy Authentication Required")), tls=certificates.server_context())
    downloader = make(proxy=proxy.proxy, ca_file=str(certificates.certificate))
    response = drive(downloader, Request(server.url(host="localhost"), ""))[0]
    assert (response.result, response.status, response.body) == (Result.HTTP_ERROR, 407, b"no")


@pytest.mark.parametrize("target", ["http", "https"])
def test_a_proxy_that_is_not_there_or_wants_a_password_is_told(make: Make, serve: Serve, target: str) -> None:
    wants = serve(always(answer(b"no", "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="x"')))
    gone = serve(always(answer()))
    gone.stop()
    for server in (wants, gone):
        proxy = Proxy("http", "127.0.0.1", server.port)
        response = drive(make(proxy=proxy), Request(f"{target}://a.example/", ""))[0]
        assert response.result is Result.CONNECT_FAILED, response.detail
        assert (response.status, response.head, response.request_head) == (0, b"", b"")


@pytest.mark.parametrize("target", ["http", "https"])
def test_a_proxy_is_told_our_user_agent_and_nothing_that_is_for_the_site(make: Make, serve: Serve, target: str) -> None:
    refuses = serve(always(answer(b"no", "403 Forbidden")))
    given = (("X-Key", "secret"), ("User-Agent", "given/1")) if target == "https" else ()
    downloader = make(
        proxy=Proxy("http", "127.0.0.1", refuses.port), user_agent="me/1 (+http://m.example)", headers=given
    )
    drive(downloader, Request(f"{target}://a.example/", ""))
    lines = refuses.heads[0].split(b"\r\n")
    assert lines[0].startswith(b"CONNECT " if target == "https" else b"GET ")
    assert [line for line in lines if line.lower().startswith(b"user-agent:")] == [
        b"User-Agent: me/1 (+http://m.example)"
    ]
    assert b"X-Key" not in refuses.heads[0]


@pytest.mark.parametrize("target", ["http", "https"])
def test_a_proxy_that_hangs_or_closes_ends_in_time(make: Make, serve: Serve, target: str) -> None:
    def hangs(visit: Visit) -> None:
        visit.request()
        visit.hang()

    def closes(visit: Visit) -> None:
        visit.request()

    for script, results in ((hangs, {Result.TIMEOUT}), (closes, {Result.CUT, Result.CONNECT_FAILED})):
        proxy = Proxy("http", "127.0.0.1", serve(script).port)
        response = drive(make(proxy=proxy, timeout=0.5, connect_timeout=0.5), Request(f"{target}://a.example/", ""))[0]
        assert response.result in results | ({Result.TLS_FAILED} if target == "https" else set()), response.detail


def test_hosts_with_limits_of_their_own_are_asked_by_them(make: Make, serve: Serve, proxy: RealProxy) -> None:
    """One downloader asks some hosts through a proxy, others not, and mixes nothing up."""
    server = serve(always(answer()))
    downloader = make()
    limits: Any = downloader._limits  # type: ignore[attr-defined]
    own = dataclasses.replace(limits, proxy=proxy.proxy, user_agent="own/1.0")
    for number in range(6):
        request = Request(server.url(host="localhost"), "127.0.0.1", limits=own if number % 2 else None)
        assert drive(downloader, request)[0].result is Result.FETCHED
    agents = [b"own/1.0" in head for head in server.heads]
    assert agents == [False, True] * 3


def test_a_proxy_never_shows_its_password(tmp_path: Path) -> None:
    proxy = Proxy("http", "p.example", 3128, "me", PASSWORD)
    assert str(proxy) == "http://me:***@p.example:3128"
    assert PASSWORD not in repr(proxy)
