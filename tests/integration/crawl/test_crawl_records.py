"""WARC files and database say the same: an index line for every committed record, after a kill too."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from scrawler import machine_run
from scrawler.app import run_crawl
from scrawler.core.progress import Progress
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.overview import MachineView
from scrawler.store.engines.engine import open_database
from tests.consistency import check_records, orphans_of
from tests.integration.crawl.hostile import LONGEST_RUN
from tests.integration.crawl.rig import running, watch
from tests.torture.crawl import wait_for

if TYPE_CHECKING:
    from scrawler.core.machine.machine import Machine
    from tests.integration.crawl.conftest import Crawl

SPEC = WebSpec(seed=7, sites=5, mean_pages=20, page_bytes=800)
LONG = WebSpec(seed=7, sites=4, equal=True, mean_pages=90, page_bytes=800)


def test_each_committed_record_has_its_index_line(crawl_on_both: Crawl) -> None:
    with SynthServer(SPEC) as server:
        crawl_on_both.add(server.web.seeds(per_site=2))
        summary = crawl_on_both.run()
    assert summary.warc_files
    check_records(crawl_on_both.url, crawl_on_both.folder / "pages")


def test_files_are_indexed_while_the_crawl_goes_on(crawl_on_both: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_run, "_INDEX_EVERY", 0.05)
    pages = crawl_on_both.folder / "pages"
    indexed: list[int] = []
    with SynthServer(WebSpec(seed=7, sites=5, equal=True, mean_pages=40, page_bytes=60_000)) as server:
        crawl_on_both.add(server.web.seeds())

        def look(_: Progress) -> None:
            indexed.append(len(list(pages.glob("*.cdxj"))))

        crawl_on_both.run(look, warc_size=2**20, checkpoint_interval=0.1, delay=0.05)
    assert 0 < max(indexed) < len(list(pages.glob("*.cdxj")))
    check_records(crawl_on_both.url, pages)


@pytest.mark.parametrize("torn", [b"", b"\x1f\x8b\x08\x00half a gzip member", b"\x00" * 4096])
def test_a_torn_file_of_a_killed_machine_is_mended_by_the_next(crawl: Crawl, torn: bytes) -> None:
    """A machine that was killed leaves no index, records that were never committed, and a torn end."""
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        stop = threading.Event()

        def look(machine: Machine) -> None:
            if machine.crew.totals().pages > 20:
                stop.set()

        watch(crawl.settings(delay=0.01), look, stop)  # writes no index
        (file,) = (crawl.folder / "pages").glob("*.warc.gz")
        whole = file.read_bytes()
        file.write_bytes(whole + whole[-500:] + torn)
        crawl.run()
    assert file.read_bytes() == whole
    check_records(crawl.url, crawl.folder / "pages")
    crawl.check()


def test_the_file_of_a_machine_that_dies_while_the_last_one_ends_is_finished(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies after the last heartbeat of the other, which tells nobody, and none comes after that."""
    stop = Machines.stop
    pages = crawl.folder / "pages"
    with (
        SynthServer(SPEC) as server,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other,
    ):
        crawl.add(server.web.seeds())
        with crawl.opened() as opened:
            late = Machines(opened.database).register("elsewhere", other.pid, 0).id
            prefix = opened.stored.warc_prefix(late)
        (begun := pages / f"{prefix}-20261124000000000-00000.warc.gz").parent.mkdir()
        begun.write_bytes(b"")  # as where it is killed before its first checkpoint

        def dying(machines: Machines, machine_id: int, refused: int = 0) -> MachineView:
            other.kill()
            other.wait()
            return stop(machines, machine_id, refused)

        monkeypatch.setattr(Machines, "stop", dying)
        crawl.run()
    assert not begun.exists()
    check_records(crawl.url, pages)


