"""Pages in Chromium: what their scripts make is crawled, and what they may not do reaches nobody."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest
from click.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

from scrawler.cli.cat import cat
from scrawler.errors import SettingsError, StartError
from scrawler.features.browser import memory
from scrawler.features.texts.corpus import CorpusCounts, corpus
from scrawler.fetch.curl import CurlDownloader
from scrawler.fetch.downloader import Request
from scrawler.model.results import PageFlag, Result
from scrawler.model.rows import PageRow
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import asked, by_path, page, redirect, run_whole
from tests.integration.crawl.places import lost_places
from tests.integration.crawl.rig import running
from tests.integration.fetch.servers import RawServer, Visit, answer
from tests.limits import HANGS

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None or find_spec("playwright") is None,
    reason="Chromium (Debian: chromium) or Playwright (pip install 'seed-scrawler[browser]') is not installed",
)

HOME = """<div id="root"></div><script src="/app.js"></script><img src="/image.png">
<iframe src="{private}/frame"></iframe>
<link rel="preconnect" href="{private}"><link rel="prefetch" href="{private}/prefetch">
<script src="{other}/lib.js"></script>"""
APP = """
const root = document.querySelector("#root");
const add = href => { const a = document.createElement("a"); a.href = href; root.append(a); };
fetch("/api/links").then(answer => answer.json()).then(links => links.forEach(add));
setTimeout(() => add("/later"), 3000);
for (const url of ["{private}/a", "{inner}/b", "/secret/c", "{other}/secret/d"]) fetch(url).catch(() => 0);
fetch("/post", {method: "POST", body: "x"}).catch(() => 0);
navigator.sendBeacon("/beacon", "x");
new WebSocket("{private}/socket".replace("http", "ws"));
new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.3:" + {port}}]}).createDataChannel("x");
navigator.serviceWorker.register("/worker.js").catch(() => 0);
alert("a dialog"); confirm("another one");
setTimeout(() => window.open("/opened"), 100);
setTimeout(() => { location.href = "/led"; }, 200);
"""
SHELL = """<title>the same for all</title><div id="root"></div><script src="/shell.js"></script>"""
ITEMS = 7
SHELL_JS = """
const number = Number(location.pathname.split("/")[2]);
document.getElementById("root").innerHTML = `<p id="made">${"word" + number * 7} of item ${number}</p>`
  + `<a href="#made">here</a><a href="#nowhere">there</a><a href="/item/${number % 7 + 1}">next</a>`;
"""
OPEN_ROOT = """<div id="host"></div><script>
document.getElementById("host").attachShadow({mode: "open"}).innerHTML = "<a href='/in-shadow'>x</a>";
history.pushState(null, "", "/deep/er/"); document.body.insertAdjacentHTML("beforeend", "<a href='relative'>x</a>");
</script>"""
COOKIES = """<script>document.cookie = "own=2"; fetch("/api/cookies");</script>"""
ENDLESS = """<a href="/beside-endless">x</a><script>
let n = 0; (function more() { fetch("/api/endless/" + n++).then(more, more); })();
</script>"""
LOOP = """<a href="/before-loop">x</a><script>
document.body.insertAdjacentHTML("beforeend", "<a href='/in-loop'>x</a>"); for (;;) {}
</script><a href="/behind-loop">x</a>"""
HUGE = """<a href="/before-huge">x</a><script>
document.body.insertAdjacentHTML("beforeend", ("<p>" + "x".repeat(1000)).repeat(9000) + "<a href='/behind-huge'>x</a>");
</script>"""
OTHERS = """<script crossorigin src="{outer}/crossed.js"></script><script>
for (const url of ["{outer}/open", "{outer}/closed", "/to-open", "/to-closed", "{outer}/secret/e"])
  fetch(url).then(answer => answer.text()).then(text => {
    const end = url.startsWith("/") ? "-redirected" : "";
    document.body.insertAdjacentHTML("beforeend", `<a href="/read-${text}${end}">x</a>`);
  }).catch(() => 0);
fetch("{outer}/closed", {credentials: "include", headers: {"X-Asks": "1"}}).then(() => {
  document.body.insertAdjacentHTML("beforeend", "<a href='/read-with-credentials'>x</a>"); }).catch(() => 0);
