"""What is known of a URL that was visited before: from the store to the machine.

A row of the table `page` is a visit, not a URL: the first has the number 0. What the last one has brought is a state of
the URL, by which the next visit asks whether there is anything new.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from scrawler.model.results import PageFlag, Result
from scrawler.model.terms import Millis

_DIGEST_BYTES = 20
_VALUE = re.compile(r"[ -~\x80-\xff]+")  # of a header, as it goes into a request: no line ends, no control characters

_CODING = re.compile(r'(?:--?|;)(?:gzip|gz|br|deflate|zstd)"\Z')

LISTED = -1  # as `due_at`: the URL stands in a lane, to be visited again
NEVER = 0  # as `due_at`: nobody has said that it is to be visited again
WHOLE_EVERY = 16  # visits of a URL, of which one asks for all of it
_LONGEST_ETAG, _LONGEST_DATE = 255, 64  # characters of what is kept of headers; longer ones are not sent back


class ChangeKind(StrEnum):
    """What a visit has found of a URL, compared with the visits before it."""

    NEW = "new"  # a page that the rounds before did not find
    CHANGED = "changed"  # another body than before
    FAILING = "failing"  # 404 or 410, for the first time
    GONE = "gone"  # 404 or 410, for the second time in a row
    BACK = "back"  # there again after it was failing, or gone
    MOVED = "moved"  # a permanent redirect, which was none before, or led elsewhere


FLAG_OF = {
    ChangeKind.NEW: PageFlag.NEW,
    ChangeKind.CHANGED: PageFlag.CHANGED,
    ChangeKind.FAILING: PageFlag.FAILING,
    ChangeKind.GONE: PageFlag.GONE,
    ChangeKind.BACK: PageFlag.BACK,
    ChangeKind.MOVED: PageFlag.MOVED,
}
KIND_FLAGS = sum(FLAG_OF.values())


def kinds_of(flags: int) -> tuple[ChangeKind, ...]:
    """Return what the flags of a page row say has changed."""
    return tuple(kind for kind, flag in FLAG_OF.items() if flags & flag)


class UrlState(NamedTuple):
    """What is known of a URL: a row of the table `url_state`, which says more of each field."""

    seed_id: int
    url_hash: bytes
    url: str
    depth: int
    position: int
    flags: int
    referrer: bytes
    visit: int
    visited_at: Millis
    result: str
    digest: bytes
    payload_url: str
    payload_at: Millis
    length: int
    etag: str
    last_modified: str
    known_since: Millis
    changed_at: Millis
    changes: int
    missing: int
    interval_ms: int
    due_at: Millis
    simhash: int = 0
    checks: bytes = b""
    text_print: bytes = b""
    demand_cell: int = 0


class KnownVisit(NamedTuple):
    """What the last visit to a URL has brought.

    Only a visit is known whose links this crawl has listed, as far as it follows links now: an answer that nothing has
    changed brings none. Who visits again under wider limits, or what was cut, refused by its nofollow, or met a fault,
    leaves it out of what is known, and so asks for all of it.
    """

    number: int  # the `visit` of its page row
    payload_url: str  # URL of the record with what it brought, perhaps another one that had the same before
    payload_at: Millis  # time of that record
    digest: bytes  # SHA-1 of the payload, 20 bytes; of another length where that is not known
    etag: str = ""  # as the server sent it, quotes included
    last_modified: str = ""  # as the server sent it
    state: UrlState | None = None  # all that is known of the URL, where that is kept
    published: Millis | None = None  # when it last changed, as lists of ResourceSync say; None: they do not name it

    @property
    def settled(self) -> bool:
        """Whether a visit has brought an answer: where the URL leads is decided then, if it is a seed's own."""
        return self.state is None or self.state.result in _SETTLED or bool(self.digest)


def conditions(known: KnownVisit) -> tuple[tuple[str, str], ...]:
    """Return the headers by which a server is asked for a page only if it has changed (RFC 9110, 13.1).

    None where a record of an answer that it has not could not say what it was.
    """
    if len(known.digest) != _DIGEST_BYTES:
        return ()
    asked = []
    if _can_be_sent(known.etag):
        asked.append(("If-None-Match", known.etag))
    if _can_be_sent(known.last_modified):
        asked.append(("If-Modified-Since", known.last_modified))
    return tuple(asked)


_SETTLED = frozenset({Result.FETCHED.value, Result.REDIRECT.value, Result.NOT_MODIFIED.value})
_READ_IN_PART = PageFlag.TRUNCATED | PageFlag.NOFOLLOW  # of such a page not all links are listed


def known_visit(state: UrlState, whole: bool = False) -> KnownVisit:
    """Return what a state says of the last visit; with `whole`, its page is asked for as if nobody had it."""
    if whole or not state.payload_at or state.flags & _READ_IN_PART or _is_to_be_whole(state):
        return KnownVisit(state.visit, "", 0, b"", state=state)
    url = state.payload_url or state.url
    if state.result == Result.HTTP_ERROR.value:  # the page is gone, or the condition was at fault
        return KnownVisit(state.visit, url, state.payload_at, state.digest, state=state)
    return KnownVisit(state.visit, url, state.payload_at, state.digest, state.etag, state.last_modified, state)


def _is_to_be_whole(state: UrlState) -> bool:
    """Whether the next visit asks for all of a page, so that a server that always says "not modified" is found out.

    One visit in so many does, URLs of a round at different times.
    """
    turn = state.visit + 1 + (state.url_hash[0] if state.url_hash else 0)
    return state.result == Result.NOT_MODIFIED.value and state.visit >= WHOLE_EVERY // 2 and turn % WHOLE_EVERY == 0


def is_weak(etag: str) -> bool:
    """Tell whether an ETag is a weak one: pages with the same may differ in what does not matter (RFC 9110, 8.8.1)."""
    return etag.lstrip().startswith("W/")


def is_same_tag(etag: str, other: str) -> bool:
    """Tell whether two ETags are the same by the weak comparison (RFC 9110, 8.8.3.2).

    Some servers name the content coding in that of a body, and not in that of a 304.
    """
    return etag == other or _bare(etag) == _bare(other)


def _bare(etag: str) -> str:
    """Return an ETag without what says that it is weak, and how its body is packed."""
    return _CODING.sub('"', etag.removeprefix("W/"))


def validators(etag: str, last_modified: str) -> tuple[str, str]:
    """Return what is kept of the two headers."""
    etag, last_modified = etag.strip(), last_modified.strip()
    return etag if len(etag) <= _LONGEST_ETAG else "", last_modified if len(last_modified) <= _LONGEST_DATE else ""


def _can_be_sent(value: str) -> bool:
    """Whether what a server has sent may be sent back: "*", also in a list, would stand for whatever it has."""
    named = value.strip() != "" and not any(part.strip() == "*" for part in value.split(","))
    return named and _VALUE.fullmatch(value) is not None
