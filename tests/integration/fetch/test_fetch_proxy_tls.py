"""A proxy that speaks TLS: its certificate is judged by the authorities, whatever is said of those of sites."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrawler.fetch.downloader import Request
from scrawler.model.proxy import Proxy
from scrawler.model.results import Result
from tests.integration.fetch.conftest import Make, drive
from tests.integration.fetch.servers import Certificates, RawServer, Visit


def refusing(visit: Visit) -> None:
    visit.request()
    visit.send(b"HTTP/1.1 403 no\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("trusted", [False, True])
def test_who_trusts_any_site_trusts_no_other_proxy(
    serve: Callable[..., RawServer], make: Make, certificates: Certificates, scheme: str, trusted: bool
) -> None:
    """One that is trusted hears its password, and one that is not hears nothing."""
    server = serve(refusing, tls=certificates.server_context())
    proxy = Proxy("https", "127.0.0.1", server.port, "me", "secret")
    ca_file = str(certificates.certificate) if trusted else None
    downloader = make(ca_file, tls_verify=False, proxy=proxy)
    [response] = drive(downloader, Request(f"{scheme}://site.example.test/", "192.0.2.1"))
    assert bool(server.heads) is trusted
    assert all(b"Proxy-Authorization: Basic" in head for head in server.heads)
    if not trusted:
        assert response.result is Result.CONNECT_FAILED
        assert response.detail.startswith(f"proxy {proxy}: ")
