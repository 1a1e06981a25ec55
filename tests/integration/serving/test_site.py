"""A site that is served: its files and lists, and what strangers try against it."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import socket
import ssl
import subprocess
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import pytest

from scrawler.extract.sitemaps import Sitemap, read_sitemap
from scrawler.features.inbound import sockets
from scrawler.features.inbound.rate import RateLimit
from scrawler.features.serving.server import Limits, Tls
from scrawler.features.serving.signing import Verifier, signature_headers
from tests.integration.fetch.servers import USAGE
from tests.integration.serving.publishing import Published, publishing
from tests.limits import FAR, HANGS
from tests.torture.crawl import wait_for


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Published]:
    with publishing(tmp_path / "site", tmp_path / "state.db") as made:
        made.write("index.html", "<p>home")
        made.write("docs/index.html", "<p>docs")
        made.write("film.mp4", "0123456789" * 100)
        made.scan()
        yield made


def ask(site: Published, target: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Ask for a target as it stands here: nothing is made shorter or escaped."""
    parts = urlsplit(site.base)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=HANGS)
    try:
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, body
    finally:
        connection.close()


def listed(site: Published, path: str) -> Sitemap:
    found = read_sitemap(site.get(path), "", "application/xml")
    assert found is not None
    return found


def test_files(site: Published) -> None:
    status, headers, body = ask(site, "/")
    assert (status, body, headers["content-type"]) == (200, b"<p>home", "text/html")
    assert ask(site, "/docs/")[2] == b"<p>docs"
    assert (ask(site, "/docs")[0], ask(site, "/docs")[1]["location"]) == (301, f"{site.base}docs/")
    assert ask(site, "/", "HEAD")[2] == b""
    assert ask(site, "/", "HEAD")[1]["content-length"] == "7"
    assert ask(site, "/", If_None_Match=headers["etag"])[0] == 304
    assert ask(site, "/", If_Modified_Since=headers["last-modified"])[0] == 304
    assert ask(site, "/nothing")[0] == 404
    assert ask(site, "/", "POST")[0] == 405


def test_what_is_wanted_only_of_what_is_gone_is_refused(site: Published) -> None:
    for target, method in (("/", "GET"), ("/sitemap.xml", "GET"), ("/film.mp4", "HEAD")):
        tag = ask(site, target)[1]["etag"]
        assert ask(site, target, method, If_Match='"other"')[0] == 412
        assert ask(site, target, method, If_Match=f"W/{tag}")[0] == 412
        assert ask(site, target, method, If_Match=f'"other", {tag}')[0] == 200
        assert ask(site, target, method, If_Match="*")[0] == 200
    assert ask(site, "/", If_Unmodified_Since="Thu, 01 Jan 1970 00:00:00 GMT")[0] == 412
    assert ask(site, "/", If_Unmodified_Since="Fri, 01 Jan 2100 00:00:00 GMT")[0] == 200
    assert ask(site, "/film.mp4", Range="bytes=0-1", If_Match='"other"')[0] == 412


def test_any_name_of_a_file_can_be_asked_for(site: Published) -> None:
    names = ["a\nb.txt", "c\rd.txt", "g\r\nh.html", "dir\nx/index.html", "data:x.html", "e\u2028f.txt", "t\tx.html"]
    for name in names:
        site.write(name, name)
    site.scan()
    urls = {entry.url for entry in listed(site, "sitemap.xml").listed}
    for name in names:
        path = quote(name.removesuffix("index.html"), safe="/:")
        assert site.base + path in urls
        status, headers, body = ask(site, f"/{path}")
        assert (status, body) == (200, name.encode())
        assert headers["content-type"] == ("text/plain" if name.endswith("txt") else "text/html")
    assert ask(site, "/dir%0Ax")[1]["location"] == f"{site.base}dir%0Ax/"
    assert ask(site, "/a%0Ab.txt", "POST")[0] == 405


