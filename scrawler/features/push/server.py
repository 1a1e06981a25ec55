"""Runs the endpoints: sockets, TLS, limits of connections, the threads behind them, and an orderly end."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, cast

import uvicorn

from scrawler.errors import SettingsError, StoreError
from scrawler.features.inbound.connections import HEAD_BYTES, HEAD_S, OpenConnections, limited_protocol
from scrawler.features.inbound.orderly import OrderlyServer
from scrawler.features.inbound.rate import RateLimit
from scrawler.features.inbound.sockets import bound, serve
from scrawler.features.push.app import Endpoints
from scrawler.features.push.asker import Asker
from scrawler.features.push.intake import Intake
from scrawler.features.push.owners import OwnerDesk
from scrawler.features.push.proofs import KeyFiles
from scrawler.features.push.store.owners import Owners
from scrawler.features.push.store.pushes import BEAT_EVERY, Pushes
from scrawler.features.push.store.subscriptions import Subscriptions
from scrawler.features.push.troubles import Troubles
from scrawler.features.push.websub import Callbacks, Hubs
from scrawler.fetch.proxies import EnvironmentProxies
from scrawler.model.scope import Scope
from scrawler.settings import Settings
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.engines.engine import Database
from scrawler.threads import start

_CONNECTIONS = 512
_OF_AN_ADDRESS = 32  # connections, unless it is a proxy that is trusted
_HEAD_TIME = HEAD_S  # seconds in which the head of a request is to be there
_IDLE = 5  # seconds for which a connection is kept that says nothing
_GRACE = 10  # seconds that messages at work have at the end
_BACKLOG = 128
_RATE, _BURST = 10.0, 100  # messages a second of one address, and so many at once


@dataclass(frozen=True, slots=True)
class Listening:
    """Where and how to listen."""

    host: str
    port: int
    per_day: int  # URLs that a site may send
    waiting: int  # URLs of a site that may wait to be taken by a machine
    largest: int  # bytes of a message
    trusted: tuple[str, ...] = ()  # addresses of proxies whose X-Forwarded-For is believed
    certificate: str = ""
    certificate_key: str = ""

    @property
    def url(self) -> str:
        """Return it as a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"


class Listener:
    """All of `scrawler listen`, from its first sign of life to its last."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        scope: Scope,
        product_token: str,
        listening: Listening,
        say: Callable[[str], None],
        heeds_hangups: bool = False,
        proxies: EnvironmentProxies | None = None,
    ) -> None:
        """`proxies` are those of the environment. `heeds_hangups`: whether a terminal that is closed ends it.

        Raises StartError, SettingsError.
        """
        self._listening = listening
        self._say = say
        self._halt = threading.Event()
        self._troubles = Troubles(say)
        self._pushes = Pushes(database, listening.per_day, listening.waiting)
        boundary = CrawlBoundary(database, settings.boundary, scope)
        self._asker = Asker(
            settings, product_token, scope, self._pushes, self._halt.wait, proxies or EnvironmentProxies({})
        )
        self._key_files = KeyFiles(self._asker, self._halt)
        self._intake = Intake(self._pushes, boundary, scope, settings.max_url_length, self._key_files)
        self._key_files.told = self._intake.proved
        subscriptions = Subscriptions(database)
        self._hubs = Hubs(subscriptions, self._asker, self._halt)
        desk = OwnerDesk(Owners(database), self._intake, self._asker)
        endpoints = Endpoints(
            self._intake,
            Callbacks(subscriptions, self._intake),
            desk,
            settings.user_agent,
            listening.largest,
            RateLimit(_RATE, _BURST),
            self._troubles,
        )
        try:
            self._server = OrderlyServer(self._config(endpoints))
        except BaseException:
            self._asker.close()  # its threads would outlive what cannot be made
            raise
        self._server.heeds_hangups = heeds_hangups
        self._hubs.failed = self._fail
        self._key_files.failed = self._fail
        self._error: BaseException | None = None

    def _config(self, endpoints: Endpoints) -> uvicorn.Config:
        listening = self._listening
        config = uvicorn.Config(
            endpoints.app(),
            http=cast(Any, limited_protocol(_HEAD_TIME)),  # it is called as a class is
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(listening.trusted),
            forwarded_allow_ips=list(listening.trusted),
            limit_concurrency=_CONNECTIONS,
            backlog=_BACKLOG,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=_GRACE,
            h11_max_incomplete_event_size=HEAD_BYTES,
            ssl_certfile=listening.certificate or None,
            ssl_keyfile=listening.certificate_key or None,
        )
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(f"{listening.certificate}: no certificate with its key: {error}") from error
        return config

    def run(self) -> None:
        """Listen until told to end. Raises StoreError before it has begun, and whatever ended it."""
        threads: list[threading.Thread] = []
        with ExitStack() as ends:
            ends.callback(self._end, threads)
            opened = OpenConnections(_OF_AN_ADDRESS, _CONNECTIONS, self._listening.trusted)
            made = bound(self._listening.host, self._listening.port, opened)
            for one in made:
                ends.callback(one.close)
            number = self._pushes.begin(self._listening.url)
            self._intake.prove_left()
            threads += [*self._key_files.threads, self._hubs, threading.Thread(target=self._beat, args=(number,))]
            for thread in threads:
                start(thread)
            self._say(f"listening at {self._listening.url}")
            serve(self._server, made)
        if self._error is not None:
            raise self._error
        with suppress(StoreError):
            self._intake.write_refused()
        self._pushes.beat(number, ended=True)

    def _end(self, threads: Sequence[threading.Thread]) -> None:
        self._halt.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        self._asker.close()

    def stop(self) -> None:
        """Let it end in order, from any thread."""
        self._server.should_exit = True

    def _beat(self, number: int) -> None:
        """Show that it lives, and write what was refused since."""
        try:
            while not self._halt.wait(BEAT_EVERY):
                self._pushes.check_file()
                try:
                    self._pushes.beat(number)
                    self._intake.write_refused()
                    self._intake.prove_left()  # what found no room before, or another listener has left
                    self._troubles.over()
                except StoreError as error:
                    self._troubles.note(error)
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = error
        self._server.should_exit = True
        self._halt.set()