def test_what_stands_in_the_place_of_a_killed_machines_file_is_kept_and_told(crawl: Crawl) -> None:
    """It is nothing that the machine had not committed, and the loss is told as any other."""
    with SynthServer(LONG) as server:
        crawl.add(server.web.seeds())
        with running(crawl, "--checkpoint-interval", "0.1", "--delay", "0.02", "--timeout", "1") as process:
            wait_for(lambda: bool(crawl.pages()), LONGEST_RUN, "pages that are committed")
            process.send_signal(signal.SIGKILL)
            process.communicate()
        (file,) = (crawl.folder / "pages").glob("*.warc.gz")
        file.write_text("notes of somebody else")
        said: list[str] = []
        summary = run_crawl(crawl.settings(), lambda progress: None, threading.Event(), say=said.append)
    kept = file.with_name(file.name + ".damaged")
    assert said == [f"a WARC file held what the database knows nothing of, which is kept as {kept}"]
    assert kept.read_text() == "notes of somebody else"
    assert not file.exists()
    assert summary.lost[0] == 1
    crawl.check()


def test_the_files_of_another_crawl_in_the_same_folder_are_left_alone(crawl: Crawl) -> None:
    """Both crawls have the same name, and machines of the same number: only the database tells them apart."""
    other = type(crawl)(crawl.folder, f"sqlite:///{crawl.folder / 'other.db'}")
    with SynthServer(SPEC) as server:
        crawl.add(server.web.seeds())
        other.add(server.web.seeds())
        stop = threading.Event()

        def look(machine: Machine) -> None:
            if machine.crew.totals().pages > 20:
                stop.set()

        watch(crawl.settings(delay=0.01), look, stop)  # as a killed one: writes no index
        (left,) = (crawl.folder / "pages").glob("*.warc.gz")
        before = left.read_bytes()
        other.run()
        other.run()  # looks after what the first machine left
        assert left.read_bytes() == before
        crawl.run()
    assert left.with_name(left.name.removesuffix(".warc.gz") + ".cdxj").exists()
    assert left.read_bytes() == before
    crawl.check()


@pytest.mark.heavy
@pytest.mark.parametrize("killed", [True, False])
def test_records_of_sites_that_were_taken_over_become_orphans(crawl_on_both: Crawl, killed: bool) -> None:
    """A real process loses sites to another machine, and then its life, in the middle of its work."""
    crawl, pages = crawl_on_both, crawl_on_both.folder / "pages"
    with SynthServer(LONG) as server:
        crawl.add(server.web.seeds())
        # So long rest sites that have never answered, as far as is known to who takes them up.
        with running(crawl, "--checkpoint-interval", "0.5", "--delay", "0.02", "--timeout", "5") as process:
            wait_for_requests(server, 60)
            take_sites_over(crawl, lambda: wait_for_requests(server, len(server.log()) + 60))
            if killed:
                process.send_signal(signal.SIGKILL)
            process.communicate(timeout=LONGEST_RUN)
            assert process.returncode == (-signal.SIGKILL if killed else 0)
        if killed:
            crawl.run()
        truth = [party(server.web, seed, max_depth=15) for seed in server.web.seeds()]
    html = {url for url in crawl.fetched() if not url.endswith((".pdf", ".png"))}
    assert html == set().union(*(one.pages for one in truth))
    check_records(crawl.url, pages)
    assert orphans_of(crawl.url)
    crawl.check()


def wait_for_requests(server: SynthServer, number: int) -> None:
    tick = threading.Event()
    for _ in range(int(LONGEST_RUN / 0.02)):
        if len(server.log()) >= number:
            return
        tick.wait(0.02)
    pytest.fail("the crawler asks for nothing")


def take_sites_over(crawl: Crawl, meanwhile: Callable[[], None]) -> None:
    """Let another machine take all sites but one over, and leave them after a while."""
    database = open_database(crawl.url)
    machines = Machines(database)
    other = machines.register("elsewhere", 1, 0).id
    with database.begin() as connection:
        first = connection.exec_driver_sql("SELECT MIN(id) FROM site WHERE state = 'active'").scalar_one()
        taken = f"owner = {other}, token = token + 1"
        connection.exec_driver_sql(f"UPDATE site SET {taken} WHERE state = 'active' AND id > {first}")
    meanwhile()
    machines.stop(other)
    database.close()
