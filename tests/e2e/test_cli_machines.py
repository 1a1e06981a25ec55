"""Many machines on one host: `scrawler run --machines N`, with real processes that really die."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrawler.archive.locks import take_lock
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.model.results import Result
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.overview import MachineView
from scrawler.store.engines.engine import open_database
from scrawler.store.reading.pages import Pages
from tests.e2e.conftest import CRAWL, SCRAWLER, TIMEOUT, Rows, Scrawler, environment, python_path, started, stop_cleanly
from tests.e2e.gated import GatedSite
from tests.terminals import open_terminal, read_terminal
from tests.torture.crawl import children, wait_for

TWO = (*CRAWL, "--machines", "2", "--threads", "4")


@pytest.fixture(scope="module")
def wide_web() -> Iterator[SynthServer]:
    """A synthetic web with sites for five machines."""
    with SynthServer(WebSpec(seed=3, sites=30, mean_pages=15, max_pages=60, page_bytes=2000)) as server:
        yield server


@pytest.fixture
def truth(wide_web: SynthServer, tmp_path: Path) -> set[str]:
    """All pages to be found from seeds.txt, which is written here."""
    seeds = [url for site in range(30) for url in wide_web.web.seeds_of(site)]
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in seeds))
    parties = [party(wide_web.web, seed, max_depth=15) for seed in seeds]
    return {url for one in parties for url in one.pages | {file for file in one.files if file.endswith(".pdf")}}


def _fetched(database_url: str) -> list[str]:
    database = open_database(database_url, create=False)
    try:
        rows = list(Pages(database).all())
    finally:
        database.close()
    assert max(Counter(row.url for row in rows).values()) == 1
    return [row.url for row in rows if row.result == Result.FETCHED]


def _running(database_url: str) -> list[MachineView]:
    database = open_database(database_url, create=False)
    try:
        return [machine for machine in Machines(database).machines() if machine.state == "running"]
    finally:
        database.close()


def _told(out: str) -> dict[str, str]:
    return dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in out.splitlines() if line.startswith("  "))


def test_the_users_own_line(database_url: str, truth: set[str], tmp_path: Path) -> None:
    done = subprocess.run(
        "scrawler import seeds.txt && scrawler run --machines 5 --threads 20",
        shell=True,
        cwd=tmp_path,
        env=environment(
            PATH=os.pathsep.join([str(Path(SCRAWLER).parent), os.environ["PATH"]]),
            SCRAWLER_DB=database_url,
            SCRAWLER_ALLOW_PRIVATE="true",
            SCRAWLER_DELAY="0.01",
            SCRAWLER_USER_AGENT="SCrawler-test (+mailto:test@localhost)",
        ),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    fetched = _fetched(database_url)
    assert set(fetched) == truth
    told = _told(done.stdout)
    assert "the crawl ended after" in done.stdout
    assert (told["machines"], told["restarts"]) == ("5", "0")
    assert told["pages"].split()[0] == f"{len(fetched):,}"
    assert set(told["WARC files"].split(", ")) == {path.name for path in (tmp_path / "pages").glob("*.warc.gz")}
    assert done.stderr.count("exported 30 seeds") == 1
    assert "warning" not in done.stderr


@pytest.mark.heavy
def test_a_killed_machine_is_started_again_and_nothing_is_lost(
    scrawler: Scrawler, rows: Rows, database_url: str, truth: set[str], wide_web: SynthServer, tmp_path: Path
) -> None:
    before = len(wide_web.log())
    scrawler("import", "seeds.txt", SCRAWLER_DB=database_url)
    slowly = ("--delay", "0.05", "--timeout", "5")
    with started(tmp_path, *TWO, *slowly, SCRAWLER_DB=database_url) as running:
        wait_for(lambda: len(wide_web.log()) > before + 100, TIMEOUT, "requests")
        os.kill(_running(database_url)[0].pid, signal.SIGKILL)
        out, said = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 0, said
    assert re.search(r"^machine [12] of 2 was killed by SIGKILL; it is started again in 1 s$", said, re.MULTILINE)
    fetched = _fetched(database_url)
    assert set(fetched) == truth
    told = _told(out)
    assert (told["machines"], told["restarts"]) == ("2", "1")
    assert told["pages"].split()[0] == f"{len(fetched):,}"
    (status,) = rows("status", SCRAWLER_DB=database_url)
    assert told["errors"] == f"{status['errors']:,}"
    assert set(told["WARC files"].split(", ")) == {path.name for path in (tmp_path / "pages").glob("*.warc.gz")}


def test_a_machine_that_was_told_to_end_is_not_started_again(
    scrawler: Scrawler, truth: set[str], wide_web: SynthServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'scrawler.db'}"
    before = len(wide_web.log())
    scrawler("import", "seeds.txt")
    with started(tmp_path, *TWO, "--delay", "0.05") as running:
        wait_for(lambda: len(wide_web.log()) > before + 50, TIMEOUT, "requests")
        os.kill(_running(url)[0].pid, signal.SIGTERM)
        out, said = running.communicate(timeout=TIMEOUT)
    assert (running.returncode, "again" in said) == (0, False)
    assert "the crawl ended after" in out
    assert _told(out)["restarts"] == "0"
    assert set(_fetched(url)) == truth


@pytest.mark.heavy
def test_a_machine_that_fails_again_and_again_is_given_up(scrawler: Scrawler, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "html5lib.py").write_text("raise ImportError('html5lib was installed for another Python')")
    scrawler("import", "-", given="http://a.example/")
    done = scrawler(*TWO, "--extractor", "html5lib", code=1, PYTHONPATH=python_path(tmp_path / "broken"))
    for machine in (1, 2):
        said = [line for line in done.stderr.splitlines() if line.startswith(f"machine {machine} of 2 ")]
        assert [re.sub(r".*again in ", "", line) for line in said[:-1]] == ["1 s", "2 s", "4 s", "8 s"]
        assert said[-1] == (
            f"machine {machine} of 2 is given up after 5 failures in a row; "
            "the last time it failed: ImportError: html5lib was installed for another Python"
        )
    assert "the crawl failed after" in done.stdout
    assert "exported" not in done.stderr


@pytest.mark.parametrize("machines", ["1", "2"])
def test_a_run_says_what_was_ordered_before(machines: str, scrawler: Scrawler, truth: set[str], tmp_path: Path) -> None:
    scrawler("import", "seeds.txt")
    scrawler("pause")
    scrawler("set", "max_pages=1", "threads=3")
    with started(tmp_path, *CRAWL, "--machines", machines) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "the crawl is paused; `scrawler resume` lets it go on\n"
        assert running.stderr.readline() == (
            "set for all machines, over files, variables and flags: max_pages=1, threads=3;"
            " `scrawler set KEY=` takes it back\n"
        )
        scrawler("resume")
        out, said = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 0, said
    assert "seeds max-pages" in out


def test_a_crawl_without_seeds_says_how_to_get_some(scrawler: Scrawler) -> None:
    assert "has no seeds yet; `scrawler import FILE` brings some" in scrawler(*CRAWL).stderr


@pytest.mark.parametrize("machines", ["1", "2"])
@pytest.mark.parametrize("name", ["file", "loop", "x" * 300], ids=["file", "loop", "too-long"])
@pytest.mark.heavy
def test_a_folder_in_which_no_pages_can_be_is_told_once(
    name: str, machines: str, scrawler: Scrawler, seed_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "loop").symlink_to("loop")
    scrawler("import", seed_file.name)
    for _ in range(2):  # the database knows the folder from the first one
        done = scrawler(*CRAWL, "--machines", machines, "--pages-dir", name, code=5)
        (line,) = done.stderr.splitlines()
        assert re.match(rf"scrawler: error: cannot (?:read|write) {name}", line)
    scrawler("export", "-")


def test_what_every_machine_would_meet_is_told_once(scrawler: Scrawler) -> None:
    away = scrawler(*TWO, "--db", "mysql://u:secret@127.0.0.1:1/x", "--database-patience", "3", code=6)
    *before, line = away.stderr.splitlines()
    assert line.startswith("scrawler: error: ")
    assert "cannot be reached" in line
    assert len(before) <= 1, "said once, if a try fell into the last second"
    assert all(said.endswith("; waiting for it") for said in before)


def test_ctrl_c_stops_all_machines_cleanly(scrawler: Scrawler, rows: Rows, tmp_path: Path) -> None:
    with GatedSite(pages=50, answered_at_once=20) as site:
        scrawler("import", "-", given=site.seed)
        with started(tmp_path, *TWO) as running:
            stop_cleanly(running, site, signal.SIGINT)
        (status,) = rows("status")
        assert 20 <= status["pages"] < 50
        scrawler(*TWO)
        assert sorted(site.asked) == sorted(f"/{number}" for number in range(50))


def test_a_second_signal_ends_all_machines_at_once(scrawler: Scrawler, tmp_path: Path) -> None:
    with GatedSite(pages=5, answered_at_once=0) as site:
        scrawler("import", "-", given=site.seed)
        with started(tmp_path, *TWO) as running:
            assert running.stderr is not None
            assert site.held.wait(TIMEOUT)
            running.send_signal(signal.SIGTERM)
            assert "stopping" in running.stderr.readline()
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=TIMEOUT / 4) == 130
            running.communicate(timeout=TIMEOUT / 4)  # at the end of its output: the machines, who share it, are gone


def test_a_first_signal_ends_the_last_copies_alone(scrawler: Scrawler, tmp_path: Path) -> None:
    with GatedSite(pages=2, answered_at_once=2) as site:
        scrawler("import", "-", given=site.seed)
        scrawler(*TWO, "--no-export")
    one = next((tmp_path / "pages").glob("*.warc.gz"))
    prefix = one.name.rpartition("-m")[0] + "-copies"
    lock = take_lock(tmp_path / "pages", prefix)
    assert lock is not None
    copies = (tmp_path / "copies").as_uri()
    with started(tmp_path, *TWO, "--archive-to", copies) as running:
        assert running.stderr is not None
        while "another process copies" not in (line := running.stderr.readline()):
            assert line, "it ended before it copied anything"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=TIMEOUT)
    lock.release()
    assert running.returncode == 5, said
    assert "not copied yet" in said
    assert list((tmp_path / "output_urls").iterdir())  # summary and export are made all the same


def test_the_first_machines_are_forked_and_those_in_their_place_are_started(scrawler: Scrawler, tmp_path: Path) -> None:
    with GatedSite(pages=5, answered_at_once=0) as site:
        scrawler("import", "-", given=site.seed)
        with started(tmp_path, *TWO) as running:
            assert site.held.wait(TIMEOUT)
            first = children(running.pid)
            run = Path(f"/proc/{running.pid}/cmdline").read_bytes()
            assert [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in first] == [run, run]
            os.kill(first[0], signal.SIGKILL)
            wait_for(lambda: len(set(children(running.pid)) - set(first)) == 1, TIMEOUT, "another machine")
            (other,) = set(children(running.pid)) - set(first)
            wait_for(
                lambda: b"scrawler.supervisor.child" in Path(f"/proc/{other}/cmdline").read_bytes(),
                TIMEOUT,
                "a command",
            )
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate(timeout=TIMEOUT)


def test_machines_end_by_themselves_when_their_supervisor_is_killed(
    scrawler: Scrawler, truth: set[str], wide_web: SynthServer, tmp_path: Path
) -> None:
    before = len(wide_web.log())
    scrawler("import", "seeds.txt")
    with started(tmp_path, *TWO, "--delay", "0.05") as running:
        wait_for(lambda: len(wide_web.log()) > before + 50, TIMEOUT, "requests")
        running.kill()
        _, said = running.communicate(timeout=TIMEOUT)  # returns once the machines are gone as well
    assert said == ""
    url = f"sqlite:///{tmp_path / 'scrawler.db'}"
    assert _running(url) == []
    scrawler(*TWO)
    assert set(_fetched(url)) == truth


def test_one_progress_line_stands_for_all_machines(scrawler: Scrawler, truth: set[str], tmp_path: Path) -> None:
    scrawler("import", "seeds.txt")
    shown, terminal = open_terminal()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 150, 0, 0))
    with started(tmp_path, *TWO, "--delay", "0.02", stdout=subprocess.DEVNULL, stderr=terminal) as running:
        os.close(terminal)
        text = read_terminal(shown)
    os.close(shown)
    assert running.returncode == 0
    lines = re.findall(
        r"[12] of 2 machines, ([\d,]+) pages, [^\r]* seeds: (\d+) done (\d+) active (\d+) waiting", text.decode()
    )
    assert lines
    pages = [int(line[0].replace(",", "")) for line in lines]
    assert pages == sorted(pages)
    assert all(sum(map(int, line[1:])) == 30 for line in lines)