</script>"""
PLAIN = ("later", "led", "from-other", "in-shadow", "deep/er/relative", "beside-endless", "before-huge")
JS, JSON = "Content-Type: text/javascript", "Content-Type: application/json"


class Sites(NamedTuple):
    """A crawled site, what its pages may reach beside it, and what they must not."""

    crawl: Crawl
    own: RawServer
    other: RawServer
    private: RawServer
    looping: RawServer

    def row(self, path: str) -> PageRow:
        return next(row for row in self.crawl.pages() if row.url == self.own.url(path))


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """A crawl that has ended, with one Chromium for all of it."""
    folder = tmp_path_factory.mktemp("browser")
    crawl = Crawl(folder, f"sqlite:///{folder}/scrawler.db")
    other = RawServer(by_path({
        "/lib.js": redirect("/lib-2.js"),
        "/lib-2.js": answer(b"document.write('<a href=/from-other>x</a>')", "200 OK", JS),
        "/robots.txt": answer(b"User-agent: *\nDisallow: /secret"),
        "/open": answer(b"open", "200 OK", "Access-Control-Allow-Origin: *"),
        "/closed": answer(b"closed"),
        "/crossed.js": answer(b"document.write('<a href=/read-crossed>x</a>')", "200 OK", JS),
    }), "127.0.0.2")  # fmt: skip
    private = RawServer(by_path({}), "127.0.0.3")
    looping = RawServer(by_path({"/": page(LOOP)}), "127.0.0.4")
    at = {"{private}": private.url("").rstrip("/"), "{other}": other.url("").rstrip("/"), "{port}": str(private.port)}
    at["{outer}"] = f"http://outer.example:{other.port}"
    at["{inner}"] = f"http://inner.example:{private.port}"

    def filled(text: str) -> str:
        for name, value in at.items():
            text = text.replace(name, value)
        return text

    links = '["/item/1", "/open-root", "/cookies", "/endless", "/huge", "/others", "/moved", "/missing", "/file.pdf"]'
    own = RawServer(by_path({
        "/robots.txt": answer(b"User-agent: *\nDisallow: /secret"),
        "/": page(filled(HOME)),
        "/app.js": answer(filled(APP).encode(), "200 OK", JS),
        "/api/links": answer(links.encode(), "200 OK", JSON),
        **{f"/item/{number}": page(SHELL) for number in range(1, ITEMS + 1)},
        "/shell.js": answer(SHELL_JS.encode(), "200 OK", JS),
        "/open-root": page(OPEN_ROOT),
        "/cookies": page(COOKIES, "Set-Cookie: given=1"),
        "/endless": page(ENDLESS),
        "/huge": page(HUGE),
        "/others": page(filled(OTHERS)),
        **{f"/to-{name}": redirect(f"{at['{outer}']}/{name}") for name in ("open", "closed")},
        "/moved": redirect("/plain"),
        "/file.pdf": answer(b"%PDF-1.7", "200 OK", "Content-Type: application/pdf"),
        **{f"/{path}": page(f"plain {path}") for path in (*PLAIN, "plain")},
    }))  # fmt: skip
    crawl.add([own.url(), looping.url()])
    run_whole(
        crawl,
        allow_private=False,
        allow_addresses=("127.0.0.1", "127.0.0.2", "127.0.0.4"),
        resolve=("inner.example=127.0.0.3", "outer.example=127.0.0.2"),
        browser_requests=20,
        trap_pages=5,
        sites={
            "127.0.0.1": {"browser": True},
            "127.0.0.4": {"browser": True, "browser_time": 2},
            f"http://outer.example:{other.port}": {"header": ["X-Given: to outer.example"]},
        },
    )
    yield Sites(crawl, own, other, private, looping)
    for server in (own, other, private, looping):
        server.stop()


def test_links_that_scripts_make_are_crawled(sites: Sites) -> None:
    fetched = sites.crawl.fetched()
    assert {f"/{path}" for path in PLAIN if sites.own.url(f"/{path}") not in fetched} == set()
    assert sites.row("/").flags & PageFlag.SHOWN
    assert not sites.row("/file.pdf").flags & PageFlag.SHOWN
    assert (sites.row("/moved").result, sites.row("/missing").result) == (Result.REDIRECT, Result.HTTP_ERROR)


def test_what_a_page_may_not_ask_for_reaches_nobody(sites: Sites) -> None:
    assert sites.private.connections == 0
    paths, others = asked(sites.own), asked(sites.other)
    refused = ("/secret/c", "/post", "/beacon", "/worker.js", "/image.png", "/frame", "/prefetch")
    assert [path for path in refused if paths[path]] == []
    read = {"/open": 2, "/closed": 3, "/crossed.js": 1}
    assert others == {"/robots.txt": 2, "/lib.js": 1, "/lib-2.js": 1, **read}  # by either name of the host once
    assert "came to nothing" in sites.row("/").detail


def test_pages_read_of_other_origins_what_anybody_may_and_nothing_with_what_the_user_gave(sites: Sites) -> None:
    read = {row.url for row in sites.crawl.pages() if "/read-" in row.url}
    assert read == {sites.own.url("/read-open"), sites.own.url("/read-open-redirected")}
    assert any(b"GET /closed " in head for head in sites.other.heads)
    assert not any(b"X-Given" in head for head in sites.other.heads)


def test_a_page_that_asks_on_and_on_is_stopped(sites: Sites) -> None:
    endless = [path for path in asked(sites.own) if path.startswith("/api/endless")]
    assert len(endless) == 20
    row = sites.row("/endless")
    assert row.result == Result.FETCHED
    assert "more than 20 requests" in row.detail


def test_a_script_that_never_ends_is_stopped_and_what_it_made_is_crawled(sites: Sites) -> None:
    rows = {row.url: row for row in sites.crawl.pages()}
    looping = rows[sites.looping.url()]
    assert looping.result == Result.FETCHED
    assert "stopped after 2s" in looping.detail
    assert {sites.looping.url("/before-loop"), sites.looping.url("/in-loop")} <= rows.keys()


def test_of_a_huge_document_the_beginning_is_read(sites: Sites) -> None:
    row = sites.row("/huge")
    assert "8,388,608 characters" in row.detail
    assert sites.own.url("/behind-huge") not in {row.url for row in sites.crawl.pages()}


def test_pages_that_differ_by_their_scripts_alone_are_no_trap(sites: Sites) -> None:
    rows = [sites.row(f"/item/{number}") for number in range(1, ITEMS + 1)]
    assert {row.result for row in rows} == {Result.FETCHED}
    assert sum(row.revisit for row in rows) == ITEMS - 1
    assert asked(sites.own)["/shell.js"] == 1  # kept for the other pages


def test_cookies_of_the_page_and_of_its_scripts_go_along(sites: Sites) -> None:
    (head,) = (head for head in sites.own.heads if b"GET /api/cookies " in head)
    line = head.partition(b"\r\nCookie: ")[2].partition(b"\r\n")[0]
    assert sorted(line.split(b"; ")) == [b"given=1", b"own=2"]


def test_all_that_was_asked_for_is_in_the_archive_with_what_was_made_of_it(sites: Sites) -> None:
    records: dict[str, list[tuple[str, str]]] = {}
    made: dict[str, bytes] = {}
    for file in (sites.crawl.folder / "pages").glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                head = record.rec_headers
                if record.rec_type == "conversion":
                    made[head.get_header("WARC-Refers-To")] = record.content_stream().read()
                url = head.get_header("WARC-Target-URI") or ""
                records.setdefault(url, []).append((record.rec_type, head.get_header("WARC-Record-ID")))
    own = records[sites.own.url()]
    assert [kind for kind, _ in own] == ["conversion", "request", "response"]
    assert b'href="/later"' in made[own[-1][1]]
    for part in (sites.own.url("/app.js"), sites.own.url("/api/links"), sites.other.url("/lib-2.js")):
        assert [kind for kind, _ in records[part]] == ["request", "response"]


def test_a_page_is_read_back_as_its_scripts_made_it(sites: Sites) -> None:
    with sites.crawl.opened() as opened:
        home, item, plain = (opened.page(sites.own.url(path)) for path in ("/", "/item/3", "/file.pdf"))
        assert b"/later" not in home.body
        assert sites.own.url("/later") in home.links
        assert home.dom.css_first("#root a") is not None
        assert "of item 3" in item.text  # what the server sent is a revisit
        assert (item.title, plain.rendered) == ("the same for all", b"")


def test_what_reads_all_pages_reads_what_their_scripts_made(sites: Sites) -> None:
    url = sites.own.url("/item/3")
    with sites.crawl.opened() as opened, opened.reader() as reader:
        texts = {row.url: row.text for row in corpus(opened.database, reader, CorpusCounts())}
        lost = [link.url for link in lost_places(opened.database, reader, sites.crawl.settings())]
        opened.pack(sites.crawl.folder / "crawl.wacz", texts=True)
    assert "of item 3" in texts[url]
    assert f"{url}#nowhere" in lost
    assert f"{url}#made" not in lost
    with ZipFile(sites.crawl.folder / "crawl.wacz") as packed:
        pages = b"".join(packed.read(name) for name in packed.namelist() if name.startswith("pages/"))
    assert b"of item 3" in pages
    place = ("--db", sites.crawl.url, "--pages-dir", str(sites.crawl.folder / "pages"))
    shown = CliRunner().invoke(cat, [url, "--rendered", *place])
    assert b'<p id="made">word21 of item 3</p>' in shown.stdout_bytes
    assert b"of item 3" not in CliRunner().invoke(cat, [url, *place]).stdout_bytes
    none = CliRunner().invoke(cat, [sites.own.url("/file.pdf"), "--rendered", *place])
    assert "was not shown in a browser" in str(none.exception)


def test_why_says_where_links_seem_to_be_made_by_scripts(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    server = serve(by_path({"/": page('<div id="root"></div><script src="/app.js"></script>', links=("/text",)),
                            "/text": page("words of an article " * 30)}))  # fmt: skip
    crawl.add([server.url()])
    run_whole(crawl)
    with crawl.opened() as opened:
        facts = {path: {fact.kind: fact for fact in opened.why(server.url(path)).facts} for path in ("/", "/text")}
    assert "scripts" not in facts["/text"]
    first, advice = facts["/"]["scripts"].lines
    assert first.startswith("its links are probably made by scripts: it has 1 link, 1 script")
    assert 'browser = true under [sites."127.0.0.1"]' in advice


def descendants(pid: int) -> dict[int, str]:
    """Processes that a process has begun, and those that they have: the command line of each."""
    found: dict[int, str] = {}
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1]), (folder / "cmdline").read_text().replace("\0", " ")
        except (OSError, ValueError):
            continue  # it has ended meanwhile
    grown = True
    while grown:
        more = {one: line for one, (above, line) in parents.items() if above == pid or above in found}
        grown = len(more) > len(found)
        found = more
    return found


def of_chromium(kind: str) -> list[int]:
    """The processes of this process's Chromium: "main", or of a type such as "renderer"."""
    lines = {pid: line for pid, line in descendants(os.getpid()).items() if "chromium" in line and "/node " not in line}
    if kind == "main":
        return [pid for pid, line in lines.items() if "--type=" not in line and "remote-debugging-pipe" in line]
    return [pid for pid, line in lines.items() if f"--type={kind}" in line]


