"""What a run tells of what happens: on standard error, in a file, as text or JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.conftest import CRAWL, Scrawler, error_line

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_JSON = ("--log-file", "log.jsonl", "--log-format", "json")


@pytest.mark.parametrize("machines", ["1", "2"])
def test_a_quiet_run_says_nothing_and_its_log_all(
    machines: str, scrawler: Scrawler, seed_file: Path, tmp_path: Path
) -> None:
    seeds = seed_file.read_text().split()
    scrawler("import", "seeds.txt")
    run = scrawler(*CRAWL, "-q", "--machines", machines, *_JSON)
    assert (run.stdout, run.stderr) == ("", "")
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert all(_TIME.fullmatch(line["time"]) for line in lines)
    events = [line for line in lines if "event" in line]
    assert {line["seed"] for line in events if line["event"] == "seed-ended"} == set(seeds)
    begun = {line["seed"]: line for line in events if line["event"] == "seed-begun"}
    assert begun.keys() == set(seeds)
    joined = {line["machine"] for line in events if line["event"] == "machine-joined"}
    assert len(joined) == int(machines)
    assert joined == {line["machine"] for line in events if line["event"] == "machine-ended"}
    for seed, line in begun.items():
        assert line["machine"] in joined
        assert line["site"] in seed
        assert line["message"] == f"seed {seed} begun"
    assert lines[-1]["message"].startswith("the crawl ended after ")


def test_what_happens_is_shown_to_who_wants_to_see_it(scrawler: Scrawler, seed_file: Path, tmp_path: Path) -> None:
    scrawler("import", "seeds.txt")
    run = scrawler(*CRAWL, "-vv", "--log-file", "run.log", "--max-pages", "2")
    assert "the crawl ended" in run.stdout
    for seed in seed_file.read_text().split():
        assert f"seed {seed} begun" in run.stderr.splitlines()
    assert " committed checkpoint " in run.stderr
    written = (tmp_path / "run.log").read_text().splitlines()
    assert all(_TIME.match(line) for line in written)
    assert any(
        re.search(r" INFO seed \S+ ended: \S+ .*\| seed=http\S+ site=\S+ machine=\S+$", line) for line in written
    )
    again = scrawler(*CRAWL, "-v", "--log-file", "run.log")
    assert " committed checkpoint " not in again.stderr
    assert (tmp_path / "run.log").read_text().splitlines()[: len(written)] == written


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full: what cannot be written is not tried")
@pytest.mark.parametrize("machines", ["1", "2"])
def test_a_log_that_cannot_be_written_ends_no_crawl_and_is_told_once(
    machines: str, scrawler: Scrawler, seed_file: Path
) -> None:
    scrawler("import", "seeds.txt")
    run = scrawler(*CRAWL, "-q", "--machines", machines, "--log-file", "/dev/full")
    why = "No space left on device"
    assert run.stderr == f"warning: the log /dev/full cannot be written: {why}; the crawl goes on without it\n"


def test_an_error_that_ends_a_run_is_in_its_log(scrawler: Scrawler, seed_file: Path, tmp_path: Path) -> None:
    scrawler("import", "seeds.txt")
    (tmp_path / "pages").write_text("no folder")
    run = scrawler(*CRAWL, *_JSON, code=5)
    last = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    assert (last["level"], last["message"]) == ("error", error_line(run))
    assert run.stderr.count(last["message"]) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-v", "-q"), "-v and -q say the opposite of each other; see `scrawler run --help`"),
        (("--log-format", "json"), "--log-format is that of --log-file, and there is none; see `scrawler run --help`"),
        (("--log-file", "scrawler.db"), "scrawler.db is the crawl's database: write to another file"),
    ],
)
def test_logs_that_cannot_be_are_an_error(options: tuple[str, ...], said: str, scrawler: Scrawler) -> None:
    assert error_line(scrawler(*CRAWL, *options, code=2)) == said


def test_a_log_in_no_folder_is_an_error(scrawler: Scrawler) -> None:
    run = scrawler(*CRAWL, "--log-file", "nowhere/run.log", code=1)
    assert error_line(run) == "the log nowhere/run.log cannot be opened: No such file or directory"
