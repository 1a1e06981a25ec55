"""Which seeds are the best ones: scores, limits by domain, and memory that follows from how many are wanted."""

from __future__ import annotations

from random import Random

from scrawler.features.choose.choosing import Scored, best, lower_bound


def test_few_requests_count_for_little() -> None:
    assert lower_bound(0, 0) == 0
    assert lower_bound(1, 1) < lower_bound(80, 100) < lower_bound(900, 1_000) < 0.9
    assert lower_bound(0, 50) == 0
    assert abs(lower_bound(8, 10) - 0.4902) < 0.0001  # as tables of Wilson's interval have it


def test_it_is_what_sorting_all_of_them_gives() -> None:
    rng = Random(3)
    for per_domain in (None, 1, 3):
        all_of_them = [
            Scored(n, f"http://h{n}.d{rng.randrange(60)}.test/", rng.randrange(500) / 500, 0, 0) for n in range(20_000)
        ]
        expected, taken = [], dict[str, int]()
        for one in sorted(all_of_them, key=lambda one: (-one.score, one.url)):
            domain = one.url.split("/")[2].partition(".")[2]
            taken[domain] = taken.get(domain, 0) + 1
            if per_domain is None or taken[domain] <= per_domain:
                expected.append(one.url)
        found = best(iter(all_of_them), 50, per_domain)
        assert [one.url for one in found] == expected[:50]
        assert [one.rank for one in found] == list(range(1, 51))


def test_what_is_not_wanted_or_scores_too_low_is_left_out() -> None:
    some = [Scored(n, f"http://s{n}.test/", n / 10, n, 10) for n in range(10)]
    found = best(some, 5, at_least=0.6, wanted=lambda url: "s8" not in url)
    assert [one.id for one in found] == [9, 7, 6]
