"""No byte ends a crawl: some hundred damaged answers on each way; `make fuzz` tries many more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fuzz.trial import WAYS, Trial
from tests.fuzz.web import FuzzWeb

SEED = int(os.environ.get("SEED", "1"))
CASES = {"curl": 1000, "classic": 200, "assets": 200, "two machines": 200}


@pytest.mark.parametrize("way", WAYS)
def test_no_answer_ends_more_than_its_own_url(way: str, tmp_path: Path) -> None:
    print(f"SEED={SEED}")
    Trial(FuzzWeb.of(SEED, CASES[way]), WAYS[way].flags).run(tmp_path)


def test_a_case_is_the_same_each_time_and_alone() -> None:
    web = FuzzWeb.of(SEED, 400)
    for case in range(0, 400, 7):
        site = next(site for site in web.sites if case in site.cases)
        alone = web.only(case)
        assert [(one.number, one.role, list(one.cases)) for one in alone.sites] == [(site.number, site.role, [case])]
        assert alone.case_reply(site.role, case) == web.case_reply(site.role, case)
