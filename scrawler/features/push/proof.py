"""A key of IndexNow and its file: who can put a file on a site may send its URLs."""

from __future__ import annotations

import hmac
import json
from typing import Any, NamedTuple

from scrawler.features.push.asker import Answer
from scrawler.urls.normalise import normalise
from scrawler.urls.scope import authority, folder_of, origin

_LONGEST_FILE = 4_096


class Proof(NamedTuple):
    """A key, and where its file is."""

    key: str
    location: str

    @property
    def host(self) -> str:
        """Host and port of the file."""
        return authority(self.location)

    @property
    def is_usual(self) -> bool:
        """Whether the file is where IndexNow looks for it, unless it is told another place."""
        return self.location == f"{origin(self.location)}/{self.key}.txt"

    @classmethod
    def of(cls, url: str, key: str, location: Any) -> Proof | None:
        """Return the proof for a URL; `location` is as it was sent, None where it was not. None: it is no proof.

        A page that shows its query would prove any key, so a file has none.
        """
        if location is None or location == "":
            return cls(key, f"{origin(url)}/{key}.txt")
        where = normalise(location).url if isinstance(location, str) else ""
        if not where or "?" in where or authority(where) != authority(url):
            return None
        return cls(key, where)

    def covers(self, url: str) -> bool:
        """Whether the file stands where it may speak for a URL: in a folder above it."""

        def bare(text: str) -> str:
            return text.partition("://")[2]

        return bare(url).startswith(bare(folder_of(self.location)))

    def text(self) -> str:
        """Return it as the database keeps it."""
        return json.dumps([self.key, self.location])

    @classmethod
    def read(cls, text: str) -> Proof | None:
        """Read what `text` has written."""
        try:
            key, location = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            return None
        return cls(key, location) if isinstance(key, str) and isinstance(location, str) else None

    def is_shown_by(self, answer: Answer) -> bool | None:
        """Whether an answer is the key; None: it does not tell, as the server may be out of order.

        It is the key and nothing else but white space around it: what also stands somewhere in a page, as a comment
        that anybody may write, proves nothing.
        """
        if not answer.status or answer.status >= 500 or answer.status == 429:
            return None
        if answer.status != 200:
            return False
        if len(answer.body) > _LONGEST_FILE or "?" in self.location + answer.url:
            return False
        text = answer.body.strip().removeprefix(b"\xef\xbb\xbf").strip()
        return hmac.compare_digest(text, self.key.encode())
