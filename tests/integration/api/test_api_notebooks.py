"""Where Python runs otherwise than in a script's main thread: threads, notebooks, event loops; and nothing is left."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import scrawler
from tests.forks import machines
from tests.integration.api.conftest import SETTINGS
from tests.integration.api.site import Site, chain
from tests.limits import HANGS

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPROF)


def _global_state() -> tuple[object, ...]:
    handlers = tuple(signal.getsignal(number) for number in SIGNALS)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    limits = tuple(resource.getrlimit(kind) for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC))
    return handlers, mask, limits, gc.get_threshold(), gc.isenabled(), os.getcwd()


def test_in_a_running_event_loop_and_in_a_thread_twice_in_one_process_and_nothing_global_is_changed() -> None:
    def titles(root: str) -> list[str]:
        return [page.title for page in scrawler.crawl([root + "/0"], **SETTINGS)]

    async def cell(root: str) -> tuple[list[str], list[str]]:
        away = asyncio.create_task(asyncio.to_thread(titles, root))
        await asyncio.sleep(0)  # so that the thread begins
        here = titles(root)
        return here, await away

    before, threads, environment = _global_state(), threading.active_count(), dict(os.environ)
    frozen = gc.get_freeze_count()
    with Site(chain(2)) as site:
        assert asyncio.run(cell(site.root)) == (["page 0", "page 1"],) * 2
    assert _global_state() == before
    assert gc.get_freeze_count() <= frozen, "what another test has frozen may be freed, but nothing more is frozen"
    assert dict(os.environ) == environment
    assert threading.active_count() == threads
    assert machines() == set()


_SCRIPT = """
import sys
print("the script runs", flush=True)
import scrawler
settings = {settings!r}
{body}
"""


def _started(folder: Path, body: str) -> subprocess.Popen[str]:
    script = folder / "script.py"
    script.write_text(_SCRIPT.format(settings=SETTINGS, body=body))
    return subprocess.Popen(
        [sys.executable, str(script)], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def _machine_state(folder: Path) -> list[str]:
    with scrawler.Crawl(folder / "scrawler.db") as crawl:
        return [machine.state.value for machine in crawl.status().machines]


def test_a_script_needs_no_main_guard_and_may_leave_its_iterator_open(tmp_path: Path, chained: Site) -> None:
    body = f'pages = scrawler.crawl(["{chained.root}/0"], folder=".", **settings)\nprint(next(pages).title)'
    running = _started(tmp_path, body)
    assert chained.held.wait(HANGS)
    chained.opened.set()
    out, errors = running.communicate(timeout=HANGS)
    assert (running.returncode, errors, out) == (0, "", "the script runs\npage 0\n")
    assert _machine_state(tmp_path) == ["stopped"]


def test_a_fork_that_ends_leaves_the_crawl_to_the_process_that_began_it(tmp_path: Path, chained: Site) -> None:
    body = f"""
import os, signal
signal.alarm({HANGS:.0f})
for number, page in enumerate(scrawler.crawl(["{chained.root}/0"], **settings)):
    if number == 0:
        child = os.fork()
        if child == 0:
            signal.alarm({HANGS:.0f})
            sys.exit(0)
        print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
print(page.title)
"""
    process = _started(tmp_path, body)
    try:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["the script runs\n", "child 0\n"]
        chained.opened.set()
        out, errors = process.communicate(timeout=HANGS)
        assert (out, process.returncode) == ("page 5\n", 0), errors
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_ctrl_c_ends_the_crawl_cleanly_and_is_raised(tmp_path: Path, chained: Site) -> None:
    body = f"""
crawl = scrawler.Crawl("scrawler.db", **settings)
crawl.add(["{chained.root}/0"])
try:
    crawl.run(on_page=lambda page: print(page.title, flush=True))
except KeyboardInterrupt:
    print("interrupted", crawl.status().machines[0].state.value, flush=True)
"""
    running = _started(tmp_path, body)
    assert chained.held.wait(HANGS)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the script and to its machines
    chained.opened.set()
    out, errors = running.communicate(timeout=HANGS)
    assert (running.returncode, errors) == (0, "")
    assert out.splitlines()[-1] == "interrupted stopped"
    assert _machine_state(tmp_path) == ["stopped"]


def test_a_caller_that_is_killed_leaves_no_machine_behind(tmp_path: Path, chained: Site) -> None:
    loop = f'for page in scrawler.crawl(["{chained.root}/0"], folder=".", **settings):'
    body = f"{loop}\n    print(page.title, flush=True)"
    running = _started(tmp_path, body)
    assert chained.held.wait(HANGS)
    running.kill()
    running.wait(HANGS)
    chained.opened.set()
    running.communicate(timeout=HANGS)  # its machine has the other end of standard error, and is gone at its end
    assert _machine_state(tmp_path) == ["stopped"]
