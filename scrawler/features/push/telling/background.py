"""What tells of changes beside the machines of a run: a thread, and what it sends last."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from uuid import uuid4

from scrawler.errors import StoreError
from scrawler.features.push.settings import PushSettings
from scrawler.features.push.telling.feed_file import FeedFile
from scrawler.features.push.telling.hooks import TRY_SECONDS, HookSender
from scrawler.features.push.telling.sender import HttpSender
from scrawler.features.push.webhooks import SettledChanges, Webhooks
from scrawler.features.revisit.log import Changes
from scrawler.model.terms import Millis
from scrawler.settings import Settings
from scrawler.store.claims.crawls import Crawls
from scrawler.store.claims.processes import identify
from scrawler.store.engines.engine import Database, Waiting, open_database

_LOOK_EVERY = 2.0  # seconds between two looks for changes ...
_OF_A_LOOK = 20  # ... or so many times as long as a look takes without what is sent, if that is longer
_LAST_TRIES = 20.0  # seconds that all webhooks together have once the crawl has ended ...
_LAST_TRIES_STOPPED = 5.0  # ... and once it was stopped
_LAST_WORD = 5.0  # seconds for which the end of a run waits for what is on its way
_FAILURES_TOLD = 5  # in a row: a machine may be about to make the database
_LOOK_AT_STOP = 0.2  # seconds
_ANSWER = 10.0  # seconds in which the database must answer


class Background(threading.Thread):
    """Looks for changes until it is to finish.

    It is a daemon: nothing can wake a look-up of a name that waits for an answer, and what was not delivered is sent
    again by the next run.
    """

    def __init__(self, settings: Settings, key: bytes, say: Callable[[str], None]) -> None:
        super().__init__(name="telling", daemon=True)
        self._settings = settings
        self._own = PushSettings.of(settings)
        self._key = key
        self._say = say
        self._finishing = threading.Event()
        self._given_up = threading.Event()
        self._deadline = 0.0  # monotonic, once it is to finish
        self._problems: dict[str, str] = {}  # of the feed, or of a webhook: what was said of it last

    def finish(self, stop: threading.Event) -> None:
        """Let it send what is left within some seconds, fewer once `stop` is set, and end."""
        stopped = stop.is_set()
        self._deadline = time.monotonic() + (_LAST_TRIES_STOPPED if stopped else _LAST_TRIES)
        self._finishing.set()
        while self.is_alive() and time.monotonic() < self._deadline:
            self.join(_LOOK_AT_STOP)
            if stop.is_set() and not stopped:
                stopped = True
                self._deadline = min(self._deadline, time.monotonic() + _LAST_TRIES_STOPPED)
        self._given_up.set()
        self.join(_LAST_WORD)

    def run(self) -> None:
        """Open the database, which machines may be about to make, and look; what fails is tried again."""
        failures = 0
        while not self._given_up.is_set():
            try:
                with closing(self._opened()) as database:
                    self._work(database)
                return
            except StoreError as error:
                failures += 1
                if failures >= _FAILURES_TOLD:
                    self._tell("the database", f"changes are not told: {error}")
            if self._finishing.wait(_LOOK_EVERY) and time.monotonic() > self._deadline:
                return

    def _opened(self) -> Database:
        patience = self._settings.database_patience
        waiting = Waiting(give_up_after=min(_ANSWER, patience), answer=_ANSWER)
        return open_database(self._settings.db, create=False, stop=self._given_up, waiting=waiting)

    def _work(self, database: Database) -> None:
        crawl = Crawls(database).open(self._settings.name, self._settings.scope)
        changes = Changes(database)
        feed = None
        if self._own.feed is not None:
            feed = FeedFile(self._own.feed, crawl, changes, self._own.feed_entries)
        hooks = self._hooks(database, changes, crawl.name, crawl.created_at)
        for hook in hooks:
            hook.add()
        pause = 0.0
        while not self._finishing.wait(pause):
            began = time.monotonic()
            self._write(feed)
            pause = max(_LOOK_EVERY, _OF_A_LOOK * (time.monotonic() - began))
            more = [self._send(hook) for hook in hooks]
            pause = 0.0 if any(more) else pause
        self._write(feed)
        self._send_rest(hooks)

    def _hooks(self, database: Database, changes: Changes, crawl: str, created_at: Millis) -> list[HookSender]:
        settings = self._settings
        sender = HttpSender(
            self._own.webhook_private or settings.allow_private,
            settings.allow_addresses,
            settings.user_agent,
            dict(one.split("=", 1) for one in settings.resolve),
            "" if settings.ca_file is None else str(settings.ca_file),
            self._given_up.is_set,
        )
        holder = identify(os.getpid()) or uuid4().hex
        parts = Webhooks(database), changes
        return [
            HookSender(
                one.get_secret_value(), self._key, crawl, f"{created_at:x}", *parts, SettledChanges(database), sender,
                holder,
            )
            for one in self._own.webhook
        ]  # fmt: skip

    def _write(self, feed: FeedFile | None) -> None:
        if feed is None:
            return
        name = f"feed {self._own.feed}"
        try:
            feed.look()
        except OSError as error:
            self._tell(name, f"{name} is not written: {error.strerror or error}; it is tried again")
            return
        self._is_well(name, f"{name} is written again")

    def _send(self, hook: HookSender) -> bool:
        """Send one message to a webhook; return whether another one may go at once."""
        step = hook.step()
        if step.error:
            self._tell(hook.shown, f"webhook {hook.shown}: {step.error}; changes wait, and it is tried again")
        elif step.delivered:
            self._is_well(hook.shown, f"webhook {hook.shown} takes changes again")
        return step.more

    def _send_rest(self, hooks: list[HookSender]) -> None:
        """Send what is left, as long as there is time: a webhook that fails has one try."""
        for number, hook in enumerate(hooks):
            began = time.monotonic()
            until = began + (self._deadline - began) / (len(hooks) - number)  # one that hangs leaves the others theirs
            more = True
            while more and not self._given_up.is_set():
                left = until - time.monotonic()
                if left <= 0:
                    self._say(f"webhook {hook.shown}: the time for it is over; the next run sends what waits")
                    break
                step = hook.step(min(TRY_SECONDS, left), at_once=True)
                more = step.more
                if step.error:
                    self._say(f"webhook {hook.shown}: {step.error}; the next run sends what waits")
            with suppress(StoreError):
                hook.release()

    def _tell(self, of: str, problem: str) -> None:
        """Say what goes wrong, if it is another thing than before."""
        if self._problems.get(of) != problem:
            self._problems[of] = problem
            self._say(problem)

    def _is_well(self, of: str, words: str) -> None:
        if self._problems.pop(of, None) is not None:
            self._say(words)
