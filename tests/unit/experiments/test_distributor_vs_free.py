"""Words for what the distributor brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.distributor_vs_free import FULL, Arm, gain_text, gains, missing_text, report, verdict
from experiments.lab.crawls import Crawl
from experiments.lab.process import Figures
from experiments.lab.recording import Sample
from scrawler.synthweb.process import LoggedRequest

COLUMNS = (
    *("pages/s", "time s", "pages/s until then", "all threads have seeds until s"),
    *("seeds a thread, 40-100 s", "max - min, 40-100 s"),
)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.1, 0.2], "the distributor was faster on every web"),
        ([-0.1, -0.2], "free competition was faster on every web"),
        ([-0.1, 0.2, 0.3], "the distributor was faster on 2 of 3 webs"),
        ([-0.1, 0.004, 0.3], "no difference worth the name"),
    ],
)
def test_a_verdict_follows_from_the_figures(values: list[float], text: str) -> None:
    assert verdict(values) == text


def test_webs_are_compared_one_by_one() -> None:
    values = gains("pages/s", [{"pages/s": 110.0}, {"pages/s": 30.0}], [{"pages/s": 100.0}, {"pages/s": 40.0}])
    assert values == pytest.approx([0.1, -0.25])
    assert gain_text(values) == "-7.5 % (-25.0 % to +10.0 %)"
    assert gain_text(values[:1]) == "+10.0 %"


def test_a_crawl_without_a_page_or_a_sample_says_so() -> None:
    figures, sample = Figures(0, 1.0, 1.0, 1, timed_out=False), Sample(1.0, 0, (1,), (1,))
    missed, page = (LoggedRequest(1.0, 2.0, status, "GET", "http://a/") for status in (404, 200))
    nothing, something = (Crawl(figures, Path(), [missed, *pages]) for pages in ([], [page]))
    assert missing_text(nothing, []) == "no page was fetched and nothing was recorded of the threads"
    assert missing_text(something, []) == "nothing was recorded of the threads"
    assert missing_text(something, [sample]) == ""


def _arm(distribution: str, time: float) -> Arm:
    row = {"round": 1, "arm": f"classic, {distribution}", **dict.fromkeys(COLUMNS, 10.0)}
    held = [(0.0, (1, 3)), (1.0, (0, 2))]
    return Arm("classic", distribution, row | {"time s": time, "pages/s": 900 / time}, held, ([0.0, 1.0], [0, 900]))


def test_a_lost_comparison_is_reported_as_one() -> None:
    found = report([_arm("distributor", 100), _arm("free", 90)], FULL)
    assert "classic: free competition was faster on every web, -10.0 % pages/s over the whole crawl" in found.notes
    assert [claim.ours for claim in found.claims[:2]] == ["-10.0 %", "-10.0 s of 90 s"]
    assert found.claims[0].theirs == "+34.7 %"
    assert [(line.bold, line.ys) for line in found.plots[0].panels[1].lines][-1][0]
