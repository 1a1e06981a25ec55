"""What a URL from another site lets go on, where nothing of its own site is in work: a pure decision."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.urls.scope import scope_of

# So parties end for what their own URLs are: others of the site may be fetched, and the party goes on for them.
GO_ON = frozenset(
    {
        EndReason.COMPLETED.value,
        EndReason.MAX_DEPTH.value,
        EndReason.ENDLESS.value,
        EndReason.HTTP_ERROR.value,
        EndReason.UNWANTED_TYPE.value,
        EndReason.ROBOTS_DENIED.value,
    }
)
# These parties never were any: they say nothing of the site.
NO_PARTIES = frozenset(
    {
        EndReason.COVERED.value,
        EndReason.REDIRECTED.value,
        EndReason.OUTSIDE_BOUNDARY.value,
        EndReason.ELSEWHERE.value,
    }
)
_IN_WORK = frozenset({SeedState.READY.value, SeedState.ACTIVE.value})


class Opening(Enum):
    """What is done for a URL: a party goes on, a new one begins, or none, for the site has been given up.

    Or nothing as yet: a party of the site is in work again, since somebody else let it go on.
    """

    REOPEN = auto()
    NEW = auto()
    NONE = auto()
    WAIT = auto()


class Party(NamedTuple):
    """A party that is not in work."""

    seed_id: int
    home_url: str
    state: str  # the value of a SeedState
    end_reason: str | None  # the value of an EndReason
    base_depth: int


def opening(url: str, depth: int, parties: Iterable[Party], scope: Scope) -> tuple[Opening, int]:
    """Decide what a URL lets go on, `depth` links from a user's seed; of REOPEN there is the id of the seed.

    A party has its URLs by their depths below its own, so it takes those alone that are deeper than that. As any link
    in it, a URL is left out where its party has come to a limit, or the site was given up.
    """
    given_up = False
    parties = list(parties)
    if any(one.state in _IN_WORK for one in parties):
        return Opening.WAIT, 0
    for one in parties:
        if not scope_of(one.home_url, scope).contains(url) or one.end_reason in NO_PARTIES:
            continue
        if one.state == SeedState.SLOW.value or one.end_reason in GO_ON:
            if one.base_depth < depth:
                return Opening.REOPEN, one.seed_id
        else:
            given_up = True
    return (Opening.NONE if given_up else Opening.NEW), 0
