"""Agents without a centre: all that is to be found is found, whoever dies, and whatever the network does."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from scrawler.errors import SettingsError
from scrawler.features.cluster.agents.views import View
from scrawler.features.cluster.exchange.communicator import Batch, Item
from scrawler.features.cluster.exchange.door import Door
from scrawler.features.cluster.exchange.tcp import TcpCommunicator
from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from scrawler.features.synthweb.truth import party, reachable
from scrawler.features.synthweb.web import SyntheticWeb
from scrawler.model.scope import Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.store.commit.inboxes import exchanged
from scrawler.store.engines.engine import open_database
from scrawler.urls.scope import site_key
from tests.integration.cluster.conftest import SCRAWLER, Agents, free_port, kill
from tests.integration.crawl.hostile import NOT_FOUND, page
from tests.integration.fetch.servers import RawServer, Visit, path_of
from tests.limits import HANGS
from tests.proxy import Proxy
from tests.torture.agents import in_flight_together
from tests.torture.crawl import wait_for
from tests.torture.messy import MessyNetwork

SPEC = WebSpec(seed=7, sites=16, mean_pages=8, page_bytes=300, links=8)
SEEDS = 4
FEWEST = 12  # pages of an agent
ALIASES = WebSpec(seed=5, sites=15, mean_pages=6, page_bytes=300, alias_every=3)
SLOW = WebSpec(seed=7, sites=24, mean_pages=10, page_bytes=300, links=8)


def served(spec: WebSpec, seeds: int, alone: int = 0) -> SynthServer:
    """Serve a web at a port by which each of three agents has a part of it: sites are named after the port as well.

    `b` finds so many pages of its own `alone`, from its own seeds, whatever it hears of others.
    """
    view = View(dict.fromkeys("abc", 1))
    while True:
        port = free_port()
        web = SyntheticWeb(spec, port)
        given = web.seeds()[:seeds]
        owners = Counter(view.owner(site_key(url, Scope.HOST)) for url in reachable(web, given))
        own = [party(web, seed).pages for seed in given if view.owner(site_key(seed, Scope.HOST)) == "b"]
        is_enough = len(owners) == len(view.weights) and min(owners.values()) >= FEWEST
        if is_enough and len(set().union(*own)) >= alone:
            return SynthServer(spec, port)


def sums(agents: Agents) -> tuple[int, int, int]:
    """What all have sent and received, and what waits."""
    found = []
    for crawl in agents.crawls.values():
        with closing(open_database(crawl.url)) as database:
            found.append(exchanged(database))
    return sum(one.sent for one in found), sum(one.received for one in found), sum(one.waiting for one in found)


def test_three_agents_fetch_all_that_the_seeds_lead_to_once_and_heed_no_stranger(agents: Agents) -> None:
    """Somebody who knows all but the secret speaks as `b`: nothing of it is taken in, and `a` crawls on."""

    def lie() -> None:
        door = Door("crawl", "b", b"this is not the secret")
        with closing(TcpCommunicator("127.0.0.1:0", {"a": address}.get, door)) as stranger:
            for number in range(1, 30):
                stranger.send(Batch(number, (Item(1, evil),)), "a")
                stranger.tell("beat", {"view": "another"}, "a")
                stranger.tell("over", {"view": "another"}, "a")

    with served(SPEC, SEEDS) as server:
        seeds = server.web.seeds()[:SEEDS]
        evil = server.web.seeds()[-1]
        address = f"tcp://127.0.0.1:{agents.ports['a']}"
        agents.add(seeds)
        runs = agents.crawl(during=lie, per_ip=30)
        expected = reachable(server.web, seeds)
        log = server.log()
    assert {one.outcome for one in runs.values()} == {"ended"}
    fetched = agents.fetched()
    assert agents.html() == expected
    assert set(fetched.values()) == {1}
    assert all(crawl.fetched() for crawl in agents.crawls.values()), "each agent has sites of its own"
    sent, received, waiting = sums(agents)
    assert sent == received > 0
    assert waiting == 0
    assert in_flight_together(log) == []
    for crawl in agents.crawls.values():
        crawl.check()
        assert all(one.state is SeedState.DONE for one in crawl.seeds())
    ended = [crawl.seed(seeds[0]).end_reason for crawl in agents.crawls.values()]
    assert ended.count(EndReason.ELSEWHERE) == len(agents.names) - 1
    _exports_are_merged(agents, expected)
    # All of them are over: whoever is started again has nothing to do, and waits for nobody.
    assert agents.crawls["a"].run(**agents.values("a", 300)).pages == 0


def test_a_seed_that_leads_to_another_agents_site_is_crawled_there(agents: Agents) -> None:
    """Each agent has the seed at the site that it was given for; where that leads only its owner finds out."""
    with SynthServer(ALIASES) as server:
        web = server.web
        seeds = [web.seeds_of(site)[0] for site in range(15) if web.site(site).alias_of is not None]
        homes = [party(web, seed, max_depth=15) for seed in seeds]
        agents.add(seeds)
        runs = agents.crawl(mode="firewall", per_ip=30)
    assert {one.outcome for one in runs.values()} == {"ended"}
    assert agents.html() == set().union(*(one.pages for one in homes))
    assert set(agents.fetched().values()) == {1}
    view = View(dict.fromkeys(agents.names, 1))
    owners = [
        (view.owner(site_key(seed, Scope.HOST)), view.owner(site_key(one.home, Scope.HOST)))
        for seed, one in zip(seeds, homes, strict=True)
    ]
    sent, _, waiting = sums(agents)
    assert (sent > 0, waiting) == (True, 0)
    if all(first == second for first, second in owners):
        pytest.skip("by the ports of this run no seed leads to another agent")


def _exports_are_merged(agents: Agents, expected: set[str]) -> None:
    file, again = agents.folder / "all.jsonl", agents.folder / "again.jsonl"
    names = agents.folder / "databases.txt"
    with agents.crawls["a"].opened() as crawl:
        crawl.export(file, pages=True, merge=[agents.crawls[name].url for name in "bc"])
        lines = [f"{name} tcp://h:{port} {agents.crawls[name].url}\n" for name, port in agents.ports.items()]
        names.write_text("".join(lines))
        crawl.export(again, pages=True, agents=names)
        names.write_text("".join(lines[:2]) + "c tcp://h:1\n")
        with pytest.raises(SettingsError, match="names no database of c"):
            crawl.export(again, pages=True, agents=names)
        crawl.export(again, pages=True, agents=names, merge=[agents.crawls["c"].url])
        assert sorted(again.read_bytes().splitlines()) == sorted(file.read_bytes().splitlines())
        names.write_text("".join(lines[:2]) + f"c tcp://h:1 {agents.crawls['b'].url}\n")
        with pytest.raises(SettingsError, match="names for c is that of b"):
            crawl.export(again, pages=True, agents=names)
        names.write_text("".join(lines[1:]))
        with pytest.raises(SettingsError, match="agent a's, which is not in"):
            crawl.export(again, pages=True, agents=names)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    pages = [row["url"] for row in rows if row["kind"] == "page" and row["result"] == "fetched"]
    assert {url for url in pages if not url.endswith(".pdf")} == expected
    assert len(pages) == len(set(pages))
    seeds = {row["url"]: row["end_reason"] for row in rows if row["kind"] == "seed"}
    assert len(seeds) == sum(row["kind"] == "seed" for row in rows)
    assert "elsewhere" not in seeds.values()


def test_settings_that_make_no_agent_are_one_line(agents: Agents) -> None:
    given = agents.values("a", 300)
    agents.add(["http://a.example/"])
    short = agents.folder / "short"
    short.write_text("too short")
    bad: dict[str, dict[str, object]] = {
        "which of the agents": {"agent": None},
        "has no agent d": {"agent": "d"},
        "need a secret": {"exchange_secret_file": None},
        "cannot read the agents' secret": {"exchange_secret_file": agents.folder / "none"},
        "has 16 to": {"exchange_secret_file": short},
        "an agent is one machine": {"machines": 2},
        "needs a place of its own at an IP address": {"per_ip": 2},
        "by consistent hashing": {"partition": "modulo"},
        "--mode exchange": {"hops": 1},
        "one longer than the other": {"agents_suspect": 400},
        "cannot read the list of agents": {"agents": agents.folder / "none"},
    }
    for words, change in bad.items():
        with pytest.raises(SettingsError, match=words):
            agents.crawls["a"].run(**given | change)


class _Processes:
    """Agents as processes, none of which outlives its test."""

    def __init__(self, agents: Agents, dead: float, delay: float) -> None:
        self._agents, self._dead, self._delay = agents, dead, delay
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, **changes: object) -> None:
        self.running[name] = self._agents.start(name, self._dead, self._delay, **changes)

    def kill(self, name: str) -> None:
        kill(self.running.pop(name))

    def signal(self, name: str, number: signal.Signals) -> None:
        self.running[name].send_signal(number)

    def end(self, *names: str) -> None:
        for name in names or self._agents.names:
            if name in self.running:
                assert self.running[name].wait(HANGS) == 0, self._agents.log(name)

    def close(self) -> None:
        for process in self.running.values():
            if process.poll() is None:
                kill(process)


@pytest.fixture
def processes(agents: Agents) -> Iterator[_Processes]:
    with closing(_Processes(agents, dead=10, delay=0.6)) as found:
        yield found


def _fetched_by(agents: Agents, name: str, number: int) -> None:
    wait_for(lambda: len(agents.crawls[name].fetched()) >= number, HANGS, f"{number} pages of {name}")


@pytest.mark.heavy
def test_the_heirs_of_a_dead_agent_fetch_what_was_its_own(agents: Agents, processes: _Processes) -> None:
    with served(SLOW, 6) as server:
        seeds = server.web.seeds()[:6]
        expected = reachable(server.web, seeds)
        agents.add(seeds)
        for name in agents.names:
            processes.start(name)
        _fetched_by(agents, "b", 8)
        processes.kill("b")
        of_dead = agents.crawls["b"].fetched()
        processes.end()
        log = server.log()
    assert in_flight_together(log) == []
    by_heirs = agents.crawls["a"].fetched() | agents.crawls["c"].fetched()
    assert {url for url in by_heirs if not url.endswith(".pdf")} == expected
    twice = {url for url, times in agents.fetched().items() if times > 1}
    assert len(of_dead) >= 8
    assert twice <= of_dead


@pytest.mark.heavy
def test_an_agent_that_comes_back_has_its_sites_again(agents: Agents, processes: _Processes) -> None:
    """The crawl does not end before that: a site of another agent does not answer until `b` is back."""
    is_back = threading.Event()

    def late(visit: Visit) -> None:
        while head := visit.request():
            if path_of(head) == "/robots.txt":
                visit.send(NOT_FOUND)
            else:
                is_back.wait(HANGS)
                visit.send(page("late"))

    with served(SLOW, 6) as server, ExitStack() as stack:
        gate = RawServer(late)
        stack.callback(gate.stop)
        host = _owned_by("a", gate)
        seeds = server.web.seeds()[:6]
        expected = reachable(server.web, seeds)
        agents.add([*seeds, gate.url(host=host)])
        given = {"resolve": f"{host}=127.0.0.1", "timeout": HANGS}
        for name in agents.names:
            processes.start(name, **given)
        _fetched_by(agents, "b", 8)
        processes.kill("b")
        wait_for(lambda: agents.views("a")[-1] == {"a", "c"}, HANGS, "the death of b")
        before = len(agents.crawls["b"].fetched())
        processes.start("b", **given)
        wait_for(lambda: agents.views("a")[-1] == {"a", "b", "c"}, HANGS, "that b is back")
        is_back.set()
        processes.end()
        log = server.log()
    assert in_flight_together(log) == []
    assert agents.html() == expected | {gate.url(host=host)}
    assert agents.views("a")[-1] == {"a", "b", "c"}
    assert len(agents.crawls["b"].fetched()) >= before
    for crawl in agents.crawls.values():
        crawl.check()


def _owned_by(name: str, server: RawServer) -> str:
    """A host of the server that is this agent's, whether or not `b` lives."""
    views = [View(dict.fromkeys(names, 1)) for names in ("ac", "abc")]
    hosts = (f"late{number}.example" for number in itertools.count())
    return next(
        host for host in hosts if all(view.owner(site_key(server.url(host=host), Scope.HOST)) == name for view in views)
    )


