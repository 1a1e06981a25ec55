"""A settings file that lies in the folder: whose it may be, what it may name, and how odd it may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scrawler.errors import SettingsError
from scrawler.settings import load_settings
from scrawler.settings.found import check_depth

DEEP = 100_000


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "scrawler.toml"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_used_once_it_is_named(found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found.write_text("threads = 5\n")
    assert load_settings({}).threads == 5
    os.chown(found, 1234, 1234)
    with pytest.raises(SettingsError, match=r"belongs to another user \(1234\).*--config scrawler.toml"):
        load_settings({})
    assert load_settings({}, Path("scrawler.toml")).threads == 5
    monkeypatch.setenv("SUDO_UID", "1234")
    assert load_settings({}).threads == 5


def test_no_program_beside_it_is_named(found: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    program, elsewhere = found.with_name("evil"), tmp_path_factory.mktemp("bin") / "chromium"
    program.touch()
    elsewhere.touch()
    link = elsewhere.with_name("link")
    link.symlink_to(program)
    for name in ("evil", "./evil", str(program), str(link), f"/proc/{os.getpid()}/cwd/evil"):
        found.write_text(f"[scripts]\nchromium = '{name}'\n")
        with pytest.raises(SettingsError, match="a program in the folder of this file"):
            load_settings({})
        assert load_settings({}, found).chromium == Path(name)
    for name in (str(elsewhere), "chromium"):
        found.write_text(f"chromium = '{name}'\n")
        assert load_settings({}).chromium == Path(name)


@pytest.mark.parametrize(
    "text",
    [
        "threads = " + "[" * DEEP,
        "sites." + ".".join("a" * DEEP) + " = 1",
        "threads = " + "9" * DEEP,
        "threads = 0x" + "f" * DEEP,
        "delay = 1e" + "9" * DEEP,
        "threads = 1_" + "0" * DEEP,
        "exclude = ['/" + "*a" * 500 + "']",
        "exclude = ['re:" + "a" * DEEP + "']",
        "name = '\\u0000'",
        'name = "\\u202e"',
        "\ufeff\ufeff",
    ],
    ids=lambda text: text[:20],
)
def test_what_is_odd_in_it_is_an_error_for_the_user(found: Path, text: str) -> None:
    found.write_text(text)
    with pytest.raises(SettingsError, match=r"scrawler\.toml"):
        load_settings({})


def test_a_list_may_be_long_and_stand_on_one_line(found: Path) -> None:
    """Texts have as many dots as they like, and comments: only keys are bounded."""
    places = [f"host{number}.example=127.0.{number // 250}.{number % 250 + 1}" for number in range(10_000)]
    comment = "# And so on" + "." * DEEP
    found.write_text(f'resolve = [{", ".join(map(repr, places))}]  {comment}\nname = """a"{"." * 400}""""\n')
    settings = load_settings({"name": "other"})
    assert len(settings.resolve) == len(places)


DEEP_KEYS = [
    "a" + ".a" * 1_000 + " = 1",
    '"a,"' + '."a,"' * 1_000 + " = 1",
    "'a='" + ".'a='" * 1_000 + " = 1",
    'x = "\\\\" \ny' + ".a" * 1_000 + " = 1",
    'x = { a = """ " """, b' + ".b" * 1_000 + ' = "" }',
    'x = { a = """ """"", b' + ".b" * 1_000 + ' = "" }',
    "x = { a = ''' ' ''''', b" + ".b" * 1_000 + " = '' }",
]


@pytest.mark.parametrize("text", DEEP_KEYS)
def test_keys_of_endlessly_many_parts_are_refused_before_they_are_read(text: str) -> None:
    with pytest.raises(RecursionError):
        check_depth(text)
