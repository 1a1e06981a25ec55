"""How long a crawler waited for each answer, from the server's log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scrawler.features.synthweb.process import LoggedRequest


class Wait(NamedTuple):
    """A request, for as long as the crawler waited for it; seconds since the first request of the crawl."""

    url: str
    began: float
    ended: float
    came: bool  # the answer came in time
    second: bool  # the URL had been asked for before


def waited(requests: Sequence[LoggedRequest], patience: float, timeout: float) -> list[Wait]:
    """Tell from the server's log how long the crawler waited: `patience` at first, `timeout` when it asks again.

    The log says when an answer was ready, also where nobody waited for it any more. The crawler must not have become
    more patient meanwhile, as it does where nearly all answers are late.
    """
    began = min((line.came for line in requests), default=0.0)
    asked: set[str] = set()
    waits = []
    for line in requests:
        limit = timeout if line.url in asked else patience
        took = line.at - line.came
        start = line.came - began
        waits.append(Wait(line.url, start, start + min(took, limit), took <= limit, line.url in asked))
        asked.add(line.url)
    return waits