@contextmanager
def _b_frozen(agents: Agents, processes: _Processes) -> Iterator[tuple[SynthServer, set[str]]]:
    """All at work, and `b` frozen once it has some pages; yields the web, and what there is to be found."""
    with served(SLOW, 6) as server:
        seeds = server.web.seeds()[:6]
        agents.add(seeds)
        for name in agents.names:
            processes.start(name)
        _fetched_by(agents, "b", 5)
        processes.signal("b", signal.SIGSTOP)
        yield server, reachable(server.web, seeds)


@pytest.mark.heavy
def test_an_agent_that_was_frozen_asks_no_host_that_others_are_at(agents: Agents, processes: _Processes) -> None:
    """It is taken for dead meanwhile; after the thaw it hears the others first, who let go of its sites."""
    with _b_frozen(agents, processes) as (server, expected):
        wait_for(lambda: agents.views("a")[-1] == {"a", "c"}, HANGS, "the death of b")
        processes.signal("b", signal.SIGCONT)
        processes.end()
        log = server.log()
    assert "it asks no host before it has heard the others" in agents.log("b")
    assert in_flight_together(log) == []
    assert agents.html() == expected
    for crawl in agents.crawls.values():
        crawl.check()


@pytest.mark.heavy
def test_an_agent_that_was_frozen_past_the_end_finds_the_last_word(agents: Agents, processes: _Processes) -> None:
    with _b_frozen(agents, processes) as (server, expected):
        processes.end("a", "c")
        by_others = agents.crawls["a"].fetched() | agents.crawls["c"].fetched()
        before = len(server.log())
        processes.signal("b", signal.SIGCONT)
        processes.end()
        assert len(server.log()) == before, "b asks for nothing any more"
    assert {url for url in by_others if not url.endswith(".pdf")} == expected
    assert "the others (a, c) have crawled what was this agent's, and ended: so does it" in agents.log("b")
    assert all(seed.state is SeedState.DONE for seed in agents.crawls["b"].seeds())