def test_ranges_of_a_file(site: Published) -> None:
    status, headers, body = ask(site, "/film.mp4", Range="bytes=5-14")
    assert (status, body, headers["content-range"]) == (206, b"5678901234", "bytes 5-14/1000")
    assert ask(site, "/film.mp4", Range="bytes=-3")[2] == b"789"
    assert ask(site, "/film.mp4", Range="bytes=1000-")[0] == 416
    assert ask(site, "/film.mp4", Range="bytes=5-14", If_Range='"old"')[0] == 200
    assert ask(site, "/film.mp4", Range="bytes=0-1,5-6")[0] == 200


@pytest.mark.parametrize(
    "target",
    [
        "/../secret", "/docs/../../secret", "/%2e%2e/secret", "/docs/%2e%2e/%2e%2e/secret", "/..%2fsecret",
        "/docs%2f..%2f..%2fsecret", "//secret", "/docs//index.html", "/./index.html", "/.hidden", "/docs/.git/config",
        "/link", "/folder/secret", "/pipe", "/index.html%00.txt", "/index.html/", "/%ff%fe", "/" + "a/" * 900,
        "/%5c..%5csecret",
    ],
)  # fmt: skip
def test_nothing_else_can_be_reached(site: Published, target: str) -> None:
    (site.folder.parent / "secret").write_text("SECRET")
    (site.folder / ".hidden").write_text("SECRET")
    site.write("docs/.git/config", "SECRET")
    os.symlink(site.folder.parent / "secret", site.folder / "link")
    os.symlink(site.folder.parent, site.folder / "folder")
    os.mkfifo(site.folder / "pipe")
    site.scan()
    status, _, body = ask(site, target)
    assert (status, b"SECRET" in body) == (404, False)
    assert b"hidden" not in site.get("resourcesync/resourcelist.xml")


def test_a_link_that_is_put_in_place_of_a_folder_is_not_followed(site: Published) -> None:
    (site.folder.parent / "other").mkdir()
    (site.folder.parent / "other" / "index.html").write_text("SECRET")
    (site.folder / "docs" / "index.html").unlink()
    (site.folder / "docs").rmdir()
    os.symlink(site.folder.parent / "other", site.folder / "docs")
    assert ask(site, "/docs/")[0] == 404


def test_lists_lead_to_all_that_is_published(site: Published) -> None:
    (capabilities,) = listed(site, ".well-known/resourcesync").listed
    assert capabilities.capability == "capabilitylist"
    kinds = {
        one.capability: one.url.removeprefix(site.base)
        for one in listed(site, capabilities.url[len(site.base) :]).listed
    }
    assert kinds.keys() == {"resourcelist", "changelist", "resourcedump"}
    resources = listed(site, kinds["resourcelist"])
    assert resources.capability == "resourcelist"
    assert {one.url for one in resources.listed} == {site.base, f"{site.base}docs/", f"{site.base}film.mp4"}
    assert [one.url for one in listed(site, "sitemap.xml").listed] == [one.url for one in resources.listed]
    (site.folder / "docs/index.html").unlink()
    site.write("film.mp4", "new", time.time())
    site.scan()
    changes = listed(site, kinds["changelist"])
    assert {(one.url.removeprefix(site.base), one.change) for one in changes.listed} == {
        ("film.mp4", "updated"), ("docs/", "deleted")
    }  # fmt: skip
    assert 0 < changes.since <= min(one.lastmod for one in changes.listed)
    assert f"Sitemap: {site.base}sitemap.xml".encode() in site.get("robots.txt")


def test_a_list_is_as_it_was_until_something_changes(site: Published) -> None:
    for path in ("/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml", "/sitemap.xml"):
        _, headers, _ = ask(site, path)
        assert ask(site, path, If_None_Match=headers["etag"])[0] == 304
        site.scan()
        assert ask(site, path, If_None_Match=headers["etag"])[0] == 304
        site.write("new" + path.replace("/", ""), "new")
        site.scan()
        assert ask(site, path, If_None_Match=headers["etag"])[0] == 200
        packed, _, _ = ask(site, path, If_None_Match=ask(site, path)[1]["etag"], Accept_Encoding="gzip")
        assert packed == 200, "another coding is another representation"


