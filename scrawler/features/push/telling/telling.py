"""The feed and the webhooks of a run: a thread keeps them up to date, and its end gives them one last try.

Few runs have any: what tells of changes is imported where it is wanted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scrawler.api.companions import Idle
from scrawler.assembly.parts import with_authorities
from scrawler.errors import SettingsError
from scrawler.features.push.settings import PushSettings
from scrawler.regular import read_regular
from scrawler.settings import Settings
from scrawler.settings.kinds import SHARED_SECRET_LENGTH
from scrawler.threads import start


class Telling(Idle):
    """Tells of changes beside the machines of one run, where the settings name a feed or webhooks.

    `say` is told, in a line each, what goes wrong, and when it goes well again. Raises SettingsError.
    """

    def __init__(self, settings: Settings, say: Callable[[str], None]) -> None:
        self._whole = with_authorities(settings)
        self._settings = PushSettings.of(self._whole)
        self._say = say
        self._wanted = self._settings.feed is not None or bool(self._settings.webhook)
        self._key = b""
        if self._settings.webhook:
            from scrawler.features.push.telling.message import signing_key

            self._key = signing_key(webhook_secret(self._settings))
        if self._settings.feed is not None:
            from scrawler.features.push.telling.feed_file import check_feed_file

            check_feed_file(self._settings.feed)

    @contextmanager
    def at_work(self, stop: threading.Event) -> Iterator[None]:
        """Tell of what is found during a block, and of the rest after it; `stop` lets that be short."""
        if not self._wanted:
            yield
            return
        from scrawler.features.push.telling.background import Background

        thread = Background(self._whole, self._key, self._say)
        start(thread)
        try:
            yield
        finally:
            thread.finish(stop)


def webhook_secret(settings: PushSettings) -> str:
    """Return what messages are signed with. Raises SettingsError where there is none."""
    if settings.webhook_secret is not None:
        return settings.webhook_secret.get_secret_value()
    file = settings.webhook_secret_file
    if file is None:
        raise SettingsError(
            "webhooks need a secret, with which messages are signed: write one to a file"
            " (openssl rand -hex 32), and name it with --webhook-secret-file, or set SCRAWLER_WEBHOOK_SECRET"
        )
    try:
        secret = read_regular(file).decode().strip()
    except OSError as error:
        raise SettingsError(f"cannot read the secret of webhook_secret_file: {error.strerror}: {file}") from error
    except UnicodeDecodeError:
        secret = ""
    if len(secret.encode()) < SHARED_SECRET_LENGTH:
        raise SettingsError(f"{file} is no secret: a text of {SHARED_SECRET_LENGTH} bytes at least")
    return secret
