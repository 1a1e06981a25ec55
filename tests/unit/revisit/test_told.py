"""What change lists tell of a party's URLs, and when a visit is spared."""

from __future__ import annotations

from scrawler.extract.sitemaps import Listed
from scrawler.features.revisit.kinds import PublisherRow
from scrawler.features.revisit.told import SEVERAL, Told, spared_state
from scrawler.model.results import Result
from scrawler.model.visits import KnownVisit, UrlState

HOUR = 3_600_000
NOW = 1_000 * HOUR
KEY = bytes(16)


def state(visited_at: int, **changes: object) -> UrlState:
    values: dict[str, object] = dict.fromkeys(UrlState._fields, 0) | {
        "seed_id": 1, "url_hash": KEY, "url": "https://a.example/", "result": Result.FETCHED.value,
        "digest": bytes(20), "visited_at": visited_at, "referrer": b"", "payload_url": "", "etag": "",
        "last_modified": "", "interval_ms": HOUR,
    }  # fmt: skip
    return UrlState(**(values | changes))  # type: ignore[arg-type]


def known(visited_at: int, published: int | None, number: int = 1, **changes: object) -> KnownVisit:
    return KnownVisit(number, "", 0, b"", state=state(visited_at, **changes), published=published)


def told(since: int = NOW - 100 * HOUR, read_at: int = NOW, hits: int = 0, misses: int = 0) -> Told:
    return Told(PublisherRow(1, since, read_at, hits, misses), HOUR)


def test_what_has_not_changed_since_its_visit_is_spared() -> None:
    old = known(NOW - 10 * HOUR, NOW - 20 * HOUR)
    assert told().spares(KEY, old, NOW)
    assert not told().spares(KEY, known(NOW - 10 * HOUR, NOW - 9 * HOUR), NOW), "it has changed since"
    assert not told().spares(KEY, known(NOW - 10 * HOUR, NOW - 10 * HOUR - 30_000), NOW), "clocks differ"
    assert not told().spares(KEY, known(NOW - 10 * HOUR, None), NOW), "no list names it"
    assert told().spares(KEY, known(NOW - 10 * HOUR, 0), NOW), "it is named, and nobody has said when it changed"


def test_only_what_lists_cover_is_spared() -> None:
    old = known(NOW - 10 * HOUR, NOW - 20 * HOUR)
    assert not told(since=0).spares(KEY, old, NOW), "there is no change list"
    assert not told(since=SEVERAL).spares(KEY, old, NOW)
    assert not told(since=NOW - 9 * HOUR).spares(KEY, old, NOW), "its visit is older than the list"
    assert not told(read_at=NOW - 2 * HOUR).spares(KEY, old, NOW), "the list was read long ago"
    assert not told().spares(KEY, known(NOW - 10 * HOUR, 1, missing=1), NOW), "it was not there"
    assert not told().spares(KEY, known(NOW - 10 * HOUR, 1, result=Result.HTTP_ERROR.value), NOW)
    assert not told().spares(KEY, known(NOW - 10 * HOUR, 1, digest=b""), NOW)


def test_a_change_of_this_round_counts_at_once() -> None:
    one = told()
    one.note_change(KEY, NOW - 5 * HOUR)
    one.note_change(KEY, NOW - 50 * HOUR)  # an older change does not undo it
    assert not one.spares(KEY, known(NOW - 10 * HOUR, NOW - 20 * HOUR), NOW)


def test_a_list_that_fails_spares_nothing_until_it_is_read_again() -> None:
    old = known(NOW - 10 * HOUR, NOW - 20 * HOUR)
    one = told()
    one.note_failure()
    one.note_list(NOW - 100 * HOUR, NOW)  # of another list
    assert not one.spares(KEY, old, NOW)
    assert one.row.complete_since == 0
    later = Told(one.row, HOUR)
    assert not later.spares(KEY, old, NOW), "not in the next round either"
    later.note_list(NOW - 100 * HOUR, NOW)
    assert later.spares(KEY, old, NOW)


def test_lists_that_leave_a_gap_cover_what_is_behind_it() -> None:
    one = told(since=NOW - 100 * HOUR, read_at=NOW - 10 * HOUR)
    one.note_list(NOW - 20 * HOUR, NOW)
    assert one.row[1:3] == (NOW - 100 * HOUR, NOW), "they overlap"
    one = told(since=NOW - 100 * HOUR, read_at=NOW - 10 * HOUR)
    one.note_list(NOW - 5 * HOUR, NOW)
    assert one.row[1:3] == (NOW - 5 * HOUR, NOW)
    one.note_list(0, NOW + HOUR)
    assert one.row[1:3] == (NOW + HOUR, NOW + HOUR), "it does not say since when"
    one.note_unchanged(NOW + 2 * HOUR)
    assert one.row[1:3] == (NOW + HOUR, NOW + 2 * HOUR)


def test_lists_that_lie_are_not_believed() -> None:
    old = known(NOW - 10 * HOUR, NOW - 20 * HOUR)
    one = told()
    one.tried(changed=True)
    assert not one.spares(KEY, old, NOW)
    for _ in range(40):
        one.tried(changed=False)
    assert one.spares(KEY, old, NOW), "long ago, and since then they were right"
    assert one.row.hits + one.row.misses <= 64


def test_one_in_twenty_is_visited_nevertheless() -> None:
    visits = [known(NOW - 10 * HOUR, 1, number) for number in range(200)]
    assert sum(not told().spares(KEY, one, NOW) for one in visits) == 10


def test_several_sets_of_lists_spare_nothing_for_good() -> None:
    one = told()
    one.note_sets(1)
    assert not one.dirty
    one.note_sets(2)
    one.note_list(NOW - 100 * HOUR, NOW)
    one.note_unchanged(NOW)
    assert one.row.complete_since == SEVERAL


def test_what_was_spared_is_as_its_last_visit_has_found_it() -> None:
    before = state(NOW - 10 * HOUR)
    after = spared_state(before, 7, NOW)
    assert after == before._replace(visit=7, due_at=NOW + HOUR)
    assert spared_state(before._replace(interval_ms=0), 7, NOW).due_at == 0


def over(until: int) -> Listed:
    return Listed("https://a.example/changes-1.xml", 0, until=until)


def test_lists_that_are_over_are_read_once() -> None:
    assert told(read_at=NOW).knows(over(NOW - HOUR))
    assert not told(read_at=NOW).knows(over(NOW + HOUR)), "it was not over then"
    assert not told(read_at=NOW).knows(over(0)), "it is not over"
    assert not told(since=0, read_at=NOW).knows(over(NOW - HOUR)), "nothing is known: it failed, or was never read"


def test_a_first_visit_reads_no_old_changes_and_claims_none() -> None:
    first = Told(PublisherRow(1, 0, 0, 0, 0), HOUR, before=NOW)
    assert first.knows(over(NOW - HOUR))
    assert not first.knows(over(NOW - 1_000)), "clocks differ"
    first.note_list(NOW - 100 * HOUR, NOW)
    assert first.row.complete_since == NOW - HOUR
    later = Told(PublisherRow(1, 0, 0, 0, 0), HOUR)
    assert not later.knows(over(NOW - HOUR)), "some URLs were visited before these changes"
