"""Headers, passwords, cookies and certificates that the user gives: who gets them, and where they are never seen."""

from __future__ import annotations

import gzip
import os
import ssl
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import scrawler
from scrawler.app import run_crawl
from scrawler.core.rules import HostRules
from scrawler.errors import SettingsError
from scrawler.fetch.given import read_cookies, read_netrc
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason
from scrawler.settings import Settings
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import RESOLVE, page, redirect
from tests.integration.fetch.servers import Certificates, RawServer, Visit, answer, path_of

Serve = Callable[..., RawServer]

SECRET = "s3cret-of-the-user"
HIDDEN = (SECRET.encode(), b"bWU6czNjcmV0LW9mLXRoZS11c2Vy")  # as it is, and in Basic of the user `me`
PROFILES = pytest.mark.parametrize("profile", ["default", "classic"])


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def site(serve: Serve) -> RawServer:
    """One port at which a.example has two pages, one that redirects to b.example and one whose links lead there."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            port = head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode().rpartition(":")[2]
            other = f"http://b.example:{port}"
            replies = {
                "/robots.txt": redirect(f"{other}/robots.txt") if b"a.example" in head else answer(b""),
                "/": page(links=("/2", "/away")),
                "/away": redirect(f"{other}/landed"),
            }
            visit.send(replies.get(path_of(head), page("x", "Set-Cookie: theirs=1", links=("/3",))))

    return serve(script)


def fields(server: RawServer, host: str, name: str) -> list[str]:
    """The values of a header that a host was sent, an empty text where it was sent none."""
    found = []
    for head in server.heads:
        lines = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:] if ": " in line)
        if lines["Host"].partition(":")[0] == host:
            found.append(lines.get(name, ""))
    assert found
    return found


def crawl_both(crawl: Crawl, site: RawServer, **changes: Any) -> None:
    crawl.add([f"http://a.example:{site.port}/", f"http://b.example:{site.port}/"])
    crawl.run(resolve=RESOLVE, **changes)
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.COMPLETED}
    crawl.check()


def written(folder: Path) -> Iterator[bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and "given" not in file.name]
    assert any(file.suffix == ".gz" for file in files)
    for file in files:
        yield gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


@PROFILES
def test_what_is_given_for_a_host_goes_to_no_other_and_is_written_nowhere(
    crawl: Crawl, site: RawServer, profile: str
) -> None:
    own = {"user": "me", "password": SECRET, "header": [f"X-Key: {SECRET}", "Empty:"]}
    tables = {f"http://a.example:{site.port}": own}
    crawl_both(crawl, site, sites=tables, header=["Accept-Language: de, en"], profile=profile)
    assert set(fields(site, "a.example", "Authorization")) == {"Basic bWU6czNjcmV0LW9mLXRoZS11c2Vy"}
    assert set(fields(site, "a.example", "X-Key")) == {SECRET}
    assert set(fields(site, "b.example", "X-Key") + fields(site, "b.example", "Authorization")) == {""}
    assert set(fields(site, "b.example", "Accept-Language")) == {"de, en"}
    for data in written(crawl.folder):
        assert not any(secret in data for secret in HIDDEN)
    archived = b"".join(written(crawl.folder / "pages"))
    assert b"Authorization: ***\r\n" in archived
    assert b"X-Key: ***\r\n" in archived


@PROFILES
def test_without_tls_nothing_secret_is_sent_unless_that_is_said_and_a_line_tells_it(
    crawl: Crawl, site: RawServer, tmp_path: Path, profile: str
) -> None:
    netrc = tmp_path / "given.netrc"
    netrc.write_text(f"machine a.example login me password {SECRET}\ndefault login me password {SECRET}")
    own = {"user": "me", "password": SECRET, "header": [f"X-Key: {SECRET}"]}
    crawl.add([f"http://a.example:{site.port}/", f"http://b.example:{site.port}/"])
    settings = crawl.settings(resolve=RESOLVE, sites={"a.example": own}, netrc=netrc, profile=profile)
    told: list[str] = []
    run_crawl(settings, lambda progress: None, threading.Event(), say=told.append)
    assert set(fields(site, "a.example", "Authorization") + fields(site, "a.example", "X-Key")) == {""}
    begin = "warning: not sent to http:// URLs, which have no TLS: "
    assert [line.removeprefix(begin).partition(";")[0] for line in sorted(told)] == [
        'user, password, header of [sites."a.example"]',
        "what netrc says",
    ]
    assert not any(SECRET in line for line in told)
    with closing(scrawler.Crawl(settings=settings)) as opened:  # a database says nothing of users
        in_clear, over_tls = (str(opened.why(f"{scheme}://a.example/x")) for scheme in ("http", "https"))
    assert "sets user=me" in in_clear
    assert '[sites."a.example"] user, password, header: not sent to this URL, which has no TLS' in in_clear
    assert "not sent" not in over_tls


@pytest.mark.parametrize(
    ("origin", "sent"),
    [
        ("https://a.example", {"a", "any"}),
        ("https://a.example:8443", {"any"}),  # another server may be there
        ("http://a.example", {"any"}),
        ("http://a.example:8080", {"any"}),
        ("https://b.example:8443", {"b", "any"}),
        ("https://b.example:8444", {"any"}),
        ("https://b.example", {"any"}),
        ("http://c.example:8080", {"c", "any"}),
        ("http://c.example", {"any"}),
        ("https://x.d.example", {"d", "any"}),
        ("https://x.d.example:444", {"any"}),
        ("https://[::1]", {"six", "any"}),
        ("https://[::1]:444", {"any"}),
    ],
)
def test_what_a_table_gives_goes_to_the_port_that_it_names(origin: str, sent: set[str]) -> None:
    """Without one that is the scheme's own port; what is no secret holds for all ports."""
    tables: dict[str, dict[str, Any]] = {
        "a.example": {"header": ["a: 1"], "delay": 5},
        "b.example:8443": {"header": ["b: 1"]},
        "http://c.example:8080": {"header": ["c: 1"]},
        "*.d.example": {"header": ["d: 1"]},
        "[::1]": {"header": ["six: 1"]},
    }
    hosts = HostRules(Settings(sites=tables, header=["any: 1"]))
    own = hosts.of_origin(origin)
    fetch = hosts.fetch_at(origin, own, "") or hosts.shared.fetch
    names = {name for name, _ in fetch.headers}
    assert names == (sent - {"any"} or {"any"}), "the headers of a table stand in the place of those of all"
    if "a.example" in origin:
        assert own is not None
        assert own.delay == 5.0


