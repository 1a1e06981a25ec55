from __future__ import annotations

from pathlib import Path

from scrawler.settings import Settings, live_settings, setting_choices, setting_field, setting_range, setting_text

README = Path(__file__).parents[2] / "README.md"


def _row(key: str) -> str:
    info = setting_field(key)
    default = "-" if info.default in (None, ()) else f"`{_plain(setting_text(key, info.default))}`"
    allowed = ", ".join(f"`{choice}`" for choice in setting_choices(key)) or setting_range(key)
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
