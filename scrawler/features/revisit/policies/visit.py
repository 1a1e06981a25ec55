"""What one more visit makes of what is known of a URL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scrawler.core.party.conditions import kept_validators
from scrawler.features.revisit.kinds import UrlChange
from scrawler.features.revisit.policies.change import BODY_BYTES, same_text
from scrawler.features.revisit.policies.due import RevisitPolicy, Seen
from scrawler.features.revisit.policies.learning import Learned, SiteLearning
from scrawler.model.results import GONE, PageFlag, Result
from scrawler.model.rows import PageRow
from scrawler.model.terms import Millis
from scrawler.model.visits import FLAG_OF, NEVER, ChangeKind, UrlState, is_same_tag, is_weak

_PERMANENT = (301, 308)
_ALL_BITS = (1 << 64) - 1
_PAGE = frozenset({Result.FETCHED.value, Result.NOT_MODIFIED.value})
_TELLING = _PAGE | {Result.REDIRECT.value, "gone"}
_NO_BODY = (204, 206)  # of a visit that has asked for no part: they say nothing of the page that was there
_THERE = (Result.FETCHED.value, Result.REDIRECT.value, Result.NOT_MODIFIED.value)
SITEMAP_FRESH: Millis = 24 * 3600 * 1000  # a sitemap is asked again after so long, as a robots.txt (RFC 9309, 2.4)
_SOON = 24 * 3600 * 1000  # after so long a URL that has failed is due again, if its interval is not shorter
_FAILED = frozenset(
    {Result.CUT.value, Result.TIMEOUT.value, Result.CONNECT_FAILED.value, Result.BAD_ANSWER.value,
     Result.NO_ADDRESS.value, Result.TLS_FAILED.value, Result.INTERNAL_ERROR.value}
)  # fmt: skip


class _Known(NamedTuple):
    """What of the state before goes into the next one."""

    seed_id: int
    since: Millis
    visited_at: Millis = 0
    interval_ms: int = 0
    changed_at: Millis = 0
    changes: int = 0
    missing: int = 0

    @classmethod
    def of(cls, before: UrlState) -> _Known:
        return cls(
            before.seed_id, before.known_since, before.visited_at, before.interval_ms, before.changed_at,
            before.changes, before.missing,
        )  # fmt: skip


class Visited(NamedTuple):
    """The state of a URL after a visit, its row with flags of what has changed, and these changes."""

    state: UrlState
    row: PageRow
    changes: tuple[UrlChange, ...]


def after_visit(
    before: UrlState | None,
    row: PageRow,
    etag: str,
    last_modified: str,
    policy: RevisitPolicy,
    in_round: bool,
    original: tuple[str, Millis] | None = None,
    learning: SiteLearning | None = None,
    text_print: bytes = b"",
    near: int = 0,
) -> Visited:
    """Return what a visit with this row makes of the state before it; None: it was the first one.

    `in_round` says whether the seed is in a round after its first one, in which a URL that was not known is new.
    `original` is URL and time of the record to which that of this visit refers, as far as it is known. `learning` is
    what is known of its site, and is taught. `text_print` is of the page's text, where texts are compared, or of a body
    that came packed, else empty; texts may differ in `near` bits of their simhash.
    """
    kinds = _kinds(before, row, in_round, text_print)
    if ChangeKind.CHANGED in kinds and before is not None and same_text(before.text_print, text_print, near):
        kinds.remove(ChangeKind.CHANGED)
    learned = Learned()
    if learning is not None:
        found = _found_changed(before, row, kinds)
        learned = learning.learn(before, row.url, row.depth, row.fetched_at, found, policy)
    state = _next_state(before, row, ChangeKind.CHANGED in kinds, policy, learned)
    state = _with_payload(state, before, row, kept_validators(etag, last_modified), original, text_print)
    if kinds:
        row = row._replace(flags=row.flags | sum(FLAG_OF[kind] for kind in kinds))
    changes = tuple(
        UrlChange(
            at=row.fetched_at,
            seed_id=state.seed_id,
            url_hash=row.url_hash,
            url=row.url,
            kind=kind.value,
            visit=row.visit,
            detail=row.detail if kind is ChangeKind.MOVED else "",
            distance=_distance(before, row) if kind is ChangeKind.CHANGED else -1,
        )
        for kind in kinds
    )
    return Visited(state, row, changes)


def brings_body(before: UrlState | None, row: PageRow) -> bool:
    """Tell whether a visit has brought what takes the place of the payload before it."""
    return row.result == Result.FETCHED.value and (row.status not in _NO_BODY or before is None or not before.digest)


def _is_same_body(before: UrlState, row: PageRow, text_print: bytes) -> bool:
    """Tell whether a visit has brought the body that was there before: once it was unpacked, if it came packed."""
    if before.digest == row.digest:
        return True
    if BODY_BYTES not in (len(before.text_print), len(text_print)):
        return False
    old, new = (
        one if len(one) == BODY_BYTES else payload[:BODY_BYTES]
        for one, payload in ((before.text_print, before.digest), (text_print, row.digest))
    )
    return old == new


def _kinds(before: UrlState | None, row: PageRow, in_round: bool, text_print: bytes = b"") -> list[ChangeKind]:
    fetched = row.result == Result.FETCHED.value
    if before is None:
        return [ChangeKind.NEW] if in_round and fetched else []
    kinds = []
    if fetched and before.result not in _THERE and not before.digest:  # nobody has seen it until now
        kinds.append(ChangeKind.NEW)
    was_failing = before.result == Result.HTTP_ERROR.value and before.digest != b""
    if was_failing and (fetched or row.result == Result.NOT_MODIFIED.value):
        kinds.append(ChangeKind.BACK)
    if brings_body(before, row) and before.digest and row.digest and not _is_same_body(before, row, text_print):
        kinds.append(ChangeKind.CHANGED)
    if row.status in GONE and before.missing == 1 and before.digest:
        kinds.append(ChangeKind.GONE)
    elif row.result == Result.HTTP_ERROR.value and before.digest and not was_failing:
        kinds.append(ChangeKind.FAILING)
    if row.status in _PERMANENT and row.result == Result.REDIRECT.value and before.payload_url != row.detail:
        kinds.append(ChangeKind.MOVED)
    return kinds


def _distance(before: UrlState | None, row: PageRow) -> int:
    """Return by how many of 64 bits the words of a page differ from what they were; -1 where that is not known."""
    if before is None or not before.simhash or not row.simhash:
        return -1
    return ((before.simhash ^ row.simhash) & _ALL_BITS).bit_count()


def _found_changed(before: UrlState | None, row: PageRow, kinds: Sequence[ChangeKind]) -> bool | None:
    """Tell whether a visit has found a URL other than the visit before it did; None where one of them tells nothing."""
    if before is None:
        return None
    was = "gone" if before.missing else before.result
    now = "gone" if row.status in GONE else row.result
    if not {was, now} <= _TELLING:
        return None
    same = was == now or (was in _PAGE and now in _PAGE)
    return not same or ChangeKind.CHANGED in kinds or ChangeKind.MOVED in kinds


def _next_state(
    before: UrlState | None, row: PageRow, changed: bool, policy: RevisitPolicy, learned: Learned
) -> UrlState:
    now = row.fetched_at
    known = _Known(row.seed_id, now) if before is None else _Known.of(before)
    changes = known.changes + changed
    missing = known.missing + 1 if row.status in GONE else 0
    interval = policy.interval(
        Seen(
            now=now,
            last_at=known.visited_at,
            interval_ms=known.interval_ms,
            changed=changed,
            visits=row.visit + 1,
            changes=changes,
            known_since=known.since,
            rate=learned.rate,
            weight=learned.weight,
            demands=learned.demands,
        )
    )
    if row.position < 0:
        interval = min(interval, SITEMAP_FRESH)  # one that lists new pages has told of them for a day at most
    wait = min(interval, _SOON) if row.result in _FAILED else interval
    return UrlState(
        seed_id=known.seed_id,
        url_hash=row.url_hash,
        url=row.url,
        depth=row.depth,
        position=row.position,
        flags=row.flags,
        referrer=row.referrer,
        visit=row.visit,
        visited_at=now,
        result=row.result,
        digest=b"",
        payload_url="",
        payload_at=0,
        length=0,
        etag="",
        last_modified="",
        known_since=known.since,
        changed_at=now if changed else known.changed_at,
        changes=changes,
        missing=missing,
        interval_ms=interval,
        due_at=now + wait if interval else NEVER,
        checks=learned.checks,
        demand_cell=learned.cell,
    )


def _with_payload(
    state: UrlState,
    before: UrlState | None,
    row: PageRow,
    validated: tuple[str, str],
    original: tuple[str, Millis] | None,
    text_print: bytes,
) -> UrlState:
    """Add what is known of the payload: that of this visit, or, where it brought none, of the ones before."""
    if row.result == Result.REDIRECT.value:
        return state._replace(payload_url=row.detail)
    if not brings_body(before, row):
        if before is None or before.result == Result.REDIRECT.value:
            return state
        # What was read in part stays so: the next visit asks for all of it.
        flags = state.flags | (before.flags & (PageFlag.TRUNCATED | PageFlag.NOFOLLOW | PageFlag.CHANGE_LIST))
        etag, last_modified = _still_valid(before, row, *validated)
        return state._replace(
            flags=flags, digest=before.digest, payload_url=before.payload_url, payload_at=before.payload_at,
            length=before.length, etag=etag, last_modified=last_modified, simhash=before.simhash,
            text_print=before.text_print,
        )  # fmt: skip
    state = state._replace(digest=row.digest, length=row.length, simhash=row.simhash, text_print=text_print)
    if not row.warc_file:
        return state  # no record could say to what it refers
    payload_url, payload_at = "", row.fetched_at
    if row.revisit:
        if original is not None:
            payload_url, payload_at = original
        elif before is not None and before.digest == row.digest and before.payload_at:
            payload_url, payload_at = before.payload_url, before.payload_at
        else:
            return state
    is_same = before is not None and (not before.digest or _is_same_body(before, row, text_print))
    etag, last_modified = validated if is_same else _truthful(before, *validated)
    return state._replace(
        payload_url="" if payload_url == row.url else payload_url, payload_at=payload_at,
        etag=etag, last_modified=last_modified,
    )  # fmt: skip


def _truthful(before: UrlState | None, etag: str, last_modified: str) -> tuple[str, str]:
    """Return what a server says of a payload, but for what it has said of another one: nothing follows from that.

    The next visit asks for all of such a page.
    """
    if before is None:
        return etag, last_modified
    lies = etag != "" and etag == before.etag and not is_weak(etag)
    lies |= last_modified != "" and last_modified == before.last_modified and not etag
    return ("", "") if lies else (etag, last_modified)


def _still_valid(before: UrlState, row: PageRow, etag: str, last_modified: str) -> tuple[str, str]:
    """Return by what the next visit asks, after one that brought no payload.

    A 304 names the ETag of what the server has (RFC 9110, 15.4.5). Where that is a strong one, and another than that
    of the payload that is here, it cannot speak of it: all of the page is asked for next. What it says else takes the
    place of what was said before (RFC 9111, 4.3.4).
    """
    if row.result != Result.NOT_MODIFIED.value:
        return before.etag, before.last_modified
    known = before.etag
    if etag and known and not is_same_tag(etag, known):
        if not is_weak(etag) and not is_weak(known):
            return "", ""
        known = etag
    elif known:
        known = etag or known
    return known, last_modified or before.last_modified
