"""What there is to say about one URL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from scrawler.dates import moment
from scrawler.errors import escaped
from scrawler.model.terms import Millis
from scrawler.store.engines.engine import Database

WAITING = "waiting"  # it is listed, and its turn comes
LEFT_OUT = "left-out"  # it is listed, but its seed ended before its turn
PASSED_BY = "passed-by"  # it is listed, and left to another seed
OUTSIDE = "outside-boundary"  # it is external, and may not enter the crawl
CANDIDATE = "candidate"  # it is external, and was handed back as a candidate seed
SENT = "sent"  # it was sent to the owner of its site, which has it still to list, or has not listed it
REFUSED = "refused"  # a link to it was refused, or would be
NOT_SEEN = "not-seen"  # no crawled page links to it


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that applies to the URL: its kind, sentences for people, values for programs."""

    kind: str
    lines: tuple[str, ...]
    values: Mapping[str, Any]


class Teller(Protocol):
    """Yields facts on a URL that was fetched: what a feature offers under the name "why"."""

    def __call__(self, database: Database, hashes: Collection[bytes], /) -> Iterable[Fact]:
        """`hashes` are those of all forms of the URL. Raises StoreError."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """All that applies to a URL.

    `outcome` is the first that decides: the result of its page row, WAITING, LEFT_OUT, PASSED_BY, the end reason of the
    seed that it is, OUTSIDE, SENT, CANDIDATE, REFUSED or NOT_SEEN.
    """

    url: str
    outcome: str
    facts: tuple[Fact, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the answer as JSON knows it."""
        facts = [{"kind": fact.kind, "text": list(fact.lines), **fact.values} for fact in self.facts]
        return {"url": self.url, "outcome": self.outcome, "facts": facts}

    def __str__(self) -> str:
        """Return the lines that `scrawler why` shows."""
        lines = [f"{escaped(self.url)}: {self.outcome}"]
        width = max((len(fact.kind) for fact in self.facts), default=0)
        for fact in self.facts:
            labels = [fact.kind, *[""] * len(fact.lines)]
            lines += [f"  {label:<{width}}  {escaped(line)}" for label, line in zip(labels, fact.lines, strict=False)]
        return "\n".join(lines)


def utc(at: Millis) -> str:
    """Write a time for reading."""
    return moment(at).strftime("%Y-%m-%d %H:%M:%S UTC")
