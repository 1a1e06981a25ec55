"""A web whose time is what a file says, over HTTP: the file is written, and pages have changed."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import Hosts, Validators, WebSpec
from tests.integration.synthweb.test_server import free_ports
from tests.limits import HANGS


def test_a_page_is_known_until_it_changes(tmp_path: Path) -> None:
    clock = tmp_path / "now"
    clock.write_text("0")
    spec = WebSpec(sites=2, changes=1, validators=Validators.TRUE, hosts=Hosts.PORTS, epoch=1e9)
    with SynthServer(spec, free_ports(2), clock=clock) as server:
        changes = server.web.changes_of(0, 0)
        asking = HTTPConnection("127.0.0.1", server.port, timeout=HANGS)

        def answer(**fields: str) -> tuple[int, str, bytes]:
            asking.request("GET", "/", headers={name.replace("_", "-"): value for name, value in fields.items()})
            got = asking.getresponse()
            return got.status, got.getheader("ETag", ""), got.read()

        status, tag, body = answer()
        assert (status, tag != "") == (200, True)
        assert answer(If_None_Match=tag) == (304, tag, b"")
        clock.write_text(str(changes.next(0)))
        status, new_tag, new_body = answer(If_None_Match=tag)
        assert (status, new_tag != tag, new_body != body) == (200, True, True)
        asking.close()
        assert [line.status for line in server.log()] == [200, 304, 200]