def test_what_goes_to_no_port_that_is_not_named_is_told_with_the_name_that_would_do() -> None:
    hosts = HostRules(Settings(sites={"a.example": {"user": "me"}, "http://b.example": {"header": ["X: 1"]}}))
    for origin in ("https://a.example:8443", "http://b.example:8080", "https://a.example"):
        hosts.of_origin(origin)
    assert sorted(hosts.withheld()) == [
        'not sent to port 8080, which is not named: header of [sites."http://b.example"]; '
        'in [sites."http://b.example:8080"] it would be',
        'not sent to port 8443, which is not named: user of [sites."a.example"]; '
        'in [sites."a.example:8443"] it would be',
    ]


def test_what_a_table_for_http_gives_is_not_said_to_be_left_out() -> None:
    tables = {"*.a.example": {"user": "me", "header": []}, "http://x.a.example": {"user": "you"}}
    hosts = HostRules(Settings(sites=tables))
    for origin in ("http://x.a.example", "https://y.a.example", "http://a.example"):
        hosts.of_origin(origin)
    assert hosts.withheld() == []
    for _ in range(2):
        hosts.of_origin("http://y.a.example")
    assert len(hosts.withheld()) == 1
    assert hosts.withheld() == []


@PROFILES
def test_a_netrc_is_for_the_hosts_that_it_names(crawl: Crawl, site: RawServer, tmp_path: Path, profile: str) -> None:
    netrc = tmp_path / "given.netrc"
    netrc.write_text(f"machine a.example login me password {SECRET}\ndefault login me password {SECRET}")
    crawl_both(crawl, site, sites={"http://*.example": {"netrc": str(netrc)}}, profile=profile)
    assert set(fields(site, "a.example", "Authorization")) == {"Basic bWU6czNjcmV0LW9mLXRoZS11c2Vy"}
    assert set(fields(site, "b.example", "Authorization")) == {""}


