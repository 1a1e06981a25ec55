"""A listener, with its real endpoints, threads and database, beside a site and a hub on loopback."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from scrawler.features.push.server import Listener, Listening
from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.engine import open_database
from scrawler.urls.scope import site_key
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.integration.store import conftest as of_store
from tests.limits import HANGS
from tests.torture.crawl import wait_for

KEY = "a1b2c3d4e5f6"


class Answered(NamedTuple):
    """What a listener has answered."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def said(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


class Site:
    """A site whose paths answer what a test puts there; `asked` are the paths that were asked for."""

    def __init__(self) -> None:
        self.paths: dict[str, bytes] = {"/": page("home"), f"/{KEY}.txt": page(KEY)}
        self.asked: list[str] = []
        self.bodies: list[bytes] = []
        self.held: dict[str, threading.Event] = {}  # paths that are answered once a test lets them be

    def __call__(self, visit: Visit) -> None:
        while head := visit.request():
            path = path_of(head)
            self.asked.append(path)
            if path in self.held:
                assert self.held[path].wait(HANGS)
            visit.send(self.paths.get(path, NOT_FOUND))


class Rig:
    """A listener in a thread, and the crawl for which it listens."""

    def __init__(self, folder: Path, database_url: str, server: RawServer) -> None:
        self.url = database_url
        self.server = server
        self.folder = folder
        self.port = 0
        self.listener: Listener | None = None
        with closing(open_database(database_url, create=True)) as database:
            Crawls(database).open("crawl", Scope.HOST)
            home = server.url("/")
            Seeds(database).add([NewSeed(home, site_key(home, Scope.HOST), 0)])

    @property
    def host(self) -> str:
        """The site's host and port."""
        return f"{self.server.address}:{self.server.port}"

    def settings(self, **changes: Any) -> Settings:
        values = {
            "db": self.url,
            "delay": 0,
            "allow_private": True,
            "user_agent": "TestCrawler/1.0 (+http://127.0.0.1/)",
        }
        return Settings.model_validate(values | changes)

    @contextmanager
    def listening(self, *, per_day: int = 1_000, largest: int = 100_000, **changes: Any) -> Iterator[None]:
        """Listen in the block."""
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port = found.getsockname()[1]
        where = Listening("127.0.0.1", self.port, per_day=per_day, waiting=1_000, largest=largest)
        failures: list[BaseException] = []
        began = threading.Event()

        def run(listener: Listener) -> None:
            try:
                listener.run()
            except BaseException as error:
                failures.append(error)
                began.set()

        with closing(open_database(self.url)) as database:
            listener = Listener(self.settings(**changes), database, Scope.HOST, "TestCrawler", where, lambda line: None)
            self.listener = listener
            thread = threading.Thread(target=run, args=(listener,))
            thread.start()
            try:
                self.wait_until_it_answers(failures)
                assert not failures
                yield
            finally:
                listener.stop()
                thread.join()
        assert not failures

    def wait_until_it_answers(self, failures: Sequence[BaseException] = ()) -> None:
        """Return once a request is answered, or something has failed."""
        wait_for(lambda: bool(failures) or self._answers(), HANGS, "a listener that answers")

    def _answers(self) -> bool:
        try:
            return self.ask("GET", "/health").status == 200
        except OSError:
            return False

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answered:
        """Ask the listener for something."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS)) as connection:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Answered(answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()})

    def get(self, path: str, **query: str) -> Answered:
        return self.ask("GET", f"{path}?{urlencode(query)}")

    def post_json(self, path: str, value: Any, **headers: str) -> Answered:
        return self.ask("POST", path, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})

    def post_form(self, path: str, fields: Mapping[str, str], **headers: str) -> Answered:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, urlencode(fields).encode(), form | headers)

    def raw(self, data: bytes) -> bytes:
        """Send bytes, and return all that is answered until the connection ends."""
        with socket.create_connection(("127.0.0.1", self.port), HANGS) as sock:
            sock.sendall(data)
            answer = b""
            while piece := sock.recv(65536):
                answer += piece
        return answer

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        with closing(open_database(self.url)) as database, database.read() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

    def pushed(self) -> set[str]:
        """The paths that machines may take now."""
        home = self.server.url("")
        return {row[0].removeprefix(home) for row in self.sql("SELECT url FROM pushed WHERE proof = ''")}


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    made: list[RawServer] = []

    def start(script: Any, **options: Any) -> RawServer:
        made.append(RawServer(script, **options))
        return made[-1]

    yield start
    for server in made:
        server.stop()


@pytest.fixture
def rig(tmp_path: Path, site: Site, serve: Callable[..., RawServer]) -> Rig:
    return Rig(tmp_path, f"sqlite:///{tmp_path}/crawl.db", serve(site))


database = of_store.database  # the fixture
