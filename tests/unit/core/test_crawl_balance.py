"""Sites that go from machine to machine: who gives how many, or how much, and for whom what is free is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrawler.core.distribution.balance import sites_to_give, urls_to_give
from scrawler.model.claims import HeldSites, fair_level

COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=6)
PLENTY = 1_000


def _gifts(counts: list[int], seats: dict[int, int] | None = None) -> list[int]:
    by_machine = dict(enumerate(counts))
    seats = dict.fromkeys(by_machine, PLENTY) if seats is None else seats
    return [sites_to_give(HeldSites(me, by_machine, seats, {})) for me in by_machine]


def _urls(left: list[int], sites: list[int] | None = None, seats: list[int] | None = None) -> list[int]:
    """Say how many URLs each machine gives; each has so many left."""
    held = dict(enumerate([2] * len(left) if sites is None else sites))
    places = dict(enumerate([PLENTY] * len(left) if seats is None else seats))
    return [urls_to_give(HeldSites(me, held, places, dict(enumerate(left)))) for me in held]


def _claimed(counts: list[int], free: int, order: list[int]) -> list[int]:
    """Let machines claim what is free in some order, each as much as it may."""
    counts = list(counts)
    for one in order:
        taken = min(free, max(0, fair_level(counts, free) - counts[one]))
        counts[one] += taken
        free -= taken
    assert free == 0, "every free site is in somebody's share"
    return counts


def test_the_fullest_gives_to_the_emptiest_until_they_are_level() -> None:
    assert _gifts([10, 0]) == [5, 0]
    assert _gifts([10, 10, 0]) == [3, 3, 0]
    assert _gifts([6, 2, 1]) == [3, 0, 0]


def test_a_difference_of_one_moves_nothing() -> None:
    assert _gifts([10, 9]) == _gifts([1, 0]) == [0, 0]
    assert _gifts([3, 3, 2]) == [0, 0, 0]


def test_a_machine_takes_no_more_than_it_has_places_and_none_before_it_has_told() -> None:
    assert _gifts([10, 0], {0: PLENTY, 1: 2}) == [2, 0]
    assert _gifts([10, 0], {0: PLENTY}) == [0, 0]
    assert _gifts([10, 2, 4], {0: PLENTY, 1: 2, 2: PLENTY}) == [3, 0, 0], "the full one is passed over"


def test_a_machine_that_is_not_at_work_gives_nothing() -> None:
    assert sites_to_give(HeldSites(7, {1: 0, 2: 0}, {1: PLENTY, 2: PLENTY}, {})) == 0


@given(COUNTS, st.randoms(use_true_random=False))
def test_what_is_given_is_claimed_by_others_and_then_nothing_moves(counts: list[int], random: object) -> None:
    gifts = _gifts(counts)
    left = [count - gift for count, gift in zip(counts, gifts, strict=True)]
    order = list(range(len(counts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    after = _claimed(left, sum(gifts), order)
    for count, gift, now in zip(counts, gifts, after, strict=True):
        assert not gift or now == count - gift, "who gives takes nothing back"
    assert max(after) - min(after) <= 1
    assert _gifts(after) == [0] * len(counts)


@given(COUNTS, st.integers(0, 100))
def test_the_level_is_the_lowest_with_room_for_all(counts: list[int], free: int) -> None:
    def room(level: int) -> int:
        return sum(max(0, level - count) for count in counts)

    level = fair_level(counts, free)
    assert room(level) >= free
    assert room(level - 1) < free or (free == 0 and level == min(counts))


def test_what_a_machine_has_more_than_the_mean_goes() -> None:
    assert _urls([4_000, 1_000]) == [1_500, 0]
    assert _urls([4_000, 4_000, 1_000]) == [1_000, 1_000, 0]


def test_what_changes_by_itself_meanwhile_moves_nothing() -> None:
    assert _urls([1_200, 1_000]) == _urls([150, 0]) == _urls([0, 0]) == [0, 0]


def test_nothing_is_given_while_nobody_has_a_place_for_it() -> None:
    assert _urls([4_000, 0], sites=[3, 4], seats=[9, 4]) == [0, 0]
    assert _urls([4_000, 0], seats=[9, 0]) == [0, 0], "it has not told yet"
    assert _urls([4_000, 0, 3_000], sites=[3, 4, 1], seats=[9, 4, 9]) == [0, 0, 0], "who has room has more than most"
