"""Why a link is refused, in words; and where a few refused ones are kept."""

from __future__ import annotations

from typing import Protocol

from scrawler.urls.traps import UrlLimits
from scrawler.urls.verdict import Verdict

LONGEST_REFUSED = 20_000  # refused URLs of so many characters at most are normalised nevertheless, to be told


class Sample(Protocol):
    """Keeps a few refused URLs of each reason."""

    def wants(self, reason: str) -> bool:
        """Whether there is room for a URL refused for this reason."""

    def add(self, reason: str, url: str, words: str) -> None:
        """Keep a URL, or text that is none, with why it is refused."""


def words_for(verdict: Verdict, url: str, max_length: int, limits: UrlLimits | None) -> str:
    """Say what about `url`, or text that is none, made the analyzer refuse it."""
    if verdict is Verdict.FILE_TYPE:
        return f"ends in .{url.partition('?')[0].rpartition('.')[2].lower()}, which is no document"
    if verdict is Verdict.LENGTH:
        return f"longer than {max_length:,} characters"
    if limits is not None and verdict in _LIMITED:
        return _LIMITED[verdict].format(limits)
    return _WORDS.get(verdict, f"refused as {verdict}")


_LIMITED = {
    Verdict.SEGMENTS: "more than {0.segments} segments in its path",
    Verdict.REPEATS: "a segment, or a row of segments, stands more than {0.repeats} times in a row in its path",
    Verdict.PARAMETERS: "more than {0.parameters} parameters in its query",
}
_WORDS = {
    Verdict.SYNTAX: "no URL by the WHATWG standard",
    Verdict.SCHEME: "neither http nor https",
    Verdict.PORT: "a port of another service than HTTP, which browsers refuse to ask",
}
