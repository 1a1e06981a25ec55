"""What changed between two crawls, by the statement that the documentation gives for it."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import Reply, by_path, page
from tests.integration.fetch.servers import RawServer

PAGE = Path(__file__).parents[3] / "docs/how-to/second-round.md"


def test_the_statement_tells_what_changed_what_is_new_and_what_is_gone(tmp_path: Path) -> None:
    first: dict[str, Reply] = {
        "/": page("home", links=("/same", "/text", "/old")),
        "/same": page("x"),
        "/text": page("before"),
        "/old": page("old"),
    }
    second = first | {"/": page("home", links=("/same", "/text", "/new")), "/text": page("after"), "/new": page("new")}
    server = RawServer(by_path(first))
    for name, site in (("scrawler", first), ("november", second)):
        server.script = by_path(site)
        crawl = Crawl(tmp_path, f"sqlite:///{tmp_path / name}.db")
        crawl.add([server.url()])
        crawl.run(threads=1)
    server.stop()
    (statement,) = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    with closing(sqlite3.connect(tmp_path / "scrawler.db")) as connection:
        *before, asked = statement.replace("november.db", str(tmp_path / "november.db")).strip("; \n").split(";")
        connection.executescript(";".join(before))
        rows = connection.execute(asked).fetchall()
    paths = [("changed", "/"), ("changed", "/text"), ("gone", "/old"), ("new", "/new")]
    assert rows == [(what, server.url(path)) for what, path in paths]
