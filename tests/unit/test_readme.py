from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from scrawler.errors import ScrawlerError
from scrawler.insight import answer
from scrawler.insight.results import flag_names
from scrawler.model.results import NO_ERROR, TRIED_AGAIN, PageFlag, Result
from scrawler.model.seeds import EndReason
from scrawler.settings import (
    PART_KINDS,
    Settings,
    allowed_values,
    is_list,
    live_settings,
    part_kind,
    setting_choices,
    setting_field,
    setting_range,
    setting_text,
)
from scrawler.store.retries import RETRYABLE
from scrawler.urls.verdict import Verdict

README = Path(__file__).parents[2] / "README.md"


def _between(mark: str) -> str:
    return README.read_text(encoding="utf-8").partition(f"<!-- {mark} -->")[2].partition(f"<!-- /{mark} -->")[0]


def _first_column(mark: str) -> list[str]:
    return re.findall(r"^\| (`.*?`(?: \*)?) \|", _between(mark), re.MULTILINE)


def _starred(names: Iterable[str], starred: Iterable[str]) -> set[str]:
    marked = set(starred)
    return {f"`{name}` *" if name in marked else f"`{name}`" for name in names}


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("end reasons", _starred(EndReason, RETRYABLE)),
        ("results", _starred(Result, TRIED_AGAIN)),
        ("verdicts", _starred(Verdict, ())),
        ("outcomes", _starred((v for k, v in vars(answer).items() if k.isupper() and isinstance(v, str)), ())),
    ],
    ids=("end-reasons", "results", "verdicts", "outcomes"),
)
def test_the_readme_tells_what_each_reason_means(mark: str, expected: set[str]) -> None:
    found = _first_column(mark)
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_the_readme_lists_the_flags_of_pages() -> None:
    everything = sum(PageFlag)
    assert re.findall(r"`(.*?)`", _between("flags")) == flag_names(everything)


def test_the_readme_tells_which_results_are_no_errors() -> None:
    assert re.findall(r"`(.*?)`", _between("no errors")) == [result.value for result in Result if result in NO_ERROR]


def test_the_readme_tells_the_exit_codes() -> None:
    text = README.read_text(encoding="utf-8").partition("Exit codes: ")[2].partition(".\n\n")[0]
    codes = {kind.exit_code for kind in _family(ScrawlerError)}
    assert set(map(int, re.findall(r"(?:\A|; )(\d+) ", " ".join(text.split())))) == codes | {0, 130}


def _family(kind: type[ScrawlerError]) -> set[type[ScrawlerError]]:
    return {kind}.union(*map(_family, kind.__subclasses__()))


def test_the_readme_tells_group_and_interface_of_each_kind_of_parts() -> None:
    section = README.read_text(encoding="utf-8").partition("## Parts of your own")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \| `(\w+)` in .*?\]\(([\w/]+)\.py\)", section, re.MULTILINE)
    kinds = PART_KINDS.values()
    assert [(setting, group, f"{path.replace('/', '.')}:{name}") for setting, group, name, path in found] == [
        (kind.setting, kind.group, kind.interface) for kind in kinds
    ]


def _row(key: str) -> str:
    info = setting_field(key)
    default = "-" if info.default in (None, ()) else f"`{_plain(setting_text(key, info.default))}`"
    choices = [f"`{choice}`" for choice in setting_choices(key)]
    if part_kind(key):
        choices.append("[others](#parts-of-your-own)")
    allowed = ", ".join(choices) or (allowed_values(key) if is_list(key) else setting_range(key))
    return f"| `{key}` | {default} | {allowed} | {info.description} |"


def _plain(text: str) -> str:
    return {"True": "true", "False": "false"}.get(text, text)


def test_the_readme_lists_all_settings_as_they_are() -> None:
    expected = [
        "| setting | default | allowed | what it does |",
        "|---|---|---|---|",
        *map(_row, Settings.model_fields),
    ]
    text = README.read_text(encoding="utf-8")
    table = text.partition("<!-- settings:")[2].partition("-->\n")[2].partition("\n<!-- /settings -->")[0]
    assert table == "\n".join(expected), "put this into README.md:\n" + "\n".join(expected)


def test_the_readme_lists_the_settings_that_can_be_set_live() -> None:
    text = README.read_text(encoding="utf-8").partition("<!-- live settings -->")[2].partition("<!-- /live")[0]
    assert " ".join(text.split()) == ", ".join(f"`{key}`" for key in live_settings())