def killing(kind: str, times: int) -> Callable[[Visit], None]:
    """Answer, but kill processes of Chromium before, so many times."""
    left = [times]

    def script(visit: Visit) -> None:
        if left[0]:
            left[0] -= 1
            for pid in of_chromium(kind):
                os.kill(pid, signal.SIGKILL)
        visit.send(answer(b"1", "200 OK", JSON))

    return script


ASKS = """<div id="root"></div><script>fetch("/api/%s").then(answer => answer.text()).then(() => {
  document.getElementById("root").innerHTML = "<a href='/made-%s'>x</a>"; });</script>"""


def test_where_chromium_dies_a_page_is_shown_once_more_and_given_up_then(
    crawl: Crawl, serve: Callable[..., RawServer]
) -> None:
    kinds = {"once": ("main", 1), "beside": ("", 0), "twice": ("main", 9), "near": ("", 0), "renderer": ("renderer", 9)}
    *names, alone = kinds
    server = serve(by_path({
        "/": page(links=tuple(f"/{name}" for name in names)),
        **{f"/{name}": page(ASKS % (name, name)) for name in kinds},
        **{f"/api/{name}": killing(*kinds[name]) for name in kinds},
        **{f"/made-{name}": page(name) for name in names},
    }))  # fmt: skip
    crawl.add([server.url()])
    run_whole(crawl, browser=True, browser_delay=0)
    crawl.add([server.url(f"/{alone}")])  # else the processes of the others would be killed with its own
    run_whole(crawl, browser=True, browser_delay=0)
    rows = {row.url: row for row in crawl.pages()}
    lost = {name for name in kinds if rows[server.url(f"/{name}")].result != Result.FETCHED}
    assert lost == {"twice", "renderer"}
    assert server.url("/made-once") in rows
    assert "ended twice" in rows[server.url("/twice")].detail
    assert {rows[server.url(f"/{name}")].result for name in lost} == {Result.INTERNAL_ERROR}
    assert "crashed" in rows[server.url("/renderer")].detail
    assert of_chromium("main") == []


