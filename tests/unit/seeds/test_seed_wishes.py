"""Columns of a seed file that say when a seed is visited again."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from scrawler.errors import SettingsError
from scrawler.features.revisit.checks import check_budget
from scrawler.features.revisit.policies.due import Wishes
from scrawler.features.revisit.shares import weight_of
from scrawler.seeds.files import Format
from scrawler.seeds.formats import Entry, read_entries
from scrawler.settings import Settings


def entries(text: str, written: Format) -> list[Entry]:
    return list(read_entries(io.BufferedReader(io.BytesIO(text.encode())), written, "file"))


def test_wishes_are_kept_and_wrong_ones_are_lines_that_cannot_be_used() -> None:
    found = entries(
        "url,revisit,revisit_interval,topic\n"
        "http://a.example/,fixed,12h,x\nhttp://b.example/,daily,,x\nhttp://c.example/,,often,x\nhttp://d.example/,,,\n",
        Format.CSV,
    )
    assert [one.problem[:28] for one in found] == [
        "", "revisit is 'daily', and none", "revisit_interval is 'often',", ""
    ]  # fmt: skip
    assert json.loads(found[0].columns) == {"revisit": "fixed", "revisit_interval": "12h", "topic": "x"}
    lines = '{"url": "http://a/", "revisit_max": 86400}\n{"url": "http://b/", "revisit_max": [1]}\n'
    assert [bool(one.problem) for one in entries(lines, Format.JSONL)] == [False, True]


@pytest.mark.parametrize("written", ["0", "-1", "many", "1.5", "10000000000", "9" * 5_000])
def test_a_budget_that_is_none_is_a_line_that_cannot_be_used(written: str) -> None:
    (found,) = entries(f"url,revisit_site_budget\nhttp://a.example/,{written}\n", Format.CSV)
    assert found.problem.startswith(f"revisit_site_budget is {written[:40]!r}, and no number of URLs a day")
    (found,) = entries('{"url": "http://a/", "revisit_site_budget": true}\n', Format.JSONL)
    assert found.problem


def test_the_budget_of_a_seed_holds_over_that_of_its_site() -> None:
    settings = Wishes("fixed", 1, 2, 3, per_day=100)
    assert settings.of_seed({"revisit_site_budget": "7"}).per_day == 7
    assert settings.of_seed({"revisit_site_budget": " "}) == settings
    assert settings.of_seed({"revisit_interval": "5s"}) == Wishes("fixed", 5_000, 2, 3, per_day=100)


def test_weights_come_from_a_file_or_from_depths(tmp_path: Path) -> None:
    file = tmp_path / "ranks.txt"
    file.write_text("# rank\nhttp://a.example/x 4\n\nHTTP://A.example:80/ 2.5\n")
    by_rank = weight_of(Settings.model_validate({"rank": file}))
    assert (by_rank("http://a.example/x", 9), by_rank("http://a.example/", 9)) == (4.0, 2.5)
    assert by_rank("http://a.example/other", 0) == 2.5  # as the least that is there
    by_depth = weight_of(Settings.model_validate({"revisit_weight": "depth"}))
    assert by_depth("http://a.example/", 3) == 0.25
    assert weight_of(Settings.model_validate({}))("http://a.example/", 3) == 1.0


@pytest.mark.parametrize("text", ["http://a/ nothing\n", "http://a/ 0\n", "no url 3\n", "http:// 3\n", "\xff\xfe"])
def test_a_file_that_says_no_ranks_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "ranks.txt"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingsError, match=r"^rank: .*ranks.txt: "):
        weight_of(Settings.model_validate({"rank": file}))


def test_what_divides_a_budget_wants_one() -> None:
    optimal = {"revisit": "optimal"}
    with pytest.raises(SettingsError, match="--revisit-budget"):
        check_budget(Settings.model_validate(optimal))
    with pytest.raises(SettingsError, match=r"a\.example"):
        check_budget(Settings.model_validate({"sites": {"a.example": optimal}}))
    check_budget(Settings.model_validate(optimal | {"revisit_budget": 5}))
    check_budget(Settings.model_validate({"sites": {"a.example": optimal | {"revisit_site_budget": 5}}}))
