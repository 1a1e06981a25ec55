"""Of what a seed has died: the word with which the detail of its end begins.

A name without an address is an end reason of its own (`no-address`), which is told as `dns` here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from scrawler.model.results import Result
from scrawler.model.seeds import EndReason


class Death(StrEnum):
    """What a seed met that ended as dead, or without an address."""

    CONNECTION_REFUSED = "connection-refused"  # nobody listens at its port
    UNREACHABLE = "unreachable"  # no connection for another reason: no way to the host, a proxy
    TIME_OUT = "time-out"  # no connection, or no answer, in time
    DNS = "dns"  # its name has no address
    TLS = "tls"  # no encrypted connection: its certificate, or what it speaks
    CUT = "cut"  # the connection was lost
    BAD_ANSWER = "bad-answer"  # what came is not HTTP
    TOO_LARGE = "too-large"  # all that came of it was too large


_REFUSED: Final = "connection refused"  # as all systems say it
_BY_RESULT: Final = {
    Result.CONNECT_FAILED: Death.UNREACHABLE,
    Result.TIMEOUT: Death.TIME_OUT,
    Result.NO_ADDRESS: Death.DNS,
    Result.TLS_FAILED: Death.TLS,
    Result.CUT: Death.CUT,
    Result.BAD_ANSWER: Death.BAD_ANSWER,
    Result.TOO_LARGE: Death.TOO_LARGE,
}
_RESULTS: Final = {result.value: result for result in _BY_RESULT}


def detail_of_death(result: Result | None, detail: str) -> str:
    """Return the detail of the end of a dead seed, which begins with a word of `Death`, where it is known of what.

    A detail that begins with a result tells of that one, not of the `result` of the seed's own URL.
    """
    word, _, rest = detail.partition(": ")
    if word in _RESULTS:
        result, detail = _RESULTS[word], rest
    death = None if result is None else _BY_RESULT.get(result)
    if death is Death.UNREACHABLE and _REFUSED in detail.lower():
        death = Death.CONNECTION_REFUSED
    return detail if death is None else f"{death.value}: {detail}"


def death_of(end_reason: str | None, detail: str) -> Death | None:
    """Return of what a seed has died; None where it did not, or an earlier program did not note it."""
    if end_reason == EndReason.NO_ADDRESS:
        return Death.DNS
    word = detail.partition(":")[0]
    if end_reason != EndReason.DEAD or word not in _WORDS:
        return None
    return Death(word)


_WORDS: Final = frozenset(death.value for death in Death)
