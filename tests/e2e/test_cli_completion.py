"""Completion in real shells, and manual pages that man can read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import TIMEOUT, Scrawler

PATH = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
BASH = """
eval "$(scrawler completion bash)"
asked() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _scrawler_completion scrawler
    echo "${COMPREPLY[@]}"
}
asked scrawler rep
asked scrawler run --scope ''
asked scrawler set max_pag
asked scrawler machines ''
"""
FISH = """
source (scrawler completion fish | psub)
complete -C 'scrawler rep'
complete -C 'scrawler run --scope d'
"""
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; eval "$(scrawler completion zsh)"; print RE''ADY'
zpty -r shell out '*READY*'
zpty -w -n shell $'scrawler verif\\t'
zpty -r shell out '*verify*'
print -r -- $out
zpty -d shell
"""


def _told(shell: str, script: str, folder: Path, *flags: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    environment = os.environ | {"PATH": PATH, "HOME": str(folder), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [shell, *flags, "-c", script], capture_output=True, text=True, env=environment, cwd=folder, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bash_completes_commands_flags_values_and_settings(tmp_path: Path) -> None:
    lines = _told("bash", BASH, tmp_path, "--norc").splitlines()
    assert lines == ["report", "host domain prefix", "max_pages=", "drain remove"]


def test_fish_completes_commands_and_values(tmp_path: Path) -> None:
    lines = [line.partition("\t")[0] for line in _told("fish", FISH, tmp_path, "--no-config").splitlines()]
    assert lines == ["report", "domain"]


def test_zsh_completes_commands(tmp_path: Path) -> None:
    assert "scrawler verify" in _told("zsh", ZSH, tmp_path, "-f")


def test_the_shell_is_that_of_the_user_unless_one_is_named(scrawler: Scrawler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert scrawler("completion").stdout.startswith("#compdef scrawler")
    assert "complete " in scrawler("completion", "fish").stdout
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "say for which shell: bash, zsh, fish" in scrawler("completion", code=2).stderr


def test_there_is_a_manual_page_for_each_command_and_man_can_read_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "scrawler.cli.manual", tmp_path], check=True, timeout=TIMEOUT)
    pages = sorted(page.name for page in tmp_path.glob("*.1"))
    assert {"scrawler.1", "scrawler-run.1", "scrawler-machines-drain.1"} <= set(pages)
    source = (tmp_path / "scrawler-run.1").read_text()
    assert ".SH NAME\nscrawler\\-run \\- Crawl until no seed is ready" in source
    assert ".B \\-\\-threads N\n" in source
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *pages], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == ""
    shown = subprocess.run(["mandoc", "-Tutf8", "scrawler.1"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert "130  stopped by the user" in shown