@pytest.mark.heavy
def test_an_agent_that_was_frozen_and_hears_nobody_asks_nobody(agents: Agents, processes: _Processes) -> None:
    """Until it is told that the others will not come back."""
    with _b_frozen(agents, processes) as (server, expected):
        processes.kill("a")
        processes.kill("c")
        slept_since = time.monotonic()
        wait_for(lambda: time.monotonic() > slept_since + 3, HANGS, "it slept for longer than agents_suspect")
        before = len(server.log())
        processes.signal("b", signal.SIGCONT)
        wait_for(lambda: agents.views("b")[-1] == {"b"}, HANGS, "the death of the others")
        assert len(server.log()) == before
        agents.file_of("b").write_text(f"b tcp://127.0.0.1:{agents.ports['b']}\n")
        processes.end()
    assert {url for url in agents.crawls["b"].fetched() if not url.endswith(".pdf")} == expected


class _Split:
    """Proxies by which `b` is cut off from the others."""

    def __init__(self, agents: Agents, stack: ExitStack) -> None:
        self._proxies = {name: stack.enter_context(Proxy(port)) for name, port in agents.ports.items()}
        for name in ("a", "c"):
            agents.links[name, "b"] = self._proxies["b"].port
            agents.links["b", name] = self._proxies[name].port

    def cut(self) -> None:
        for one in self._proxies.values():
            one.refuse()

    def heal(self) -> None:
        for one in self._proxies.values():
            one.accept()


