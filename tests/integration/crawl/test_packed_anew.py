"""Pages that are compressed into other bytes each time are as they were, by their bodies and by their texts."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrawler.features.revisit.orders import begin_again
from scrawler.store.engines.engine import open_database
from tests.consistency import check_records
from tests.integration.crawl.hostile import NOT_FOUND
from tests.integration.fetch.servers import RawServer, Visit, answer, path_of

if TYPE_CHECKING:
    from tests.integration.crawl.conftest import Crawl

Serve = Callable[..., RawServer]
LINKS = "".join(f"<a href={path}>x</a>" for path in ("/stays", "/ticks", "/changes", "/data", "/plain"))


class Packing:
    """A site that compresses each answer anew, as of another time."""

    def __init__(self) -> None:
        self.round = self.answers = 0

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            visit.send(self.answer(path_of(head)))

    def answer(self, path: str) -> bytes:
        self.answers += 1
        bodies = {
            "/": f"<title>home</title>{LINKS}",
            "/stays": "<title>stays</title><p>the same words",
            "/ticks": f"<title>ticks</title><p>the same words at 10:0{self.round}:11, seen {self.round + 1} views",
            "/changes": f"<title>changes</title><p>{['one', 'two', 'three'][self.round]} word",
            "/data": "name;value\na;1\n",
            "/plain": "<title>plain</title><p>packed now and then",
        }
        if path not in bodies:
            return NOT_FOUND
        body, kind = bodies[path].encode(), "text/csv" if path == "/data" else "text/html"
        if path == "/plain" and self.round == 1:
            return answer(body, "200 OK", f"Content-Type: {kind}")
        packed = gzip.compress(body, mtime=self.answers)
        return answer(packed, "200 OK", f"Content-Type: {kind}", "Content-Encoding: gzip")


@pytest.mark.parametrize(("change", "changed"), [("bytes", {"/ticks", "/changes"}), ("text", {"/changes"})])
@pytest.mark.parametrize("revisit", ["off", "adaptive"])
def test_only_what_was_packed_is_compared(
    crawl: Crawl, serve: Serve, change: str, changed: set[str], revisit: str
) -> None:
    site = Packing()
    server = serve(site)
    settings = {"revisit_change": change, "revisit": revisit}
    crawl.add([server.url()])
    crawl.run(**settings)
    for site.round in (1, 2):
        begin_again(crawl.settings(**settings), [], 0.0, threading.Event())
        crawl.run(**settings)
    with closing(open_database(crawl.url)) as database, database.read() as connection:
        found = connection.exec_driver_sql("SELECT url, visit, kind FROM url_change").all()
    told = {(url.removeprefix(server.url("")), visit, kind) for url, visit, kind in found}
    assert told == {(path, visit, "changed") for path in changed for visit in (1, 2)}
    check_records(crawl.url, crawl.folder / "pages")