def test_a_list_of_more_than_a_page_has_an_index(tmp_path: Path) -> None:
    with publishing(tmp_path / "site", tmp_path / "state.db", list_page=10) as site:
        for number in range(25):
            site.write(f"f{number:02}", str(number))
        site.scan()
        for number in range(25):
            site.write(f"f{number:02}", f"another {number}", time.time())
        site.scan()
        for name in ("resourcesync/resourcelist", "resourcesync/changelist", "sitemap"):
            index = listed(site, f"{name}.xml")
            assert index.is_index, name
            parts = [listed(site, one.url.removeprefix(site.base)) for one in index.listed]
            assert [len(part.listed) for part in parts] == [10, 10, 5]
            assert len({one.url for part in parts for one in part.listed}) == 25
        assert ask(site, "/resourcesync/resourcelist-4.xml")[0] == 404
        untils = [part.get("until") for part in spans(site)]
        assert [until is not None for until in untils] == [True, True, False], "the last one is not over"
        assert [part.get("from") for part in spans(site)][1:] == untils[:2], "none leaves a gap"


def spans(site: Published) -> list[dict[str, str]]:
    """Return what the parts of the change list say of the time of which they tell."""
    names = [one.url.removeprefix(site.base) for one in listed(site, "resourcesync/changelist.xml").listed]
    found = (ElementTree.fromstring(site.get(name)) for name in names)
    return [dict(root.find("{http://www.openarchives.org/rs/terms/}md").attrib) for root in found]  # type: ignore[union-attr]


def test_a_package_holds_what_its_manifest_says(site: Published) -> None:
    (package,) = listed(site, "resourcesync/resourcedump.xml").listed
    with zipfile.ZipFile(io.BytesIO(site.get(package.url.removeprefix(site.base)))) as archive:
        assert archive.testzip() is None
        root = ElementTree.fromstring(archive.read("manifest.xml"))
        found = {}
        for entry in root.findall("{*}url"):
            said = entry.find("{*}md")
            assert said is not None
            data = archive.read(said.attrib["path"][1:])
            assert (said.attrib["hash"], said.attrib["length"]) == (
                f"sha-256:{hashlib.sha256(data).hexdigest()}", str(len(data))
            )  # fmt: skip
            found[entry.findtext("{*}loc")] = data
    assert found == {
        site.base: b"<p>home",
        f"{site.base}docs/": b"<p>docs",
        f"{site.base}film.mp4": b"0123456789" * 100,
    }


def test_before_the_first_scan_lists_say_so(tmp_path: Path) -> None:
    with publishing(tmp_path / "site", tmp_path / "state.db") as site:
        status, headers, _ = ask(site, "/resourcesync/resourcelist.xml")
        assert (status, headers["retry-after"]) == (503, "5")


# -- strangers ---------------------------------------------------------------------------------------------------------


def connected(site: Published) -> socket.socket:
    parts = urlsplit(site.base)
    made = socket.create_connection((parts.hostname, parts.port), timeout=HANGS)
    return made


def is_closed(one: socket.socket) -> bool:
    """Wait until the other side has closed."""
    try:
        while one.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


def test_a_request_that_never_ends_is_given_up(tmp_path: Path) -> None:
    with publishing(tmp_path / "site", tmp_path / "s.db", limits=Limits(head_s=0.2)) as site:
        site.write("index.html", "home")
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT"):
            with connected(site) as one:
                one.sendall(sent)
                assert is_closed(one)
        assert ask(site, "/")[0] == 200


def test_a_client_that_does_not_read_is_given_up(tmp_path: Path) -> None:
    with publishing(tmp_path / "site", tmp_path / "s.db", limits=Limits(write_s=0.2)) as site:
        site.write("large", "x" * (64 << 20))
        with connected(site) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            wait_for(lambda: is_refused(one), HANGS, "the connection is closed")


def is_refused(one: socket.socket) -> bool:
    """Tell whether nobody is there any more who would take what is sent; nothing is read."""
    try:
        one.sendall(b"x")
    except OSError:
        return True
    return False


def test_one_client_has_so_many_connections(tmp_path: Path) -> None:
    with publishing(tmp_path / "site", tmp_path / "s.db", limits=Limits(each=3, head_s=FAR)) as site:
        site.write("index.html", "home")
        held = [connected(site) for _ in range(3)]
        for one in held:  # until they are accepted
            one.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"
        with connected(site) as fourth:
            fourth.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert is_closed(fourth)
        for one in held:
            one.close()


