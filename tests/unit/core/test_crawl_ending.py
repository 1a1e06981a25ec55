"""When a crawl is over."""

from __future__ import annotations

from scrawler.core.distribution.openers import Opener, kept_open_by


def test_a_crawl_is_over_when_nothing_keeps_it_open_and_the_first_that_does_is_the_reason() -> None:
    asked: list[str] = []

    def opener(name: str, is_open: bool) -> Opener:
        def ask() -> bool:
            asked.append(name)
            return is_open

        return Opener(name, ask)

    assert kept_open_by([]) == ""
    assert kept_open_by([opener("a", False), opener("b", False)]) == ""
    assert asked == ["a", "b"]
    assert kept_open_by([opener("c", False), opener("d", True), opener("e", True)]) == "d"
    assert asked == ["a", "b", "c", "d"]  # what acts when it is asked is not asked while something before it is open
