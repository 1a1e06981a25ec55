"""`scrawler serve-site` as an owner runs it: what it says, what a kill leaves, and what is wrong in its arguments."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.e2e.conftest import started
from tests.forks import SCRAWLER, forks, plain_environment
from tests.limits import HANGS


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return forks().run([SCRAWLER, "serve-site", *arguments], folder, plain_environment(), None, HANGS)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_site_is_served_and_its_state_outlives_a_kill(tmp_path: Path, sign: signal.Signals) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("home")
    with started(tmp_path, "serve-site", "site", "--port", "0", "--scan-every", "100ms") as process:
        assert process.stdout is not None
        said = ""
        while "new or changed" not in said or "serving" not in said:
            said += process.stdout.readline()
        base = next(word for word in said.split() if word.startswith("http"))
        with urlopen(base, timeout=HANGS) as answer:
            assert answer.read() == b"home"
        (site / "index.html").write_text("another")
        while said.count("new or changed") < 2:
            said += process.stdout.readline()
        os.kill(process.pid, sign)
    assert process.returncode == (-signal.SIGKILL if sign is signal.SIGKILL else 0)
    done = run("site", "--scan-only", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "0 new or changed\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a folder"),
        (("site", "--tls-cert", "x.toml"), "go together"),
        (("site", "--state", "site/state.db"), "lies in the folder"),
        (("site", "--base-url", "example.org"), "is no URL of a site"),
        (("--database", "x.toml"), "say where the database is"),
        (("site", "--keys", "x.toml"), "others may read it"),
        (("nowhere",), "does not exist"),
        (("site", "--scan-every", "1 fortnight"), "is no time"),
        (("site", "--scan-every", "0s"), "not in the range"),
        (("site", "--state", "no/state.db"), "cannot keep the state"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "x.toml").write_text("")
    (tmp_path / "x.toml").chmod(0o644)
    done = run(*arguments, folder=tmp_path)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