GREEDY = {
    "buffers": "const all = []; for (let i = 0; i < 64; i++) all.push(new Uint8Array(64 << 20).fill(i + 1));",
    "document": "for (;;) document.body.insertAdjacentHTML('beforeend', '<i>x</i>'.repeat(100000));",
}


def test_a_page_that_takes_too_much_memory_is_ended_alone(
    crawl: Crawl, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST", 300_000_000)
    made = "<a href='/made'>x</a>"
    link = "<p>%s<a href='/of-%s'>x</a><script>%s</script>"
    greedy = {f"/{name}": page(link % (name, name, script)) for name, script in GREEDY.items()}
    modest = page(f'<p id="root">modest</p><script>document.getElementById("root").innerHTML = "{made}";</script>')
    server = serve(by_path({
        "/": page(links=(*greedy, "/modest")), **greedy, "/modest": modest, "/made": page("made"),
        **{f"/of-{name}": page(name) for name in GREEDY},
    }))  # fmt: skip
    crawl.add([server.url()])
    run_whole(crawl, browser=True, browser_delay=0)
    rows = {row.url.removeprefix(server.url()): row for row in crawl.pages()}
    assert {name for name, row in rows.items() if row.result == Result.TOO_LARGE} == set(GREEDY)
    assert {rows[name].detail for name in GREEDY} == {"the browser took more than 300.0 MB of memory for it"}
    assert {"made", *(f"of-{name}" for name in GREEDY)} <= set(rows), "what came as a page is read all the same"
    assert of_chromium("main") == []


@pytest.mark.heavy
def test_a_machine_that_is_killed_takes_chromium_along_and_the_page_is_asked_for_again(
    crawl: Crawl, serve: Callable[..., RawServer]
) -> None:
    shown, hangs = threading.Event(), threading.Event()
    hangs.set()

    def waits(visit: Visit) -> None:
        shown.set()
        if hangs.is_set():
            visit.hang()
        visit.send(answer(b"1", "200 OK", JSON))

    server = serve(by_path({"/": page(ASKS % ("waits", "it")), "/api/waits": waits, "/made-it": page("it")}))
    crawl.add([server.url()])
    with running(crawl, "--browser") as process:
        assert shown.wait(HANGS)
        begun = descendants(process.pid)
        assert any("remote-debugging-pipe" in line for line in begun.values())
        process.kill()
        process.wait()
    until = time.monotonic() + HANGS
    while left := [
        pid for pid in begun if (stat := Path(f"/proc/{pid}/stat")).exists() and " Z " not in stat.read_text()
    ]:
        assert time.monotonic() < until, f"still there: {left}"
        time.sleep(0.05)
    hangs.clear()
    run_whole(crawl, browser=True)
    assert server.url("/made-it") in crawl.fetched()
    assert asked(server)["/"] == 2


def test_without_chromium_the_run_says_what_to_install(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is begun, with exit code 2."""
    crawl.add(["http://127.0.0.1:8/"])
    with pytest.raises(SettingsError, match="chromium: no-such-program is no program"):
        crawl.run(browser=True, chromium="no-such-program")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(crawl.folder))
    with pytest.raises(SettingsError, match="apt-get install chromium"):
        crawl.run(sites={"example.org": {"browser": True}})
    monkeypatch.setattr("scrawler.features.browser.chromium.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'seed-scrawler\[browser\]'"):
        crawl.run(browser=True)


def test_a_chromium_that_does_not_start_ends_the_run(crawl: Crawl, serve: Callable[..., RawServer]) -> None:
    crawl.add([serve(by_path({"/": page("home")})).url()])
    with pytest.raises(StartError, match=r"Chromium .* does not start"):
        crawl.run(browser=True, chromium="false")


def test_a_fault_where_parts_are_asked_for_ends_the_run(
    crawl: Crawl, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = CurlDownloader.start

    def start(self: CurlDownloader, request: Request) -> None:
        if threading.current_thread().name == "browser-requests":
            raise LookupError("a fault")
        usual(self, request)

    monkeypatch.setattr(CurlDownloader, "start", start)
    pages = {f"/{name}": page(ASKS % (name, name)) for name in ("a", "b", "c")}
    crawl.add([serve(by_path({"/": page(ASKS % ("home", "home"), links=tuple(pages)), **pages})).url()])
    with pytest.raises(StartError, match=r"the browser's requests: LookupError: a fault"):
        crawl.run(browser=True)
