"""Agents without a common database under torture: they freeze, die, come back, and are cut off, among strangers."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random

from scrawler.features.synthweb.process import LoggedRequest, SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import reachable
from tests.integration.cluster.conftest import Agents, kill
from tests.integration.cluster.strangers import ATTACKS, crowd
from tests.limits import HANGS
from tests.proxy import Proxy
from tests.torture.crawl import wait_for

DEAD = 6.0  # seconds of silence; agents are suspected after a third of it
_LONGEST = 1.5 * DEAD  # seconds of a freeze, of a cut, and of a death
_CROWD = 20  # strangers at a time
_SEEDS = 8
_NO_DEPTH = 60_000  # where a depth binds, it hangs on the way by which a URL comes first what is found


class AgentsOrdeal:
    """A web, three agents, and what befalls them; the same number gives the same choices."""

    def __init__(self, number: int, faults: int, sites: int = 40) -> None:
        self._chance = Random(number)
        self._spec = WebSpec(seed=number, sites=sites, mean_pages=10, page_bytes=300, links=8)
        self._number = faults
        self._pause = threading.Event()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.struck: list[str] = []

    def run(self, folder: Path) -> None:
        """Crawl to the end. Raises AssertionError where a page was lost, or a host was asked twice at a time."""
        agents = Agents(folder)
        with SynthServer(self._spec) as server, ExitStack() as stack:
            proxies = _proxies(agents, stack)
            seeds = server.web.seeds()[:_SEEDS]
            agents.add(seeds)
            stack.callback(self._close)
            for name in agents.names:
                self._start(agents, name)
            with self._strangers(agents):
                for _ in range(self._number):
                    self._strike(agents, proxies, server)
            for name, process in self._running.items():
                assert process.wait(HANGS) == 0, agents.log(name)
            missing = reachable(server.web, seeds) - agents.html()
            together = in_flight_together(server.log())
        assert not missing, f"{len(missing)} pages were lost: {sorted(missing)[:5]}; {self.struck}"
        if not any(one.startswith("cut") for one in self.struck):  # else two agents may be at a site for a while
            assert not together, f"asked twice at a time: {together[:5]}; {self.struck}"
        for crawl in agents.crawls.values():
            crawl.check()

    def _start(self, agents: Agents, name: str) -> None:
        self._running[name] = agents.start(name, DEAD, 0.3, max_depth=_NO_DEPTH)

    def _close(self) -> None:
        for process in self._running.values():
            if process.poll() is None:
                kill(process)

    def _strike(self, agents: Agents, proxies: dict[str, Proxy], server: SynthServer) -> None:
        before = len(server.log())
        with suppress(AssertionError):  # all may be over, or wait for one another
            wait_for(lambda: len(server.log()) > before + 10, DEAD, "some pages")
        name, seconds = self._chance.choice(agents.names), self._chance.uniform(0.5, _LONGEST)
        fault = self._chance.choice([self._freeze, self._die, self._cut])
        self.struck.append(f"{fault.__name__.strip('_')} {name} for {seconds:.1f} s")
        _say(self.struck[-1])
        fault(agents, proxies, name, seconds)

    def _freeze(self, agents: Agents, proxies: dict[str, Proxy], name: str, seconds: float) -> None:
        self._running[name].send_signal(signal.SIGSTOP)
        self._pause.wait(seconds)
        self._running[name].send_signal(signal.SIGCONT)

    def _die(self, agents: Agents, proxies: dict[str, Proxy], name: str, seconds: float) -> None:
        if self._running[name].poll() is None:
            kill(self._running[name])
        self._pause.wait(seconds)
        self._start(agents, name)

    def _cut(self, agents: Agents, proxies: dict[str, Proxy], name: str, seconds: float) -> None:
        """Cut the links of `b`, those of whom go by proxies."""
        for one in proxies.values():
            one.refuse()
        self._pause.wait(seconds)
        for one in proxies.values():
            one.accept()

    @contextmanager
    def _strangers(self, agents: Agents) -> Iterator[None]:
        """Let those call all the time who do not know the secret."""
        over = threading.Event()

        def call() -> None:
            for port, attack in itertools.cycle(itertools.product(agents.ports.values(), ATTACKS)):
                if over.wait(0.2):
                    return
                with suppress(OSError):
                    _attack(f"tcp://127.0.0.1:{port}", attack)

        thread = threading.Thread(target=call, name="strangers")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _attack(address: str, attack: Callable[..., None]) -> None:
    with crowd(address, _CROWD, 2.0) as strangers:
        for one in strangers:
            with suppress(OSError):
                attack(address, one)


def _proxies(agents: Agents, stack: ExitStack) -> dict[str, Proxy]:
    """Let all that goes from or to `b` go by proxies."""
    proxies = {name: stack.enter_context(Proxy(port)) for name, port in agents.ports.items()}
    for name in ("a", "c"):
        agents.links[name, "b"] = proxies["b"].port
        agents.links["b", name] = proxies[name].port
    return proxies


def in_flight_together(log: list[LoggedRequest]) -> list[str]:
    """The pages that were asked for while another one of their host was on its way."""
    by_host: defaultdict[str, list[LoggedRequest]] = defaultdict(list)
    for line in sorted(log):
        if not line.url.endswith("/robots.txt"):
            by_host[line.url.split("/")[2]].append(line)
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, by_host.values()))
    return [after.url for before, after in pairs if after.came < before.at - 0.001]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
