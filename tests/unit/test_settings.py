from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from scrawler.cli.run import run
from scrawler.errors import SettingsError
from scrawler.model.scope import Scope
from scrawler.settings import (
    CONFIG_FILE,
    SETTING_NAMES,
    Settings,
    allowed_values,
    in_groups,
    live_settings,
    load_settings,
    origin_of,
    parse_setting,
    setting_field,
    setting_text,
)
from scrawler.settings.loading import FLAGS_ALONE
from tests.tables import each


@pytest.fixture(autouse=True)
def _clean_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in list(os.environ):
        if variable.startswith("SCRAWLER_"):
            monkeypatch.delenv(variable)


def _error(flags: dict[str, object], config: Path | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(flags, config)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_flags_beat_variables_beat_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(CONFIG_FILE).write_text("threads = 2\ndelay = 3.5\nretries = 1\n")
    monkeypatch.setenv("SCRAWLER_DELAY", "2")
    monkeypatch.setenv("SCRAWLER_RETRIES", "5")
    settings = load_settings({"retries": "7", "timeout": None})
    assert (settings.threads, settings.delay, settings.retries, settings.timeout) == (2, 2.0, 7, 60.0)


def test_a_named_file_replaces_the_one_in_the_folder() -> None:
    Path(CONFIG_FILE).write_text("threads = 2")
    Path("other.toml").write_text('\ufeffdelay = "5m"\nmax_body = "1MiB"\nresolve = ["a.example=127.0.0.2"]')
    settings = load_settings({}, Path("other.toml"))
    assert settings.threads == 20
    assert (settings.delay, settings.max_body, settings.resolve) == (300.0, 1 << 20, ("a.example=127.0.0.2",))


def test_variables_are_text_and_lists_have_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAWLER_ROBOTS", "false")
    monkeypatch.setenv("SCRAWLER_RESOLVE", "a.example=127.0.0.2, b.example=::1")
    monkeypatch.setenv("SCRAWLER_SCOPE", "domain")
    settings = load_settings({})
    assert settings.robots is False
    assert settings.resolve == ("a.example=127.0.0.2", "b.example=::1")
    assert settings.scope is Scope.DOMAIN


@pytest.mark.parametrize("name", ["scrawler_threads", "Scrawler_Threads", "SCRAWLER_threads"])
def test_variables_may_be_written_in_any_case(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "3")
    assert load_settings({}).threads == 3
    assert origin_of("threads", {}) == "SCRAWLER_THREADS"
    monkeypatch.setenv("scrawler_thread", "3")
    assert _error({}) == "unknown variable scrawler_thread; did you mean SCRAWLER_THREADS?"


def test_settings_themselves_read_nothing_and_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAWLER_THREADS", "3")
    Path(CONFIG_FILE).write_text("threads = 4")
    settings = Settings()
    assert settings.threads == 20
    with pytest.raises(ValidationError, match="frozen"):
        settings.threads = 5  # type: ignore[misc]


@each("key", SETTING_NAMES)
def test_every_default_is_allowed_and_described(key: str) -> None:
    info = setting_field(key)
    assert info.description
    assert info.description.endswith(".")
    if info.default not in (None, ()):
        written = setting_text(key, info.default)
        assert getattr(load_settings({key: written}), key) == info.default


@each(
    ("key", "value"),
    [
        ("threads", "0"),
        ("threads", "1001"),
        ("threads", "many"),
        ("threads", "2.5"),
        ("max_pages", True),
        ("delay", False),
        ("max_body", True),
        ("max_time", "9" * 400),
        ("max_time", float("inf")),
        ("delay", "-1"),
        ("delay", "nan"),
        ("delay", "soon"),
        ("max_time", "0"),
        ("max_pages", "0"),
        ("max_body", "3 parsecs"),
        ("scope", "planet"),
        ("robots", "perhaps"),
        ("name", "../x"),
        ("name", "a\n"),
        ("name", ""),
        ("db", ""),
        ("user_agent", "Bot\r\nCookie: x"),
        ("user_agent", "  "),
        ("user_agent", "Böt"),
        ("resolve", ("a.example",)),
        ("resolve", ("=127.0.0.1",)),
        ("resolve", ("a.example=b.example",)),
    ],
)
def test_a_value_out_of_range_names_flag_value_and_range(key: str, value: object) -> None:
    message = _error({key: value})
    assert message.startswith(f"--{key.replace('_', '-')} ")
    assert message.endswith(allowed_values(key))


def test_errors_name_file_and_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(CONFIG_FILE).write_text("threads = 0\nretries = 50")
    monkeypatch.setenv("SCRAWLER_RETRIES", "90")
    message = _error({})
    assert f"{CONFIG_FILE}: threads = 0 is not allowed, only a whole number, 1 to 1000" in message
    assert "SCRAWLER_RETRIES=90 is not allowed, only a whole number, 0 to 20" in message


def test_unknown_keys_are_errors_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(CONFIG_FILE).write_text("thread = 5")
    assert _error({}) == f"{CONFIG_FILE}: unknown key 'thread'; did you mean threads?"
    Path(CONFIG_FILE).unlink()
    monkeypatch.setenv("SCRAWLER_MAXPAGES", "5")
    assert _error({}) == "unknown variable SCRAWLER_MAXPAGES; did you mean SCRAWLER_MAX_PAGES?"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "no such file" in _error({}, Path("nowhere.toml"))
    assert "not a regular file" in _error({}, Path("."))
    Path(CONFIG_FILE).symlink_to("nowhere")
    assert _error({}) == f"{CONFIG_FILE}: a link to a file that is not there"
    Path(CONFIG_FILE).unlink()
    Path(CONFIG_FILE).mkdir()
    assert _error({}) == f"{CONFIG_FILE}: not a regular file"
    Path(CONFIG_FILE).rmdir()
    for content in (b"threads =", b"\xff\xfe"):
        Path(CONFIG_FILE).write_bytes(content)
        assert _error({}).startswith(f"{CONFIG_FILE}: not readable as TOML")


def test_the_classic_profile_sets_three_parts_but_not_those_given_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    classic = load_settings({"profile": "classic"})
    assert (classic.downloader, classic.extractor, classic.seen) == ("requests", "html5lib", "pybloom")
    monkeypatch.setenv("SCRAWLER_SEEN", "exact")
    mixed = load_settings({"profile": "classic"})
    assert (mixed.downloader, mixed.extractor, mixed.seen) == ("requests", "html5lib", "exact")


@each("key", live_settings())
def test_live_settings_are_written_as_flags_and_kept_as_json(key: str) -> None:
    default = setting_field(key).default
    written = "7" if default is None else setting_text(key, default)
    value = parse_setting(key, written)
    assert value == getattr(load_settings({key: written}), key)
    assert json.loads(json.dumps(value)) == value
    assert parse_setting(key, "") is None


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("threads", "0", "threads=0 is not allowed, only a whole number, 1 to 1000"),
        ("max_bytes", "lots", "max_bytes=lots is not allowed, only a size such as 500000, 32MiB or 1GB, at least 1B"),
        ("dealy", "1", "unknown setting 'dealy'; did you mean delay?"),
        ("scope", "host", "scope needs a restart: only threads, "),
    ],
)
def test_what_cannot_be_set_live_is_told_in_a_line(key: str, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_setting(key, text)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_every_setting_has_one_group() -> None:
    assert sorted(in_groups()) == sorted(SETTING_NAMES)


def test_settings_may_stand_in_the_tables_of_their_groups() -> None:
    Path(CONFIG_FILE).write_text(
        'threads = 3\n[politeness]\ndelay = "2s"\n[traps]\ntraps = false\n[sites."a.example"]\ndelay = "3s"\n'
    )
    settings = load_settings({})
    assert (settings.threads, settings.delay, settings.traps) == (3, 2.0, False)
    assert settings.sites == {"a.example": {"delay": 3.0}}
    assert origin_of("delay", {}) == f"{CONFIG_FILE}:3"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits]\ndelay = 2", "delay does not belong to [limits], but to [politeness]"),
        ("delay = 1\n[politeness]\ndelay = 2", "delay is given twice"),
        ("[politeness]\ndely = 2", "unknown key 'dely'; did you mean delay?"),
        ("[polite]\ndelay = 2", "unknown key 'polite'"),
        ("[delay]\nx = 2", "is not allowed"),
        ("[politeness]\ndelay = -2", "delay = -2 is not allowed"),
    ],
)
def test_what_does_not_belong_to_a_group_is_told(text: str, words: str) -> None:
    Path(CONFIG_FILE).write_text(text)
    with pytest.raises(SettingsError) as told:
        load_settings({})
    assert words in str(told.value)


def test_what_a_run_takes_as_a_flag_alone_is_told_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {option for param in run.params for option in param.opts if param.name not in SETTING_NAMES}
    assert {f"--{name.replace('_', '-')}" for name in FLAGS_ALONE} <= flags
    monkeypatch.setenv("SCRAWLER_LOG_FILE", "crawl.log")
    said = "unknown variable SCRAWLER_LOG_FILE; it is a flag of a run alone: `scrawler run --log-file`"
    assert _error({}) == said


@each("name", sorted(Settings.model_fields))
def test_yes_and_no_are_no_other_value(name: str) -> None:
    if Settings.model_fields[name].annotation is bool:
        assert getattr(Settings.model_validate({name: True}), name) is True
        return
    for value in (True, False):
        with pytest.raises(ValidationError, match=name):
            Settings.model_validate({name: value})
