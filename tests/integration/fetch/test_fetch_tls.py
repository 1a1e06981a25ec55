"""Both downloaders over TLS; HTTP/2 for the one that speaks it."""

from __future__ import annotations

import ssl

import pytest

from scrawler.fetch.downloader import Request
from scrawler.model.results import Result
from tests.integration.fetch.conftest import drive
from tests.integration.fetch.servers import always, answer


@pytest.fixture
def secure(serve, certificates):
    return serve(always(answer(b"secret")), tls=certificates.server_context())


def test_a_trusted_certificate_of_the_urls_host(secure, fetch, certificates):
    response = fetch(secure.url("/", "www.example.test"), ca_file=str(certificates.certificate))
    assert (response.result, response.body) == (Result.FETCHED, b"secret")
    assert response.request_head == secure.heads[0]
    assert fetch(secure.url(), ca_file=str(certificates.certificate)).result is Result.FETCHED


def test_a_certificate_of_another_host(secure, fetch, certificates):
    response = fetch(secure.url("/", "www.other.test"), ca_file=str(certificates.certificate))
    assert response.result is Result.TLS_FAILED
    assert response.detail
    assert secure.heads == []


def test_a_certificate_nobody_signed(secure, fetch):
    assert fetch(secure.url("/", "www.example.test")).result is Result.TLS_FAILED
    assert secure.heads == []


def test_verification_can_be_switched_off(secure, fetch):
    assert fetch(secure.url("/", "www.other.test"), tls_verify=False).result is Result.FETCHED


def test_the_name_goes_to_the_server(serve, certificates, fetch):
    names: list[str | None] = []
    context = certificates.server_context()
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    server = serve(always(answer()), tls=context)
    assert fetch(server.url("/", "www.example.test"), ca_file=str(certificates.certificate)).result is Result.FETCHED
    assert names == ["www.example.test"]


def test_tls_connections_are_kept(secure, make, certificates):
    downloader = make(ca_file=str(certificates.certificate))
    for _ in range(5):
        assert drive(downloader, Request(secure.url(), "127.0.0.1"))[0].result is Result.FETCHED
    assert secure.connections == 1


def test_http2(make_curl, certificates, http2_port):
    downloader = make_curl(ca_file=str(certificates.certificate))
    url = f"https://www.example.test:{http2_port}/page"
    for response in drive(downloader, *(Request(f"{url}?{n}", "127.0.0.1") for n in range(20))):
        assert response.result is Result.FETCHED
        assert response.body == bytes(range(256)) * 128
        assert response.head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert response.head.endswith(b"\r\n\r\n")
        assert b"server: nginx" in response.head  # lower case: it was HTTP/2 indeed
        assert response.headers["content-length"] == "32768"
        assert response.request_head.startswith(b"GET /page?")


def test_http2_faults_and_redirects(make_curl, certificates, http2_port):
    downloader = make_curl(ca_file=str(certificates.certificate))
    base = f"https://localhost:{http2_port}"
    large, unwanted, moved, missing, page = (
        drive(downloader, request)[0]
        for request in (
            Request(f"{base}/page", "127.0.0.1", max_body=1000),
            Request(f"{base}/page", "127.0.0.1", accept=("text/html",), cookie="a=1"),
            Request(f"{base}/moved", "127.0.0.1"),
            Request(f"{base}/missing", "127.0.0.1"),
            Request(f"{base}/page", "127.0.0.1"),
        )
    )
    assert (large.result, len(large.body)) == (Result.TOO_LARGE, 1000)
    assert (unwanted.result, unwanted.body, unwanted.content_type) == (Result.UNWANTED_TYPE, b"", "text/plain")
    assert (moved.result, moved.status) == (Result.REDIRECT, 301)
    assert moved.headers["location"].endswith("/page")
    assert missing.head.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert page.result is Result.FETCHED


def test_requests_speaks_http1_with_the_same_server(make, certificates, http2_port):
    downloader = make(ca_file=str(certificates.certificate))
    response = drive(downloader, Request(f"https://localhost:{http2_port}/page", "127.0.0.1"))[0]
    assert (response.result, len(response.body)) == (Result.FETCHED, 32768)
    assert response.head.startswith(b"HTTP/1.1 200")


def test_how_an_answer_came_is_known(secure, serve, make, certificates):
    downloader = make(ca_file=str(certificates.certificate))
    for number in range(3):  # over one connection, which libcurl tells of once
        response = drive(downloader, Request(secure.url(f"/{number}"), "127.0.0.1"))[0]
        assert response.protocols == ("http/1.1", "tls/1.3", "TLS_AES_256_GCM_SHA384")
    context = certificates.server_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    older = serve(always(answer(status="200 OK").replace(b"HTTP/1.1", b"HTTP/1.0")), tls=context)
    older_ones = "http/1.0", "tls/1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    assert drive(downloader, Request(older.url(), "127.0.0.1"))[0].protocols == older_ones
    plain = serve(always(answer()))
    assert drive(downloader, Request(plain.url(), "127.0.0.1"))[0].protocols == ("http/1.1", "", "")


def test_http2_is_known(make_curl, certificates, http2_port):
    downloader = make_curl(ca_file=str(certificates.certificate))
    response = drive(downloader, Request(f"https://www.example.test:{http2_port}/page", "127.0.0.1"))[0]
    assert response.head.startswith(b"HTTP/1.1 200")
    assert (response.protocols.http, response.protocols.tls) == ("h2", "tls/1.2")  # as that server has it