@PROFILES
def test_cookies_of_a_file_go_to_their_hosts_beside_those_of_the_site(
    crawl: Crawl, site: RawServer, tmp_path: Path, profile: str
) -> None:
    file = tmp_path / "given.txt"
    file.write_text(
        "# Netscape HTTP Cookie File\n"
        f"#HttpOnly_.a.example\tTRUE\t/\tFALSE\t0\tlogin\t{SECRET}\n"
        f"a.example\tFALSE\t/\tTRUE\t0\tsecure\t{SECRET}\n"
        f"a.example\tFALSE\t/other\tFALSE\t0\telsewhere\t{SECRET}\n"
        f"a.example\tFALSE\t/\tFALSE\t1\told\t{SECRET}\n"
        f"a.example\tFALSE\t/\tFALSE\t0\ttheirs\t{SECRET}\n"
    )
    crawl_both(crawl, site, cookie_file=file, profile=profile)
    sent = fields(site, "a.example", "Cookie")
    assert set(sent) == {f"login={SECRET}; theirs={SECRET}", f"theirs=1; login={SECRET}"}
    assert all(SECRET not in cookie for cookie in fields(site, "b.example", "Cookie"))
    for data in written(crawl.folder):
        assert SECRET.encode() not in data
    assert b"Cookie: ***\r\n" in b"".join(written(crawl.folder / "pages"))


def test_the_archive_shows_it_to_those_who_ask_for_that(crawl: Crawl, site: RawServer) -> None:
    own = {"user": "me", "password": SECRET}
    before = os.umask(0o022)
    try:
        crawl_both(crawl, site, sites={f"http://a.example:{site.port}": own}, archive_secrets=True)
    finally:
        os.umask(before)
    assert HIDDEN[1] in b"".join(written(crawl.folder / "pages"))
    modes = {one.suffix: stat.S_IMODE(one.stat().st_mode) for one in (crawl.folder / "pages").iterdir()}
    assert modes.pop(".gz") == 0o600, "what holds secrets is for its owner alone"
    assert set(modes.values()) == {0o644}, "all else is as the umask leaves it"


@PROFILES
def test_a_client_certificate_and_authorities_of_one_s_own(
    crawl: Crawl, serve: Serve, certificates: Certificates, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    context = certificates.server_context()
    context.load_verify_locations(certificates.certificate)
    context.verify_mode = ssl.CERT_REQUIRED

    def script(visit: Visit) -> None:
        while visit.request():
            visit.send(page("for members"))

    server, other = serve(script, tls=context), serve(script, tls=certificates.server_context())
    seeds = [f"https://a.example.test:{server.port}/", f"https://b.example.test:{other.port}/"]
    crawl.add(seeds)
    own = {"certificate": str(certificates.certificate), "certificate_key": str(certificates.key)}
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.certificate))
    resolve = ["a.example.test=127.0.0.1", "b.example.test=127.0.0.1"]
    crawl.run(sites={"a.example.test": own}, resolve=resolve, profile=profile)
    assert [crawl.seed(url).counts.pages for url in seeds] == [1, 1]
    monkeypatch.delenv("SSL_CERT_FILE")
    other_crawl = Crawl(crawl.folder, f"sqlite:///{crawl.folder}/two.db")
    other_crawl.add(seeds[1:])
    other_crawl.run(resolve=resolve, retries=0)
    assert other_crawl.seed(seeds[1]).counts.pages == 0


