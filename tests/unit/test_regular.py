"""Files that users name: a pipe without a writer holds nobody up, wherever it is named, and is told in one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrawler.errors import ScrawlerError, SettingsError
from scrawler.features.cluster.agents.members import read_members
from scrawler.features.cluster.agents.run import read_secret
from scrawler.features.cluster.exchange.carrying import shared_secret
from scrawler.features.push.telling.feed_file import check_feed_file
from scrawler.features.push.telling.telling import webhook_secret
from scrawler.features.revisit.shares import read_rank_file
from scrawler.features.serving.signing import read_keys
from scrawler.features.serving.tables import read_tables
from scrawler.features.topic.feature import make_focus
from scrawler.fetch.given import GivenFiles
from scrawler.regular import open_regular, read_regular
from scrawler.settings import Settings, load_settings

READERS: dict[str, Callable[[Path], Any]] = {
    "webhook_secret_file": lambda file: webhook_secret(Settings(webhook_secret_file=file)),
    "feed": check_feed_file,
    "exchange_secret_file": lambda file: shared_secret(Settings(exchange_secret_file=file)),
    "secret of agents": lambda file: read_secret(Settings(exchange_secret_file=file)),
    "agents": read_members,
    "topic": lambda file: make_focus(Settings(topic=file)),
    "rank": lambda file: read_rank_file(file, Settings()),
    "cookie_file": lambda file: GivenFiles().cookies(file),
    "netrc": lambda file: GivenFiles().logins(file),
    "ca_file": lambda file: GivenFiles().name(file, "ca_file"),
    "tables of serve-site": read_tables,
    "keys of serve-site": read_keys,
}


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe that nobody writes to."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    return tmp_path / "pipe"


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_pipe_is_no_file_to_read(reader: Callable[[Path], Any], pipe: Path) -> None:
    with pytest.raises(ScrawlerError, match="not a regular file"):
        reader(pipe)


def test_what_is_read_and_what_is_not(tmp_path: Path, pipe: Path) -> None:
    (tmp_path / "file").write_bytes(b"text\n")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link") == b"text\n"
    for path, said in ((pipe, "not a regular file"), (tmp_path, "Is a directory"), (Path("a\0b"), "holds a NUL")):
        with pytest.raises(OSError, match=said):
            open_regular(path)


@pytest.mark.parametrize("key", ["feed", "topic", "rank", "agents", "ca_file", "pages_dir", "output_dir", "input_dir"])
def test_a_path_with_a_nul_is_refused_with_all_other_settings(key: str, tmp_path: Path) -> None:
    config = tmp_path / "crawl.toml"
    config.write_text(f'{key} = "a\\u0000b"\n')
    with pytest.raises(SettingsError, match=rf"{key} = 'a\\x00b' is not allowed, only a f"):
        load_settings({}, config)


@pytest.mark.parametrize("key", ["include", "normalise", "user_agent", "name", "webhook_secret"])
def test_a_setting_that_is_not_utf_8_is_refused_in_a_line(key: str) -> None:
    with pytest.raises(SettingsError, match=f"--{key.replace('_', '-')} .*(not in UTF-8|is not allowed)"):
        load_settings({key: "a\udcffb"}, None)
    assert load_settings({"topic": "a\udcffb"}, None).topic == Path("a\udcffb"), "names of files are any bytes"