def test_a_flood_is_told_to_wait(tmp_path: Path) -> None:
    with publishing(tmp_path / "site", tmp_path / "s.db", rate=RateLimit(0.001, 3)) as site:
        site.write("index.html", "home")
        answers = [ask(site, "/") for _ in range(5)]
        assert [one[0] for one in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1][1]["retry-after"]) > 1


def test_large_heads_and_targets_are_refused(site: Published) -> None:
    assert ask(site, "/" + "a" * 9_000)[0] == 414
    with connected(site) as one:
        with suppress(ConnectionError):
            one.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * (4 << 20))
        assert is_closed(one)
    assert ask(site, "/")[0] == 200


def test_only_signed_requests_are_let_in(tmp_path: Path) -> None:
    key = b"k" * 32
    with publishing(tmp_path / "site", tmp_path / "s.db", verifier=Verifier({"me": key})) as site:
        site.write("index.html", "home")
        site.scan()
        for path in ("/", "/.well-known/resourcesync", "/sitemap.xml", "/robots.txt"):
            assert ask(site, path)[0] == 401
        for path in ("", "sitemap.xml", "docs?x=1"):
            headers = signature_headers("GET", site.base + path, "me", key)
            named = {name.replace("-", "_"): value for name, value in headers.items()}
            assert ask(site, f"/{path}", **named)[0] == (404 if "?" in path else 200)
            assert ask(site, f"/{path}", **named)[0] == 401, "it is sent again"
            assert ask(site, "/other", **named)[0] == 401


def test_only_clients_with_a_certificate_are_let_in(tmp_path: Path) -> None:
    made = certificates(tmp_path)
    tls = Tls(made["server.pem"], made["server.key"], made["ca.pem"])
    with publishing(tmp_path / "site", tmp_path / "s.db", tls=tls) as site:
        site.write("index.html", "home")
        parts = urlsplit(site.base)
        trusting = ssl.create_default_context(cafile=str(made["ca.pem"]))
        with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
            tried(parts.port or 0, trusting)
        trusting.load_cert_chain(made["client.pem"], made["client.key"])
        assert tried(parts.port or 0, trusting) == b"home"


def test_who_begins_no_tls_is_counted_and_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = certificates(tmp_path)
    tls = Tls(made["server.pem"], made["server.key"], None)
    monkeypatch.setattr(sockets, "HEAD_S", FAR)
    with publishing(tmp_path / "site", tmp_path / "s.db", tls=tls, limits=Limits(each=2)) as site:
        held = [connected(site), connected(site)]
        with connected(site) as third:
            assert is_closed(third)
        for one in held:
            one.close()
    monkeypatch.setattr(sockets, "HEAD_S", 0.2)
    with publishing(tmp_path / "site", tmp_path / "s.db", tls=tls) as site, connected(site) as silent:
        assert is_closed(silent)


def tried(port: int, context: ssl.SSLContext) -> bytes:
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=HANGS, context=context)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read()
    finally:
        connection.close()


def certificates(folder: Path) -> dict[str, Path]:
    """Make a certificate authority, and certificates of a server and a client."""
    run = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30")
    made = {name: folder / name for name in ("ca.pem", "ca.key")}
    subprocess.run(
        [*run, "-keyout", made["ca.key"], "-out", made["ca.pem"], "-subj", "/CN=ca", "-addext", USAGE],
        check=True, capture_output=True,
    )  # fmt: skip
    for name in ("server", "client"):
        made |= {f"{name}.pem": folder / f"{name}.pem", f"{name}.key": folder / f"{name}.key"}
        subprocess.run(
            [*run, "-CA", made["ca.pem"], "-CAkey", made["ca.key"], "-keyout", made[f"{name}.key"], "-out",
             made[f"{name}.pem"], "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
             "-addext", "basicConstraints=critical,CA:FALSE"],
            check=True, capture_output=True,
        )  # fmt: skip
    return made


def test_a_fault_of_ours_is_an_answer(site: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(site.site, "answer", broken)
    with pytest.raises(HTTPError) as error:
        site.get("")
    assert error.value.code == 500
    assert b"broken" not in error.value.read()
