"""Files that are gone from the archive, as a user meets them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from scrawler.features.synthweb.process import SynthServer
from tests.e2e.conftest import CRAWL, SCRAWLER, Rows, Scrawler, shell

RUN = (*CRAWL, "--no-export")


def lost_line(done: subprocess.CompletedProcess[str]) -> str:
    last = done.stderr.splitlines()[-1]
    assert last.startswith("scrawler: error: gone from the archive: ")
    assert last.endswith(
        "`scrawler verify` lists them, `run --retry lost` fetches them again, `run --accept-losses` lets them be"
    )
    return last


@pytest.mark.parametrize("machines", [1, 2])
@pytest.mark.heavy
def test_what_is_gone_is_told_once_listed_and_fetched_again(
    machines: int, scrawler: Scrawler, rows: Rows, web: SynthServer, seed_file: Path, tmp_path: Path
) -> None:
    run = (*RUN, "--machines", str(machines))
    scrawler("import", "seeds.txt")
    scrawler(*run)
    (before,) = rows("status")
    assert before["lost"] == dict.fromkeys(before["lost"], 0)
    assert "0 are gone" in scrawler("verify").stderr
    files = sorted((tmp_path / "pages").glob("*.warc.gz"))
    files[0].unlink()

    done = scrawler(*run, code=7)
    assert "gone from the archive" in done.stdout, "in the summary as well"
    told = lost_line(done)
    (status,) = rows("status")
    number = status["lost"]["records"]
    assert number > 0
    assert f"{number:,} records of 1 WARC file" in told
    assert "gone from the archive" not in scrawler(*run).stderr, "once"
    assert f"{number:,} records of 1 WARC file" in scrawler("status").stdout
    report = json.loads(scrawler("report", "--json").stdout)
    assert [(row["file"], row["it_is"]) for row in report["crawl"]["lost"]] == [(files[0].name, "missing")]
    listed = scrawler("verify", "--json", code=7)
    found = [json.loads(line) for line in listed.stdout.splitlines()]
    assert len(found) == number
    assert {(row["file"], row["problem"]) for row in found} == {(files[0].name, "gone")}
    lost_line(listed)
    assert len(scrawler("verify", code=7).stdout.splitlines()) == number + 1

    again = scrawler(*run, "--retry", "lost")
    assert "URLs to be fetched again because their records are gone" in again.stderr
    (after,) = rows("status")
    for name in ("seeds", "end_reasons", "pages", "bytes", "errors", "lost"):
        assert after[name] == before[name], name
    scrawler("verify")


def test_what_was_moved_away_on_purpose_is_accepted(
    scrawler: Scrawler, rows: Rows, web: SynthServer, seed_file: Path, tmp_path: Path
) -> None:
    scrawler("import", "seeds.txt")
    scrawler(*RUN)
    (tmp_path / "pages").rename(tmp_path / "elsewhere")
    said = scrawler(*RUN, "--accept-losses").stderr
    assert "gone and accepted: " in said
    assert "gone and accepted" in scrawler("status").stdout
    assert "gone and accepted" in scrawler("report").stdout
    assert "more are gone and accepted" in scrawler("verify").stderr
    scrawler(*RUN)
    (status,) = rows("status")
    assert status["lost"]["files"] == 0
    assert status["lost"]["accepted_files"] == 1


def test_a_loss_is_told_though_nobody_reads_the_list_to_its_end(
    scrawler: Scrawler, web: SynthServer, seed_file: Path, tmp_path: Path
) -> None:
    scrawler("import", "seeds.txt")
    scrawler(*RUN)
    for file in (tmp_path / "pages").glob("*.warc.gz"):
        file.unlink()
    # The reader is gone before anything is written.
    line = f"(read -r go < gone; {SCRAWLER} verify; echo $? > code) | (exec <&-; echo go > gone)"
    os.mkfifo(tmp_path / "gone")
    done = shell(line, tmp_path)
    assert (tmp_path / "code").read_text() == "7\n", done.stderr
    whole = scrawler("verify", code=7)
    assert whole.stdout
    assert lost_line(done) == lost_line(whole)
    assert done.stderr.splitlines()[-2] == whole.stderr.splitlines()[-2]


def test_what_a_run_that_ends_with_another_error_could_not_say_the_next_one_says(
    scrawler: Scrawler, web: SynthServer, seed_file: Path, tmp_path: Path
) -> None:
    scrawler("import", "seeds.txt")
    scrawler(*RUN)
    next((tmp_path / "pages").glob("*.warc.gz")).unlink()
    (tmp_path / "in_the_way").touch()
    other = scrawler(*CRAWL, "--output-dir", "in_the_way/out", code=1)
    assert "gone from the archive" in other.stdout
    assert "gone from the archive" not in other.stderr
    lost_line(scrawler(*RUN, code=7))
    scrawler(*RUN)
