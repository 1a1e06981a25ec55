"""Tells whoever runs the listener that the database refuses, while senders are told to come again."""

from __future__ import annotations

import threading
from collections.abc import Callable

from scrawler.errors import StoreError


class Troubles:
    """What is the matter with the database; any thread may use it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._told = ""

    def note(self, error: StoreError) -> None:
        """Tell it, once for as long as it lasts."""
        text = str(error)
        with self._lock:
            if text == self._told:
                return
            self._told = text
        self._say(f"scrawler: warning: {text}; what is sent is answered with 503 meanwhile")

    def over(self) -> None:
        """Note that the database takes what is written."""
        with self._lock:
            told, self._told = self._told, ""
        if told:
            self._say("the database takes what is sent again")