@pytest.mark.parametrize(
    ("setting", "text", "words"),
    [
        ("cookie_file", f"a.example\tx {SECRET}", "line 1 is no cookie"),
        ("cookie_file", f"\na.example\tTRUE\t/\tFALSE\t0\tn\t{SECRET};", "line 2 is no cookie"),
        ("netrc", f"machine x\nlogin {SECRET}\n{SECRET} {SECRET}", "line 3 cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_a_line_without_its_secrets(
    crawl: Crawl, tmp_path: Path, setting: str, text: str, words: str
) -> None:
    file = tmp_path / "given"
    file.write_text(text)
    for path, expected in ((file, words), (tmp_path / "none", "cannot be read: No such file")):
        with pytest.raises(SettingsError) as told:
            crawl.run(**{setting: path})
        assert f"{setting} {path}" in str(told.value)
        assert expected in str(told.value)
        assert SECRET not in str(told.value)


def test_what_settings_show_of_a_secret() -> None:
    settings = Settings(
        header=[f"X-Key: {SECRET}"], proxy=f"http://me:{SECRET}@p.example", sites={"a.example": {"password": SECRET}}
    )
    assert SECRET not in repr(settings) + str(settings) + settings.model_dump_json()


def test_a_new_database_is_for_its_owner_alone(crawl: Crawl) -> None:
    before = os.umask(0)
    try:
        crawl.add(["http://a.example/"])
    finally:
        os.umask(before)
    file = Path(crawl.url.removeprefix("sqlite:///"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_files_of_other_programs_are_read(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    lines = "# c", "", ".e.example\tTRUE\t/a\tFALSE\t1999999999.5\tn\tv", "10.0.0.1\tTRUE\t/\tFALSE\t0\tip\t"
    file.write_text("\r\n".join(lines), "utf-8-sig")
    cookies = read_cookies(file)
    assert cookies.header("http", "x.e.example", "/a/b?c") == "n=v"
    assert cookies.header("http", "e.example", "/ab") == ""
    assert cookies.header("http", "xe.example", "/a") == ""
    assert cookies.header("http", "1.10.0.0.1", "/") == ""
    assert cookies.header("https", "10.0.0.1", "/", "ip=theirs") == "ip=theirs"
    netrc = tmp_path / "netrc"
    netrc.write_text("machine A.example login u password p\ndefault login x password y\nmachine b.example\nlogin v\n")
    assert dict(read_netrc(netrc)) == {"a.example": ("u", "p"), "b.example": ("v", "")}


@pytest.mark.parametrize("domain", ["co.uk", ".co.uk", "github.io", ".CO.UK", "co.uk.", "intranet", "."])
def test_a_cookie_of_a_public_suffix_is_for_no_host_below_it(tmp_path: Path, domain: str) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text(f"{domain}\tTRUE\t/\tFALSE\t0\ta\t{SECRET}\n.own.co.uk\tTRUE\t/\tFALSE\t0\tb\tv\n")
    cookies = read_cookies(file)
    suffix = domain.strip(".").lower()
    for host in (f"evil.{suffix}", f"evil.{suffix}.", f"a.evil.{suffix}"):
        assert cookies.header("http", host, "/") == ""
    assert cookies.header("http", "www.own.co.uk", "/") == "b=v"
    if suffix and not domain.endswith("."):
        assert cookies.header("http", suffix, "/") == f"a={SECRET}"


@pytest.mark.parametrize(
    ("expires", "sent"), [("0", "n=v"), ("-1", ""), ("-5", ""), ("1", ""), ("99999999999", "n=v"), ("-5.5", "")]
)
def test_a_cookie_with_a_time_in_the_past_has_expired(tmp_path: Path, expires: str, sent: str) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text(f"a.example\tFALSE\t/\tFALSE\t{expires}\tn\tv\n")
    assert read_cookies(file).header("http", "a.example", "/") == sent


@PROFILES
def test_a_redirect_to_the_same_host_without_tls_takes_nothing_secret_along(
    crawl: Crawl, serve: Serve, certificates: Certificates, profile: str
) -> None:
    def in_clear(visit: Visit) -> None:
        while visit.request():
            visit.send(page("open"))

    open_server = serve(in_clear)
    there = open_server.url("/landed", "a.example.test")

    def in_tls(visit: Visit) -> None:
        while head := visit.request():
            visit.send({"/": page(links=("/r", there)), "/r": redirect(there)}.get(path_of(head), answer(b"")))

    server = serve(in_tls, tls=certificates.server_context())
    crawl.add([f"https://a.example.test:{server.port}/"], Scope.DOMAIN)
    own = {"user": "me", "password": SECRET, "header": [f"X-Key: {SECRET}"]}
    crawl.run(
        sites={f"a.example.test:{server.port}": own}, scope="domain", resolve=["a.example.test=127.0.0.1"],
        profile=profile, ca_file=certificates.certificate,
    )  # fmt: skip
    assert len(server.heads) >= 3
    assert all(b"Authorization: Basic" in head and SECRET.encode() in head for head in server.heads)
    assert "/landed" in [path_of(head) for head in open_server.heads]
    assert all(b"Authorization" not in head and SECRET.encode() not in head for head in open_server.heads)
