"""Receivers of webhooks on loopback, and changes in a database."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import insert

from scrawler.features.revisit.store.tables import url_change
from scrawler.model.terms import url_hash
from scrawler.store.engines.engine import Database, open_database
from scrawler.store.schema.tables import seed
from tests.integration.crawl.conftest import crawl, serve
from tests.integration.fetch.servers import RawServer, Visit

__all__ = ["crawl", "serve"]  # the fixtures of whole crawls

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class Receiver:
    """Takes messages; `answers` are what is said to the first ones, then 204."""

    def __init__(self, *answers: bytes) -> None:
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.came = threading.Condition()
        self.answers = list(answers)
        self.server = RawServer(self._serve)
        self.url = self.server.url("/changes")

    def _serve(self, visit: Visit) -> None:
        while head := visit.request():
            length = int(_LENGTH.search(head)[1])  # type: ignore[index]  # a message has one
            body = visit._rest
            while len(body) < length:
                body += visit.sock.recv(65_536)
            visit._rest = body[length:]
            with self.came:
                self.heads.append(head)
                self.bodies.append(body[:length])
                answer = self.answers.pop(0) if self.answers else b"HTTP/1.1 204 No Content\r\n\r\n"
                self.came.notify_all()
            visit.send(answer)

    def ids(self) -> list[int]:
        """The ids of all changes that came."""
        return [one["id"] for body in self.bodies for one in json.loads(body)["data"]["changes"]]

    def header(self, number: int, name: str) -> str:
        """A header of a message."""
        return re.search(rf"(?i)\r\n{name}: ([^\r]*)".encode(), self.heads[number])[1].decode()  # type: ignore[index]


@pytest.fixture
def receive() -> Iterator[Callable[..., Receiver]]:
    """Starts receivers, and stops them."""
    started: list[Receiver] = []

    def start(*answers: bytes) -> Receiver:
        started.append(Receiver(*answers))
        return started[-1]

    yield start
    for one in started:
        one.server.stop()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A crawl's database with its schema, on each engine."""
    database = open_database(database_url)
    row = {"site_id": 1, "url": "http://a.example/", "url_hash": url_hash("http://a.example/"), "added_at": 1}
    database.retrying(lambda connection: connection.execute(insert(seed).values(id=1, **row)))
    yield database
    database.close()


def found(database: Database, *ids: int) -> None:
    """Let changes with these ids be found."""
    rows: list[dict[str, Any]] = [
        {
            "id": number,
            "at": 1_700_000_000_000 + number,
            "seed_id": 1,
            "url_hash": url_hash(str(number)),
            "url": f"http://a.example/{number}",
            "kind": "changed",
            "visit": 1,
            "detail": "",
            "distance": 3,
        }
        for number in ids
    ]
    database.retrying(lambda connection: connection.execute(insert(url_change), rows))