@pytest.mark.heavy
@pytest.mark.parametrize("dead", [300.0, 3.0], ids=["shorter than the time-out", "longer"])
def test_a_network_that_was_split_loses_nothing(agents: Agents, dead: float) -> None:
    """For less than the time-out nothing happens; for more both sides crawl all, until they see each other again."""
    cut_off = threading.Event()

    def split_it() -> None:
        _fetched_by(agents, "b", 3)
        split.cut()
        if dead < 100:
            wait_for(lambda: agents.views("b")[-1] == {"b"}, HANGS, "what b takes for dead")
            wait_for(lambda: agents.views("a")[-1] == {"a", "c"}, HANGS, "that b is taken for dead")
        else:
            _fetched_by(agents, "b", 8)
        cut_off.set()
        split.heal()

    with served(SLOW, 6, alone=8) as server, ExitStack() as stack:
        split = _Split(agents, stack)
        seeds = server.web.seeds()[:6]
        expected = reachable(server.web, seeds)
        agents.add(seeds)
        runs = agents.crawl(during=split_it, dead=dead, delay=0.3)
    assert cut_off.is_set()
    assert {one.outcome for one in runs.values()} == {"ended"}
    assert agents.html() == expected
    if dead > 100:
        assert set(agents.fetched().values()) == {1}
    for crawl in agents.crawls.values():
        crawl.check()


