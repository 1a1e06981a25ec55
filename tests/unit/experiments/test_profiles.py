"""What is said of the crawls of two profiles."""

from __future__ import annotations

from experiments.docsweb.profiles import Accounts
from experiments.profiles import Crawled, differences, report

_SAME = Accounts({"/": "fetched"}, {}, {"internal": "2"})
_OTHER = Accounts({"/": "cut"}, {}, {"internal": "2"})


def _crawled(turn: int, profile: str, cost: float, accounts: Accounts = _SAME) -> Crawled:
    return Crawled(profile, {"round": turn, "profile": profile, "CPU us/page": cost, "pages/s": 1.0}, accounts)


def test_rounds_are_compared_one_by_one_in_whatever_order_they_were() -> None:
    crawls = [_crawled(1, "default", 100.0), _crawled(1, "classic", 500.0)]
    crawls += [_crawled(2, "classic", 800.0), _crawled(2, "default", 200.0)]
    assert differences(crawls) == []
    assert [claim.ours for claim in report(crawls, []).claims] == ["none", "4.50 (4.00 to 5.00, 2 rounds)"]


def test_a_difference_in_one_round_is_told() -> None:
    crawls = [_crawled(1, "default", 1.0), _crawled(1, "classic", 2.0)]
    crawls += [_crawled(2, "default", 1.0), _crawled(2, "classic", 2.0, _OTHER)]
    found = report(crawls, ["a web"])
    assert found.claims[0].ours == "pages that both have, but not alike: 1"
    assert found.notes == ["a web", "pages that both have, but not alike: /: fetched, classic: cut"]
