"""The worst of the web as sites on loopback, good sites beside them, and what must hold after any crawl of both."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scrawler.core.progress import Progress, RunSummary
from scrawler.model.seeds import SeedState
from scrawler.store.claims.seeds import Seeds
from tests.consistency import check_records
from tests.integration.fetch.servers import RawServer, Script, Visit, answer, path_of
from tests.limits import HANGS

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Reply = bytes | Callable[[Visit], None]

LONGEST_RUN = HANGS  # a crawl that takes longer hangs, and is stopped so that the test can say so
GOOD_PAGES = 9  # of each good site
RESOLVE = tuple(
    f"{name}=127.0.0.1" for name in ("site.example", "www.site.example", "a.example", "b.example")
)  # names of sites for `by_host`
NOT_FOUND = answer(b"no such page", "404 Not Found", "Content-Type: text/plain")


def page(body: str | bytes = "", *headers: str, links: tuple[str, ...] = (), status: str = "200 OK") -> bytes:
    """Return the answer with an HTML page; its links stand before `body`."""
    html = "".join(f'<a href="{link}">x</a>' for link in links).encode()
    html += body.encode() if isinstance(body, str) else body
    typed = any(header.lower().startswith("content-type") for header in headers)
    return answer(html, status, *headers, *([] if typed else ["Content-Type: text/html"]))


def redirect(location: str, status: str = "302 Found") -> bytes:
    return answer(b"", status, f"Location: {location}")


def by_path(replies: Mapping[str, Reply]) -> Script:
    """Answer each path with its reply, others with 404; a reply that is a script has the connection for itself."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            reply = replies.get(path_of(head), NOT_FOUND)
            if callable(reply):
                reply(visit)
                return
            visit.send(reply)

    return script


def by_host(sites: Mapping[str, Mapping[str, bytes | str]]) -> Script:
    """Sites of several names at one port; a reply that is text is where to redirect to."""

    def script(visit: Visit) -> None:
        while head := visit.request():
            host, _, port = head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode().partition(":")
            reply = sites[host].get(path_of(head), NOT_FOUND)
            visit.send(redirect(reply.format(port=port)) if isinstance(reply, str) else reply)

    return script


def good(name: str) -> Script:
    """A site of GOOD_PAGES pages, three levels deep; its pages are like no others."""
    paths = ["/", *(f"/{n}" for n in range(1, GOOD_PAGES))]
    return by_path(
        {path: page(f"{name} {n}", links=tuple(paths[2 * n + 1 : 2 * n + 3])) for n, path in enumerate(paths)}
    )


def asked(server: RawServer) -> Counter[str]:
    """Path -> times it was asked for."""
    return Counter(path_of(head) for head in server.heads)


def run_whole(crawl: Crawl, **changes: Any) -> RunSummary:
    """Crawl to the end, and check all that must hold whatever the web did."""
    stop = threading.Event()

    def watch(progress: Progress) -> None:
        if progress.elapsed_s > LONGEST_RUN:
            stop.set()

    summary = crawl.run(watch, stop, **changes)
    assert summary.outcome == "ended", "the crawl hung"
    check_whole(crawl)
    return summary


def end_details(crawl: Crawl) -> dict[str, str]:
    """Seed -> why it ended, in words."""
    with crawl.reading() as database:
        return {view.seed.url: view.end_detail for view in Seeds(database).list()}


def check_whole(crawl: Crawl) -> None:
    """What must hold once a crawl has ended: seeds, rows, WARC files and indexes tell the same."""
    for seed in crawl.check():
        assert seed.state is SeedState.DONE
        assert seed.end_reason is not None
    check_records(crawl.url, crawl.folder / "pages")