@pytest.mark.heavy
def test_messages_that_come_twice_late_in_another_order_or_never_change_nothing(agents: Agents) -> None:
    with served(SPEC, SEEDS) as server, ExitStack() as stack:
        networks = [
            stack.enter_context(MessyNetwork(f"tcp://127.0.0.1:{port}", seed=port, lost=0.1))
            for port in agents.ports.values()
        ]
        for (name, network), other in itertools.product(zip(agents.names, networks, strict=True), agents.names):
            agents.links[other, name] = int(network.address.rpartition(":")[2])
        for name in agents.names:
            agents.links[name, name] = agents.ports[name]
        seeds = server.web.seeds()[:SEEDS]
        agents.add(seeds)
        runs = agents.crawl(per_ip=30)
        expected = reachable(server.web, seeds)
        log = server.log()
    assert {one.outcome for one in runs.values()} == {"ended"}
    assert agents.html() == expected
    assert set(agents.fetched().values()) == {1}
    assert in_flight_together(log) == []
    sent, received, waiting = sums(agents)
    assert (sent > 0, waiting) == (True, 0)
    assert received >= sent, "what was acknowledged late has come again"
    for name in ("twice", "overtaken", "dropped"):
        assert sum(getattr(one, name) for one in networks) > 0


@pytest.mark.heavy
def test_status_is_asked_of_all(agents: Agents, processes: _Processes, tmp_path: Path) -> None:
    with served(SLOW, 6) as server:
        agents.add(server.web.seeds()[:6])
        for name in ("a", "b"):
            processes.start(name)
        _fetched_by(agents, "a", 1)
        given = ("agents", "status", f"--agents={agents.file_of('a')}", "--wait=30", "--json", agents.crawls["c"].url)
        secret = f"--exchange-secret-file={agents.secret}"
        told = subprocess.run([SCRAWLER, *given, secret], capture_output=True, text=True, check=True, cwd=tmp_path)
        rows = {row["agent"]: row for row in map(json.loads, told.stdout.splitlines())}
        processes.end()
    assert [rows[name]["state"] for name in "abc"] == ["at work", "at work", "silent"]
    assert rows["a"]["living"] == "a b"
    assert rows["a"]["pages"] >= 1
